"""PostgreSQL: an index on what is looked up, super keys as BIT, COPY in both directions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from typing import Any, ClassVar

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import errors
from pyarrow.csv import WriteOptions, read_csv, write_csv

from mate.lake.base import Ids
from mate.sql.address import Address
from mate.sql.dialects import failures
from mate.sql.dialects.dialect import Dialect, hexadecimal
from mate.sql.dialects.failures import Failure
from mate.sql.dialects.session import RECORDS, Columns, Session
from mate.sql.schema import MANIFEST, Column, Content, Generation

_PLANNING = {"jit": "off", "random_page_cost": "1.1", "work_mem": "64MB"}
"""Settings of every session. Compiling a statement takes longer than most searches. A page of an index that is used all
day is in memory; else the planner scans all postings to find a few thousand. Rows that passed the filter are sorted in
memory."""
_INDEXED = {  # an index alone answers what searches ask of cells
    "postings": "token_id, table_id, row_id",
    "cells": "table_id, row_id, token_id, column_id, piece",
    "super_keys": "table_id, row_id",
    "tokens": "token_id",
    "tables": "table_id",
    "columns": "table_id",
}

_FAILURES = {
    errors.UniqueViolation: failures.DUPLICATE_KEY,
    errors.DiskFull: failures.NO_ROOM,
    errors.InsufficientPrivilege: failures.FORBIDDEN,
    errors.UndefinedTable: failures.MISSING,
    errors.InvalidSchemaName: failures.MISSING,
    errors.LockNotAvailable: failures.BUSY,
    errors.DeadlockDetected: failures.BUSY,
    errors.TooManyConnections: failures.NO_FREE_SESSION,
    errors.AdminShutdown: failures.LOST,
    errors.CrashShutdown: failures.LOST,
    errors.CannotConnectNow: failures.REFUSED,
    errors.DataError: failures.REJECTED,
}


class PostgreSql(Dialect):
    """PostgreSQL's words."""

    sorts_cells = False
    types: ClassVar = {
        Content.NUMBER: "BIGINT",
        Content.PLACE: "INTEGER",
        Content.KEY: "BIT VARYING",
        Content.TEXT: 'TEXT COLLATE "C"',
    }
    analyze_temporary = "ANALYZE {name}"  # nobody else does, and the planner takes a table without statistics for large
    key_literal = "X'{key}'"
    not_indexed = "({column} + 0)"
    """Otherwise the planner looks every listed number up per row, or scans all cells of the index."""
    readers = (  # the roles that may read the manifest
        "SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END"
        " FROM pg_class AS c INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace,"
        f" LATERAL aclexplode(c.relacl) AS a WHERE n.nspname = %s AND c.relname = '{MANIFEST}'"
        " AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner"
    )
    keep_session = (  # the second setting is new in version 17
        "SELECT set_config(name, '0', false) FROM pg_settings"
        " WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')"
    )

    def type_of(self, column: Column) -> str:
        """Return the type of a column."""
        is_fixed_key = column.content is Content.KEY and column.size
        return f"BIT({8 * column.size})" if is_fixed_key else super().type_of(column)

    def sizes(self, schema: str, tables: Sequence[str]) -> str:
        """SQL for the bytes of tables, their indexes included."""
        return (
            "SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class AS c"
            f" INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = '{schema}' AND c.relkind = 'r'"
        )

    def after_load(self, generation: Generation, distinct_share: float) -> list[str]:
        """SQL that creates indexes, which is quicker than to keep them up during the load, and collects statistics.

        Few tokens have most of the postings. A sample shows far too few distinct ones, and the planner would take a
        look-up of tokens for one of most postings. So it is told the true number. VACUUM marks all records as visible,
        which lets an index answer alone.
        """
        names = {table.name: generation.name(table.name) for table in generation.kept_tables()}
        distinct = f"ALTER COLUMN token_id SET (n_distinct = {-distinct_share:.9f})"
        indexes = [f"CREATE INDEX ON {names[name]} ({columns})" for name, columns in _INDEXED.items() if name in names]
        vacuums = [f"VACUUM (ANALYZE) {name}" for name in names.values()]
        return [f"ALTER TABLE {names['postings']} {distinct}", *indexes, *vacuums]


