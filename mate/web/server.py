"""A server for one lake, on this machine alone unless told otherwise."""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import uvicorn

import mate
from mate.errors import MateError
from mate.web.app import application
from mate.web.guard import Access, is_loopback, names_of

EVERYWHERE = ("0.0.0.0", "::", "")
ELSEWHERE = "192.0.2.1"
"""An address that no machine has: set aside for documentation."""
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


@dataclass(frozen=True)
class Place:
    """Where a server listens, and what it asks for."""

    host: str
    port: int
    token: str | None
    names: tuple[str, ...] = ()
    """Names of proxies before it."""

    def address(self) -> str:
        """Return what to open in a browser; the token is behind #, so that no server and no log sees it."""
        shown = "127.0.0.1" if self.host in ("0.0.0.0", "") else "::1" if self.host == "::" else self.host
        return self._at(f"http://{_bracketed(shown)}:{self.port}")

    def addresses_of_others(self) -> list[str]:
        """Return what other machines open: the names of proxies, and this machine's own address on the network."""
        named = [self._at(f"https://{name}") for name in self.names]
        if self.host not in EVERYWHERE:
            return named
        return [*named, self._at(f"http://{_bracketed(_own_address())}:{self.port}")]

    def _at(self, start: str) -> str:
        return f"{start}/" + (f"#token={self.token}" if self.token else "")

    def access(self) -> Access:
        """Return which requests are answered."""
        origins = frozenset(self.names)
        if is_loopback(self.host):
            return Access(names_of(*self.names), origins=origins, token=self.token)
        hosts = names_of(self.host, socket.gethostname(), *self.names)
        return Access(hosts, addresses=True, origins=origins, token=self.token)


def place_of(host: str, port: int, token: str | None, names: Sequence[str] = ()) -> Place:
    """Return where to listen; a server that others can reach, themselves or by a proxy, has a token."""
    for name in names:
        if not NAME.fullmatch(name):
            raise MateError(f"--name takes the name of a host, such as lake.example.org, not {name!r}")
    is_private = is_loopback(host) and not names
    named = tuple(name.lower() for name in names)
    return Place(host, port, token or (None if is_private else secrets.token_urlsafe(24)), named)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _own_address() -> str:
    """Return the address that this machine has for others; its name where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((ELSEWHERE, 9))  # sends nothing, but chooses a way out
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def serve(lake: mate.Lake, place: Place, ready: Callable[[Place], None]) -> None:
    """Serve a lake until interrupted; `ready` is told the place when requests are taken, with the port chosen for 0."""
    listening = _listen(place)
    place = replace(place, port=listening.getsockname()[1])
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
