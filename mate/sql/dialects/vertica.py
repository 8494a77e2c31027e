"""Vertica: projections sorted by a bucket of the token, spread over nodes by row, super keys as VARBINARY.

docs/databases.md says why. No server was at hand when this was written: `mate vertica-check` tries what is in doubt.
"""

from __future__ import annotations

import logging
import socket
import ssl
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

import numpy as np
import vertica_python
from vertica_python import errors

from mate.errors import StoreError
from mate.lake.base import Ids
from mate.sql.address import Address, Password
from mate.sql.copy_text import FRAME, VERTICA, Stream, lines
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
    PushBackError,
    UnknownStatementError,
)
from mate.sql.schema import Column, Content, Generation, Shape, Table

DUPLICATE_KEY, QUOTA, TOO_MANY_CONTAINERS = 6745, 10765, 5065
DISK_FULL = "53100"
_ALL_NODES = " UNSEGMENTED ALL NODES"
_log = logging.getLogger(__name__)

# Told by us, through logging and without a line of the client's code.
for _message in ("TLS is not configured", "Load balancing requested but not supported"):
    warnings.filterwarnings("ignore", message=_message, module="vertica_python")


class Vertica(Dialect):
    """Vertica's words."""

    buckets = True
    most_characters = 16_250
    """Of up to four octets each: a LONG VARCHAR cannot be compared or grouped by."""
    most_octets = 65_000
    usual_hash = "xash"  # of one size: others take up memory for the longest there could be; nothing was measured
    types: ClassVar = {
        Content.NUMBER: "INT",
        Content.PLACE: "INT",
        Content.KEY: "VARBINARY({size})",
        Content.WIDE_KEY: "VARBINARY(65000)",
        Content.PRINTS: "VARCHAR(65000)",
        Content.PRINT: "VARCHAR(4)",
        Content.TOKEN: "VARCHAR({octets})",
        Content.CELL: "VARCHAR(8000)",
        Content.PATH: "VARCHAR(65000)",
        Content.TEXT: "LONG VARCHAR(1048576)",
        Content.WORD: "VARCHAR(64)",
    }
    key_is_enforced = " ENABLED"
    table_names = "SELECT table_name FROM v_catalog.tables WHERE LOWER(table_schema) = %s"
    schema_exists = "SELECT COUNT(*) FROM v_catalog.schemata WHERE LOWER(schema_name) = %s"
    accepted = "SELECT GET_NUM_ACCEPTED_ROWS()"

    def create_schema(self, schema: str) -> str:
        """SQL that creates the schema; what is granted on it goes for the tables of every later build."""
        return f"CREATE SCHEMA IF NOT EXISTS {schema} DEFAULT INCLUDE PRIVILEGES"

    def definition(self, column: Column) -> str:
        """Return a column, with run-length encoding where it pays."""
        return super().definition(column) + (" ENCODING RLE" if column.repeats else "")

    def physical(self, table: Table) -> str:
        """Sort and spread a table: by row and never by token, of which a frequent one would fill a node."""
        if not table.spread:
            return _ALL_NODES
        return f" ORDER BY {', '.join(table.order)} SEGMENTED BY HASH({', '.join(table.spread)}) ALL NODES"

    def after_load(self, generation: Generation, shape: Shape, counts: LoadCounts) -> list[str]:
        """SQL that collects statistics."""
        return [f"SELECT ANALYZE_STATISTICS('{generation.table(table.name)}')" for table in shape.kept_tables()]

    def temporary(self, name: str, columns: Sequence[Column]) -> str:
        """SQL that creates a table of this session, on every node."""
        listed = ", ".join(self.definition(column) for column in columns)
        return f"CREATE LOCAL TEMPORARY TABLE IF NOT EXISTS {name} ({listed}) ON COMMIT PRESERVE ROWS{_ALL_NODES}"

    def key_literal(self, key: bytes) -> str:
        """Return a super key as a constant."""
        return f"HEX_TO_BINARY('0x{key.hex()}')"

    def contains(self, text: str, part: str) -> str:
        """SQL that a text has another one in it."""
        return f"INSTR({text}, {part}) > 0"

    def sizes(self, schema: str, tables: Sequence[str]) -> str:
        """SQL for the bytes of tables, all their projections included."""
        return (
            "SELECT anchor_table_name, SUM(used_bytes) FROM v_monitor.projection_storage"
            f" WHERE LOWER(anchor_table_schema) = '{schema}' GROUP BY anchor_table_name"
        )

    def connect(self, address: Address, password: Password, *, writes: bool) -> VerticaClient:
        """Connect to a node."""
        return VerticaClient(address, password, writes=writes)


