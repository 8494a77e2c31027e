"""What the stand-in does beyond vertica-python's own tests: rejects, temporary tables, locks, lengths."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import vertica_python
from vertica_python import errors

from tests.vertica.standin import StandIn
from tests.vertica.standin.server import DATABASE, PASSWORD, USER


@pytest.fixture
def cursors(server: StandIn) -> Iterator[list[Any]]:
    """Two sessions, and a table that both see."""
    options = {"host": "127.0.0.1", "port": server.port, "user": USER, "password": PASSWORD, "database": DATABASE}
    options["tlsmode"] = "disable"
    with vertica_python.connect(**options) as one, vertica_python.connect(**options) as two:
        one.cursor().execute("CREATE TABLE t (a INT NOT NULL, b VARCHAR(4), k VARBINARY(2))")
        yield [one.cursor(), two.cursor()]


def all_of(cursor: Any, statement: str) -> list[list[Any]]:
    cursor.execute(statement)
    rows: list[list[Any]] = cursor.fetchall()
    return rows


def test_rejected_rows_are_left_out_and_counted(cursors: list[Any]) -> None:
    one, _ = cursors
    one.copy("COPY t (a, b) FROM STDIN ENFORCELENGTH NO COMMIT", "1|x\nno|y\n|z\n2|later\n3|\n4|a|b\n5")
    assert all_of(one, "SELECT GET_NUM_ACCEPTED_ROWS()") == [[2]]
    assert all_of(one, "SELECT GET_NUM_REJECTED_ROWS()") == [[5]]
    assert all_of(one, "SELECT a, b FROM t ORDER BY a") == [[1, "x"], [3, None]]


def test_a_rejected_row_aborts_if_asked_to(cursors: list[Any]) -> None:
    one, two = cursors
    with pytest.raises(errors.CopyRejected, match="record 2 has been rejected"):
        one.copy("COPY t (a, b) FROM STDIN ABORT ON ERROR", "1|x\nno|y\n")
    assert all_of(two, "SELECT COUNT(*) FROM t") == [[0]]


def test_a_long_value_is_cut_silently_unless_lengths_are_enforced(cursors: list[Any]) -> None:
    one, _ = cursors
    one.copy("COPY t (a, b) FROM STDIN", "1|later\n")
    assert all_of(one, "SELECT b FROM t") == [["late"]]


def test_binary_values(cursors: list[Any]) -> None:
    one, _ = cursors
    one.copy("COPY t (a, k FORMAT 'hex') FROM STDIN", "1|00ff\n2|0f0f\n")
    wanted = "HEX_TO_BINARY('0x000f')"
    assert all_of(one, f"SELECT a, k FROM t WHERE (k & {wanted}) = {wanted} ORDER BY a") == [
        [1, b"\x00\xff"],
        [2, b"\x0f\x0f"],
    ]


def test_temporary_tables_are_a_sessions_own_and_empty_after_a_transaction(cursors: list[Any]) -> None:
    one, two = cursors
    one.execute("CREATE LOCAL TEMPORARY TABLE probe (a INT) ON COMMIT DELETE ROWS UNSEGMENTED ALL NODES")
    one.copy("COPY probe (a) FROM STDIN NO COMMIT", "1\n2\n")
    assert all_of(one, "SELECT COUNT(*) FROM probe") == [[2]]
    with pytest.raises(errors.MissingRelation):
        two.execute("SELECT COUNT(*) FROM probe")
    one.execute("COMMIT")
    assert all_of(one, "SELECT COUNT(*) FROM probe") == [[0]]


def test_copy_without_commit_is_undone(cursors: list[Any]) -> None:
    one, two = cursors
    one.copy("COPY t (a) FROM STDIN NO COMMIT", "1\n")
    assert all_of(two, "SELECT COUNT(*) FROM t") == [[0]]
    one.execute("ROLLBACK")
    assert all_of(one, "SELECT COUNT(*) FROM t") == [[0]]


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


def test_an_update_holds_its_table(cursors: list[Any]) -> None:
    one, two = cursors
    one.copy("COPY t (a) FROM STDIN", "1\n")
    all_of(one, "UPDATE t SET a = 2")
    with pytest.raises(errors.LockFailure):
        all_of(two, "UPDATE t SET a = 3")
    one.execute("ROLLBACK")
    assert all_of(two, "UPDATE t SET a = 3") == [[1]]


def test_a_null_is_no_duplicate_key(cursors: list[Any]) -> None:
    one, _ = cursors
    with pytest.raises(errors.QueryError, match="NOT NULL column") as error:
        all_of(one, "INSERT INTO t (a, b) VALUES (NULL, 'x')")
    assert str(error.value.error_code) == "2501"


@pytest.mark.parametrize("statement", ["VACUUM", "PRAGMA version", "ATTACH 'a.duckdb'", "LOCK TABLE t"])
def test_what_only_the_database_behind_knows_is_refused(cursors: list[Any], statement: str) -> None:
    with pytest.raises(errors.VerticaSyntaxError):
        cursors[0].execute(statement)


def test_a_lock_that_is_not_waited_for(server: StandIn, cursors: list[Any]) -> None:
    one, two = cursors
    server.locks.timeout = 60.0
    one.execute("LOCK TABLE t IN EXCLUSIVE MODE NOWAIT")
    with pytest.raises(errors.LockFailure):
        two.execute("LOCK TABLE t IN EXCLUSIVE MODE NOWAIT")
    one.execute("ROLLBACK")
    two.execute("LOCK TABLE t IN EXCLUSIVE MODE NOWAIT")
