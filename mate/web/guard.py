"""Where a server listens, and which requests it answers.

Those for the right host, from no other site, and with the token if there is one.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mate.errors import MateError
from mate.web.replies import WebError, error_reply

OWN_ADDRESS = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}
"""Addresses that stand for all networks of this machine, each with the one that its own browser opens."""
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
DOCUMENT = "/api/openapi.json"
"""Contains nothing of the lake: it can be read without the token."""
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Access:
    """Where a server listens, and which requests it answers."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str | None = field(default=None, repr=False)
    """What a request for data must contain."""
    proxies: tuple[str, ...] = ()
    """Names of proxies in front of it: their pages may send requests, under any host name and port."""

    def url(self) -> str:
        """Return what to open in a browser."""
        return self._url(f"http://{_bracketed(OWN_ADDRESS.get(self.host, self.host))}:{self.port}/")

    def urls_for_others(self) -> list[str]:
        """Return what other machines open: the proxies, and the address of this machine on the network."""
        urls = [self._url(f"https://{name}/") for name in self.proxies]
        if self.host in OWN_ADDRESS:
            urls.append(self._url(f"http://{_bracketed(_network_address())}:{self.port}/"))
        return urls

    def _url(self, url: str) -> str:
        """Append the token behind #: browsers send that part to no server, so that no log contains it."""
        return f"{url}#token={self.token}" if self.token else url

    def check(self, path: str, headers: Headers) -> None:
        """Raise an error for a request that is not answered."""
        host = headers.get("host", "")
        if not self._is_own_name(_host_name(host)):
            raise WebError("this server does not answer under that host name", 403)
        if not path.startswith("/api"):
            return
        if self._is_foreign(headers, host):
            raise WebError("requests from other sites are refused", 403)
        if path != DOCUMENT and self.token is not None and not _has_token(headers, self.token):
            raise WebError("the token is missing or wrong: open the address that mate serve printed", 403)

    def _is_own_name(self, name: str) -> bool:
        """Return whether a host name is that of this server.

        A page elsewhere may let its own name point here (DNS rebinding), but can own no IP address.
        """
        if name in LOOPBACK or name in self.proxies:
            return True
        if is_loopback(self.host):
            return False
        return name in (self.host.lower(), socket.gethostname().lower()) or _is_address(name)

    def _is_foreign(self, headers: Headers, host: str) -> bool:
        """Return whether a page of another site sends this; other ports of the same machine are other sites."""
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return True
        if "origin" not in headers:
            return False
        try:
            origin = urlsplit(headers["origin"]).netloc.lower()
        except ValueError:
            return True
        return origin != host.lower() and _host_name(origin) not in self.proxies


def _has_token(headers: Headers, token: str) -> bool:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.encode(), token.encode())


def access_to(host: str, port: int, token: str | None, proxies: Sequence[str] = ()) -> Access:
    """Return where to listen; a server that others can reach, directly or through a proxy, has a token."""
    for name in proxies:
        if not HOST_NAME.fullmatch(name):
            raise MateError(f"--name takes the name of a host, such as lake.example.org, not {name!r}")
    if not token and (proxies or not is_loopback(host)):
        token = secrets.token_urlsafe(24)
    return Access(host, port, token or None, tuple(name.lower() for name in proxies))


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine alone."""
    return host.lower() == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _host_name(host: str) -> str:
    """Return the name in a Host header, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _network_address() -> str:
    """Return the address that other machines see, or the name of this machine if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nobody's address: sends nothing, but chooses a network interface
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


class Guard:
    """Checks every request before anything else sees it, and adds the security headers to every reply."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        try:
            self.access.check(scope["path"], Headers(scope=scope))
        except WebError as error:
            await error_reply(error)(scope, receive, send_with_headers)
            return
        await self.app(scope, receive, send_with_headers)
