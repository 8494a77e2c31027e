"""What only a real server shows: roles and grants, locks, lost connections, readers beside writers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mate.build.changes.updates import Updates
from mate.errors import StoreError
from mate.search.query import QueryTable
from mate.search.systems import find_system
from mate.sql.address import Address
from mate.sql.dialects import open_session
from mate.sql.dialects.session import Session
from mate.sql.schema import Column
from mate.stores import open_index, open_target
from tests.postgresql.server import PASSWORD, PostgresServer, shared_server
from tests.sql.places import index, postgresql_place
from tests.sql.small import PEOPLE_QUERY


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> PostgresServer:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return shared_server()


@pytest.fixture
def address(files: Path) -> Iterator[str]:
    with postgresql_place() as place:
        index(files, place)
        yield place


def schema(address: str) -> str:
    return Address.parse(address).schema


# Roles and grants


@pytest.fixture
def reader(server: PostgresServer, address: str) -> Iterator[str]:
    """The address for a role that nobody has granted anything."""
    server.run(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
    yield address.replace("//postgres@", "//reader@")
    server.run("DROP OWNED BY reader", "DROP ROLE reader")


def test_a_reader_needs_grants_only_and_keeps_them_through_a_rebuild(
    server: PostgresServer, address: str, reader: str, files: Path
) -> None:
    with pytest.raises(StoreError, match=r"permission denied for schema .*ask the owner of the schema"):
        open_index(reader)
    name = schema(address)
    server.run(f"GRANT USAGE ON SCHEMA {name} TO reader", f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO reader")
    for _ in range(3):
        with open_index(reader) as found:
            assert [r.joinability for r in find_system("column-first")(found, PEOPLE_QUERY, ["a", "b"])] == [30]
            assert found.sizes()["postings"] > 0
        index(files, address)
    with pytest.raises(StoreError, match="permission denied"):
        Updates(reader).remove_tables([0])
    with pytest.raises(StoreError, match="permission denied"):
        index(files, reader)
    with open_index(reader) as found:
        assert len(found.tables()) == 2


def test_a_reader_needs_temporary_tables_where_they_were_revoked(
    server: PostgresServer, address: str, reader: str
) -> None:
    name = schema(address)
    server.run(f"GRANT USAGE ON SCHEMA {name} TO reader", f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO reader")
    server.run("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    try:
        with pytest.raises(StoreError, match=r"temporary tables .*ask the owner"), open_index(reader) as found:
            find_system("column-first")(found, PEOPLE_QUERY, ["a", "b"])
        server.run("GRANT TEMPORARY ON DATABASE postgres TO reader")
        with open_index(reader) as found:
            assert [r.joinability for r in find_system("column-first")(found, PEOPLE_QUERY, ["a", "b"])] == [30]
    finally:
        server.run("GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")


# Locks


def test_a_lock_that_another_session_holds_is_not_waited_for(server: PostgresServer, address: str) -> None:
    """The server itself would wait 30 seconds."""
    with server.connect() as holder, holder.transaction():
        holder.execute(f"LOCK TABLE {schema(address)}.builds IN EXCLUSIVE MODE")
        with pytest.raises(StoreError, match="another build or change"):
            Updates(address, wait=0).remove_tables([0])
        with pytest.raises(StoreError, match="another build or change"), open_target(address):
            pass
    Updates(address, wait=0).remove_tables([0])


def test_no_timeout_ends_the_session_that_holds_the_lock(
    server: PostgresServer, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take_lock(session: Session) -> None:
        holders.append(session)
        take(session)

    holders: list[Session] = []
    take = Session.take_lock
    monkeypatch.setattr(Session, "take_lock", take_lock)
    names = "('idle_in_transaction_session_timeout', 'transaction_timeout')"
    known = [name for (name,) in server.run(f"SELECT name FROM pg_settings WHERE name IN {names}")]
    server.run(*(f"ALTER ROLE postgres SET {name} = '90s'" for name in known))
    try:
        with open_target(address):
            found = holders[0].execute(f"SELECT setting FROM pg_settings WHERE name IN {names}")
        assert [setting for (setting,) in found] == ["0"] * len(known)
    finally:
        server.run(*(f"ALTER ROLE postgres RESET {name}" for name in known))


# Connections


def test_sessions_that_the_server_ends_are_replaced(server: PostgresServer, address: str) -> None:
    with open_index(address) as found:
        before = found.cells(0, np.arange(5))
        server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mate'")
        assert found.cells(0, np.arange(5)) == before


def test_a_server_that_is_gone(address: str, tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with PostgresServer() as own:
        index(files, own.address())
        with open_index(own.address()) as found:
            own.vanish()
            with pytest.raises(StoreError, match=r"no server answers at 127.0.0.1:\d+; is it running") as error:
                found.tables()
            assert "\n" not in str(error.value)
            own.start()
            assert len(found.tables()) == 2


def test_what_cannot_work(server: PostgresServer, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match='the server refuses: database "other" does not exist'):
        open_index(address.replace("/postgres?", "/other?"))
    with pytest.raises(StoreError, match=r"no encrypted connection \(tlsmode=require\)"):
        open_index(f"{address}&tlsmode=require")
    monkeypatch.setenv("PGPASSWORD", "not the pass word")
    with pytest.raises(StoreError, match="wrong user name or password; set PGPASSWORD") as error:
        open_index(address)
    assert "not the pass word" not in str(error.value)


# Readers beside writers


def test_searches_beside_changes_see_one_state_each(address: str) -> None:
    """A table is rewritten over and over, all its rows at a time: no answer mixes two states."""
    columns = {n: [f"name {r} v{n}" for r in range(50)] for n in range(2)}
    stop = threading.Event()
    failed: list[BaseException] = []

    def write() -> None:
        try:
            number = 0
            while not stop.is_set():
                number = 1 - number
                cells = [(row, 0, text) for row, text in enumerate(columns[number])]
                Updates(address, wait=60, master="none").update_cells(1, cells)
        except BaseException as error:
            failed.append(error)

    queries = [
        pa.table({"a": columns[n] + columns[1 - n], "b": [f"city {r % 5}" for r in range(50)] * 2}) for n in range(2)
    ]
    Updates(address, master="none").update_cells(1, [(row, 0, text) for row, text in enumerate(columns[0])])
    writer = threading.Thread(target=write)
    writer.start()
    try:
        with open_index(address) as found:
            for n in range(12):
                result = find_system("column-first")(found, QueryTable("query", queries[n % 2]), ["a", "b"])
                assert [r.joinability for r in result] == [50]
    finally:
        stop.set()
        writer.join()
    assert not failed


# Plans


def test_sessions_are_set_up_for_short_look_ups(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c client_connection_check_interval=200")
    where = Address.parse(server.address(timeout=7))
    with open_session(where) as session:
        told = {str(name): value for name, value in session.execute("SELECT name, setting FROM pg_settings")}
    assert (told["jit"], told["random_page_cost"], told["work_mem"]) == ("off", "1.1", "65536")
    assert told["statement_timeout"] == "7000"
    assert told["client_connection_check_interval"] == "200"


def test_a_build_tells_the_planner_what_it_loaded(server: PostgresServer, address: str) -> None:
    """How many tokens there are, which a sample does not show, and that no record has to be looked at twice."""
    with open_index(address) as opened:
        counts, tokens = opened.manifest.counts, opened.manifest.distinct_tokens
    [[distinct]] = server.run(
        f"SELECT n_distinct FROM pg_stats WHERE schemaname = '{schema(address)}'"
        " AND tablename LIKE 'postings%' AND attname = 'token_id'"
    )
    assert distinct == pytest.approx(-tokens / counts.cells, abs=1e-6)
    pages = server.run(
        "SELECT c.relname, c.relpages, c.relallvisible, c.reltuples FROM pg_class AS c"
        f" INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = '{schema(address)}'"
        " AND (c.relname LIKE 'postings%' OR c.relname LIKE 'cells%') AND c.relkind = 'r'"
    )
    assert len(pages) == 2
    for _, all_pages, visible, records in pages:
        assert visible == all_pages > 0
        assert records == counts.cells


def test_the_planner_knows_a_small_temporary_table(server: PostgresServer) -> None:
    """Without statistics one of two records passes for one of more than a thousand, and all postings are read."""
    where = Address.parse(server.address())
    with open_session(where) as session:
        for records in (3, 2, 6_000, 4):
            session.fill("mate_few", [Column("id")], [pa.array(range(records))])
            assert session.execute("SELECT COUNT(*) FROM mate_few") == [[records]]
            assert session.execute("SELECT reltuples FROM pg_class WHERE relname = 'mate_few'") == [[records]]
