"""What goes wrong between us and a server: one clear error each, nothing half-published, no credential shown."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mate.cli.program import main
from mate.errors import StoreError
from mate.lake.base import Index
from mate.lake.folder import LakeFolder
from mate.sql import dialects
from mate.sql.dialects.vertica import Vertica
from mate.sql.schema import Column
from mate.sql.target import DatabaseTarget
from mate.stores import open_index
from mate.values.token_ids import token_ids
from tests.sql.compare import same
from tests.sql.places import index, open_database
from tests.sql.small import HASHES
from tests.vertica.conftest import PASSWORD_VARIABLE
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD
from tests.vertica.standin.wire import ClosedError

WRONG = "not the pass word"


def tables(server: StandIn) -> set[str]:
    found = server.run("SELECT table_name FROM v_catalog.tables WHERE table_schema = 'mate'")
    return {name for (name,) in found}


def postings_of(found: Index, text: str) -> int:
    texts = pa.array([text])
    return int(found.posting_counts(token_ids(texts), texts)[0])


def cut_when(event: str, part: str) -> Callable[[str, Any, str], None]:
    """Cut the line when something happens for the first time."""
    left = [1]

    def fault(happening: str, _: Any, detail: str) -> None:
        if happening == event and part in detail and left:
            left.pop()
            raise ClosedError

    return fault


# Getting in


def test_a_wrong_password(
    server: StandIn,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(PASSWORD_VARIABLE, WRONG)
    assert main(["stats", "--store", server.address()]) == 2
    told = capsys.readouterr()
    assert told.err.count("\n") == 1
    assert "the server refuses user dbadmin: wrong user name or password; set VERTICA_PASSWORD" in told.err
    assert WRONG not in told.out + told.err + caplog.text


def test_a_right_password_shows_nowhere(
    server: StandIn, small_lake: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert main(["index", str(small_lake), "--store", server.address(), "--master", "none"]) == 0
    with open_index(server.address()) as store, DatabaseTarget(server.address()) as target:
        shown = repr(vars(store)) + repr(vars(target)) + repr(target.address)
    told = capfd.readouterr()
    assert PASSWORD not in told.out + told.err + caplog.text + shown + " ".join(server.statements)


def test_a_password_file(server: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(PASSWORD_VARIABLE)
    file = tmp_path / "password"
    address = server.address(passfile=file)
    with pytest.raises(StoreError, match="cannot read the password file"):
        open_index(address)
    file.write_text(f"{PASSWORD}\n")
    file.chmod(0o644)
    with pytest.raises(StoreError, match=r"others can read .*chmod 600"):
        open_index(address)
    file.chmod(0o600)
    with pytest.raises(StoreError, match="there is no index"):
        open_index(address)


def test_nobody_answers(server: StandIn) -> None:
    address = server.address()
    server.vanish()
    with pytest.raises(StoreError, match=r"no server answers at 127.0.0.1:\d+; is it running"):
        open_index(address)


def test_a_backup_node_answers(server: StandIn) -> None:
    address = server.address(backup=f"127.0.0.1:{server.port}").replace(f"@127.0.0.1:{server.port}", "@127.0.0.1:1")
    with pytest.raises(StoreError, match="there is no index"):
        open_index(address)


def test_encryption_that_the_server_does_not_have(server: StandIn) -> None:
    with pytest.raises(StoreError, match=r"no encrypted connection .tlsmode=require"):
        open_index(server.address().replace("tlsmode=disable", "tlsmode=require"))


def test_a_database_that_is_not_there(server: StandIn) -> None:
    with pytest.raises(StoreError, match='the server refuses: Database "Other" does not exist'):
        open_index(server.address().replace("/VMart", "/Other"))


def test_the_client_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mate.sql.dialects.find_spec", lambda name: None)
    dialects.session_class.cache_clear()
    with pytest.raises(StoreError, match=r"pip install 'mate-discovery\[vertica\]'"):
        open_index("vertica://me@host/db")


@pytest.mark.filterwarnings("ignore:TLS is not configured")
def test_a_connection_that_is_not_encrypted_is_told(server: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(StoreError, match="there is no index"):
        open_index(server.address().replace("tlsmode=disable", "tlsmode=prefer"))
    assert "the connection is not encrypted" in caplog.text


@pytest.mark.filterwarnings("error::UserWarning")
def test_notices_of_the_server_are_no_warnings(server: StandIn) -> None:
    for _ in range(2):
        with DatabaseTarget(server.address()):
            pass


# Searching


def test_no_index(server: StandIn, small_lake: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no index at vertica://dbadmin@127.*schema=mate, or .*; build one"):
        open_index(server.address())
    with DatabaseTarget(server.address()), pytest.raises(StoreError, match="there is no index"):
        open_index(server.address())


def test_a_table_that_is_missing(server: StandIn, small_lake: Path) -> None:
    index(small_lake, server.address())
    with open_index(server.address()) as store:
        server.run("DROP TABLE mate.cells_1")
        with pytest.raises(StoreError, match=r"Relation .* does not exist .*SQLSTATE 42V01"):
            store.cells(0, np.array([1]))
        assert postings_of(store, "name 1") == 8


def test_a_server_that_disappears_in_the_middle_of_a_search(server: StandIn, small_lake: Path) -> None:
    index(small_lake, server.address())

    def fault(event: str, _: Any, detail: str) -> None:
        if event == "statement" and "tokens_1" in detail:
            server.vanish()
            raise ClosedError

    with open_index(server.address()) as store, server.faulty(fault):
        with pytest.raises(StoreError, match="no server answers") as caught:
            postings_of(store, "name 1")
        assert "\n" not in str(caught.value)


def test_a_session_that_died_while_idle_is_replaced(server: StandIn, small_lake: Path) -> None:
    index(small_lake, server.address())
    with open_index(server.address()) as store:
        server.cut()
        assert store.cells(0, np.array([3])) == [["name 3", "city 3", "0"]]
        with server.faulty(cut_when("statement", "tokens_1")):
            assert postings_of(store, "name 1") == 8


def test_an_open_index_stays_readable_while_the_next_one_is_published(server: StandIn, small_lake: Path) -> None:
    index(small_lake, server.address())
    with open_index(server.address()) as store:
        before = store.cells(1, np.arange(20))
        index(small_lake, server.address(layout="per_row"), hashes=HASHES)
        assert store.cells(1, np.arange(20)) == before
        index(small_lake, server.address())
    assert {name.rpartition("_")[2] for name in tables(server) - {"manifest", "builds"}} == {"2", "3"}


# Loading


@pytest.mark.parametrize(
    ("event", "part"),
    [
        ("copy data", ".postings_"),
        ("copy data", ".cells_"),
        ("copy data", ".token_counts_"),
        ("statement", "INSERT INTO mate.load_log_"),
        ("statement", "INSERT INTO mate.tokens_"),
        ("statement", "SELECT COUNT(*) FROM mate.cells_"),
        ("statement", "DROP TABLE IF EXISTS mate.token_counts_2"),
        ("statement", "CREATE TABLE IF NOT EXISTS mate.cells_2"),
        ("statement", "ANALYZE_STATISTICS"),
        ("statement", "INSERT INTO mate.manifest"),
    ],
)
def test_a_connection_that_is_cut_while_loading(
    server: StandIn, small_lake: Path, small_folder: LakeFolder, event: str, part: str
) -> None:
    address = server.address()
    index(small_lake, address, hashes=HASHES)
    before = tables(server)
    with server.faulty(cut_when(event, part)), pytest.raises(StoreError, match="the connection was lost") as caught:
        index(small_lake, address, hashes=HASHES[:1])
    assert "\n" not in str(caught.value)
    assert tables(server) == before
    with open_database(address) as store:
        same(store, small_folder)


def test_a_commit_whose_answer_is_lost_has_published(
    server: StandIn, small_lake: Path, small_folder: LakeFolder
) -> None:
    publishing: list[Any] = []

    def fault(event: str, session: Any, detail: str) -> None:
        if event == "statement" and "manifest) VALUES" in detail:
            publishing.append(session)
        elif event == "done" and detail == "COMMIT" and session in publishing:
            raise ClosedError

    with server.faulty(fault), pytest.raises(StoreError, match="the connection was lost"):
        index(small_lake, server.address(), hashes=HASHES)
    with open_database(server.address()) as store:
        same(store, small_folder)


def test_a_record_that_is_rejected(server: StandIn, small_lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def narrow(self: Vertica, column: Column) -> str:
        return "VARCHAR(3)" if column.name == "source" else type_of(self, column)

    type_of = Vertica.type_of
    monkeypatch.setattr(Vertica, "type_of", narrow)
    with pytest.raises(StoreError, match=r"a record was rejected: .*record 1 .*too wide for column \(source\)"):
        index(small_lake, server.address())
    assert tables(server) == {"builds", "manifest"}


def test_what_a_killed_build_left_is_removed(server: StandIn, small_lake: Path) -> None:
    index(small_lake, server.address())
    server.run("CREATE TABLE mate.postings_7 (a INT)")
    index(small_lake, server.address())
    assert {name.rpartition("_")[2] for name in tables(server) - {"manifest", "builds"}} == {"1", "8"}