class PostgreSqlSession(Session):
    """A connection through psycopg."""

    dialect = PostgreSql()
    client_errors = (psycopg.Error, OSError, UnicodeError)

    def _connect(self) -> None:
        self._connection = psycopg.connect(**options(self.address), autocommit=not self._writes)
        self._connection.prepare_threshold = None  # statements differ, and temporary tables come and go
        self._cursor = self._connection.cursor()

    def _execute(self, statement: str, values: Sequence[Any]) -> list[Sequence[Any]]:
        bound = [encoded(pa.array([v]))[0].as_py() if isinstance(v, str) else v for v in values]
        result = self._cursor.execute(statement, bound or None)
        rows = result.fetchall() if result.description else []
        return [[decoded(v) if isinstance(v, str) and _ESCAPE in v else v for v in row] for row in rows]

    def _numbers(self, statement: str) -> list[Ids]:
        with self._cursor.copy(f"COPY ({statement}) TO STDOUT (FORMAT csv, HEADER)") as stream:
            table = read_csv(BytesIO(b"".join(stream)))
        return [column.cast(pa.int64()).to_numpy() for column in table.columns]

    def _load(self, table: str, columns: Sequence[Column], batches: Iterable[Columns]) -> int:
        names = ", ".join(column.name for column in columns)
        with self._cursor.copy(f"COPY {table} ({names}) FROM STDIN (FORMAT csv)") as stream:
            for batch in batches:
                for piece in csv_pieces(batch):
                    stream.write(piece)
        return self._cursor.rowcount

    def close(self) -> None:
        """Close the connection; what was not committed is undone."""
        with suppress(psycopg.Error, OSError):
            self._connection.close()

    def _text(self, error: Exception) -> str:
        return super()._text(error).rpartition("FATAL: ")[2].strip()

    def _failure(self, error: Exception, text: str) -> Failure:
        for kind, failure in _FAILURES.items():
            if isinstance(error, kind):
                return failure
        if getattr(error, "sqlstate", None) is None and isinstance(error, psycopg.OperationalError | OSError):
            return _connection_failure(str(error))
        return failures.OTHER


def csv_pieces(columns: Columns) -> Iterator[bytes]:
    """Yield records as CSV; texts are quoted, and nothing stands for NULL."""
    names = list(map(str, range(len(columns))))
    for start in range(0, len(columns[0]), RECORDS):
        sink, batch = pa.BufferOutputStream(), [encoded(column.slice(start, RECORDS)) for column in columns]
        write_csv(pa.record_batch(batch, names), sink, WriteOptions(include_header=False))
        yield sink.getvalue().to_pybytes()


def _connection_failure(text: str) -> Failure:
    """Tell by libpq's text, which is all there is, why a server cannot be reached."""
    if "password" in text or "authentication failed" in text or ("role" in text and "does not exist" in text):
        return failures.WRONG_PASSWORD
    if "too many clients" in text or "remaining connection slots" in text or "too many connections" in text:
        return failures.NO_FREE_SESSION
    if "SSL" in text or "certificate" in text:
        return failures.NOT_ENCRYPTED
    if "FATAL" in text and "terminating" not in text:
        return failures.REFUSED
    if "Connection refused" in text or "could not translate" in text or "timeout" in text or "No route" in text:
        return failures.UNREACHABLE
    return failures.LOST


def options(address: Address) -> dict[str, Any]:
    """Return the options of psycopg; the connection is kept alive while it waits for long steps of others."""
    files = {"sslrootcert": address.tls_cafile, "sslcert": address.tls_certfile, "sslkey": address.tls_keyfile}
    wait = {"statement_timeout": f"{round(1_000 * address.timeout)}"} if address.timeout else {}
    settings = (f"-c {name}={value}" for name, value in (_PLANNING | wait).items())
    return {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "dbname": address.database,
        "sslmode": address.tls,
        **({"password": address.password} if address.password else {}),
        **{name: path for name, path in files.items() if path},
        "options": " ".join([*settings, os.environ.get("PGOPTIONS", "")]).strip(),
        "connect_timeout": max(2, round(address.connect_timeout)),
        "application_name": address.label,
        "client_encoding": "utf8",
        "keepalives_idle": 60,
        "keepalives_interval": 15,
        "keepalives_count": 8,
    }


# PostgreSQL's texts cannot hold the character 0.

_ESCAPE = "\x10"
_ESCAPED = re.compile(f"{_ESCAPE}(.)", re.DOTALL)


def encoded(column: pa.Array) -> pa.Array:
    """Return super keys as digits, and texts without the character 0, which `decoded` brings back."""
    if pa.types.is_large_binary(column.type):
        return pc.binary_join_element_wise("x", hexadecimal(column), "")
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    special = [pc.any(pc.match_substring(column, character)).as_py() for character in (_ESCAPE, "\0")]
    if any(special):
        column = pc.replace_substring(column, _ESCAPE, _ESCAPE + _ESCAPE)
        column = pc.replace_substring(column, "\0", _ESCAPE + "0")
    return column


def decoded(text: str) -> str:
    """Return a text as it was."""
    return _ESCAPED.sub(lambda match: "\0" if match[1] == "0" else match[1], text)


SESSION = PostgreSqlSession
