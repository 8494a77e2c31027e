"""DuckDB: a file, no server. One process writes it, or several read it; threads of a process share it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import duckdb
import numpy as np
import pyarrow as pa

from mate.errors import StoreError
from mate.lake.base import Ids
from mate.sql.address import Address, Password
from mate.sql.dialects.base import Columns, Dialect
from mate.sql.failures import (
    NO_ROOM,
    NOT_THERE,
    BusyError,
    ConnectionLostError,
    DuplicateKeyError,
    MissingError,
    NoFreeSessionError,
    NoRoomError,
)
from mate.sql.schema import Column, Content

_BLOCK = 262_144
_INCOMING = "mate_incoming"
"""Under this name a session sees the records that it inserts."""
_FILE = '"the file"'
"""Name of the file in statements. By default it has its own: in mate.duckdb, mate.postings_1 could mean two things."""


class DuckDb(Dialect):
    """DuckDB's words."""

    types: ClassVar = {
        Content.NUMBER: "BIGINT",
        Content.PLACE: "INTEGER",
        **dict.fromkeys((Content.KEY, Content.WIDE_KEY), "BIT"),
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
            "VARCHAR",
        ),
    }

    def temporary(self, name: str, columns: Sequence[Column]) -> str:
        """SQL that creates a table of this session."""
        return f"CREATE TEMPORARY TABLE IF NOT EXISTS {name} ({', '.join(map(self.definition, columns))})"

    def key_literal(self, key: bytes) -> str:
        """Return a super key as a constant."""
        return f"from_hex('{key.hex()}')::BIT"

    def key_words(self, column: str) -> str:
        """Return a super key as it is read: as bytes, where it would else be a text of zeros and ones."""
        return f"{column}::BLOB"

    def sizes(self, schema: str, tables: Sequence[str]) -> str:
        """SQL for the bytes of the blocks that tables are in; a block that several share counts for each."""
        return " UNION ALL ".join(
            f"SELECT '{name}', COUNT(DISTINCT block_id) * {_BLOCK} FROM pragma_storage_info('{schema}.{name}')"
            for name in tables
        )

    def connect(self, address: Address, password: Password, *, writes: bool) -> DuckDbClient:
        """Open the file, which a writer creates."""
        return DuckDbClient(address, writes=writes)

    @contextmanager
    def lock(self, address: Address, password: Password) -> Iterator[FileLock]:
        """Hold a file beside the database's: a lock that ends with its process."""
        path = Path(f"{address.database}.{address.schema}.lock")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("a")
        except OSError as error:
            raise StoreError(f"cannot write to {error.filename}: {error.strerror}") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BusyError(f"{path} is locked") from None
            yield FileLock()


class FileLock:
    """A locked file, which cannot be lost."""

    def verify(self) -> None:
        """Do nothing."""


