"""Vertica: projections sorted by a bucket of the token, spread over nodes by row, super keys as VARBINARY.

docs/databases.md says why. No server was at hand when this was written: `mate vertica-check` tries what is in doubt.
"""

from __future__ import annotations

import logging
import socket
import ssl
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import vertica_python
from vertica_python import errors

from mate.errors import StoreError
from mate.lake.base import Ids
from mate.sql.address import Address
from mate.sql.dialects import failures
from mate.sql.dialects.dialect import Dialect, hexadecimal
from mate.sql.dialects.failures import Failure
from mate.sql.dialects.session import RECORDS, Columns, Session
from mate.sql.schema import Column, Content, Generation, TableDefinition

_FAILURES: dict[object, Failure] = {
    "6745": failures.DUPLICATE_KEY,
    "10765": failures.NO_ROOM,  # a quota
    "5065": failures.BUSY,  # too many containers: they have to be merged first
    "53100": failures.NO_ROOM,
    errors.PermissionDenied: failures.FORBIDDEN,
    errors.MissingSchema: failures.MISSING,
    errors.MissingRelation: failures.MISSING,
    errors.LockFailure: failures.BUSY,
    errors.ConnectionFailure: failures.LOST,
    errors.LostConnectivityFailure: failures.LOST,
    errors.CopyRejected: failures.REJECTED,
}
"""By the server's number, by SQLSTATE, and by the client's class of an error."""
_log = logging.getLogger(__name__)

# We report these through logging, without a line of the client's code.
for _message in ("TLS is not configured", "Load balancing requested but not supported"):
    warnings.filterwarnings("ignore", message=_message, module="vertica_python")


class Vertica(Dialect):
    """Vertica's words."""

    buckets = True
    most_characters = 16_250
    """Of up to four octets each: a LONG VARCHAR cannot be compared or grouped by."""
    most_octets = 65_000  # of a VARCHAR or VARBINARY
    usual_hash = "xash"  # of one size: others reserve memory for the longest possible key; nothing was measured
    types: ClassVar = {
        Content.NUMBER: "INT",
        Content.PLACE: "INT",
        Content.KEY: "VARBINARY",
        Content.TEXT: "VARCHAR",
    }
    column_suffix = " ENCODING RLE"
    enforced = " ENABLED"
    # What is granted on the schema holds for the tables of every later build.
    create_schema = "CREATE SCHEMA IF NOT EXISTS {schema} DEFAULT INCLUDE PRIVILEGES"
    create_temporary = (
        "CREATE LOCAL TEMPORARY TABLE IF NOT EXISTS {name} ({columns}) ON COMMIT PRESERVE ROWS UNSEGMENTED ALL NODES"
    )
    key_literal = "HEX_TO_BINARY('0x{key}')"
    contains = "INSTR({text}, {part}) > 0"
    table_names = "SELECT table_name FROM v_catalog.tables WHERE LOWER(table_schema) = %s"
    schema_exists = "SELECT COUNT(*) FROM v_catalog.schemata WHERE LOWER(schema_name) = %s"
    accepted = "SELECT GET_NUM_ACCEPTED_ROWS()"

    def type_of(self, column: Column) -> str:
        """Return the type of a column."""
        kind = self.types[column.content]
        if column.content not in (Content.KEY, Content.TEXT):
            return kind
        size = column.size or self.most_octets
        return f"{'LONG ' if size > self.most_octets else ''}{kind}({size})"

    def sizes(self, schema: str, tables: Sequence[str]) -> str:
        """SQL for the bytes of tables, all their projections included."""
        return (
            "SELECT anchor_table_name, SUM(used_bytes) FROM v_monitor.projection_storage"
            f" WHERE LOWER(anchor_table_schema) = '{schema}' GROUP BY anchor_table_name"
        )

    def storage(self, table: TableDefinition) -> str:
        """Sort a table and spread it by row, never by token: a frequent one would fill a node."""
        if not table.spread:
            return " UNSEGMENTED ALL NODES"
        return f" ORDER BY {', '.join(table.order)} SEGMENTED BY HASH({', '.join(table.spread)}) ALL NODES"

    def after_load(self, generation: Generation, distinct_share: float) -> list[str]:
        """SQL that collects statistics."""
        return [f"SELECT ANALYZE_STATISTICS('{generation.name(table.name)}')" for table in generation.kept_tables()]


