"""Sessions with a database: temporary tables, patience, and a pool that threads share."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import BoundedSemaphore, Lock
from typing import Any, Self, TypeVar

import pyarrow as pa

from mate.errors import StoreError
from mate.lake.base import Ids
from mate.sql.address import Address, Password
from mate.sql.dialects import Client, Dialect, dialect_of
from mate.sql.failures import ConnectionLostError, NoFreeSessionError
from mate.sql.schema import Column

_FIRST_WAIT, _LONGEST_WAIT = 0.05, 5.0
_Answer = TypeVar("_Answer")


class Session:
    """A session that reads, every statement for itself, or one that writes, in transactions; for one thread."""

    def __init__(self, address: Address, password: Password, *, writes: bool = False) -> None:
        self.address, self._writes = address, writes
        self.dialect: Dialect = dialect_of(address.kind)
        self.client: Client = _patiently(lambda: self.dialect.connect(address, password, writes=writes), address)
        self._filled: dict[str, bytes | None] = {}

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Sequence[Any]]:
        """Run a statement and return its rows."""
        return self.client.execute(statement, values)

    def numbers(self, statement: str, octets: Sequence[int]) -> list[Ids]:
        """Run a query for whole numbers, 8 octets each, and super keys; return arrays."""
        return self.client.numbers(statement, octets)

    def load(self, table: str, columns: Sequence[Column], batches: Iterator[list[pa.Array]]) -> int:
        """Stream records into a table; return how many. All are taken, or it is an error."""
        sent = 0

        def counted() -> Iterator[list[pa.Array]]:
            nonlocal sent
            for batch in batches:
                sent += len(batch[0])
                yield batch

        taken = self.client.load(table, columns, counted())
        if taken is None:
            taken = int(self.execute(self.dialect.accepted)[0][0])
        if taken != sent:
            raise StoreError(f"{self.address}: {taken:,} of {sent:,} records of {table} were taken")
        return sent

    def prepare(self, name: str, columns: Sequence[Column]) -> None:
        """Create a temporary table; where a rollback would take it away, it is committed first."""
        if name not in self._filled:
            self.execute(self.dialect.temporary(name, columns))
            self._filled[name] = None
            if self._writes:
                self.commit()

    def fill(self, name: str, columns: Sequence[Column], records: list[pa.Array], content: bytes | None = None) -> None:
        """Let a temporary table hold just these records; not again if its content is known to be what it was."""
        if content is not None and self._filled.get(name) == content:
            return
        at_once = "" if self._writes else self.dialect.filling(name, columns, records)
        if at_once:
            self.execute(at_once)
            self._filled[name] = content
            return
        is_new = name not in self._filled
        self.prepare(name, columns)
        if not is_new and not self._writes:
            self.execute(self.dialect.empty(name))
        self.client.load(name, columns, iter([records]))
        statistics = self.dialect.after_fill(name)
        if statistics:
            self.execute(statistics)
        self._filled[name] = content

    def commit(self) -> None:
        """End the transaction, keeping what it did."""
        self.client.commit()

    def rollback(self) -> None:
        """End the transaction, undoing what it did."""
        self.client.rollback()

    def close(self) -> None:
        """Close the connection; what was not committed is undone."""
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _patiently(connect: Callable[[], Client], address: Address) -> Client:
    """Connect, waiting as long as the address allows for the server to have a session free."""
    deadline, wait = time.monotonic() + address.patience, _FIRST_WAIT
    while True:
        try:
            return connect()
        except NoFreeSessionError:
            if time.monotonic() + wait > deadline:
                raise
            time.sleep(wait * random.uniform(0.5, 1.5))
            wait = min(2 * wait, _LONGEST_WAIT)


class Sessions:
    """Reading sessions that threads take and give back, at most so many at a time."""

    def __init__(self, address: Address) -> None:
        self.address, self._password = address, address.password()
        self._room = BoundedSemaphore(address.connections)
        self._idle: list[Session] = []
        self._lock = Lock()
        self._is_closed = False

    @contextmanager
    def one(self, *, fresh: bool = False) -> Iterator[Session]:
        """Lend a session; after an error it is not used again."""
        with self._room:
            with self._lock:
                session = self._idle.pop() if self._idle and not fresh else None
            session = session or Session(self.address, self._password)
            try:
                yield session
            except BaseException:
                session.close()
                raise
            with self._lock:
                self._idle.append(session)
            if self._is_closed:
                self._close_idle()

    def ask(self, question: Callable[[Session], _Answer]) -> _Answer:
        """Put a question; if a session that was idle turns out dead, put it once more over a new one."""
        try:
            with self.one() as session:
                return question(session)
        except ConnectionLostError:
            self._close_idle()
        with self.one(fresh=True) as session:
            return question(session)

    def close(self) -> None:
        """Close those that nobody has, and the others as they are given back."""
        self._is_closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for session in idle:
            with suppress(StoreError):
                session.close()
