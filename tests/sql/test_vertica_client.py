"""What the Vertica client sets, and what errors of a server mean to us: seen by the protocol stand-in."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mate.build.changes.updates import Updates
from mate.search.query import QueryTable
from mate.search.systems import find_system
from mate.sql.address import Address
from mate.sql.dialects import session
from mate.sql.dialects.vertica import Vertica, VerticaSession
from mate.sql.schema import Column, Content, Generation
from tests.sql.conftest import write_csv
from tests.sql.faulty import FaultyServer, faulty_server
from tests.sql.places import index, open_database
from tests.vertica.standin.wire import ServerError


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FaultyServer]:
    with faulty_server("vertica", tmp_path) as running:
        yield running


def connected(server: FaultyServer, **options: object) -> VerticaSession:
    return VerticaSession(Address.parse(server.address(**options)))


def line_of(client: VerticaSession) -> socket.socket:
    line: socket.socket = client._connection.socket
    return line


def test_answers_may_take_their_time_and_the_line_is_kept_alive(server: FaultyServer) -> None:
    client = connected(server, connect_timeout=3)
    line = line_of(client)
    assert line.gettimeout() is None
    assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60
    assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    client.close()
    limited = connected(server, timeout=7)
    assert line_of(limited).gettimeout() == 7
    limited.close()


def test_a_server_that_pushes_back_is_given_a_pause(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lake").mkdir()
    write_csv(tmp_path / "lake" / "a.csv", ["a", "b"], [["x", "y"], ["z", "w"]])
    refused: list[str] = []
    pauses: list[float] = []

    def fault(event: str, _: Any, detail: str) -> None:
        if event == "statement" and "load_log" in detail and detail.startswith("INSERT") and len(refused) < 2:
            refused.append(detail)
            raise ServerError("Too many ROS containers exist", "53000", 5065)

    monkeypatch.setattr(session.time, "sleep", pauses.append)
    with server.faulty(fault):
        index(tmp_path / "lake", server.address())
    long = [pause for pause in pauses if pause >= 0.5]
    assert len(refused) == 2
    assert 0.5 <= long[0] <= 1.0 <= long[1] <= 2.0
    with open_database(server.address()) as found:
        assert found.manifest.counts.rows == 2


def test_postings_are_sorted_by_a_coarse_bucket_first() -> None:
    postings = Generation("mate", 1, (Column("key0", Content.KEY, 16),), "per_cell", 100, Vertica.buckets)
    created = Vertica().create_table("mate.postings_1", postings.tables()[0])
    assert "(bucket INT NOT NULL ENCODING RLE, token_id INT NOT NULL, " in created
    assert " ORDER BY bucket, token_id, table_id, row_id SEGMENTED BY HASH(table_id, row_id) ALL NODES" in created
    assert "ENCODING RLE" in Vertica().create_table("mate.cells_1", postings.tables()[1])


def test_look_ups_and_deletes_give_constants_on_the_sort_columns(server: FaultyServer, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    write_csv(tmp_path / "lake" / "a.csv", ["a", "b"], [["x", "y"], ["z", "w"]])
    write_csv(tmp_path / "lake" / "b.csv", ["a", "b"], [["x", "v"], ["u", "w"]])
    index(tmp_path / "lake", server.address())
    server.statements.clear()
    query = QueryTable("query", pa.table({"a": ["x"], "b": ["y"]}))
    with open_database(server.address()) as opened:
        assert [result.table_id for result in find_system("column-first")(opened, query, ["a", "b"])] == [0]
    Updates(server.address(), master="none").remove_tables([1])
    with open_database(server.address()) as opened:
        [postings] = opened.select("COUNT(*)", opened.generation.name("postings"))
        assert postings == [4]
    [bounds] = [statement for statement in server.statements if "AS bound" in statement]
    assert "p.bucket IN (" in bounds
    [mappings] = [statement for statement in server.statements if statement.startswith("SELECT DISTINCT f.table_id")]
    assert re.search(r"p\.table_id IN \(0\) .* WHERE c\d\.table_id IN \(0\)", mappings)
    [gone] = [statement for statement in server.statements if statement.startswith("DELETE FROM mate.postings_1")]
    assert re.search(r"WHERE bucket IN \(\d+(, \d+)*\) AND token_id IN \(SELECT token_id FROM mate_touched\)", gone)
