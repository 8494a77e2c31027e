"""DuckDB: a file, no server. One process writes it, or several read it; threads of a process share it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar
from weakref import WeakSet, WeakValueDictionary

import duckdb
import numpy as np
import pyarrow as pa

from mate.errors import StoreError
from mate.lake.base import Ids
from mate.sql.address import Address
from mate.sql.dialects import failures
from mate.sql.dialects.dialect import Dialect
from mate.sql.dialects.failures import BusyError, Failure, MissingError
from mate.sql.dialects.session import Columns, Session
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
        Content.KEY: "BIT",
        Content.TEXT: "VARCHAR",
    }
    key_literal = "from_hex('{key}')::BIT"
    key_value = "{column}::BLOB"  # bytes, not a text of zeros and ones

    def sizes(self, schema: str, tables: Sequence[str]) -> str:
        """SQL for the bytes of the blocks that tables are in; a block that several share counts for each."""
        return " UNION ALL ".join(
            f"SELECT '{name}', COUNT(DISTINCT block_id) * {_BLOCK} FROM pragma_storage_info('{schema}.{name}')"
            for name in tables
        )


class _File:
    """A file that this process has open, with the sessions that use it; it is closed with the last of them."""

    def __init__(self, path: str, *, writes: bool) -> None:
        self.database, self.writable = _attached(path, writes=writes), writes
        self.sessions: WeakSet[DuckDbSession] = WeakSet()


_files: WeakValueDictionary[str, _File] = WeakValueDictionary()
"""Each file is opened once: DuckDB does not open it twice in different ways."""
_mutex = Lock()
os.register_at_fork(after_in_child=_files.clear)  # what the parent has open is not ours


def _connected(path: str, session: DuckDbSession, *, writes: bool) -> tuple[_File, duckdb.DuckDBPyConnection]:
    """Return the file of a session and a connection; a writer takes the file over from readers."""
    with _mutex:
        file = _files.get(path)
        if file is not None and writes and not file.writable:
            del _files[path]  # also if it cannot be opened to write: nobody gets a closed one
            for user in file.sessions:
                user.close()  # it notices, and connects again
            file.database.close()
            file = None
        if file is None:
            file = _files[path] = _File(path, writes=writes)
        connection = file.database.cursor().execute(f"USE {_FILE}")
        file.sessions.add(session)
        return file, connection


def _attached(path: str, *, writes: bool) -> duckdb.DuckDBPyConnection:
    quoted = path.replace("'", "''")
    return duckdb.connect().execute(f"ATTACH '{quoted}' AS {_FILE} (TYPE duckdb{'' if writes else ', READ_ONLY'})")


class DuckDbSession(Session):
    """A session with a file."""

    dialect = DuckDb()
    client_errors = (duckdb.Error, OSError)

    def _connect(self) -> None:
        path = Path(self.address.database).resolve()
        self._in_transaction = False
        self._mutex = Lock()
        if self._writes:
            path.parent.mkdir(parents=True, exist_ok=True)
        elif not path.exists():
            raise MissingError(f"{self.address}: there is no such file")
        self._file: _File | None
        self._file, self._connection = _connected(str(path), self, writes=self._writes)

    def _execute(self, statement: str, values: Sequence[Any]) -> list[Sequence[Any]]:
        with self._mutex:
            result = self._run(statement, values)
            return [list(row) for row in result.fetchall()] if result.description else []

    def _run(self, statement: str, values: Sequence[Any] = ()) -> duckdb.DuckDBPyConnection:
        if self._writes and not self._in_transaction:
            self._connection.execute("BEGIN")
        self._in_transaction = statement not in ("COMMIT", "ROLLBACK")
        return self._connection.execute(statement.replace("%s", "?") if values else statement, list(values))

    def _numbers(self, statement: str) -> list[Ids]:
        with self._mutex:
            columns = self._run(statement).fetchnumpy()
        return [np.asarray(column, np.int64) for column in columns.values()]

    def _load(self, table: str, columns: Sequence[Column], batches: Iterable[Columns]) -> int:
        names = [column.name for column in columns]
        values = (f"{c.name}::BIT" if c.content is Content.KEY else c.name for c in columns)
        insert = f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} FROM {_INCOMING}"
        taken = 0
        for batch in batches:
            with self._mutex:
                self._connection.register(_INCOMING, pa.table(batch, names=names))
                taken += int(self._run(insert).fetchall()[0][0])
                self._connection.unregister(_INCOMING)
        return taken

    def close(self) -> None:
        """Close the connection as soon as its statement is done, and the file after the last one."""
        with self._mutex, suppress(duckdb.Error):
            self._connection.close()
        self._file = None

    @classmethod
    @contextmanager
    def lock(cls, address: Address) -> Iterator[Callable[[], None]]:
        """Lock a file beside the database's: a lock that ends with its process and cannot be lost."""
        path = Path(f"{address.database}.{address.schema}.lock")
        try:
            file = path.open("a")
        except OSError as error:
            raise StoreError(f"cannot write to {error.filename}: {error.strerror}") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BusyError(f"{path} is locked") from None
            yield lambda: None

    def _text(self, error: Exception) -> str:
        return " ".join(str(error).splitlines()[0].split())

    def _failure(self, error: Exception, text: str) -> Failure:
        if isinstance(error, duckdb.ConstraintException):
            return failures.REJECTED if "NOT NULL" in text else failures.DUPLICATE_KEY
        if isinstance(error, duckdb.CatalogException):
            return failures.MISSING
        if isinstance(error, duckdb.TransactionException) or "onflict on" in text:
            return failures.BUSY
        if "Could not set lock" in text or "file handle conflict" in text:
            return failures.FILE_IN_USE
        if "No space left" in text or isinstance(error, duckdb.OutOfMemoryException):
            return failures.NO_ROOM
        if isinstance(error, duckdb.ConnectionException) or "closed" in text:
            return failures.LOST
        return failures.OTHER


SESSION = DuckDbSession
