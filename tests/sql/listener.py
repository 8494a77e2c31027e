"""What listens on a port of this machine in a server's place, tells what happens, and lets things go wrong."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

Fault = Callable[[str, Any, str], None]
"""Called with what happens ("statement", "copy data", "done"), the session or line and a detail; may raise an error."""


class Listener:
    """Accepts connections until it is told to stop; each is served by a thread or two."""

    def __init__(self, port: int = 0) -> None:
        self._listener = socket.create_server(("127.0.0.1", port), backlog=100)
        self.port = int(self._listener.getsockname()[1])
        self.statements: list[str] = []
        self.fault: Fault | None = None
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def accept(self, connection: socket.socket) -> None:
        """Begin to serve a client."""
        raise NotImplementedError

    def stop_listening(self) -> None:
        """Accept nobody any more."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def happens(self, event: str, session: object, detail: str) -> None:
        """Tell what happens, and let it go wrong."""
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
            self.accept(connection)
