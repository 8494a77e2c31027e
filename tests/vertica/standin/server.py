"""The listener: sessions, table locks, and what all sessions share."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from typing import Any, Self

import vertica_python

from tests.sql.listener import Listener
from tests.vertica.standin.catalogue import SUPERUSER, Catalogue
from tests.vertica.standin.storage import Storage
from tests.vertica.standin.wire import ClosedError, Line, ServerError

USER, PASSWORD, DATABASE = SUPERUSER, "s3cret pass/word", "VMart"

_PATIENCE = 30.0
"""Seconds within which a session has to end when its line is cut."""


class Locks:
    """Table locks: inserts go together (I), updates, deletes and enforced keys want the table alone (X, IV)."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._held: dict[str, dict[object, str]] = {}
        self._changed = threading.Condition()
        self._closed = False

    def take(self, table: str, owner: object, mode: str, timeout: float | None = None) -> None:
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        with self._changed:
            holders = self._held.setdefault(table, {})
            while any(o is not owner and "X" in (m, mode) for o, m in holders.items()):
                if self._closed:
                    raise ClosedError
                if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() >= deadline:
                    text = (
                        f"Unavailable: initiator locks for query - Locking failure: Timed out X locking Table:{table}"
                    )
                    raise ServerError(text, "55V03", 5157)
            if self._closed:  # whoever had it may be gone already
                raise ClosedError
            if holders.get(owner) != "X":
                holders[owner] = mode

    def close(self) -> None:
        """Let nobody wait any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def release(self, owner: object) -> None:
        with self._changed:
            for holders in self._held.values():
                holders.pop(owner, None)
            self._changed.notify_all()


class StandIn(Listener):
    """The stand-in for a server, on a free port of this machine. Use it as a context."""

    def __init__(self, *, max_sessions: int = 50, lock_timeout: float = 10.0, port: int = 0) -> None:
        super().__init__(port)
        self.storage = Storage()
        self.catalogue = Catalogue(DATABASE, PASSWORD)
        self.guard = threading.RLock()
        """Held by whoever uses the catalogue or the list of sessions."""
        self.numbers = itertools.count(1)
        self.max_sessions = max_sessions
        self.locks = Locks(lock_timeout)
        self.most_sessions = 0
        self.idle_timeout: float | None = None
        """Seconds after which a session ends that sends nothing: IDLESESSIONTIMEOUT, for every user."""
        self.sessions: set[Any] = set()
        self._lines: set[Line] = set()
        self._threads: list[threading.Thread] = []
        self._gone = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.vanish()
        self._thread.join(_PATIENCE)
        for thread in self._threads:
            thread.join(_PATIENCE)
            if thread.is_alive():
                raise RuntimeError("a session of the stand-in does not end")
        self.storage.close()

    def vanish(self) -> None:
        """Stop listening and cut every line, like a server that loses its power."""
        self.stop_listening()
        self.locks.close()
        with self.guard:
            self._gone = True
            lines = list(self._lines)
        for line in lines:
            line.cut()

    def cut(self) -> None:
        """Cut the lines of all sessions."""
        for session in list(self.sessions):
            session.line.cut()

    def address(self, schema: str = "mate", user: str = USER, **options: object) -> str:
        """Return the address that the store takes."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"vertica://{user}@127.0.0.1:{self.port}/{DATABASE}?schema={schema}&tlsmode=disable{more}"

    def connect(self, user: str = USER, **options: object) -> vertica_python.Connection:
        """Connect with the real client; all users have the same password."""
        given = {"host": "127.0.0.1", "port": self.port, "user": user, "password": PASSWORD, "database": DATABASE}
        return vertica_python.connect(**{**given, "tlsmode": "disable", **options})

    def run(self, *statements: str) -> list[list[Any]]:
        """Run statements as the superuser, each of which is committed; return the rows of the last one."""
        rows: list[list[Any]] = []
        with self.connect(autocommit=True) as connection:
            for statement in statements:
                cursor = connection.cursor()
                cursor.execute(statement)
                rows = cursor.fetchall()
        return rows

    def accept(self, connection: socket.socket) -> None:
        """Serve a client in a thread of its own."""
        thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self, connection: socket.socket) -> None:
        from tests.vertica.standin.session import Session

        connection.settimeout(self.idle_timeout)
        line = Line(connection)
        with self.guard:
            self._lines.add(line)
            gone = self._gone
        try:
            if not gone:
                self._attend(Session(self, line))
        finally:
            line.cut()
            with self.guard:
                self._lines.discard(line)

    def _attend(self, session: Any) -> None:
        try:
            session.run()
        except (ClosedError, OSError, ValueError):
            pass
        finally:
            with self.guard:
                self.sessions.discard(session)
            session.end()

    def admit(self, session: Any) -> None:
        with self.guard:
            if len(self.sessions) >= self.max_sessions:
                text = f"New session rejected due to limit, already {len(self.sessions)} sessions active"
                raise ServerError(text, "53300", 4060, "FATAL")
            self.sessions.add(session)
            self.most_sessions = max(self.most_sessions, len(self.sessions))
