"""One client's session: log-in, simple and prepared queries, COPY, transactions."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from tests.vertica.standin import wire
from tests.vertica.standin.copying import Field, convert, parse_copy
from tests.vertica.standin.dialect import explained, parse_projection, parse_table, schemas_of, statements, translated
from tests.vertica.standin.server import DATABASE, PASSWORD, USER, StandIn
from tests.vertica.standin.wire import ClosedError, Column, Line, ServerError

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
_SYSTEM_SCHEMAS = {"v_catalog", "v_monitor", "public", "main"}


@dataclass
class Result:
    """What a statement gives: a tag, and rows if it has any."""

    tag: str
    columns: list[Column] = field(default_factory=list)
    rows: list[Sequence[Any]] = field(default_factory=list)


class Session:
    """A session; DuckDB's transaction begins with the first statement that writes."""

    def __init__(self, server: StandIn, line: Line) -> None:
        self.server, self.line = server, line
        self.label, self.process, self.log, self.loads = "", 0, "", False
        self._cursor = server.database.cursor()
        self._cursor.execute("SET schema = 'public'")
        self._open = False
        self._autocommit = False
        self._volatile: dict[str, bool] = {}
        self._fields: dict[str, tuple[Field, ...]] = {}
        self._accepted = self._rejected = 0
        self._refused_copy = False
        self._prepared: tuple[str, int] = ("", 0)
        self._bound: list[Any] = []

    def end(self) -> None:
        with suppress(duckdb.Error):
            self._finish("ROLLBACK")
            self._cursor.close()
        self.server.locks.release(self)
        self.line.cut()

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
            elif letter in "PDBECHS":
                self._extended(letter, data)
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
            right = wire.hashed_password(PASSWORD, user_salt, salt)
            if given.get("user") != USER or answer.rstrip(b"\0") != right:
                raise ServerError("Invalid username or password", "28000", 3781, "FATAL")
            self.server.admit(self)
        except ServerError as error:
            self.line.send("E", error.message())
            self.line.flush()
            return False
        self.label, self.process = given.get("client_label", ""), int(given.get("client_pid", 0))
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
        self.line.send("Z", b"T" if self._open else b"I")
        self.line.flush()

    # Simple queries

    def _simple(self, text: str) -> None:
        parts = statements(text)
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

    def _answer(self, result: Result, described: bool = False) -> None:
        if result.columns and not described:
            self.line.send("T", wire.row_description(result.columns, self.binary))
        for row in result.rows:
            self.line.send("D", wire.data_row(row, result.columns, self.binary))
        self.line.send("C", result.tag.encode() + b"\0")

    # Prepared statements

    def _extended(self, letter: str, data: bytes) -> None:
        try:
            self._prepared_message(letter, data)
        except ServerError as error:
            self.line.send("E", error.message())
            self.line.flush()
            while self.line.receive()[0] != "S":
                pass
            self._ready()

    def _prepared_message(self, letter: str, data: bytes) -> None:
        if letter == "P":
            text = data.split(b"\0")[1].decode()
            parts = statements(text)
            if len(parts) > 1:
                raise ServerError("Cannot insert multiple commands into a prepared statement", "42601", 2432)
            sql = parts[0] if parts else ""
            self._prepared = sql, len(re.findall(r"\?(?=(?:[^']*'[^']*')*[^']*$)", sql))
            self._described = self._describe(*self._prepared)
            self.line.send("1")
        elif letter == "D":
            sql, parameters = self._prepared
            self.line.send("t", wire.parameter_description([wire.VARCHAR] * parameters))
            columns = self._described
            self.line.send(*(("T", wire.row_description(columns, self.binary)) if columns else ("n", b"")))
            tag = sql.split()[0].upper() if sql else ""
            self.line.send("m", tag.encode() + b"\0" + struct.pack("!H", 0) + b"\0")
        elif letter == "B":
            self._bound = self._bind(data)
            self.line.send("2")
        elif letter == "E":
            self._answer(self._execute(self._prepared[0], self._bound), described=True)
        elif letter == "C":
            self.line.send("3")
        elif letter == "S":
            self._ready()
        self.line.flush()

    def _describe(self, sql: str, parameters: int) -> list[Column]:
        self._check_schemas(sql)
        word = sql.split()[0].upper() if sql else ""
        if word in ("INSERT", "UPDATE", "DELETE"):
            return [Column("OUTPUT", wire.INT)]
        if word != "SELECT" or "THROW_ERROR" in sql.upper():
            return []
        try:
            return self._columns(self._cursor.execute(f"{translated(sql)} LIMIT 0", [None] * parameters))
        except duckdb.Error:
            try:
                return self._columns(self._cursor.execute(translated(sql), [None] * parameters))
            except duckdb.Error as error:
                raise self._failed(error) from None

    def _bind(self, data: bytes) -> list[Any]:
        at = data.index(b"\0", data.index(b"\0") + 1) + 1
        formats, count = struct.unpack_from("!HH", data, at)
        at += 4 + 2 * formats + 4 * count
        values: list[Any] = []
        for _ in range(count):
            (size,) = struct.unpack_from("!i", data, at)
            at += 4
            values.append(None if size < 0 else data[at : at + size].decode())
            at += max(size, 0)
        if not self._prepared[0].upper().startswith("INSERT"):
            values = [int(v) if v is not None and re.fullmatch(r"-?\d+", v) else v for v in values]
        return values

    # Statements

    def _execute(self, sql: str, values: Sequence[Any] = ()) -> Result:
        word = sql.split()[0].upper()
        try:
            self.server.happens("statement", self, sql)
            self._check_schemas(sql)
            if word in ("COMMIT", "ROLLBACK", "END"):
                self._finish("ROLLBACK" if word == "ROLLBACK" else "COMMIT")
                return Result(word)
            if word == "BEGIN":
                return Result(word)
            if word == "SET":
                return self._set(sql)
            if word in ("CREATE", "DROP", "TRUNCATE", "ALTER"):
                return self._define(word, sql)
            if word == "COPY":
                return self._copy(sql)
            if word == "LOCK":
                return self._lock_table(sql)
            if word in ("INSERT", "UPDATE", "DELETE"):
                return self._change(word, sql, values)
            if word not in ("SELECT", "EXPLAIN", "PROFILE", "SHOW", "WITH"):
                raise ServerError(f'Syntax error at or near "{word}"', "42601", 4856)
            return self._select(sql, values)
        except duckdb.Error as error:
            raise self._failed(error) from None
        except ServerError:
            self._finish("ROLLBACK")
            raise

    def _failed(self, error: duckdb.Error) -> ServerError:
        self._finish("ROLLBACK")
        return explained(error)

    def _check_schemas(self, sql: str) -> None:
        for name in schemas_of(sql) - _SYSTEM_SCHEMAS:
            found = self._cursor.execute("SELECT 1 FROM duckdb_schemas() WHERE schema_name = ?", [name]).fetchall()
            if not found and not sql.upper().startswith("DROP TABLE IF EXISTS"):
                raise ServerError(f'Schema "{name}" does not exist', "3F000", 4650)

    def _begin(self) -> None:
        if not self._open:
            self._cursor.execute("BEGIN")
            self._open = True

    def _finish(self, how: str) -> None:
        if self._open:
            self._open = False
            try:
                self._cursor.execute(how)
            except duckdb.Error:
                with suppress(duckdb.Error):
                    self._cursor.execute("ROLLBACK")
                if how == "COMMIT":
                    raise
            finally:
                for name, keep in self._volatile.items():
                    if not keep:
                        self._cursor.execute(f"DELETE FROM {name}")
                self.server.locks.release(self)
        else:
            self.server.locks.release(self)

    def _set(self, sql: str) -> Result:
        if "AUTOCOMMIT" in sql.upper():
            self._autocommit = sql.upper().endswith("ON")
            self.line.send("S", wire.parameter("auto_commit", "on" if self._autocommit else "off"))
        return Result("SET")

    def _define(self, word: str, sql: str) -> Result:
        self._finish("COMMIT")
        kind = sql.split()[1].upper()
        if word == "CREATE" and kind == "PROJECTION":
            _, check = parse_projection(sql)
            self._cursor.execute(check)
        elif word == "CREATE" and kind != "SCHEMA":
            table = parse_table(sql)
            key = self._key(table.name)
            if key in self.server.fields and "IF NOT EXISTS" in table.sql:
                notice = ServerError(f'Object "{table.name}" already exists; nothing was done', "00000", 4214, "NOTICE")
                self.line.send("N", notice.message())
            self._cursor.execute(table.sql)
            if table.temporary:
                self._fields[key] = table.fields
                self._volatile[table.name] = table.keep_rows
            else:
                self.server.fields.setdefault(key, table.fields)
            if table.enforced_key:
                self.server.enforced.add(key)
        elif word == "DROP" and kind == "TABLE":
            self._cursor.execute(re.sub(r"\s+CASCADE\s*$", "", sql, flags=re.I))
            name = sql.split()[-1 if not sql.upper().endswith("CASCADE") else -2]
            self.server.fields.pop(self._key(name), None)
        elif word == "CREATE":
            self._cursor.execute(re.sub(r"\s+DEFAULT\s+INCLUDE\s+PRIVILEGES\s*$", "", sql, flags=re.I))
        else:
            self._cursor.execute(sql)
        return Result(f"{word} {kind}")

    def _lock_table(self, sql: str) -> Result:
        found = re.fullmatch(r"LOCK\s+TABLE\s+([\w.]+)\s+IN\s+EXCLUSIVE\s+MODE(\s+NOWAIT)?", sql, re.I)
        if not found:
            raise ServerError('Syntax error at or near "LOCK"', "42601", 4856)
        key = self._key(found[1])
        if key not in self.server.fields:
            raise ServerError(f'Relation "{found[1]}" does not exist', "42V01", 4566)
        self.server.locks.take(key, self, "X", 0.0 if found[2] else None)
        self._begin()
        return Result("LOCK TABLE")

    def _change(self, word: str, sql: str, values: Sequence[Any]) -> Result:
        found = re.match(r"(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+([\w.\"]+)", sql, re.I)
        key = self._key(found[1]) if found else ""
        self.server.locks.take(key, self, "I" if word == "INSERT" and key not in self.server.enforced else "X")
        self._begin()
        [[count]] = self._cursor.execute(translated(sql), list(values)).fetchall()
        if self._autocommit:
            self._finish("COMMIT")
        return Result(word, [Column("OUTPUT", wire.INT)], [[count]])

    def _select(self, sql: str, values: Sequence[Any]) -> Result:
        thrown = re.search(r"THROW_ERROR\('([^']*)'\)", sql, re.I)
        if thrown:
            raise ServerError(f"USER GENERATED ERROR: {thrown[1]}", "V0002", 7137)
        if re.match(r"(EXPLAIN|PROFILE)\s", sql, re.I):
            self._cursor.execute(translated(re.sub(r"^PROFILE", "EXPLAIN", sql, flags=re.I)), list(values))
            return Result("EXPLAIN", [Column("QUERY PLAN", wire.VARCHAR)], [["a plan of the stand-in's"]])
        counted = re.fullmatch(r"SELECT\s+GET_NUM_(ACCEPTED|REJECTED)_ROWS\(\)", sql, re.I)
        if counted:
            rows = [[self._accepted if counted[1].upper() == "ACCEPTED" else self._rejected]]
            return Result("SELECT", [Column("count", wire.INT)], rows)
        if re.match(r"SELECT\s+(ANALYZE_STATISTICS|CURRENT_SESSION)\b", sql, re.I):
            return Result("SELECT", [Column("result", wire.INT)], [[0]])
        done = self._cursor.execute(translated(sql), list(values))
        columns = self._columns(done)
        rows = done.fetchall()
        for place, (_, kind, *_) in enumerate(done.description or ()):
            if str(kind) == "BIT":
                rows = [(*r[:place], _bytes(r[place]), *r[place + 1 :]) for r in rows]
        return Result("SELECT", columns, rows)

    @staticmethod
    def _columns(done: duckdb.DuckDBPyConnection) -> list[Column]:
        def oid(kind: str) -> int:
            return wire.NUMERIC if kind.startswith("DECIMAL") else _OIDS.get(kind, wire.VARCHAR)

        return [Column(name, oid(str(kind))) for name, kind, *_ in done.description or ()]

    def _key(self, name: str) -> str:
        name = name.replace('"', "").lower()
        return name if "." in name else f"public.{name}"

    # COPY

    def _copy(self, sql: str) -> Result:
        copy = parse_copy(sql)
        key = self._key(copy.table)
        temporary = key in self._fields
        declared = self._fields.get(key) or self.server.fields.get(key)
        if declared is None:
            raise ServerError(f'Relation "{copy.table}" does not exist', "42V01", 4566)
        by_name = {f.name.lower(): f for f in declared}
        named = copy.columns or tuple((f.name, False) for f in declared)
        missing = [name for name, _ in named if name.lower() not in by_name]
        if missing:
            raise ServerError(f'Column "{missing[0]}" does not exist', "42703", 2624)
        fields = [by_name[name.lower()] for name, _ in named]
        if not temporary:
            self.server.locks.take(key, self, "X" if key in self.server.enforced else "I")
        self._begin()
        columns, rejected = convert(self._stream(copy.table), copy, fields, [h for _, h in named])
        self._append(copy.table, fields, columns)
        self._accepted, self._rejected = len(columns[0]), len(rejected)
        if copy.commit:
            self._finish("COMMIT")
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

    def _append(self, table: str, fields: list[Field], columns: list[list[Any]]) -> None:
        types = {"BIGINT": pa.int64(), "BIT": pa.string(), "VARCHAR": pa.string(), "BOOLEAN": pa.string()}
        arrays = [pa.array(c, types.get(f.type, pa.string())) for c, f in zip(columns, fields, strict=True)]
        self._cursor.register("incoming", pa.table(arrays, names=[f.name for f in fields]))
        names = ", ".join(f.name for f in fields)
        casts = ", ".join(f"{f.name}::BIT" if f.type == "BIT" else f.name for f in fields)
        self._cursor.execute(f"INSERT INTO {table} ({names}) SELECT {casts} FROM incoming").fetchall()
        self._cursor.unregister("incoming")


def _bytes(bits: str | None) -> bytes | None:
    return None if bits is None else int(bits, 2).to_bytes(len(bits) // 8, "big")
