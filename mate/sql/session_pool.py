"""Reading sessions that threads share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import BoundedSemaphore, Lock
from typing import TypeVar

from mate.errors import StoreError
from mate.sql.address import Address
from mate.sql.dialects import open_session
from mate.sql.dialects.failures import ConnectionLostError
from mate.sql.dialects.session import Session

_Answer = TypeVar("_Answer")


class SessionPool:
    """Reading sessions that threads take and give back, at most so many at a time as the address says."""

    def __init__(self, address: Address) -> None:
        self.address, self._password = address, address.password()
        self._free = BoundedSemaphore(address.connections)
        self._idle: list[Session] = []
        self._mutex = Lock()
        self._is_closed = False

    @contextmanager
    def session(self, *, fresh: bool = False) -> Iterator[Session]:
        """Lend a session; after an error it is not used again."""
        with self._free:
            with self._mutex:
                session = self._idle.pop() if self._idle and not fresh else None
            session = session or open_session(self.address, self._password)
            try:
                yield session
            except BaseException:
                session.close()
                raise
            with self._mutex:
                self._idle.append(session)
            if self._is_closed:
                self._close_idle()

    def ask(self, question: Callable[[Session], _Answer]) -> _Answer:
        """Put a question; if an idle session turns out dead, put it once more over a new one."""
        try:
            with self.session() as session:
                return question(session)
        except ConnectionLostError:
            self._close_idle()
        with self.session(fresh=True) as session:
            return question(session)

    def close(self) -> None:
        """Close idle sessions now, and the others as they are given back."""
        self._is_closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with self._mutex:
            idle, self._idle = self._idle, []
        for session in idle:
            with suppress(StoreError):
                session.close()
