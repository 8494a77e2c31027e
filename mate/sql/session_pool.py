"""Reading sessions that threads share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, LifoQueue
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
