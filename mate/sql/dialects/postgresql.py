"""PostgreSQL: an index on what is looked up, super keys as BIT, COPY in both directions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import errors

from mate.errors import StoreError
from mate.lake.base import Ids
from mate.sql.address import Address, Password
from mate.sql.copy_text import CSV, lines
from mate.sql.dialects.base import Columns, Dialect, LoadCounts
from mate.sql.failures import (
    NO_ROOM,
    NOT_ALLOWED,
    NOT_THERE,
    BusyError,
    ConnectionLostError,
    DuplicateKeyError,
    ForbiddenError,
    MissingError,
    NoFreeSessionError,
    NoRoomError,
)
from mate.sql.schema import MANIFEST, Column, Content, Generation, Shape

_HEAD = 19
"""Octets in front of the records of a binary COPY."""
_PLANNING = {"jit": "off", "random_page_cost": "1.1", "work_mem": "64MB"}
"""Settings of every session. Compiling a statement takes longer than most searches; a page of an index that is used
all day is in memory, not a turn of a disk away, else the planner goes through all postings to find a few thousand; and
rows that passed the filter are sorted in memory."""
_SENT_AT_ONCE = 5_000
"""Up to so many records of a temporary table are sent as constants, with all statements that it takes."""
_INDEXED = {  # what searches ask of cells, an index answers alone
    "postings": "token_id, table_id, row_id",
    "cells": "table_id, row_id, token_id, column_id, piece",
    "super_keys": "table_id, row_id",
    "tokens": "token_id",
    "tables": "table_id",
    "columns": "table_id",
}

_KINDS: list[tuple[type[psycopg.Error], type[StoreError], str, str]] = [
    (errors.UniqueViolation, DuplicateKeyError, "", ""),
    (errors.DiskFull, NoRoomError, "the database has no room left: ", NO_ROOM),
    (errors.InsufficientPrivilege, ForbiddenError, "", NOT_ALLOWED),
    (errors.UndefinedTable, MissingError, "", NOT_THERE),
    (errors.InvalidSchemaName, MissingError, "", NOT_THERE),
    (errors.LockNotAvailable, BusyError, "", ""),
    (errors.DeadlockDetected, BusyError, "", ""),
    (errors.TooManyConnections, NoFreeSessionError, "", ""),
    (errors.AdminShutdown, ConnectionLostError, "the connection was lost: ", ""),
    (errors.CrashShutdown, ConnectionLostError, "the connection was lost: ", ""),
    (errors.CannotConnectNow, ConnectionLostError, "", ""),
]
"""Errors of a server, what they are to us, what stands in front of the message, and what there is to do."""


class PostgreSql(Dialect):
    """PostgreSQL's words."""

    sorts_cells = False
    types: ClassVar = {
        Content.NUMBER: "BIGINT",
        Content.PLACE: "INTEGER",
        Content.KEY: "BIT({bits})",
        Content.WIDE_KEY: "BIT VARYING",
        **dict.fromkeys(
            (
                Content.PRINTS,
                Content.PRINT,
                Content.TOKEN,
                Content.CELL,
                Content.PATH,
                Content.TEXT,
                Content.WORD,
            ),
            'TEXT COLLATE "C"',
        ),
    }

    keep_session = (
        "SELECT set_config(name, '0', false) FROM pg_settings"
        " WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')"
    )
    """The second is new in version 17."""

    def after_load(self, generation: Generation, shape: Shape, counts: LoadCounts) -> list[str]:
        """SQL that creates indexes, which is quicker than to keep them up while records come.

        Few tokens have most of the postings, so that a sample shows far fewer different ones than there are, and the
        planner would take a look-up of tokens for one of most postings. The true number is told to it.
        """
        names = {table.name: generation.table(table.name) for table in shape.kept_tables()}
        distinct = f"ALTER COLUMN token_id SET (n_distinct = {-counts.tokens / max(1, counts.postings):.9f})"
        indexes = [f"CREATE INDEX ON {names[name]} ({on})" for name, on in _INDEXED.items() if name in names]
        return [f"ALTER TABLE {names['postings']} {distinct}", *indexes]

    def after_commit(self, generation: Generation, shape: Shape) -> list[str]:
        """SQL that collects statistics and notes that all records are visible, which lets an index answer alone."""
        return [f"VACUUM (ANALYZE) {generation.table(table.name)}" for table in shape.kept_tables()]

    def readers(self, schema: str) -> str:
        """SQL for the roles that may read the manifest: what they can do with it they can do with the index."""
        return (
            "SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END"
            " FROM pg_class AS c INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace,"
            f" LATERAL aclexplode(c.relacl) AS a WHERE n.nspname = '{schema}' AND c.relname = '{MANIFEST}'"
            " AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner"
        )

    def temporary(self, name: str, columns: Sequence[Column]) -> str:
        """SQL that creates a table of this session."""
        listed = ", ".join(self.definition(column) for column in columns)
        return f"CREATE TEMPORARY TABLE IF NOT EXISTS {name} ({listed}) ON COMMIT PRESERVE ROWS"

    def after_fill(self, name: str) -> str:
        """SQL that collects statistics of a temporary table, which nobody else does: unknown ones pass for large."""
        return f"ANALYZE {name}"

    def filling(self, name: str, columns: Sequence[Column], records: Columns) -> str:
        """SQL that fills a temporary table, several statements in one message; more records are left to COPY."""
        if not 0 < len(records[0]) <= _SENT_AT_ONCE:
            return ""
        values = (
            ", ".join(self.literal(column, value) for column, value in zip(columns, record, strict=True))
            for record in zip(*(column.to_pylist() for column in records), strict=True)
        )
        insert = f"INSERT INTO {name} VALUES {', '.join(f'({own})' for own in values)}"
        return "; ".join([self.temporary(name, columns), self.empty(name), insert, self.after_fill(name)])

    def filtered(self, column: str) -> str:
        """Return the column as an expression: a look-up per row and listed number would cost more than to read all
        cells of the row, or so the planner thinks, and goes through all cells of the index instead."""
        return f"({column} + 0)"

    def key_literal(self, key: bytes) -> str:
        """Return a super key as a constant."""
        return f"X'{key.hex()}'"

    def sizes(self, schema: str, tables: Sequence[str]) -> str:
        """SQL for the bytes of tables, their indexes included."""
        return (
            "SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class AS c"
            f" INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = '{schema}' AND c.relkind = 'r'"
        )

    def connect(self, address: Address, password: Password, *, writes: bool) -> PostgreSqlClient:
        """Connect to the server."""
        return PostgreSqlClient(address, password, writes=writes)


