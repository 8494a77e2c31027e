"""A server for one lake, reachable from this machine alone by default."""

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
from mate.web.guard import LOOPBACK, Access, is_loopback

ALL_INTERFACES = ("0.0.0.0", "::", "")
DOCUMENTATION_ADDRESS = "192.0.2.1"
"""An address that no machine has: it is reserved for documentation."""
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


@dataclass(frozen=True)
class ListenAddress:
    """Where a server listens, and the token that it asks for."""

    host: str
    port: int
    token: str | None
    proxies: tuple[str, ...] = ()
    """Names of proxies in front of it."""

    def url(self) -> str:
        """Return what to open in a browser."""
        host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return self._with_token(f"http://{_bracketed(host)}:{self.port}/")

    def urls_for_others(self) -> list[str]:
        """Return what other machines open: the proxies, and the address of this machine on the network."""
        urls = [self._with_token(f"https://{name}/") for name in self.proxies]
        if self.host in ALL_INTERFACES:
            urls.append(self._with_token(f"http://{_bracketed(_network_address())}:{self.port}/"))
        return urls

    def _with_token(self, url: str) -> str:
        """Append the token behind #: browsers send that part to no server, so that no log contains it."""
        return f"{url}#token={self.token}" if self.token else url

    def access(self) -> Access:
        """Return which requests are answered."""
        hosts = {*LOOPBACK, *self.proxies}
        private = is_loopback(self.host)
        if not private:
            hosts |= {self.host.lower(), socket.gethostname().lower()}
        return Access(frozenset(hosts), any_address=not private, proxies=frozenset(self.proxies), token=self.token)


def listen_address(host: str, port: int, token: str | None, proxies: Sequence[str] = ()) -> ListenAddress:
    """Return where to listen; a server that others can reach, directly or through a proxy, has a token."""
    for name in proxies:
        if not HOST_NAME.fullmatch(name):
            raise MateError(f"--name takes the name of a host, such as lake.example.org, not {name!r}")
    if not token and not (is_loopback(host) and not proxies):
        token = secrets.token_urlsafe(24)
    return ListenAddress(host, port, token or None, tuple(name.lower() for name in proxies))


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _network_address() -> str:
    """Return the address that other machines see, or the name of this machine if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((DOCUMENTATION_ADDRESS, 9))  # sends nothing, but chooses a network interface
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def serve(lake: mate.Lake, address: ListenAddress, ready: Callable[[ListenAddress], None]) -> None:
    """Serve a lake until interrupted; call `ready` when requests are accepted, with the port that was chosen for 0."""
    listening = _listen(address)
    address = replace(address, port=listening.getsockname()[1])
    config = uvicorn.Config(
        application(lake, access=address.access()),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=500,
        timeout_graceful_shutdown=5,
    )
    with listening:
        ready(address)
        with suppress(KeyboardInterrupt):  # the usual end
            uvicorn.Server(config).run(sockets=[listening])


def _listen(address: ListenAddress) -> socket.socket:
    try:
        family = socket.getaddrinfo(address.host or None, address.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((address.host, address.port), family=family, backlog=512)
    except OSError as error:
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise MateError(f"cannot listen on {address.host}:{address.port}: {reason}") from error