class VerticaClient:
    """A connection and its one cursor; not to be shared between threads."""

    def __init__(self, address: Address, password: Password, *, writes: bool) -> None:
        self._address, self._password, self._writes = address, password, writes
        with self._explained():
            self._connection = vertica_python.connect(**options(address, password), autocommit=not writes)
        try:
            self._set_up()
        except BaseException:
            self.close()
            raise

    def _set_up(self) -> None:
        """Prepare the session for what it is used for."""
        with self._explained():
            self._cursor = self._connection.cursor()
            self._set_socket(self._connection.socket)
            # Otherwise each "already exists, nothing was done" becomes a Python warning.
            self._connection.notice_handler = lambda notice: _log.debug("%s", notice.message)
        if self._address.tlsmode == "prefer" and not self._connection.ssl():
            _log.warning("%s: the connection is not encrypted; say tlsmode=disable if that is meant", self._address)
        if self._address.resource_pool:
            self.execute(f"SET SESSION RESOURCE_POOL = {self._address.resource_pool}")

    def _set_socket(self, line: socket.socket) -> None:
        """Set what vertica-python has no option for: its timeout is one for connecting and for every read after."""
        line.settimeout(self._address.timeout or None)
        # A small COPY is three small messages: without this, each waits for the last one's acknowledgement.
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 8)):
            if hasattr(socket, name):
                line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Sequence[Any]]:
        """Run a statement and return its rows; all are fetched, because some errors only show then."""
        return self._rows(statement, values, raw=False)

    def _rows(self, statement: str, values: Sequence[Any], *, raw: bool) -> list[Sequence[Any]]:
        with self._explained():
            self._cursor.disable_sqldata_converter = raw
            self._cursor.execute(statement, list(values) or None)
            rows: list[Sequence[Any]] = self._cursor.fetchall()
            return rows

    def numbers(self, statement: str, octets: Sequence[int]) -> list[Ids]:
        """Run a query and make arrays of the bytes that were sent, which is the fastest way."""
        rows = self._rows(statement, (), raw=True)
        data, words = b"".join(value for row in rows for value in row), sum(octets) // 8
        if len(data) != 8 * words * len(rows):
            raise StoreError(f"{self._address} answered with something other than whole numbers of 8 bytes")
        table = np.frombuffer(data, ">i8").astype(np.int64).reshape(-1, words)
        return [np.ascontiguousarray(table[:, place]) for place in range(words)]

    def load(self, table: str, columns: Sequence[Column], batches: Iterable[Columns]) -> None:
        """Stream records by COPY: no row is cut or dropped silently, and a writer commits nothing."""
        statement = copy_statement(table, columns, commits=not self._writes)
        pieces = (piece for batch in batches for piece in lines(batch, VERTICA))
        with self._explained():
            self._cursor.copy(statement, Stream(pieces), buffer_size=FRAME)
            self._cursor.fetchall()

    def commit(self) -> None:
        """Send COMMIT."""
        self.execute("COMMIT")

    def rollback(self) -> None:
        """Send ROLLBACK."""
        self.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection; what was not committed is undone by the server."""
        with suppress(errors.Error, OSError):
            self._connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Tell errors in one line: what, where, what to do. Statements stay out: they may hold values."""
        try:
            yield
        except (errors.Error, OSError, ssl.SSLError, UnicodeError) as error:
            kind, text = _kind(error, self._address)
            raise kind(self._password.hidden(f"{self._address}: {text}")) from None