class _Files:
    """The databases that this process has open, each once: DuckDB does not open a file twice in different ways."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[duckdb.DuckDBPyConnection, bool, list[DuckDbClient]]] = {}
        self._guard = Lock()
        self._process = os.getpid()

    def take(self, path: str, client: DuckDbClient, *, writes: bool) -> duckdb.DuckDBPyConnection:
        """Return a connection for a session; who writes takes the file over from those who read it."""
        with self._guard:
            if self._process != os.getpid():  # forked: what the parent has open is not ours
                self._open, self._process = {}, os.getpid()
            database, writable, users = self._open.get(path, (None, False, []))
            if database is not None and writes and not writable:
                del self._open[path]  # also if it cannot be opened to write: nobody gets a closed one
                for user in users:
                    user.cut()  # it notices, and connects again
                database.close()
                database = None
            if database is None:
                database, writable, users = _attached(path, writes=writes), writes, []
            self._open[path] = database, writable, [*users, client]
            return database.cursor().execute(f"USE {_FILE}")

    def give_back(self, path: str, client: DuckDbClient) -> None:
        """Close the file when nobody uses it any more, so that other processes can have it."""
        with self._guard:
            database, writable, users = self._open.get(path, (None, False, []))
            if database is None or client not in users:
                return
            left = [user for user in users if user is not client]
            if left:
                self._open[path] = database, writable, left
            else:
                del self._open[path]
                database.close()


def _attached(path: str, *, writes: bool) -> duckdb.DuckDBPyConnection:
    """Open a file."""
    database = duckdb.connect()
    quoted = path.replace("'", "''")
    try:
        database.execute(f"ATTACH '{quoted}' AS {_FILE} (TYPE duckdb{'' if writes else ', READ_ONLY'})")
    except BaseException:
        database.close()
        raise
    return database


_files = _Files()


class DuckDbClient:
    """A session with a file; not to be shared between threads."""

    def __init__(self, address: Address, *, writes: bool) -> None:
        self._address, self._writes = address, writes
        self._path = str(Path(address.database).resolve())
        self._is_open = False
        self._guard = Lock()
        if not writes and not Path(self._path).exists():
            raise MissingError(f"{address}: there is no such file")
        with self._explained():
            if writes:
                Path(self._path).parent.mkdir(parents=True, exist_ok=True)
            self._connection = _files.take(self._path, self, writes=writes)
        self._closed = False

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Sequence[Any]]:
        """Run a statement and return its rows."""
        with self._guard, self._explained():
            done = self._run(statement, values)
            return [list(row) for row in done.fetchall()] if done.description else []

    def _run(self, statement: str, values: Sequence[Any]) -> duckdb.DuckDBPyConnection:
        if self._writes and not self._is_open:
            self._connection.execute("BEGIN")
            self._is_open = True
        return self._connection.execute(statement.replace("%s", "?") if values else statement, list(values))

    def numbers(self, statement: str, octets: Sequence[int]) -> list[Ids]:
        """Run a query and take its columns as arrays."""
        with self._guard, self._explained():
            columns = self._run(statement, ()).fetchnumpy()
        found: list[Ids] = []
        for column, wanted in zip(columns.values(), octets, strict=True):
            if column.dtype != object:
                found.append(np.asarray(column, np.int64))
            else:
                words = np.frombuffer(b"".join(column.tolist()), ">i8").astype(np.int64).reshape(-1, wanted // 8)
                found += [np.ascontiguousarray(word) for word in words.T]
        return found

    def load(self, table: str, columns: Sequence[Column], batches: Iterable[Columns]) -> int:
        """Insert records as they are in memory."""
        names = [column.name for column in columns]
        read = ", ".join(
            f"{c.name}::BIT" if c.kind in (Content.KEY, Content.WIDE_KEY) else _or_null(c) for c in columns
        )
        taken = 0
        for batch in batches:
            with self._guard, self._explained():
                self._connection.register(_INCOMING, pa.table(batch, names=names))
                insert = f"INSERT INTO {table} ({', '.join(names)}) SELECT {read} FROM {_INCOMING}"
                taken += int(self._run(insert, ()).fetchall()[0][0])
                self._connection.unregister(_INCOMING)
        return taken

    def commit(self) -> None:
        """End the transaction, keeping what it did."""
        self._end("COMMIT")

    def rollback(self) -> None:
        """End the transaction, undoing what it did."""
        self._end("ROLLBACK")

    def _end(self, how: str) -> None:
        if self._is_open:
            self._is_open = False
            with self._explained():
                self._connection.execute(how)

    def close(self) -> None:
        """Close the session, and the file after the last one."""
        if not self._closed:
            self._closed = True
            with suppress(duckdb.Error):
                if self._is_open:
                    self._connection.execute("ROLLBACK")
            self.cut()
            _files.give_back(self._path, self)

    def cut(self) -> None:
        """Close the connection as soon as what it does is done."""
        with self._guard, suppress(duckdb.Error):
            self._connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Tell errors in one line."""
        try:
            yield
        except (duckdb.Error, OSError) as error:
            kind, text = _kind(error)
            raise kind(f"{self._address}: {text}") from None


def _or_null(column: Column) -> str:
    """Return how a column is taken over; an empty text is none, as in every database."""
    if column.required or column.kind is Content.NUMBER:
        return column.name
    return f"NULLIF({column.name}, '')"


def _kind(error: Exception) -> tuple[type[StoreError], str]:
    text = " ".join(str(error).splitlines()[0].split())
    if isinstance(error, duckdb.ConstraintException):
        return (StoreError, f"a record was rejected: {text}") if "NOT NULL" in text else (DuplicateKeyError, text)
    if isinstance(error, duckdb.CatalogException):
        return MissingError, f"{text}; {NOT_THERE}"
    if isinstance(error, duckdb.TransactionException) or "onflict on" in text:
        return BusyError, text
    if "Could not set lock" in text or "file handle conflict" in text:
        return NoFreeSessionError, "another process has the file open: one may write it, or several may read it"
    if "No space left" in text or isinstance(error, duckdb.OutOfMemoryException):
        return NoRoomError, f"the database has no room left: {text}; {NO_ROOM}"
    if isinstance(error, duckdb.ConnectionException) or "closed" in text:
        return ConnectionLostError, f"the connection was lost ({text})"
    return StoreError, text


DIALECT = DuckDb()
