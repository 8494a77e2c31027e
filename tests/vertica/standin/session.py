"""One client's session: log-in, queries, COPY, transactions."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import duckdb

from tests.vertica.standin import wire
from tests.vertica.standin.catalogue import Table, missing_table
from tests.vertica.standin.copying import convert
from tests.vertica.standin.definitions import Definitions
from tests.vertica.standin.server import DATABASE, StandIn
from tests.vertica.standin.statements import Change, Copy, Field, Names, Statement
from tests.vertica.standin.storage import Records, explained, session_id
from tests.vertica.standin.syntax import parse
from tests.vertica.standin.system_tables import Started, View
from tests.vertica.standin.tokens import split
from tests.vertica.standin.wire import ClosedError, Column, Line, ServerError
from tests.vertica.standin.words import OTHERS_CALL

_OIDS = {
    "BOOLEAN": wire.BOOL,
    "BIGINT": wire.INT,
    "INTEGER": wire.INT,
    "HUGEINT": wire.INT,
    "DOUBLE": wire.FLOAT,
    "BIT": wire.VARBINARY,
    "BLOB": wire.VARBINARY,
    "DATE": wire.DATE,
    "TIME": wire.TIME,
    "TIMESTAMP": wire.TIMESTAMP,
    "UUID": wire.UUID,
}
_SYSTEM_SCHEMAS = ("v_catalog", "v_monitor", "v_internal")
_ALONE = {*OTHERS_CALL, "ANALYZE_STATISTICS", "GET_NUM_ACCEPTED_ROWS"} - {"ATAN", "CURRENT_SESSION"}
"""Functions that a query calls alone or not at all."""
_WRITES = ("INSERT", "UPDATE", "DELETE")


@dataclass
class Result:
    """What a statement gives: a tag, and rows if it has any."""

    tag: str
    columns: list[Column] = field(default_factory=list)
    rows: Sequence[Sequence[Any]] = ()


class Session:
    """A session; its transaction begins with the first statement that writes."""

    def __init__(self, server: StandIn, line: Line) -> None:
        self.server, self.line = server, line
        self.user, self.label, self.process, self.log, self.loads = "", "", 0, "", False
        self.number = next(server.numbers)
        self.started = Started(session_id(self.number))
        self.records = Records(server.storage, self.number)
        self.temporary: dict[str, Table] = {}
        self.made: list[Table] = []
        """Temporary tables of the open transaction."""
        self.is_open = False
        self._definitions = Definitions(self)
        self._autocommit = False
        self._accepted = 0
        self._refused_copy = False

    def end(self) -> None:
        with suppress(duckdb.Error):
            self.finish(commit=False)
            for table in self.temporary.values():
                self.records.drop(table)
        self.records.close()
        self.server.locks.release(self)

    def run(self) -> None:
        if not self._log_in():
            return
        while True:
            letter, data = self.line.receive()
            if letter == "X":
                return
            if letter == "Q":
                self._simple(data.rstrip(b"\0").decode())
                self._ready()
            elif letter in "dcf" and self._refused_copy:
                self._refused_copy = letter == "d"  # what is still under way of a COPY that failed is dropped
            else:
                raise ClosedError

    # Log-in

    def _log_in(self) -> bool:
        given = self.line.start()
        salt, user_salt = os.urandom(4), os.urandom(16)
        self.line.send("R", wire.challenge(user_salt, salt))
        self.line.flush()
        _, answer = self.line.receive()
        try:
            if given.get("database", DATABASE) not in ("", DATABASE):
                raise ServerError(f'Database "{given["database"]}" does not exist', "3D000", 2983, "FATAL")
            password = self.server.catalogue.users.get(given.get("user", ""))
            if password is None or answer.rstrip(b"\0") != wire.hashed_password(password, user_salt, salt):
                raise ServerError("Invalid username or password", "28000", 3781, "FATAL")
            self.server.admit(self)
        except ServerError as error:
            self.line.send("E", error.message())
            self.line.flush()
            return False
        self.user = given["user"]
        self.label, self.process = given.get("client_label", ""), int(given.get("client_pid", 0))
        os_user, host = given.get("client_os_user_name", ""), given.get("client_os_hostname", "")
        self.started = Started(session_id(self.number), self.user, self.label, os_user, host)
        self.binary = given.get("binary_data_protocol") == "1"
        self._autocommit = given.get("autocommit") == "on"
        self.line.send("R", struct.pack("!I", 0))
        self.line.send("S", wire.parameter("protocol_version", str(wire.PROTOCOL)))
        self.line.send("S", wire.parameter("request_complex_types", "off"))
        self.line.send("S", wire.parameter("auto_commit", "on" if self._autocommit else "off"))
        self.line.send("K", struct.pack("!II", os.getpid(), 1))
        self._ready()
        return True

    def _ready(self) -> None:
        self.line.send("Z", b"T" if self.is_open else b"I")
        self.line.flush()

    # Simple queries

    def _simple(self, text: str) -> None:
        parts = split(text)
        if not parts:
            self.line.send("I")
        for sql in parts:
            try:
                result = self._execute(sql)
                self.server.happens("done", self, sql)
                self._answer(result)
            except ServerError as error:
                self.line.send("E", error.message())
                return

    def _answer(self, result: Result) -> None:
        if result.columns:
            self.line.send("T", wire.row_description(result.columns, self.binary))
        for row in result.rows:
            self.line.send("D", wire.data_row(row, result.columns, self.binary))
        self.line.send("C", result.tag.encode() + b"\0")

    # Statements

    def _execute(self, sql: str) -> Result:
        try:
            self.server.happens("statement", self, sql)
            statement = parse(sql)
            result = self._done(statement)
            if self._autocommit and statement.kind not in ("BEGIN", "LOCK"):
                self.finish(commit=True)
            return result
        except duckdb.Error as error:
            self.finish(commit=False)
            raise explained(error) from None
        except ServerError:
            self.finish(commit=False)
            raise

    def _done(self, statement: Statement) -> Result:
        kind, detail = statement.kind, statement.detail
        if kind in ("COMMIT", "ROLLBACK", "END"):
            self.finish(commit=kind != "ROLLBACK")
            return Result(kind)
        if kind == "SELECT":
            return self._select(statement)
        if kind == "EXPLAIN":
            return self._planned(statement)
        if isinstance(detail, Change):
            return self._change(statement, detail)
        if isinstance(detail, Copy):
            return self._copy(detail)
        if kind == "LOCK":
            return self._lock_table(detail)
        if kind == "SET":
            return self._set(detail)
        if kind != "BEGIN":
            self._definitions.run(statement)
        return Result(kind)

    def finish(self, *, commit: bool) -> None:
        """End the transaction, and with it all locks."""
        made, self.made = self.made, []
        self.is_open = False
        try:
            if commit:
                self.records.commit()
            else:
                self.records.rollback()
                for table in made:
                    self.temporary.pop(table.name, None)
                    self.records.drop(table)
        finally:
            self.server.locks.release(self)

    def notice(self, text: str, code: int) -> None:
        self.line.send("N", ServerError(text, "00000", code, "NOTICE").message())

    def _set(self, detail: object) -> Result:
        assert isinstance(detail, Names)
        self._autocommit = detail.word == "ON"
        self.line.send("S", wire.parameter("auto_commit", detail.word.lower()))
        return Result("SET")

    # Tables

    def table(self, name: str, *privileges: str) -> Table:
        """Return a table that the user has any of some privileges on; one's own temporary tables come first."""
        if name in self.temporary:
            return self.temporary[name]
        with self.server.guard:
            table = self.server.catalogue.table(name)
            self.server.catalogue.need(self.user, privileges, table)
            return table

    def take_lock(self, table: Table, mode: str, timeout: float | None = None) -> None:
        """Wait for a lock on a table that others see."""
        if not table.definition.temporary:
            self.server.locks.take(table.full_name, self, mode, timeout)

    def _readable(self, name: str) -> str:
        """Return what DuckDB reads instead of a table."""
        schema, _, short = name.rpartition(".")
        if schema in _SYSTEM_SCHEMAS:
            shown = self._system_table(name)
            if shown is None:
                raise missing_table(name)
            return shown
        try:
            return self.records.visible(self.table(name, "SELECT"))
        except ServerError:
            places = () if schema else _SYSTEM_SCHEMAS
            for found in filter(None, (self._system_table(f"{place}.{short}") for place in places)):
                return found
            raise

    def _system_table(self, name: str) -> str | None:
        server = self.server
        with server.guard:
            sessions = [session.started for session in server.sessions]
            view = View(server.catalogue, self.started, sessions, self.records.count)
            found = view.table(name)
        if found is None:
            return None
        shown = name.replace(".", "_")
        self.records.show(shown, found)
        return shown

    def _rendered(self, statement: Statement, span: tuple[int, int] | None = None) -> str:
        """Return a statement, or a part of it, in DuckDB's words."""
        start, end = span or (0, len(statement.text))
        replaced = [*statement.replaced, *self._nulls_of_texts(statement)]
        for ref in statement.refs:
            if start <= ref.start and ref.end <= end:
                alias = "" if ref.has_alias else f' AS "{ref.name.rpartition(".")[2]}"'
                replaced.append((ref.start, ref.end, self._readable(ref.name) + alias))
        parts = []
        for first, last, text in sorted(replaced):
            if start <= first and last <= end:
                parts += [statement.text[start:first], text]
                start = last
        return "".join([*parts, statement.text[start:end]])

    def _nulls_of_texts(self, statement: Statement) -> list[tuple[int, int, str]]:
        """Return where DuckDB has to be told that a null is larger than any text; it is smaller than any number."""
        tables = [self.temporary.get(ref.name) or self._known(ref.name) for ref in statement.refs]
        fields = [each for table in tables if table for each in table.definition.fields]
        texts = {each.name.lower() for each in fields if each.type.duckdb == "VARCHAR"}
        words = {True: " NULLS FIRST", False: " NULLS LAST"}
        return [(each.end, each.end, words[each.descends]) for each in statement.ordered if each.name in texts]

    # Changes

    def _lock_table(self, detail: object) -> Result:
        assert isinstance(detail, Names)
        table = self.table(detail.names[0], *_WRITES)
        self.take_lock(table, "X", 0.0 if detail.word else None)
        self.is_open = True
        return Result("LOCK TABLE")

    def _change(self, statement: Statement, change: Change) -> Result:
        table = self.table(change.table, statement.kind)
        if change.where is not None:
            table = self.table(change.table, "SELECT")
        keys = table.definition.keys
        fields = [_field(table, name) for name in change.columns] or list(table.definition.fields)
        self.take_lock(table, "I" if statement.kind == "INSERT" and not keys else "X")
        self.is_open = True
        where = "TRUE" if change.where is None else self._rendered(statement, change.where)
        alias = change.alias or table.name
        if statement.kind == "INSERT":
            count = self.records.insert(table, fields, self._rendered(statement, change.source))
        elif statement.kind == "DELETE":
            count = self.records.delete(table, alias, where)
        else:
            new = {f.name.lower(): self._rendered(statement, s) for f, s in zip(fields, change.values, strict=True)}
            count = self.records.update(table, alias, new, where)
        return Result(statement.kind, [Column("OUTPUT", wire.INT)], [[count]])

    # Queries

    def _select(self, statement: Statement) -> Result:
        if set(statement.functions) & _ALONE:
            return self._called(statement)
        done = self.records.query(self._rendered(statement))
        columns = self._columns(done)
        rows = done.fetchall()
        for place, (_, kind, *_) in enumerate(done.description or ()):
            if str(kind) == "BIT":
                rows = [(*r[:place], _bytes(r[place]), *r[place + 1 :]) for r in rows]
        return Result("SELECT", columns, rows)

    def _called(self, statement: Statement) -> Result:
        """Call a function that is not about records."""
        found = re.fullmatch(r"SELECT\s+(\w+)\s*\(\s*(?:'([^']*)')?\s*\)", statement.text, re.I)
        if not found:
            raise ServerError(f"{statement.functions[0]} is called alone here", "0A000", 5366)
        name, argument = found[1].upper(), found[2] or ""
        if name == "THROW_ERROR":
            raise ServerError(f"USER GENERATED ERROR: {argument}", "V0002", 7137)
        if name == "VERSION":
            return Result("SELECT", [Column("VERSION", wire.VARCHAR)], [["a protocol stand-in, not Vertica"]])
        if name == "ANALYZE_STATISTICS":
            self.table(argument.lower(), *_WRITES)
        count = self._accepted if name == "GET_NUM_ACCEPTED_ROWS" else 0
        return Result("SELECT", [Column(name, wire.INT)], [[count]])

    def _planned(self, statement: Statement) -> Result:
        """Tell which projections a query reads."""
        start = re.match(r"\s*\w+\s+", statement.text)
        assert start is not None
        query = parse(statement.text[start.end() :])
        tables = [table for ref in query.refs if (table := self._known(ref.name))]
        used = dict.fromkeys(f"{table.schema}.{table.projection}" for table in tables)
        self.records.query(f"EXPLAIN {self._rendered(query)}")
        lines = ["Access Path of the stand-in:", *(f"+-STORAGE ACCESS, Projection: {name}" for name in used)]
        return Result("EXPLAIN", [Column("QUERY PLAN", wire.VARCHAR)], [[line] for line in lines])

    def _known(self, name: str) -> Table | None:
        with self.server.guard:
            return self.server.catalogue.tables.get(name if "." in name else f"public.{name}")

    @staticmethod
    def _columns(done: duckdb.DuckDBPyConnection) -> list[Column]:
        def oid(kind: str) -> int:
            return wire.NUMERIC if kind.startswith("DECIMAL") else _OIDS.get(kind, wire.VARCHAR)

        return [Column(name, oid(str(kind))) for name, kind, *_ in done.description or ()]

    # COPY

    def _copy(self, copy: Copy) -> Result:
        table = self.table(copy.table, "INSERT")
        named = [(column.name, column.hexadecimal) for column in copy.columns]
        named = named or [(each.name, False) for each in table.definition.fields]
        fields = [_field(table, name) for name, _ in named]
        self.take_lock(table, "X" if table.definition.keys else "I")
        self.is_open = True
        columns = convert(self._stream(copy.table), copy, fields, [h for _, h in named])
        self.records.append(table, fields, columns)
        self._accepted = len(columns[0])
        if copy.commit:
            self.finish(commit=True)
        return Result("COPY")

    def _stream(self, table: str) -> bytes:
        names = struct.pack("!BH", 0, 0)
        self.line.send("G", names)
        self.line.flush()
        data = bytearray()
        while True:
            letter, chunk = self.line.receive()
            if letter == "c":
                return bytes(data)
            if letter == "f":
                raise ServerError(f"COPY from stdin failed: {chunk.rstrip(bytes(1)).decode()}", "57014", 3322)
            data += chunk
            try:
                self.server.happens("copy data", self, table)
            except ServerError:
                self._refused_copy = True
                raise


def _field(table: Table, name: str) -> Field:
    for field_ in table.definition.fields:
        if field_.name.lower() == name.lower():
            return field_
    raise ServerError(f'Column "{name}" does not exist', "42703", 2624)


def _bytes(bits: str | None) -> bytes | None:
    return None if bits is None else int(bits, 2).to_bytes(len(bits) // 8, "big")