class PostgreSqlClient:
    """A connection; not to be shared between threads."""

    def __init__(self, address: Address, password: Password, *, writes: bool) -> None:
        self._address, self._password = address, password
        with self._explained():
            self._connection = psycopg.connect(**options(address, password), autocommit=not writes)
            self._connection.prepare_threshold = None  # statements differ, and temporary tables come and go
            self._cursor = self._connection.cursor()

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Sequence[Any]]:
        """Run a statement and return its rows."""
        with self._explained():
            done = self._cursor.execute(statement, [_escaped(v) if isinstance(v, str) else v for v in values] or None)
            rows = done.fetchall() if done.description else []
            return [[decoded(v) if isinstance(v, str) and _ESCAPE in v else v for v in row] for row in rows]

    def numbers(self, statement: str, octets: Sequence[int]) -> list[Ids]:
        """Run a query by COPY in binary, whose records have all the same size if nothing is null."""
        copy = f"COPY ({statement}) TO STDOUT (FORMAT BINARY)"
        with self._explained(), self._cursor.copy(copy) as stream:
            data = b"".join(stream)
        return _columns(data, octets)

    def load(self, table: str, columns: Sequence[Column], batches: Iterable[Columns]) -> int:
        """Stream records by COPY."""
        names = ", ".join(column.name for column in columns)
        copy = f"COPY {table} ({names}) FROM STDIN (FORMAT csv)"
        with self._explained():
            with self._cursor.copy(copy) as stream:
                for batch in batches:
                    for piece in lines([encoded(column) for column in batch], CSV):
                        stream.write(piece)
            return self._cursor.rowcount

    def commit(self) -> None:
        """Send COMMIT."""
        with self._explained():
            self._connection.commit()

    def rollback(self) -> None:
        """Send ROLLBACK."""
        with self._explained():
            self._connection.rollback()

    def close(self) -> None:
        """Close the connection; what was not committed is undone by the server."""
        with suppress(psycopg.Error, OSError):
            self._connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Tell errors in one line: what, where, what to do. Statements stay out: they may hold values."""
        try:
            yield
        except (psycopg.Error, OSError, UnicodeError) as error:
            kind, text = _kind(error, self._address)
            raise kind(self._password.hidden(f"{self._address}: {text}")) from None


def options(address: Address, password: Password) -> dict[str, Any]:
    """Return what psycopg is given; the session is kept alive while it waits for long steps of others."""
    files = {"sslrootcert": address.tls_cafile, "sslcert": address.tls_certfile, "sslkey": address.tls_keyfile}
    wait = {"statement_timeout": f"{round(1_000 * address.timeout)}"} if address.timeout else {}
    settings = (f"-c {name}={value}" for name, value in (_PLANNING | wait).items())
    return {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "dbname": address.database,
        "sslmode": address.tls,
        **({"password": password.value} if password.value else {}),
        **{name: path for name, path in files.items() if path},
        "options": " ".join([*settings, os.environ.get("PGOPTIONS", "")]).strip(),
        "connect_timeout": max(2, round(address.connect_timeout)),
        "application_name": address.label,
        "client_encoding": "utf8",
        "keepalives_idle": 60,
        "keepalives_interval": 15,
        "keepalives_count": 8,
    }


def _columns(data: bytes, octets: Sequence[int]) -> list[Ids]:
    """Return the columns of a binary COPY's records; the first record tells how wide each is."""
    end = len(data) - 2  # a record of -1 fields
    if end <= _HEAD:
        return [np.empty(0, np.int64) for _ in range(sum(octets) // 8)]
    fields: list[tuple[str, str, int | tuple[int, ...]]] = [("count", ">i2", 1)]
    at = _HEAD + 2
    for number, wanted in enumerate(octets):
        size = int.from_bytes(data[at : at + 4], "big")
        fields.append((f"size{number}", ">i4", 1))
        if wanted == 8 and size in (4, 8):
            fields.append((f"value{number}", f">i{size}", 1))
        else:
            fields += [(f"bits{number}", ">i4", 1), (f"value{number}", ">i8", (wanted // 8,))]
        at += 4 + size
    records = np.frombuffer(
        data,
        np.dtype([(n, t) if s == 1 else (n, t, s) for n, t, s in fields]),
        offset=_HEAD,
        count=(end - _HEAD) // (at - _HEAD),
    )
    found: list[Ids] = []
    for number in range(len(octets)):
        values = records[f"value{number}"].astype(np.int64)
        found += [values] if values.ndim == 1 else [np.ascontiguousarray(word) for word in values.T]
    return found


# PostgreSQL's texts cannot hold the character 0.

_ESCAPE = "\x10"
_ESCAPED = re.compile(f"{_ESCAPE}(.)", re.DOTALL)


def encoded(column: pa.Array) -> pa.Array:
    """Return texts without the character 0; `decoded` brings it back."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    special = [pc.any(pc.match_substring(column, character)).as_py() for character in (_ESCAPE, "\0")]
    if any(special):
        column = pc.replace_substring(column, _ESCAPE, _ESCAPE + _ESCAPE)
        column = pc.replace_substring(column, "\0", _ESCAPE + "0")
    return column


def _escaped(text: str) -> str:
    """Return a text that is bound as `encoded` stores it."""
    return text.replace(_ESCAPE, _ESCAPE + _ESCAPE).replace("\0", _ESCAPE + "0")


def decoded(text: str) -> str:
    """Return a text as it was."""
    return _ESCAPED.sub(lambda found: "\0" if found[1] == "0" else found[1], text)


def _kind(error: Exception, address: Address) -> tuple[type[StoreError], str]:
    text = " ".join(str(error).split())
    for of_theirs, ours, before, hint in _KINDS:
        if isinstance(error, of_theirs):
            return ours, f"{before}{text}{'; ' + hint if hint else ''}"
    if isinstance(error, errors.DataError):
        return StoreError, f"a record was rejected: {text}"
    if getattr(error, "sqlstate", None) is None and isinstance(error, psycopg.OperationalError | OSError):
        return _connecting(text, address)
    return StoreError, text


def _connecting(text: str, address: Address) -> tuple[type[StoreError], str]:
    """Tell what goes wrong on the way to a server, of which libpq has only the text."""
    if "password" in text or "authentication failed" in text or ("role" in text and "does not exist" in text):
        hint = f"set {address.password_variable} or add passfile=PATH to the address"
        return StoreError, f"the server refuses user {address.user}: wrong user name or password; {hint}"
    if "too many clients" in text or "remaining connection slots" in text or "too many connections" in text:
        return NoFreeSessionError, "the server has no free session; wait, or lower connections= in the address"
    if "SSL" in text or "certificate" in text:
        return StoreError, f"no encrypted connection (tlsmode={address.tls}): {text}"
    if "FATAL" in text and "terminating" not in text:
        return ConnectionLostError, f"the server refuses: {text.rpartition('FATAL:')[2].strip()}"
    if "Connection refused" in text or "could not translate" in text or "timeout" in text or "No route" in text:
        where = f"{address.host}:{address.port}"
        return ConnectionLostError, f"no server answers at {where}; is it running, is the port right?"
    return ConnectionLostError, f"the connection was lost ({text})"


DIALECT = PostgreSql()
