"""Records in DuckDB, seen by each session as READ COMMITTED has it.

DuckDB's own transactions see one state from their first statement on. So every statement is a transaction of its own
here, and records carry which session has added or removed them and has not committed yet: a session sees what was
committed when its statement began, and what it did itself.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from tests.vertica.standin.catalogue import Table
from tests.vertica.standin.statements import Field
from tests.vertica.standin.wire import ServerError


class Storage:
    """The database of all sessions."""

    def __init__(self) -> None:
        self._database = duckdb.connect(config={"threads": 1})
        self._database.execute("CREATE SCHEMA stored")
        self._guard = threading.Lock()
        self.writing = threading.RLock()
        """Held by whoever writes: what sessions do to each other is decided by table locks, never by DuckDB."""

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a connection for one thread; the first one is shared, and so is asked by one thread at a time."""
        with self._guard:
            return self._database.cursor()

    def close(self) -> None:
        """Close the database; all sessions have to be over."""
        with self._guard:
            self._database.close()


class Records:
    """One session's way to the records of all tables."""

    def __init__(self, storage: Storage, session: int) -> None:
        self._writing, self._cursor, self._me = storage.writing, storage.cursor(), session
        self._cursor.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")  # as numbers are sorted
        self._cursor.execute(f"CREATE TEMP MACRO current_session() AS '{session_id(session)}'")
        self._touched: set[Table] = set()

    def close(self) -> None:
        self._cursor.close()

    # Tables

    def create(self, table: Table) -> None:
        columns = ", ".join(f"{_quoted(f.name)} {f.type.duckdb}" for f in table.definition.fields)
        with self._writing:
            self._cursor.execute(f"CREATE TABLE {table.stored} ({columns}, _added BIGINT, _removed BIGINT DEFAULT 0)")

    def drop(self, table: Table) -> None:
        self._touched.discard(table)
        with self._writing:
            self._cursor.execute(f"DROP TABLE {table.stored}")

    def show(self, name: str, table: pa.Table) -> None:
        """Let queries see a table that is none of DuckDB's."""
        self._cursor.register(name, table)

    # Reading

    def _seen(self, prefix: str = "") -> str:
        return f"{prefix}_added IN (0, {self._me}) AND {prefix}_removed <> {self._me}"

    def visible(self, table: Table) -> str:
        """Return a sub-query for the records that this session sees."""
        names = ", ".join(_quoted(f.name) for f in table.definition.fields)
        return f"(SELECT {names} FROM {table.stored} WHERE {self._seen()})"

    def query(self, sql: str) -> duckdb.DuckDBPyConnection:
        return self._cursor.execute(sql)

    def count(self, table: Table) -> int:
        return int(self.query(f"SELECT COUNT(*) FROM {self.visible(table)}").fetchall()[0][0])

    # Writing

    def insert(self, table: Table, fields: Sequence[Field], source: str) -> int:
        """Insert what a query finds, if all of it fits; return how many records that are."""
        given = {field.name for field in fields}
        with self._writing:
            self._stage(fields, source)
            self._check(fields)
            for field in table.definition.fields:
                if field.required and field.name not in given:
                    raise _null(field)
            return self._take(table, fields)

    def append(self, table: Table, fields: Sequence[Field], columns: Sequence[Sequence[Any]]) -> None:
        """Insert records that were checked before."""
        types = {"BIGINT": pa.int64()}
        arrays = [pa.array(c, types.get(f.type.duckdb, pa.string())) for c, f in zip(columns, fields, strict=True)]
        self._cursor.register("streamed", pa.table(arrays, names=[f.name for f in fields]))
        names = ", ".join(_quoted(f.name) for f in fields)
        casts = ", ".join(f"{_quoted(f.name)}::{f.type.duckdb}" for f in fields)
        with self._writing:
            self._touched.add(table)
            self._cursor.execute(
                f"INSERT INTO {table.stored} ({names}, _added) SELECT {casts}, {self._me} FROM streamed"
            )
            self._check_keys(table)
        self._cursor.unregister("streamed")

    def update(self, table: Table, alias: str, new: dict[str, str], where: str) -> int:
        """Replace records by changed ones; `new` has the expressions of the columns that change."""
        fields = table.definition.fields
        values = ", ".join(new.get(f.name.lower(), _quoted(f.name)) for f in fields)
        with self._writing:
            self._stage(fields, f"SELECT {values} FROM {self.visible(table)} AS {_quoted(alias)} WHERE {where}")
            self._check(fields)
            count = self.delete(table, alias, where)
            self._take(table, fields)
        return count

    def delete(self, table: Table, alias: str, where: str) -> int:
        """Remove records; return how many."""
        seen = self._seen(f"{_quoted(alias)}.")
        with self._writing:
            self._touched.add(table)
            done = self._cursor.execute(
                f"UPDATE {table.stored} AS {_quoted(alias)} SET _removed = {self._me} WHERE {seen} AND ({where})",
            )
            return int(done.fetchall()[0][0])

    def _stage(self, fields: Sequence[Field], source: str) -> None:
        columns = ", ".join(f"{_quoted(f.name)} {f.type.duckdb}" for f in fields)
        self._cursor.execute(f"CREATE OR REPLACE TEMP TABLE staged ({columns})")
        self._cursor.execute(f"INSERT INTO staged {source}")

    def _take(self, table: Table, fields: Sequence[Field]) -> int:
        names = ", ".join(_quoted(f.name) for f in fields)
        self._touched.add(table)
        done = self._cursor.execute(
            f"INSERT INTO {table.stored} ({names}, _added) SELECT {names}, {self._me} FROM temp.staged"
        )
        [[count]] = done.fetchall()
        self._check_keys(table)
        return int(count)

    def _check(self, fields: Iterable[Field]) -> None:
        """Refuse nulls where none may be, and texts that are longer than declared."""
        for field in fields:
            name = _quoted(field.name)
            octets = f"bit_length({name}) // 8" if field.type.duckdb == "BIT" else f"octet_length(encode({name}))"
            longest = f"MAX({octets})" if field.type.octets else "0"
            found = self._cursor.execute(f"SELECT COUNT(*) - COUNT({name}), {longest} FROM temp.staged").fetchall()
            [[nulls, longest_found]] = found
            if nulls and field.required:
                raise _null(field)
            if field.type.octets and (longest_found or 0) > field.type.octets:
                kind = f"{field.type.name.capitalize()}({field.type.octets})"
                text = f"String of {longest_found} octets is too long for type {kind} for column {field.name}"
                raise ServerError(text, "22001", 4800)

    def _check_keys(self, table: Table) -> None:
        for key in table.definition.keys:
            names = ", ".join(map(_quoted, key))
            clash = self._cursor.execute(
                f"SELECT {names} FROM {self.visible(table)} GROUP BY {names} HAVING COUNT(*) > 1 LIMIT 1"
            ).fetchall()
            if clash:
                shown = ", ".join(f"{name}={value}" for name, value in zip(key, clash[0], strict=True))
                text = f"Duplicate key values: '{shown}' -- violates constraint of '{table.full_name}'"
                raise ServerError(text, "23505", 6745)

    # Transactions

    def commit(self) -> None:
        """Let everybody see what this session did."""
        self._end("DELETE FROM {0} WHERE _removed = {1}", "UPDATE {0} SET _added = 0 WHERE _added = {1}")

    def rollback(self) -> None:
        """Undo it."""
        self._end("DELETE FROM {0} WHERE _added = {1}", "UPDATE {0} SET _removed = 0 WHERE _removed = {1}")

    def _end(self, *statements: str) -> None:
        touched, self._touched = self._touched, set()
        if not touched:
            return
        with self._writing:
            self._cursor.execute("BEGIN")
            try:
                for table in touched:
                    for statement in statements:
                        self._cursor.execute(statement.format(table.stored, self._me))
                self._cursor.execute("COMMIT")
            except duckdb.Error:
                self._cursor.execute("ROLLBACK")
                raise


def session_id(session: int) -> str:
    return f"standin-{session}"


def explained(error: duckdb.Error) -> ServerError:
    """Return an error of DuckDB's as the one that a server would send."""
    text = str(error).splitlines()[0]
    quoted = re.search(r"(?:name |column |Column )\"?([\w.]+)\"?", text)
    name = quoted[1] if quoted else "?"
    if "conflict" in text.lower():
        return ServerError(f"Unavailable: initiator locks for query - Locking failure: {text[:120]}", "55V03", 5157)
    if isinstance(error, duckdb.CatalogException):
        return ServerError(f'Relation "{name}" does not exist', "42V01", 4566)
    if isinstance(error, duckdb.BinderException):
        return ServerError(f'Column "{name}" does not exist', "42703", 2624)
    return ServerError(text, "XX000", 2000)


def _null(field: Field) -> ServerError:
    return ServerError(f"Cannot set a NOT NULL column ({field.name}) to a NULL value in INSERT/UPDATE", "22004", 2501)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
