"""Which requests are answered: those for the right host, from no other site, and with the token if there is one."""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mate.web.replies import WebError, error_reply

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
    """Which requests are answered."""

    hosts: frozenset[str] = LOOPBACK
    """Host names of this server. A page elsewhere may let its own name point here (DNS rebinding)."""
    any_address: bool = False
    """Whether every IP address is accepted as the host, too: no other page can own one."""
    proxies: frozenset[str] = frozenset()
    """Names of proxies in front of this server: their pages may send requests, under any host name and port."""
    token: str | None = field(default=None, repr=False)
    """What a request for data must contain."""

    def check(self, path: str, headers: Headers) -> None:
        """Raise an error for a request that is not answered."""
        host = headers.get("host", "")
        name = _host_name(host)
        if name not in self.hosts and not (self.any_address and _is_address(name)):
            raise WebError("this server does not answer under that host name", 403)
        if not path.startswith("/api"):
            return
        if self._is_foreign(headers, host):
            raise WebError("requests from other sites are refused", 403)
        if path != DOCUMENT and self.token is not None and not _has_token(headers, self.token):
            raise WebError("the token is missing or wrong: open the address that mate serve printed", 403)

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
