"""The listener: sessions, table locks, and what all sessions share."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self

import duckdb

from tests.vertica.standin.copying import Field
from tests.vertica.standin.wire import ClosedError, Line, ServerError

USER, PASSWORD, DATABASE = "dbadmin", "s3cret pass/word", "VMart"

Fault = Callable[[str, Any, str], None]
"""Called with what happens ("statement", "copy data", "done"), the session and a detail.

May raise `ClosedError`, or `ServerError` before a statement is done.
"""

_SYSTEM = """
CREATE SCHEMA v_catalog; CREATE SCHEMA v_monitor; CREATE SCHEMA public;
CREATE VIEW v_catalog.tables AS SELECT table_schema, table_name FROM information_schema.tables;
CREATE VIEW v_catalog.schemata AS SELECT DISTINCT schema_name FROM information_schema.schemata;
CREATE VIEW v_monitor.projection_storage AS SELECT schema_name AS anchor_table_schema,
  table_name AS anchor_table_name, (estimated_size * column_count * 8)::BIGINT AS used_bytes FROM duckdb_tables();
CREATE VIEW public.nodes AS SELECT 'v_node0001' AS node_name, 'UP' AS node_state;
"""


class Locks:
    """Table locks: inserts go together (I), updates, deletes and enforced keys want the table alone (X, IV)."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._held: dict[str, dict[object, str]] = {}
        self._changed = threading.Condition()

    def take(self, table: str, owner: object, mode: str, timeout: float | None = None) -> None:
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        with self._changed:
            holders = self._held.setdefault(table, {})
            while any(o is not owner and "X" in (m, mode) for o, m in holders.items()):
                if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() >= deadline:
                    text = (
                        f"Unavailable: initiator locks for query - Locking failure: Timed out X locking Table:{table}"
                    )
                    raise ServerError(text, "55V03", 5157)
            if holders.get(owner) != "X":
                holders[owner] = mode

    def release(self, owner: object) -> None:
        with self._changed:
            for holders in self._held.values():
                holders.pop(owner, None)
            self._changed.notify_all()


class StandIn:
    """The stand-in for a server, on a free port of this machine. Use it as a context."""

    def __init__(self, *, max_sessions: int = 50, lock_timeout: float = 10.0, port: int = 0) -> None:
        self.database = duckdb.connect(config={"threads": 1})
        self.database.execute(_SYSTEM)
        self.max_sessions = max_sessions
        self.locks = Locks(lock_timeout)
        self.fields: dict[str, tuple[Field, ...]] = {}
        self.enforced: set[str] = set()
        self.statements: list[str] = []
        self.most_sessions = 0
        self.fault: Fault | None = None
        self.sessions: set[Any] = set()
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", port), backlog=100)
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.vanish()
        for thread in self._threads:
            thread.join(timeout=5)
        self.database.close()

    def vanish(self) -> None:
        """Stop listening and cut every line, like a server that loses its power."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for session in list(self.sessions):
            session.line.cut()

    def address(self, schema: str = "mate", **options: object) -> str:
        """Return the address that the store takes."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"vertica://{USER}@127.0.0.1:{self.port}/{DATABASE}?schema={schema}&tlsmode=disable{more}"

    def happens(self, event: str, session: object, detail: str) -> None:
        if event == "statement":
            self.statements.append(detail)
        if self.fault is not None:
            self.fault(event, session, detail)

    @contextmanager
    def faulty(self, fault: Fault) -> Iterator[None]:
        """Let something go wrong for a while."""
        self.fault = fault
        try:
            yield
        finally:
            self.fault = None

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def _serve(self, connection: socket.socket) -> None:
        from tests.vertica.standin.session import Session

        try:
            session = Session(self, Line(connection))
        except duckdb.Error:  # closed meanwhile
            connection.close()
            return
        try:
            session.run()
        except (ClosedError, OSError, ValueError):
            pass
        finally:
            with self._guard:
                self.sessions.discard(session)
            session.end()

    def admit(self, session: Any) -> None:
        with self._guard:
            if len(self.sessions) >= self.max_sessions:
                text = f"New session rejected due to limit, already {len(self.sessions)} sessions active"
                raise ServerError(text, "53300", 4060, "FATAL")
            self.sessions.add(session)
            self.most_sessions = max(self.most_sessions, len(self.sessions))
