"""A session with a database: statements, loads, temporary tables, and the lock of a build or change."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, LifoQueue
from threading import Event, Lock, Thread
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import pyarrow as pa

from mate.errors import StoreError
from mate.lake.base import Ids
from mate.sql.address import Address
from mate.sql.dialects import open_session
from mate.sql.dialects.dialect import Dialect
from mate.sql.dialects.failures import ConnectionLostError, Failure, NoFreeSessionError
from mate.sql.schema import BUILDS, Column

Columns: TypeAlias = list[pa.Array]
"""Records of a table, an array per column."""

RECORDS = 2_000
"""Records that are made into text at a time."""
HEARTBEAT = 30.0
"""Seconds between two statements of the session that holds the lock: servers end idle ones."""
_LAST_HEARTBEAT = 5.0
"""Seconds that the last one may take; a server that does not answer is not waited for."""
_Answer = TypeVar("_Answer")


def patiently(
    action: Callable[[], _Answer], refusal: type[StoreError], seconds: float, first: float = 0.05, longest: float = 5.0
) -> _Answer:
    """Do something, again after each refusal and a wait that grows, for so many seconds at most."""
    deadline, wait = time.monotonic() + seconds, first
    while True:
        try:
            return action()
        except refusal:
            if time.monotonic() + wait > deadline:
                raise
        time.sleep(wait * random.uniform(0.5, 1.0))
        wait = min(2 * wait, longest)


class Session(ABC):
    """A connection for one thread. A reader's statements are each a transaction; a writer ends its own.

    Every error is a `StoreError` of one line without any credential. Statements stay out of it: they may hold values.
    """

    dialect: ClassVar[Dialect]
    client_errors: ClassVar[tuple[type[Exception], ...]]

    def __init__(self, address: Address, *, writes: bool = False) -> None:
        self.address, self._writes = address, writes
        self._temporary: dict[str, Columns] = {}
        """Temporary tables, and the records that they were filled with."""

        def connect() -> None:
            with self._translated():
                self._connect()

        patiently(connect, NoFreeSessionError, address.patience)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self.client_errors as error:
            text = self._text(error)
            kind, template = self._failure(error, text)
            message = f"{self.address}: {template.format(text=text, address=self.address)}"
            raise kind(self.address.without_password(message)) from None

    def _text(self, error: Exception) -> str:
        return " ".join(str(error).split()) or type(error).__name__

    # What a client has to do

    @abstractmethod
    def _connect(self) -> None: ...

    @abstractmethod
    def _failure(self, error: Exception, text: str) -> Failure: ...

    @abstractmethod
    def _execute(self, statement: str, values: Sequence[Any]) -> list[Sequence[Any]]: ...

    @abstractmethod
    def _numbers(self, statement: str) -> list[Ids]: ...

    @abstractmethod
    def _load(self, table: str, columns: Sequence[Column], batches: Iterable[Columns]) -> int | None:
        """Return how many records were taken, None if the client is not told."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; what was not committed is undone."""

    # What others use

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Sequence[Any]]:
        """Run a statement and return its rows; `values` take the places of ``%s``."""
        with self._translated():
            return self._execute(statement, values)

    def numbers(self, statement: str) -> list[Ids]:
        """Run a query for whole numbers that are never null; return its columns as arrays."""
        with self._translated():
            return self._numbers(statement)

    def load(self, table: str, columns: Sequence[Column], batches: Iterable[Columns]) -> int:
        """Stream records into a table; return how many. If not all are taken, it is an error."""
        sent = 0

        def counted() -> Iterator[Columns]:
            nonlocal sent
            for batch in batches:
                sent += len(batch[0])
                yield batch

        with self._translated():
            taken = self._load(table, columns, counted())
        if taken is None:
            taken = int(self.execute(self.dialect.accepted)[0][0])
        if taken != sent:
            raise StoreError(f"{self.address}: {taken:,} of {sent:,} records of {table} were taken")
        return sent

    def commit(self) -> None:
        """End the transaction and keep what it did."""
        self.execute("COMMIT")

    def rollback(self) -> None:
        """End the transaction and undo what it did."""
        self.execute("ROLLBACK")

    def create_temporary(self, name: str, columns: Sequence[Column]) -> None:
        """Create a temporary table, committed at once: a rollback may take away one that is not."""
        if name not in self._temporary:
            self.execute(self.dialect.create_temporary_table(name, columns))
            self._temporary[name] = []
            if self._writes:
                self.commit()

    def fill(self, name: str, columns: Sequence[Column], records: Columns) -> None:
        """Make a temporary table hold just these records, unless it does already."""
        if not self._writes and self._temporary.get(name) == records:
            return
        if name in self._temporary:
            self.execute(f"DELETE FROM {name}")
        self.create_temporary(name, columns)
        with self._translated():
            self._load(name, columns, [records])
        if self.dialect.analyze_temporary:
            self.execute(self.dialect.analyze_temporary.format(name=name))
        self._temporary[name] = records

    @classmethod
    @contextmanager
    def lock(cls, address: Address) -> Iterator[Callable[[], None]]:
        """Lock a schema for one build or change; yield a function that fails if the lock was lost meanwhile."""
        mutex, ended = Lock(), Event()
        with cls(address, writes=True) as session:

            def verify() -> None:
                with mutex:
                    session.take_lock()

            def send_heartbeats() -> None:
                with suppress(StoreError):
                    while not ended.wait(HEARTBEAT):
                        with mutex:
                            session.execute("SELECT 1")

            if cls.dialect.keep_session:
                session.execute(cls.dialect.keep_session)
            verify()
            thread = Thread(target=send_heartbeats, name="mate lock", daemon=True)
            thread.start()
            try:
                yield verify
            finally:
                ended.set()
                thread.join(_LAST_HEARTBEAT)
                if not thread.is_alive():
                    with suppress(StoreError):
                        session.rollback()  # whoever comes next finds the lock free

    def take_lock(self) -> None:
        """Lock the table of builds until the session ends; fail at once if another session has it."""
        self.execute(f"LOCK TABLE {self.address.schema}.{BUILDS} IN EXCLUSIVE MODE NOWAIT")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SessionPool:
    """Reading sessions that threads take and give back, at most so many at a time as the address says."""

    def __init__(self, address: Address) -> None:
        self._address, self._is_closed = address, False
        self._places: LifoQueue[Session | None] = LifoQueue()
        """Idle sessions, and places where one can be opened."""
        for _ in range(address.connections):
            self._places.put(None)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Lend a session; after an error it is not used again."""
        session = self._places.get()
        try:
            session = session or open_session(self._address)
            yield session
        except BaseException:
            if session is not None:
                session.close()
            session = None
            raise
        finally:
            self._places.put(session)
            if self._is_closed:
                self._close_idle()

    def ask(self, question: Callable[[Session], _Answer]) -> _Answer:
        """Put a question; if an idle session turns out dead, put it once more over a new one."""
        try:
            with self.session() as session:
                return question(session)
        except ConnectionLostError:
            self._close_idle()
        with self.session() as session:
            return question(session)

    def close(self) -> None:
        """Close idle sessions now, and the others as they are given back."""
        self._is_closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        free: list[Session | None] = []
        with suppress(Empty):
            while True:
                free.append(self._places.get_nowait())
        for session in free:
            if session is not None:
                with suppress(StoreError):
                    session.close()
            self._places.put(None)
