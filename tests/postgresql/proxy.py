"""A line between clients and a PostgreSQL server on which things go wrong: cuts, lost answers, killed clients."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import psutil

from tests.sql.listener import Listener
from tests.vertica.standin.wire import ClosedError

_SSL_REQUEST = 80877103


class Proxy(Listener):
    """Passes messages on to a server, and tells of them. Use it as a context."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._server_port = port
        self.lines: list[Line] = []
        self.most_sessions = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_listening()
        self.cut()

    def cut(self) -> None:
        """Cut the lines of all clients."""
        for line in list(self.lines):
            line.cut()

    def accept(self, connection: socket.socket) -> None:
        """Connect to the server."""
        self.lines = [line for line in self.lines if line.is_open]
        self.lines.append(Line(self, connection, socket.create_connection(("127.0.0.1", self._server_port))))
        self.most_sessions = max(self.most_sessions, len(self.lines))


class Line:
    """One client's connection."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self.log, self.loads, self._copies = "", False, ""
        self.is_open = True
        for target in (self._from_client, self._from_server):
            threading.Thread(target=self._until_closed, args=(target,), daemon=True).start()

    @property
    def process(self) -> int:
        """The process of the client."""
        port = self._client.getpeername()[1]
        found = (c for c in psutil.net_connections("tcp") if c.laddr and c.laddr.port == port and c.pid)
        return int(next(found).pid or 0)

    def cut(self) -> None:
        """Close both sides."""
        self.is_open = False
        for side in (self._client, self._server):
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
            side.close()

    def _until_closed(self, run: Callable[[], None]) -> None:
        try:
            with suppress(ClosedError, OSError, ValueError, struct.error):
                run()
        finally:
            self.cut()

    def _from_client(self) -> None:
        stream = self._client.makefile("rb")
        while True:  # start-up messages have no letter; a request for encryption is answered with one byte
            head = stream.read(8)
            size, code = struct.unpack("!II", head)
            self._server.sendall(head + stream.read(size - 8))
            if code != _SSL_REQUEST:
                break
        while True:
            letter, body = _message(stream)
            if letter in (b"Q", b"P"):  # a statement alone, or after the name under which it is prepared
                text = body.split(b"\0")[letter == b"P"].decode(errors="replace")
                self._copies = text if text.startswith("COPY") else ""
                self._proxy.happens("statement", self, text)
            elif letter == b"d":
                self._proxy.happens("copy data", self, self._copies)
            self._server.sendall(letter + struct.pack("!I", len(body) + 4) + body)

    def _from_server(self) -> None:
        stream = self._server.makefile("rb")
        first = stream.read(1)
        if first in b"NS":  # the answer to a request for encryption
            self._client.sendall(first)
            first = b""
        while True:
            letter, body = _message(stream, first)
            first = b""
            if letter == b"C":
                self._proxy.happens("done", self, body.strip(b"\0").decode())
            self._client.sendall(letter + struct.pack("!I", len(body) + 4) + body)


def _message(stream: Any, letter: bytes = b"") -> tuple[bytes, bytes]:
    letter = letter or stream.read(1)
    (size,) = struct.unpack("!I", stream.read(4))
    return letter, stream.read(size - 4)
