"""Who may ask: the right host, no other site, and the token where one is needed."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mate.web.errors import RefusedError
from mate.web.replies import error_reply

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
DOCUMENT = "/api/openapi.json"
"""Holds nothing of the lake: it can be read without the token."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Access:
    """Which requests are answered."""

    hosts: frozenset[str] = LOOPBACK
    """Names that the server is asked under: a page elsewhere may let its own name point here."""
    addresses: bool = False
    """Whether any address in figures is such a name, too: no other page can own one."""
    origins: frozenset[str] = frozenset()
    """Names of proxies before this server: pages that they hand out may ask, under whatever name and port they do."""
    token: str | None = field(default=None, repr=False)
    """What a request for data must bring along."""

    def check(self, path: str, headers: Headers) -> None:
        """Raise an error if a request is not to be answered."""
        host = headers.get("host", "")
        if not self._is_ours(host):
            raise RefusedError("this server does not answer under that host name")
        if path.startswith("/api") and self._is_foreign(headers, host):
            raise RefusedError("requests from other sites are refused")
        if path.startswith("/api") and path != DOCUMENT and self.token is not None and not self._has_token(headers):
            raise RefusedError("the token is missing or wrong: open the address that mate serve printed")

    def _is_ours(self, host: str) -> bool:
        name = _name(host)
        return name in self.hosts or (self.addresses and _is_address(name))

    def _is_foreign(self, headers: Headers, host: str) -> bool:
        """Tell whether a browser sends this for a page of another site; the same machine's other ports are others."""
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return True
        origin = headers.get("origin")
        if origin is None:
            return False
        place = urlsplit_host(origin)
        return place != host.lower() and (place is None or _name(place) not in self.origins)

    def _has_token(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        expected = (self.token or "").encode()
        return scheme.lower() == "bearer" and hmac.compare_digest(given.encode(), expected)


def names_of(*names: str) -> frozenset[str]:
    """Return names that a server may be asked under."""
    return LOOPBACK | frozenset(name.lower() for name in names)


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine alone."""
    if host.lower() == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def urlsplit_host(origin: str) -> str | None:
    """Return host and port of an origin; None for one that has none."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _name(host: str) -> str:
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


class Guard:
    """Checks every request before anything else sees it, and sends the same headers with every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add(MutableHeaders(scope=message), HEADERS.items())
            await send(message)

        try:
            self.access.check(scope["path"], Headers(scope=scope))
        except RefusedError as error:
            await error_reply(error)(scope, receive, guarded)
            return
        await self.app(scope, receive, guarded)


def _add(headers: MutableHeaders, more: Iterable[tuple[str, str]]) -> None:
    for name, value in more:
        headers[name] = value
