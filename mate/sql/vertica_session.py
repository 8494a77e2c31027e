"""One session with a server: queries, COPY, and its errors told in one line without any credential."""

from __future__ import annotations

import logging
import random
import socket
import ssl
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self

import numpy as np
import pyarrow as pa
import vertica_python
from vertica_python import errors

from mate.errors import StoreError
from mate.index.base import Ids
from mate.sql import vertica_sql as sql
from mate.sql.vertica_address import PASSWORD_VARIABLE, Password, VerticaAddress
from mate.sql.vertica_copy import Stream, lines

DUPLICATE_KEY = 6745
DISK_FULL, QUOTA = "53100", 10765
"""The SQLSTATE of a volume without space, and the error of a schema or table that is above its quota."""
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 5.0
_log = logging.getLogger(__name__)

# Told by us, through logging and without a line of the client's code.
warnings.filterwarnings("ignore", message="TLS is not configured", module="vertica_python")


class ConnectionLostError(StoreError):
    """The server went away, or was never there."""


class NoFreeSessionError(StoreError):
    """The server has as many sessions as it admits."""


class DuplicateKeyError(StoreError):
    """A record whose key is there already."""


class NoRoomError(StoreError):
    """A disk, or the quota of a schema or table, that is full."""


class MissingError(StoreError):
    """A schema or table that is not there."""


class BusyError(StoreError):
    """A lock that another session holds."""


class Session:
    """A connection and its one cursor; not to be shared between threads."""

    def __init__(self, address: VerticaAddress, password: Password) -> None:
        self.address, self._password = address, password
        self._temporary: set[str] = set()
        with self._explained():
            self._connection = vertica_python.connect(**address.options(), password=password.value)
            self._cursor = self._connection.cursor()
            # A small COPY is three small messages: without this, each waits for the last one's acknowledgement.
            self._connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # Otherwise each "already exists, nothing was done" becomes a Python warning.
            self._connection.notice_handler = lambda notice: _log.debug("%s", notice.message)
        if address.tlsmode == "prefer" and not self._connection.ssl():
            _log.warning("%s: the connection is not encrypted; say tlsmode=disable if that is meant", address)

    @classmethod
    def patient(cls, address: VerticaAddress, password: Password) -> Self:
        """Open a session, waiting as long as the address allows for the server to have one free."""
        deadline, wait = time.monotonic() + address.timeout, _FIRST_WAIT
        while True:
            try:
                return cls(address, password)
            except NoFreeSessionError:
                if time.monotonic() + wait > deadline:
                    raise
                time.sleep(wait * random.uniform(0.5, 1.5))
                wait = min(2 * wait, _LONGEST_WAIT)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[list[Any]]:
        """Run a statement and return its rows; all are fetched, because some errors only show then."""
        with self._explained():
            self._cursor.disable_sqldata_converter = False
            self._cursor.execute(statement, list(values) or None)
            rows: list[list[Any]] = self._cursor.fetchall()
            return rows

    def raw(self, statement: str, values: Sequence[Any] = ()) -> list[list[bytes]]:
        """Run a query and return its values as the bytes that were sent: the fastest way for numbers."""
        with self._explained():
            self._cursor.disable_sqldata_converter = True
            self._cursor.execute(statement, list(values) or None)
            rows: list[list[bytes]] = self._cursor.fetchall()
            return rows

    def numbers(self, statement: str, width: int, values: Sequence[Any] = ()) -> list[Ids]:
        """Run a query whose `width` columns are whole numbers and never null; return them as arrays."""
        rows = self.raw(statement, values)
        data = b"".join(value for row in rows for value in row)
        if len(data) != 8 * width * len(rows):
            raise StoreError(f"{self.address} answered with something other than whole numbers of 8 bytes")
        table = np.frombuffer(data, ">i8").astype(np.int64).reshape(-1, width)
        return [np.ascontiguousarray(table[:, place]) for place in range(width)]

    def copy(self, table: str, names: Sequence[str], pieces: Iterable[bytes]) -> int:
        """Stream records into a table; return how many the server took."""
        with self._explained():
            self._cursor.copy(sql.copy(table, names), Stream(pieces))
            self._cursor.fetchall()
        return int(self.execute(sql.ACCEPTED)[0][0])

    def prepare(self, *names: str) -> None:
        """Create temporary tables of this session; all before any is filled, as creating a table may commit."""
        for name in names:
            if name not in self._temporary:
                self.execute(sql.temporary(name, sql.temporary_columns(name)))
                self._temporary.add(name)

    def fill(self, name: str, columns: list[pa.Array]) -> None:
        """Put records into a temporary table of this session, for the transaction that is now begun."""
        self.prepare(name)
        names = [definition.split()[0] for definition in sql.temporary_columns(name)]
        taken = self.copy(name, names, lines(columns))
        if taken != len(columns[0]):
            raise StoreError(f"{self.address} took {taken:,} of {len(columns[0]):,} values to look up")

    def commit(self) -> None:
        """End the transaction, keeping what it did."""
        self.execute("COMMIT")

    def rollback(self) -> None:
        """End the transaction, undoing what it did."""
        self.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection; what was not committed is undone by the server."""
        with suppress(errors.Error, OSError):
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (errors.Error, OSError, ssl.SSLError, UnicodeError) as error:
            raise self._told(error) from None

    def _told(self, error: Exception) -> StoreError:
        """Return an error as one line: what, where, what to do. The statement stays out: it may hold values."""
        kind, text = _kind(error, self.address)
        return kind(self._password.hidden(f"{self.address}: {text}"))


def _kind(error: Exception, address: VerticaAddress) -> tuple[type[StoreError], str]:
    text = " ".join(str(error).split())
    if isinstance(error, errors.QueryError):
        return _query_kind(error)
    if "28000" in text or "Invalid username or password" in text:
        hint = f"set {PASSWORD_VARIABLE} or add passfile=PATH to the address"
        return StoreError, f"the server refuses user {address.user}: wrong user name or password; {hint}"
    if "53300" in text or "session rejected" in text.lower():
        return NoFreeSessionError, "the server has no free session; wait, or lower connections= in the address"
    if isinstance(error, errors.SSLNotSupported | ssl.SSLError) or "TLS" in text:
        return StoreError, f"no encrypted connection (tlsmode={address.tlsmode}): {text}"
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
    if str(error.error_code) == str(DUPLICATE_KEY):
        return DuplicateKeyError, message
    if error.sqlstate == DISK_FULL or str(error.error_code) == str(QUOTA):
        hint = "make room or raise the quota, then build again; the index in use is as it was"
        return NoRoomError, f"the database has no room left: {message}; {hint}"
    if isinstance(error, errors.MissingSchema | errors.MissingRelation):
        return MissingError, f"{message}; is schema= right, and was an index built there?"
    if isinstance(error, errors.LockFailure):
        return BusyError, message
    if isinstance(error, errors.ConnectionFailure | errors.LostConnectivityFailure):
        return ConnectionLostError, message
    if isinstance(error, errors.CopyRejected):
        return StoreError, f"a record was rejected: {message}"
    return StoreError, message


def _field(text: str, name: str) -> str:
    """Return one field of a server's error message as vertica-python joins them."""
    return text.partition(f"{name}: ")[2].partition(", Sqlstate")[0] or text
