"""A server for one lake, on this machine alone unless told otherwise."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import uvicorn

import mate
from mate.errors import MateError
from mate.web.app import application
from mate.web.guard import Access, is_loopback, names_of


@dataclass(frozen=True)
class Place:
    """Where a server listens, and what it asks for."""

    host: str
    port: int
    token: str | None

    def address(self) -> str:
        """Return what to open in a browser; the token is behind #, so that no server and no log sees it."""
        shown = "127.0.0.1" if self.host in ("0.0.0.0", "") else "[::1]" if self.host == "::" else self.host
        shown = f"[{shown}]" if ":" in shown and not shown.startswith("[") else shown
        return f"http://{shown}:{self.port}/" + (f"#token={self.token}" if self.token else "")

    def access(self) -> Access:
        """Return which requests are answered."""
        if is_loopback(self.host):
            return Access(token=self.token)
        return Access(names_of(self.host, socket.gethostname()), addresses=True, token=self.token)


def place_of(host: str, port: int, token: str | None) -> Place:
    """Return where to listen; a server that others can reach has a token, made up unless given."""
    return Place(host, port, token or (None if is_loopback(host) else secrets.token_urlsafe(24)))


def serve(lake: mate.Lake, place: Place, ready: Callable[[Place], None]) -> None:
    """Serve a lake until interrupted; `ready` is told the place when requests are taken, with the port chosen for 0."""
    listening = _listen(place)
    place = Place(place.host, listening.getsockname()[1], place.token)
    config = uvicorn.Config(
        application(lake, access=place.access()),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=500,
        timeout_graceful_shutdown=5,
    )
    with listening:
        ready(place)
        with suppress(KeyboardInterrupt):  # how it ends
            uvicorn.Server(config).run(sockets=[listening])


def _listen(place: Place) -> socket.socket:
    try:
        family = socket.getaddrinfo(place.host or None, place.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((place.host, place.port), family=family, backlog=512)
    except OSError as error:
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise MateError(f"cannot listen on {place.host}:{place.port}: {reason}") from error