def options(address: Address, password: Password) -> dict[str, object]:
    """Return what vertica-python is given."""
    given = {name: getattr(address, name) for name in ("tls_cafile", "tls_certfile", "tls_keyfile", "workload")}
    secret = {"oauth_access_token": password.value} if address.auth == "oauth" else {"password": password.value}
    if address.auth == "kerberos":
        given |= {"kerberos_service_name": address.kerberos_service, "kerberos_host_name": address.kerberos_host}
    return {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "database": address.database,
        "tlsmode": address.tls,
        **secret,
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
    """SQL that streams records into a table."""
    listed = ", ".join(
        f"{c.name} FORMAT 'hex'" if c.kind in (Content.KEY, Content.WIDE_KEY) else c.name for c in columns
    )
    end = "" if commits else " NO COMMIT"
    return f"COPY {table} ({listed}) FROM STDIN ENCLOSED BY '''' ENFORCELENGTH ABORT ON ERROR{end}"


def _kind(error: Exception, address: Address) -> tuple[type[StoreError], str]:
    text = " ".join(str(error).split())
    if isinstance(error, errors.QueryError):
        return _query_kind(error)
    if "28000" in text or "Invalid username or password" in text:
        hint = f"set {address.password_variable} or add passfile=PATH to the address"
        return StoreError, f"the server refuses user {address.user}: wrong user name or password; {hint}"
    if "53300" in text or "session rejected" in text.lower():
        return NoFreeSessionError, "the server has no free session; wait, or lower connections= in the address"
    if isinstance(error, errors.SSLNotSupported | ssl.SSLError) or "TLS" in text:
        return StoreError, f"no encrypted connection (tlsmode={address.tls}): {text}"
    if "Failed to establish a connection" in text:
        where = f"{address.host}:{address.port}"
        return ConnectionLostError, f"no server answers at {where}; is it running, is the port right?"
    if isinstance(error, errors.ConnectionError | OSError | socket.timeout):
        if text.startswith("Severity"):
            return ConnectionLostError, f"the server refuses: {_field(text, 'Message')}"
        return ConnectionLostError, f"the connection was lost ({text or type(error).__name__})"
    return StoreError, text


def _query_kind(error: errors.QueryError) -> tuple[type[StoreError], str]:
    message = f"{error.message} (error {error.error_code}, SQLSTATE {error.sqlstate})"
    code = str(error.error_code)
    if code == str(DUPLICATE_KEY):
        return DuplicateKeyError, message
    if error.sqlstate == DISK_FULL or code == str(QUOTA):
        return NoRoomError, f"the database has no room left: {message}; {NO_ROOM}"
    if code == str(TOO_MANY_CONTAINERS):
        return PushBackError, message
    if isinstance(error, errors.PermissionDenied):
        return ForbiddenError, f"{message}; {NOT_ALLOWED}"
    if isinstance(error, errors.MissingSchema | errors.MissingRelation):
        return MissingError, f"{message}; {NOT_THERE}"
    if isinstance(error, errors.LockFailure):
        return BusyError, message
    if isinstance(error, errors.VerticaSyntaxError):
        return UnknownStatementError, message
    if isinstance(error, errors.ConnectionFailure | errors.LostConnectivityFailure):
        return ConnectionLostError, message
    if isinstance(error, errors.CopyRejected):
        return StoreError, f"a record was rejected: {message}"
    return StoreError, message


def _field(text: str, name: str) -> str:
    """Return one field of a server's error message as vertica-python joins them."""
    return text.partition(f"{name}: ")[2].partition(", Sqlstate")[0] or text


DIALECT = Vertica()
