"""A web client that tries again, uses http and https only, and reports every failure in one line.

A `RemoteError` is final. A `TransientError` may pass: `Client.patiently` tries again.
"""

from __future__ import annotations

import contextlib
import http.client
import logging
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from mate import __version__
from mate.errors import CorpusError

AGENT = f"mate-discovery/{__version__}"
SCHEMES = ("http", "https")
BLOCK = 1 << 18
LONGEST_WAIT = 60.0
"""Longest wait between two tries in seconds, whatever the server asks for."""
LARGEST_ANSWER = 256 << 20
"""Most bytes of an answer that is read into memory."""

_TRY_AGAIN = (408, 425, 429)
_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DownloadSettings:
    """How many files are downloaded at a time, and how patiently."""

    parallel: int = 2
    tries: int = 5
    """Requests per file (or per page of a search), at most."""
    backoff: float = 1.0
    """Seconds before the second try; each further wait is twice as long."""
    timeout: float = 60.0
    """Seconds without a byte until a connection counts as dead."""
    test: bool = False
    """Unpack every ``.gz`` file once before it gets its final name."""

    def __post_init__(self) -> None:
        if self.parallel < 1 or self.tries < 1 or self.backoff < 0 or self.timeout <= 0:
            raise CorpusError("parallel and tries must be at least 1, back-off at least 0 and timeout more than 0")


class RemoteError(CorpusError):
    """An address that gave no file."""

    def __init__(self, message: str, *, unreachable: bool = False) -> None:
        super().__init__(message)
        self.unreachable = unreachable
        """Whether the host did not answer at all, so that its other files need not be tried."""


class TransientError(Exception):
    """A failure that may pass when tried again."""

    def __init__(self, reason: str, *, wait: float = 0.0, unreachable: bool = False) -> None:
        super().__init__(reason)
        self.wait = wait
        self.unreachable = unreachable


class StopError(Exception):
    """The run is being stopped; the thread must end."""


