"""What the stand-in does beyond vertica-python's own tests: rejects, lengths, transactions, locks, users."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from vertica_python import errors

from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD
from tests.vertica.standin.storage import explained


@pytest.fixture
def cursors(server: StandIn) -> Iterator[list[Any]]:
    """Two sessions, and a table that both see."""
    with server.connect() as one, server.connect() as two:
        one.cursor().execute("CREATE TABLE t (a INT NOT NULL, b VARCHAR(4), k VARBINARY(2))")
        yield [one.cursor(), two.cursor()]


def all_of(cursor: Any, statement: str) -> list[list[Any]]:
    cursor.execute(statement)
    rows: list[list[Any]] = cursor.fetchall()
    return rows


@pytest.mark.parametrize("record", ["no|y", "|z", "2|later", "4|a|b", "5"])
def test_a_row_that_is_rejected_aborts(cursors: list[Any], record: str) -> None:
    one, two = cursors
    with pytest.raises(errors.CopyRejected, match="record 2 has been rejected"):
        one.copy("COPY t (a, b) FROM STDIN ENFORCELENGTH ABORT ON ERROR", f"1|x\n{record}\n")
    assert all_of(two, "SELECT COUNT(*) FROM t") == [[0]]


def test_binary_values(cursors: list[Any]) -> None:
    one, _ = cursors
    one.copy("COPY t (a, k FORMAT 'hex') FROM STDIN", "1|00ff\n2|0f0f\n")
    wanted = "HEX_TO_BINARY('0x000f')"
    assert all_of(one, f"SELECT a, k FROM t WHERE (k & {wanted}) = {wanted} ORDER BY a") == [
        [1, b"\x00\xff"],
        [2, b"\x0f\x0f"],
    ]


def test_an_enforced_key_makes_the_second_wait_and_fail(server: StandIn, cursors: list[Any]) -> None:
    one, two = cursors
    server.locks.timeout = 10.0
    one.execute("CREATE TABLE log (a INT NOT NULL, CONSTRAINT log_pk PRIMARY KEY (a) ENABLED)")
    assert all_of(one, "INSERT INTO log (a) VALUES (1)") == [[1]]
    failed: list[errors.QueryError] = []

    def second() -> None:
        try:
            all_of(two, "INSERT INTO log (a) VALUES (1)")
        except errors.QueryError as error:
            failed.append(error)

    waiting = threading.Thread(target=second)
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    one.execute("COMMIT")
    waiting.join()
    assert [(str(error.error_code), error.sqlstate) for error in failed] == [("6745", "23505")]


# What a server does not have is refused, also where the database behind the stand-in would take it


@pytest.mark.parametrize(
    "statement",
    [
        *("VACUUM", "PRAGMA version", "ATTACH 'a.duckdb'", "LOCK TABLE t", "SHOW TABLES", "DESCRIBE t"),
        *("SET NONSENSE = 1", "SET SESSION NONSENSE TO ON", "SET SESSION AUTOCOMMIT TO SOMETIMES", "SET threads = 2"),
        *("SELECT a FROM t ORDER BY ALL", "SELECT a FROM t GROUP BY ALL", "SELECT [1, 2]", "SELECT {'a': 1}"),
        *("FROM t", "SELECT a FROM t QUALIFY a = 1", "TRUNCATE TABLE t"),
        *("SELECT * EXCLUDE (b) FROM t", "SELECT a FROM t USING SAMPLE 1", "SELECT a FROM 't.parquet'"),
        *("INSERT OR REPLACE INTO t VALUES (1)", "DELETE FROM t RETURNING a", "CREATE TABLE u AS SELECT 1"),
        *("CREATE TABLE u (a INT) SORTED BY a", "CREATE TABLE u (a INT, b INT[])", "CREATE INDEX i ON t (a)"),
        *("COPY t FROM STDIN NONSENSE", "COPY t TO STDOUT", "COPY t FROM 'a.csv'", "COMMIT NOW"),
        *("CREATE TABLE user (a INT)", "SELECT a AS order FROM t", "CREATE LOCAL TEMPORARY TABLE u (a INT)"),
    ],
)
def test_a_statement_that_is_not_known_is_a_syntax_error(cursors: list[Any], statement: str) -> None:
    with pytest.raises(errors.VerticaSyntaxError):
        all_of(cursors[0], statement)


@pytest.mark.parametrize(
    ("statement", "state"),
    [
        ("SELECT list_sum(a) FROM t", "42883"),
        ("SELECT unnest(a) FROM t", "42883"),
        ("SELECT bit_count(k) FROM t", "42883"),
        ("CREATE TABLE u (a MAP)", "42704"),
        ("CREATE TABLE u (a HUGEINT)", "42704"),
        ("SELECT a::UBIGINT FROM t", "42704"),
        ("CREATE TABLE u (a INT ENCODING NONSENSE)", "42704"),
        ("CREATE TABLE u (a VARCHAR(70000))", "22023"),
        ("CREATE TABLE u (a VARBINARY(65001))", "22023"),
        ("CREATE TABLE u (a INT) ORDER BY b", "42703"),
        ("SELECT c FROM t", "42703"),
        ("SELECT t.a FROM t SEMI JOIN t AS s ON t.a = s.a", "42703"),
        ("SELECT a FROM nowhere.t", "3F000"),
        ("SELECT a FROM u", "42V01"),
    ],
)
def test_what_was_not_declared_is_told_as_that(cursors: list[Any], statement: str, state: str) -> None:
    with pytest.raises(errors.QueryError) as error:
        all_of(cursors[0], statement)
    assert error.value.sqlstate == state


def test_a_text_that_is_longer_than_declared_is_not_inserted(cursors: list[Any]) -> None:
    """Octets count, not characters."""
    one, _ = cursors
    assert all_of(one, "INSERT INTO t (a, b) VALUES (1, 'late')") == [[1]]
    for statement in (
        "INSERT INTO t (a, b) VALUES (2, 'later')",
        "INSERT INTO t (a, b) SELECT 2, 'ñññ'",
        "INSERT INTO t (a, k) VALUES (2, HEX_TO_BINARY('0x000000'))",
        "UPDATE t SET b = 'later'",
    ):
        all_of(one, "INSERT INTO t (a, b) VALUES (1, 'late')")
        one.execute("COMMIT")
        with pytest.raises(errors.QueryError, match="is too long for type Var") as error:
            all_of(one, statement)
        assert error.value.sqlstate == "22001"
        assert all_of(one, "SELECT DISTINCT a, b FROM t") == [[1, "late"]]


# Transactions


def test_an_open_transaction_sees_what_others_commit(cursors: list[Any]) -> None:
    """READ COMMITTED."""
    one, two = cursors
    all_of(one, "INSERT INTO t (a) VALUES (1)")
    assert all_of(two, "SELECT a FROM t") == []
    all_of(two, "INSERT INTO t (a) VALUES (2)")
    assert all_of(one, "SELECT a FROM t") == [[1]]
    two.execute("COMMIT")
    assert all_of(one, "SELECT a FROM t ORDER BY a") == [[1], [2]]
    one.execute("ROLLBACK")
    assert all_of(one, "SELECT a FROM t") == [[2]]


def test_what_a_transaction_changed_is_undone_as_a_whole(cursors: list[Any]) -> None:
    one, two = cursors
    one.copy("COPY t (a, b) FROM STDIN", "1|x\n2|y\n3|z\n")
    assert all_of(one, "UPDATE t SET b = 'new', a = a + 10 WHERE a > 1") == [[2]]
    assert all_of(one, "DELETE FROM t WHERE a IN (SELECT a FROM t WHERE b = 'new' AND a = 13)") == [[1]]
    assert all_of(one, "SELECT a, b FROM t ORDER BY a") == [[1, "x"], [12, "new"]]
    assert all_of(two, "SELECT a, b FROM t ORDER BY a") == [[1, "x"], [2, "y"], [3, "z"]]
    one.execute("ROLLBACK")
    assert all_of(one, "SELECT a, b FROM t ORDER BY a") == [[1, "x"], [2, "y"], [3, "z"]]


def test_rollback_drops_a_temporary_table_that_was_not_committed(cursors: list[Any]) -> None:
    """And creating one commits nothing."""
    one, two = cursors
    all_of(one, "INSERT INTO t (a) VALUES (1)")
    one.execute("CREATE LOCAL TEMPORARY TABLE probe (a INT) ON COMMIT PRESERVE ROWS")
    assert all_of(two, "SELECT a FROM t") == []
    one.execute("ROLLBACK")
    assert all_of(one, "SELECT a FROM t") == []
    for session in cursors:
        with pytest.raises(errors.MissingRelation):
            all_of(session, "SELECT a FROM probe")
    one.execute("CREATE LOCAL TEMPORARY TABLE probe (a INT) ON COMMIT PRESERVE ROWS")
    all_of(one, "INSERT INTO probe (a) VALUES (1)")
    one.execute("COMMIT")
    all_of(one, "INSERT INTO probe (a) VALUES (2)")
    one.execute("ROLLBACK")
    assert all_of(one, "SELECT a FROM probe") == [[1]]
    with pytest.raises(errors.MissingRelation):
        all_of(two, "SELECT a FROM probe")


def test_only_an_enforced_key_is_told_as_one(cursors: list[Any]) -> None:
    one, _ = cursors
    one.execute("CREATE TABLE free (a INT NOT NULL, CONSTRAINT free_pk PRIMARY KEY (a))")
    assert all_of(one, "INSERT INTO free (a) VALUES (1)") == all_of(one, "INSERT INTO free (a) VALUES (1)") == [[1]]
    one.execute("CREATE TABLE log (a INT NOT NULL, CONSTRAINT log_pk PRIMARY KEY (a) ENABLED)")
    one.copy("COPY log (a) FROM STDIN", "1\n2\n")
    for statement in ("UPDATE log SET a = 1", "INSERT INTO log (a) SELECT 2"):
        with pytest.raises(errors.QueryError) as error:
            all_of(one, statement)
        assert str(error.value.error_code) == "6745"
    all_of(one, "DELETE FROM log WHERE a = 1")
    assert all_of(one, "INSERT INTO log (a) VALUES (1)") == [[1]]
    conflict = explained(duckdb.TransactionException("TransactionContext Error: Conflict on update!"))
    assert (conflict.state, conflict.code) == ("55V03", 5157)


def test_nulls_come_before_numbers_and_after_texts(cursors: list[Any]) -> None:
    one, _ = cursors
    one.execute("CREATE TABLE n (a INT, b VARCHAR(4))")
    one.copy("COPY n (a, b) FROM STDIN", "|x\n1|\n")
    for column in ("a", "b"):
        assert all_of(one, f"SELECT a FROM n ORDER BY {column}") == [[None], [1]]
        assert all_of(one, f"SELECT a FROM n ORDER BY {column} DESC") == [[1], [None]]


# Users


@pytest.fixture
def reader(server: StandIn) -> Iterator[Any]:
    """A user whom nobody has granted anything, beside a schema whose tables inherit and one whose do not."""
    server.run(
        "CREATE SCHEMA s DEFAULT INCLUDE PRIVILEGES",
        "CREATE SCHEMA plain",
        *(f"CREATE TABLE {schema}.t (a INT)" for schema in ("s", "plain")),
        f"CREATE USER reader IDENTIFIED BY '{PASSWORD}'",
    )
    with server.connect(user="reader", autocommit=True) as connection:
        yield connection.cursor()


def denied(cursor: Any, statement: str) -> str:
    with pytest.raises(errors.PermissionDenied) as error:
        all_of(cursor, statement)
    assert error.value.sqlstate == "42501"
    return str(error.value.message)


def test_what_is_not_granted_is_denied(server: StandIn, reader: Any) -> None:
    temporary = "CREATE LOCAL TEMPORARY TABLE probe (a INT) ON COMMIT PRESERVE ROWS"
    assert denied(reader, "SELECT a FROM s.t") == "Permission denied for schema s"
    server.run("GRANT USAGE ON SCHEMA s TO reader")
    assert denied(reader, "SELECT a FROM s.t") == "Permission denied for relation t"
    server.run("GRANT SELECT ON SCHEMA s TO reader")
    assert all_of(reader, "SELECT a FROM s.t") == []
    for statement in (
        "INSERT INTO s.t (a) VALUES (1)",
        "UPDATE s.t SET a = 1",
        "DELETE FROM s.t",
        "LOCK TABLE s.t IN EXCLUSIVE MODE NOWAIT",
        "DROP TABLE s.t",
        "DROP SCHEMA s CASCADE",
        "CREATE TABLE s.u (a INT)",
        "CREATE SCHEMA mine",
        temporary,
        "CREATE USER other IDENTIFIED BY 'x'",
        "GRANT SELECT ON SCHEMA s TO reader",
        "SELECT ANALYZE_STATISTICS('s.t')",
    ):
        denied(reader, statement)
    with pytest.raises(errors.PermissionDenied):
        reader.copy("COPY s.t (a) FROM STDIN", "1\n")
    server.run("GRANT TEMP ON DATABASE VMart TO reader")
    all_of(reader, temporary)


def test_tables_inherit_what_is_granted_on_a_schema_that_says_so(server: StandIn, reader: Any) -> None:
    server.run(*(f"GRANT USAGE, SELECT ON SCHEMA {schema} TO reader" for schema in ("s", "plain")))
    server.run("CREATE TABLE s.later (a INT)")
    assert all_of(reader, "SELECT a FROM s.t") == all_of(reader, "SELECT a FROM s.later") == []
    denied(reader, "SELECT a FROM plain.t")
    server.run("ALTER SCHEMA plain DEFAULT INCLUDE PRIVILEGES", "CREATE TABLE plain.later (a INT)")
    assert all_of(reader, "SELECT a FROM plain.later") == []
    denied(reader, "SELECT a FROM plain.t")


def test_the_catalogue_shows_what_a_user_may_see(server: StandIn, reader: Any) -> None:
    schemas, tables = "SELECT schema_name FROM v_catalog.schemata", "SELECT table_name FROM v_catalog.tables"
    assert all_of(reader, schemas) == [["public"]]
    assert all_of(reader, tables) == []
    server.run("GRANT USAGE, SELECT ON SCHEMA s TO reader")
    assert sorted(all_of(reader, schemas)) == [["public"], ["s"]]
    assert all_of(reader, tables) == [["t"]]


# The end


def test_a_stand_in_ends_whatever_its_sessions_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """One has not logged in, one waits for a lock, one has a transaction open."""
    failed: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    before = set(threading.enumerate())  # one of an earlier test may be about to end
    with StandIn(lock_timeout=60) as server:
        waiting = threading.Thread(target=lambda: failing(two, "LOCK TABLE t IN EXCLUSIVE MODE"))
        silent = socket.create_connection(("127.0.0.1", server.port))
        one, two = server.connect().cursor(), server.connect().cursor()
        one.execute("CREATE TABLE t (a INT)")
        one.execute("LOCK TABLE t IN EXCLUSIVE MODE")
        waiting.start()
        waiting.join(0.2)
    waiting.join()
    silent.close()
    assert not set(threading.enumerate()) - before
    assert not failed


def failing(cursor: Any, statement: str) -> None:
    with pytest.raises(errors.Error):
        cursor.execute(statement)


def test_a_lock_that_is_not_waited_for(server: StandIn, cursors: list[Any]) -> None:
    one, two = cursors
    server.locks.timeout = 60.0
    one.execute("LOCK TABLE t IN EXCLUSIVE MODE NOWAIT")
    with pytest.raises(errors.LockFailure):
        two.execute("LOCK TABLE t IN EXCLUSIVE MODE NOWAIT")
    one.execute("ROLLBACK")
    two.execute("LOCK TABLE t IN EXCLUSIVE MODE NOWAIT")