class VerticaSession(Session):
    """A connection through vertica-python, and its one cursor."""

    dialect = Vertica()
    client_errors = (errors.Error, OSError, UnicodeError)

    def _connect(self) -> None:
        self._connection = vertica_python.connect(**options(self.address), autocommit=not self._writes)
        self._cursor = self._connection.cursor()
        self._set_socket(self._connection.socket)
        # Otherwise each "already exists, nothing was done" becomes a Python warning.
        self._connection.notice_handler = lambda notice: _log.debug("%s", notice.message)
        if self.address.tlsmode == "prefer" and not self._connection.ssl():
            _log.warning("%s: the connection is not encrypted; say tlsmode=disable if that is meant", self.address)

    def _set_socket(self, connected: socket.socket) -> None:
        """Set what vertica-python has no option for: its timeout is one for connecting and for every read after."""
        connected.settimeout(self.address.timeout or None)
        # A small COPY is three small messages: without this, each waits for the last one's acknowledgement.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 8)):
            if hasattr(socket, name):
                connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def _execute(self, statement: str, values: Sequence[Any], *, raw: bool = False) -> list[Sequence[Any]]:
        """Run a statement and fetch all rows, because some errors only show then."""
        self._cursor.disable_sqldata_converter = raw
        self._cursor.execute(statement, list(values) or None)
        rows: list[Sequence[Any]] = self._cursor.fetchall()
        return rows

    def _numbers(self, statement: str) -> list[Ids]:
        """Make arrays of the bytes that were sent, which is the fastest way."""
        rows, columns = self._execute(statement, (), raw=True), len(self._cursor.description)
        data = b"".join(value for row in rows for value in row)
        if len(data) != 8 * columns * len(rows):
            raise StoreError(f"{self.address} answered with something other than whole numbers of 8 bytes")
        return list(np.frombuffer(data, ">i8").astype(np.int64).reshape(-1, columns).T.copy())

    def _load(self, table: str, columns: Sequence[Column], batches: Iterable[Columns]) -> None:
        statement = copy_statement(table, columns, commits=not self._writes)
        pieces = (piece for batch in batches for piece in lines(batch))
        self._cursor.copy(statement, Stream(pieces))
        self._cursor.fetchall()

    def close(self) -> None:
        """Close the connection; what was not committed is undone."""
        with suppress(errors.Error, OSError):
            self._connection.close()

    def _text(self, error: Exception) -> str:
        if isinstance(error, errors.QueryError):
            return f"{error.message} (error {error.error_code}, SQLSTATE {error.sqlstate})"
        text = super()._text(error)
        if text.startswith("Severity"):
            return text.partition("Message: ")[2].partition(", Sqlstate")[0] or text
        return text

    def _failure(self, error: Exception, text: str) -> Failure:
        if isinstance(error, errors.QueryError):
            keys = str(error.error_code), error.sqlstate, type(error)
            return next((_FAILURES[key] for key in keys if key in _FAILURES), failures.OTHER)
        whole = str(error)
        if "28000" in whole or "Invalid username or password" in whole:
            return failures.WRONG_PASSWORD
        if "53300" in whole or "session rejected" in whole.lower():
            return failures.NO_FREE_SESSION
        if isinstance(error, errors.SSLNotSupported | ssl.SSLError) or "TLS" in whole:
            return failures.NOT_ENCRYPTED
        if "Failed to establish a connection" in whole:
            return failures.UNREACHABLE
        if isinstance(error, errors.ConnectionError | OSError):
            return failures.REFUSED if whole.startswith("Severity") else failures.LOST
        return failures.OTHER


def options(address: Address) -> dict[str, object]:
    """Return the options of vertica-python."""
    given = {name: getattr(address, name) for name in ("tls_cafile", "tls_certfile", "tls_keyfile", "workload")}
    if address.auth == "kerberos":
        given |= {"kerberos_service_name": address.kerberos_service, "kerberos_host_name": address.kerberos_host}
    return {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "database": address.database,
        "tlsmode": address.tls,
        "oauth_access_token" if address.auth == "oauth" else "password": address.password,
        **{name: value for name, value in given.items() if value},
        "backup_server_node": list(address.backup),
        "connection_load_balance": address.balance and not address.stays_here,
        "connection_timeout": address.connect_timeout,
        "session_label": address.label,
        "binary_transfer": True,
        "request_complex_types": False,
        "unicode_error": "strict",
    }


def copy_statement(table: str, columns: Sequence[Column], *, commits: bool = False) -> str:
    """SQL that streams records into a table; none is cut or dropped silently."""
    listed = ", ".join(f"{c.name} FORMAT 'hex'" if c.content is Content.KEY else c.name for c in columns)
    end = "" if commits else " NO COMMIT"
    return f"COPY {table} ({listed}) FROM STDIN ENCLOSED BY '''' ENFORCELENGTH ABORT ON ERROR{end}"


def lines(columns: Columns) -> Iterator[bytes]:
    """Yield records as text, in the form that vertica-python itself writes.

    An empty field is NULL. An empty text is written as NULL, too, because Vertica's documentation does not say how an
    empty quoted field is read. Readers turn it back.
    """
    for start in range(0, len(columns[0]), RECORDS):
        records = pc.binary_join_element_wise(*(_field(column.slice(start, RECORDS)) for column in columns), "|")
        yield "\n".join([*records.to_pylist(), ""]).encode()


def _field(column: pa.Array) -> pa.StringArray:
    if pa.types.is_large_binary(column.type):
        return hexadecimal(column)
    texts = column.cast(pa.string())
    if pa.types.is_large_string(column.type) or pa.types.is_string(column.type):
        for special in ("\\", "'", "|", "\n"):
            texts = pc.replace_substring(texts, special, "\\" + special)
        texts = pc.if_else(pc.equal(texts, ""), "", pc.binary_join_element_wise("'", texts, "'", ""))
    return texts.fill_null("")


class Stream:
    """Pieces of bytes as the object with a ``read`` that vertica-python takes; an empty piece does not end it."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces, self._piece = iter(pieces), BytesIO()

    def read(self, size: int) -> bytes:
        """Return at most so many bytes, and nothing at the end."""
        while not (data := self._piece.read(size)):
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._piece = BytesIO(piece)
        return data


SESSION = VerticaSession