class Client:
    """Sends requests over http and https only, and turns every failure into one line."""

    def __init__(self, settings: DownloadSettings) -> None:
        self.settings = settings
        self.stop = threading.Event()
        self._opener = urllib.request.OpenerDirector()
        for handler in (  # no file:, ftp: or data:
            urllib.request.ProxyHandler(),
            urllib.request.HTTPHandler(),
            urllib.request.HTTPSHandler(),
            urllib.request.HTTPDefaultErrorHandler(),
            urllib.request.HTTPErrorProcessor(),
            _Redirects(),
        ):
            self._opener.add_handler(handler)

    def read(self, url: str) -> tuple[int, bytes]:
        """Return status and body of an answer, also of a client error (4xx): its body may say what is wrong."""
        url = checked_url(url)
        return self.patiently(url, lambda: self._read(url))

    def _read(self, url: str) -> tuple[int, bytes]:
        try:
            with self.open(url, {}) as response:
                return response.status, self._whole(response, url)
        except RefusedError as refused:
            return refused.status, refused.body

    def _whole(self, response: http.client.HTTPResponse, url: str) -> bytes:
        body = bytearray()
        while block := self.receive(response):
            body += block
            if len(body) > LARGEST_ANSWER:
                raise RemoteError(f"{url}: an answer of more than {LARGEST_ANSWER >> 20} MB")
        expected = whole_number(response.headers.get("Content-Length"))
        if expected is not None and len(body) != expected:
            raise TransientError(f"the connection was cut after {len(body):,} of {expected:,} bytes")
        return bytes(body)

    def patiently(self, url: str, work: Callable[[], T]) -> T:
        """Call ``work`` until it succeeds or the tries are used up, waiting longer each time."""
        tries = self.settings.tries
        for number in range(1, tries + 1):
            self.check_stop()
            try:
                return work()
            except TransientError as again:
                _log.info("%s: %s (try %d of %d)", url, again, number, tries)
                if number == tries:
                    gave_up = f"; gave up after {tries} tries" if tries > 1 else ""
                    raise RemoteError(f"{url}: {again}{gave_up}", unreachable=again.unreachable) from again
                self.stop.wait(min(LONGEST_WAIT, max(again.wait, self.settings.backoff * 2 ** (number - 1))))
        raise AssertionError("unreachable")

    def open(self, url: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        """Send the request and return the answer, its body unread."""
        every = {"User-Agent": AGENT, "Accept-Encoding": "identity", **headers}
        request = urllib.request.Request(url, headers=every)
        try:
            response: http.client.HTTPResponse = self._opener.open(request, timeout=self.settings.timeout)
        except urllib.error.HTTPError as error:
            with error:
                raise _status_error(url, error) from error
        except urllib.error.URLError as error:
            raise self._network_error(url, error.reason) from error
        except (OSError, http.client.HTTPException) as error:
            raise self._network_error(url, error) from error
        finally:
            self.check_stop()
        return response

    def receive(self, response: http.client.HTTPResponse) -> bytes:
        """Return the next bytes of a body as soon as there are any; no bytes at its end."""
        try:
            block = response.read1(BLOCK)
        except (OSError, http.client.HTTPException) as error:
            raise TransientError(f"the connection was cut ({_words(error)})") from error
        self.check_stop()
        return block

    def check_stop(self) -> None:
        """Raise `StopError` if the run is being stopped."""
        if self.stop.is_set():
            raise StopError

    def _network_error(self, url: str, reason: object) -> Exception:
        host = urlsplit(url).hostname
        if isinstance(reason, socket.gaierror) and reason.errno != socket.EAI_AGAIN:
            return RemoteError(f"{url}: there is no host {host}; check the address and the network", unreachable=True)
        if isinstance(reason, socket.gaierror):
            return TransientError(f"the name of host {host} cannot be looked up; check the network", unreachable=True)
        if isinstance(reason, ssl.SSLCertVerificationError):
            return RemoteError(f"{url}: the certificate of {host} is not valid: {reason.verify_message}")
        if isinstance(reason, http.client.InvalidURL):
            return RemoteError(f"{url}: not a valid address: {reason}")
        if isinstance(reason, TimeoutError):
            return TransientError(f"no answer within {self.settings.timeout:g} seconds", unreachable=True)
        refused = isinstance(reason, OSError) and not isinstance(reason, http.client.RemoteDisconnected)
        return TransientError(f"no connection ({_words(reason)})", unreachable=refused)


class RefusedError(RemoteError):
    """A request that the server refuses for good."""

    def __init__(self, message: str, status: int, body: bytes) -> None:
        super().__init__(message)
        self.status = status
        self.body = body


def _status_error(url: str, error: urllib.error.HTTPError) -> Exception:
    said = f"HTTP {error.code} {_phrase(error)}".rstrip()
    if error.code >= 500 or error.code in _TRY_AGAIN:
        return TransientError(said, wait=float(whole_number(error.headers.get("Retry-After")) or 0))
    body = b""
    with contextlib.suppress(OSError, http.client.HTTPException):
        body = error.read(BLOCK)
    return RefusedError(f"{url}: {said}", error.code, body)


def _phrase(error: urllib.error.HTTPError) -> str:
    """Return the server's own words on one line: urllib explains an endless redirect on two."""
    return str(error.reason).splitlines()[0].strip() if str(error.reason).strip() else ""


def _words(error: object) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https only."""

    def http_error_302(self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any) -> Any:
        target = urljoin(req.full_url, headers.get("Location") or "")
        if urlsplit(target).scheme not in SCHEMES:
            fp.close()
            raise RemoteError(f"{req.full_url}: redirects to {target}, which is neither http nor https")
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def checked_url(url: str) -> str:
    """Return the address with blanks and umlauts encoded; refuse all schemes but http and https."""
    try:
        parts = urlsplit(url.strip())
        host = (parts.hostname or "").encode("idna").decode("ascii")
        port = f":{parts.port}" if parts.port else ""
    except ValueError as error:  # a bad port, an unfinished IPv6 address, an impossible name
        raise RemoteError(f"{url}: not a valid address") from error
    if parts.scheme not in SCHEMES:
        raise RemoteError(f"{url or 'an empty address'}: only http and https addresses are fetched")
    if not host or parts.username is not None:
        raise RemoteError(f"{url}: not a valid address")
    host = f"[{host}]" if ":" in host else host
    path, query = (quote(text, safe="%/:=&?~+!$,;'@()*[]") for text in (parts.path, parts.query))
    return urlunsplit((parts.scheme, host + port, path or "/", query, ""))


def whole_number(text: str | None) -> int | None:
    """Read the number in a header; None if there is none."""
    return int(text) if text and text.strip().isdecimal() else None
