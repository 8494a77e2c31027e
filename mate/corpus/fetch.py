"""Files from the web, whole or not at all: resumable, verified, several at a time.

A file arrives as ``NAME.part`` and takes its name when every byte is there. What has arrived is never asked for
again: a cut connection, Ctrl-C or a full disk leaves the part, and the next try goes on behind it (``Range``),
provided that the server says by ETag or date that the file is still the same (``If-Range``).

The SHA-256 of each file is written to ``checksums.sha256`` before the file takes its name, in the form that
``sha256sum -c`` reads. A file that agrees with it is kept, any other is fetched again.

Two kinds of errors: a `RemoteError` concerns one address and becomes that file's outcome; what concerns the
folder (full, not writable, in use) ends the run.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import hashlib
import http.client
import json
import logging
import os
import queue
import re
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from mate import __version__
from mate.corpus.compression import DAMAGE, damage
from mate.errors import CorpusError

AGENT = f"mate-discovery/{__version__}"
CHECKSUMS = "checksums.sha256"
SCHEMES = ("http", "https")
BLOCK = 1 << 18
LONGEST_WAIT = 60.0
"""Seconds between two tries, at most, whatever the server asks for."""
LARGEST_ANSWER = 256 << 20
"""Bytes of an answer that is read into memory."""
DEAD_HOST = 3
"""Files in a row that a host may leave unanswered; its others then fail without being tried."""
PATIENCE = 2.0
"""Seconds that an interrupted run waits for its threads."""

_TRY_AGAIN = (408, 425, 429)
_CHECKSUM_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
_NAME = re.compile(r"[^\W_][\w.+-]{0,199}", re.ASCII)
_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Source:
    """A file to fetch and the name that it gets in the folder."""

    url: str
    name: str
    sha256: str | None = None
    """What its checksum must be, where that is known."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of a source."""

    source: Source
    status: str
    """``fetched``, ``kept`` (it was there and its checksum agrees) or ``failed``."""
    size: int = 0
    sha256: str = ""
    reason: str = ""
    """Why it failed."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How patiently files are fetched."""

    parallel: int = 2
    tries: int = 5
    """How often one file (or one page of a search) is asked for."""
    backoff: float = 1.0
    """Seconds before the second try; each further wait is twice as long."""
    timeout: float = 60.0
    """Seconds without a byte after which a connection counts as dead."""
    test: bool = False
    """Unpack every ``.gz`` file once before it takes its name."""

    def __post_init__(self) -> None:
        if self.parallel < 1 or self.tries < 1 or self.backoff < 0 or self.timeout <= 0:
            raise CorpusError("parallel and tries must be at least 1, back-off at least 0 and timeout more than 0")


class Watcher(Protocol):
    """Is told how the work goes, from several threads."""

    def started(self, name: str, done: int, total: int | None) -> None:
        """Bytes of a file begin to flow; ``done`` are there already."""

    def received(self, name: str, size: int) -> None:
        """Some bytes more."""

    def ended(self, name: str) -> None:
        """No more bytes of this file, for better or worse."""


class _Unwatched:
    """Nobody looks."""

    def started(self, name: str, done: int, total: int | None) -> None: ...

    def received(self, name: str, size: int) -> None: ...

    def ended(self, name: str) -> None: ...


class RemoteError(CorpusError):
    """An address that gave no file."""

    def __init__(self, message: str, *, unreachable: bool = False) -> None:
        super().__init__(message)
        self.unreachable = unreachable
        """The host did not answer at all, so that its other files need not be tried."""


class _TransientError(Exception):
    """What may well work when tried again."""

    def __init__(self, reason: str, *, wait: float = 0.0, unreachable: bool = False) -> None:
        super().__init__(reason)
        self.wait = wait
        self.unreachable = unreachable


class _StopError(Exception):
    """The run is being ended; the thread shall go."""


@contextlib.contextmanager
def fetching(
    sources: Iterable[Source], folder: Path, settings: Settings | None = None, watcher: Watcher | None = None
) -> Iterator[Iterator[Fetched]]:
    """Fetch the sources into the folder, which is made and held for this run, and give out each outcome as it comes.

    Leaving the block early ends the work; parts stay, and the next run goes on with them.
    """
    settings = settings or Settings()
    todo = _checked(sources)
    with local_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with _alone_in(folder), Checksums(folder) as checksums:
        client = Client(settings)
        download = _Download(folder, checksums, client, watcher or _Unwatched())
        with contextlib.closing(_in_threads(download, todo, settings.parallel, client.stop)) as outcomes:
            yield outcomes


def _checked(sources: Iterable[Source]) -> list[Source]:
    """Names may come from a server: none leaves the folder, hides in it or meets our own files there."""
    todo = list(sources)
    names = set()
    for source in todo:
        ours = source.name == CHECKSUMS or source.name.endswith(".part")
        if ours or not _NAME.fullmatch(source.name):
            raise CorpusError(f"{source.name!r} is not a safe name for a file")
        if source.name.casefold() in names:  # the same file where case does not count
            raise CorpusError(f"two sources would be written to {source.name}")
        names.add(source.name.casefold())
    return todo


def _in_threads(
    work: Callable[[Source], Fetched], todo: Sequence[Source], count: int, stop: threading.Event
) -> Generator[Fetched, None, None]:
    """Run the work in daemon threads: an executor would keep Ctrl-C waiting for a silent connection."""
    waiting: queue.SimpleQueue[Source] = queue.SimpleQueue()
    done: queue.SimpleQueue[Fetched | BaseException] = queue.SimpleQueue()
    for source in todo:
        waiting.put(source)

    def run() -> None:
        try:
            while not stop.is_set():
                done.put(work(waiting.get_nowait()))
        except (queue.Empty, _StopError):
            pass
        except BaseException as error:
            done.put(error)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(min(count, len(todo)))]
    try:
        for thread in threads:
            thread.start()
        for _ in todo:
            outcome = done.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)


class _Download:
    """Fetches one source after the other; shared by the threads."""

    def __init__(self, folder: Path, checksums: Checksums, client: Client, watcher: Watcher) -> None:
        self._folder = folder
        self._checksums = checksums
        self._client = client
        self._watcher = watcher
        self._hosts = _Hosts()

    def __call__(self, source: Source) -> Fetched:
        try:
            return self._finished(source) or self._fetched(source)
        except RemoteError as error:
            return Fetched(source, "failed", reason=str(error))
        finally:
            self._watcher.ended(source.name)

    def _finished(self, source: Source) -> Fetched | None:
        path = self._folder / source.name
        wanted = source.sha256 or self._checksums.get(source.name)
        if wanted is None or not path.is_file():
            return None
        with local_errors(path):
            size = path.stat().st_size
            self._watcher.started(source.name, 0, size)
            found = self._digest(path, lambda size: self._watcher.received(source.name, size)).hexdigest()
        if found != wanted or self._damage(path, source.name):
            _log.warning("%s: does not agree with its checksum, fetching it again", path)
            return None
        self._checksums.set(source.name, found)
        return Fetched(source, "kept", size, found)

    def _fetched(self, source: Source) -> Fetched:
        url = checked_url(source.url)
        host = urlsplit(url).netloc
        self._hosts.refuse_dead(host)
        with _Part(self._folder, source.name, url, self._digest) as part:
            try:
                self._client.patiently(url, lambda: self._fill(part, source.name, url))
            except RemoteError as error:
                self._hosts.note(host, dead=error.unreachable)
                raise
            self._hosts.note(host, dead=False)
            self._verify(part, source)
            self._checksums.set(source.name, part.digest.hexdigest())
            part.finish(self._folder / source.name)
            return Fetched(source, "fetched", part.size, part.digest.hexdigest())

    def _fill(self, part: _Part, name: str, url: str) -> None:
        """Ask for what the part lacks and append it; `_TransientError` if it is not complete then."""
        if part.complete:  # all of it had arrived when the last run ended
            return
        with self._ask(part, url) as response:
            _refuse_page(response, url)
            part.begin(response)
            self._watcher.started(name, part.size, part.total)
            while block := self._client.receive(response):
                part.write(block)
                self._watcher.received(name, len(block))
        if part.total is not None and part.size != part.total:
            raise _TransientError(f"the connection was cut after {part.size:,} of {part.total:,} bytes")

    def _ask(self, part: _Part, url: str) -> http.client.HTTPResponse:
        try:
            return self._client.open(url, part.request_headers())
        except _RefusedError as refused:
            if refused.status != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not part.size:
                raise
            part.restart()
            raise _TransientError("the file is now shorter than what has arrived") from refused

    def _verify(self, part: _Part, source: Source) -> None:
        found = part.digest.hexdigest()
        if source.sha256 and found != source.sha256:
            part.discard()
            raise RemoteError(f"{source.url}: its SHA-256 is {found}, not {source.sha256} as expected")
        if flaw := self._damage(part.path, source.name):
            part.discard()
            raise RemoteError(f"{source.url}: {flaw}")

    def _damage(self, path: Path, name: str) -> str | None:
        """Say what is wrong with a gzip file, if it is one and is to be tested."""
        if not (self._client.settings.test and name.endswith(".gz")):
            return None
        try:
            with gzip.open(path) as stream:
                while stream.read(BLOCK):
                    self._client.check_stop()
        except DAMAGE as error:
            return damage(error, "gzip")
        return None

    def _digest(self, path: Path, tell: Callable[[int], None] = lambda _: None) -> hashlib._Hash:
        digest = hashlib.sha256()
        with path.open("rb") as stream:
            while block := stream.read(BLOCK):
                self._client.check_stop()
                digest.update(block)
                tell(len(block))
        return digest


class _Hosts:
    """Remembers which hosts do not answer: a dead one may hold thousands of files."""

    def __init__(self) -> None:
        self._silent: dict[str, int] = {}
        self._lock = threading.Lock()

    def note(self, host: str, *, dead: bool) -> None:
        with self._lock:
            self._silent[host] = self._silent.get(host, 0) + 1 if dead else 0

    def refuse_dead(self, host: str) -> None:
        if self._silent.get(host, 0) >= DEAD_HOST:
            raise RemoteError(f"{host} left {DEAD_HOST} files in a row unanswered; this one was not tried")


class _Part:
    """A file on its way: the bytes so far, their digest, and what tells whether the rest still belongs to them.

    Bytes are only ever appended, and the note about them is on disk before the first: the process may
    be killed at any point.
    """

    def __init__(self, folder: Path, name: str, url: str, digest_of: Callable[[Path], hashlib._Hash]) -> None:
        self.path = folder / f"{name}.part"
        self._note = folder / f".{name}.part.json"  # hidden: not to be taken for a table
        self._url = url
        self.total: int | None = None
        self._validator: str | None = None
        self._recall()
        with local_errors(self.path):
            self._file: IO[bytes] = self.path.open("ab", buffering=0)
            self.size = self._file.tell()
            self.digest: hashlib._Hash = hashlib.sha256()
            if self.size:
                self.digest = digest_of(self.path)

    def __enter__(self) -> _Part:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._file.close()
        if not self.size and kind is not _StopError:  # after a stop, the part may be another run's already
            self.discard()

    @property
    def complete(self) -> bool:
        return self.size > 0 and self.size == self.total

    def request_headers(self) -> dict[str, str]:
        if self.size and self._validator:
            return {"Range": f"bytes={self.size}-", "If-Range": self._validator}
        return {}

    def begin(self, response: http.client.HTTPResponse) -> None:
        """Take in the header of an answer: it goes on behind our bytes, or it starts over."""
        length = _whole_number(response.headers.get("Content-Length"))
        validator = _validator(response)
        if response.status == HTTPStatus.PARTIAL_CONTENT:
            first, total = _content_range(response.headers.get("Content-Range"))
            if not self.size or first != self.size or validator not in (None, self._validator):
                self.restart()
                raise _TransientError("the server sent another part of the file than it was asked for")
            self.total = total if total is not None else length and self.size + length
            return
        if response.status != HTTPStatus.OK:
            raise RemoteError(f"{self._url}: HTTP {response.status} {response.reason}")
        self.restart()
        self.total, self._validator = length, validator
        self._remember()

    def write(self, block: bytes) -> None:
        rest = memoryview(block)
        with local_errors(self.path):
            while rest:
                rest = rest[self._file.write(rest) :]  # a disk that fills up takes only some of it
        self.digest.update(block)
        self.size += len(block)

    def restart(self) -> None:
        with local_errors(self.path):
            if self.size:
                self._file.truncate(0)
        self.size, self.total, self._validator = 0, None, None
        self.digest = hashlib.sha256()

    def finish(self, path: Path) -> None:
        with local_errors(path):
            os.fsync(self._file.fileno())
            self.path.replace(path)
            self._note.unlink(missing_ok=True)

    def discard(self) -> None:
        with local_errors(self.path):
            self.path.unlink(missing_ok=True)
            self._note.unlink(missing_ok=True)

    def _remember(self) -> None:
        with local_errors(self._note):
            write_whole(self._note, json.dumps({"url": self._url, "validator": self._validator, "total": self.total}))

    def _recall(self) -> None:
        """A note that is missing, damaged or about another address leaves us without a validator."""
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            note = json.loads(self._note.read_text(encoding="utf-8"))
            if note["url"] == self._url:
                self._validator, self.total = note["validator"], note["total"]


def _validator(response: http.client.HTTPResponse) -> str | None:
    """Return what `If-Range` may carry: a strong ETag, else the date of the last change."""
    tag: str | None = response.headers.get("ETag")
    if tag and not tag.startswith("W/"):
        return tag
    return response.headers.get("Last-Modified")


def _content_range(header: str | None) -> tuple[int | None, int | None]:
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", header or "")
    return (int(match[1]), _whole_number(match[2])) if match else (None, None)


def _whole_number(text: str | None) -> int | None:
    return int(text) if text and text.strip().isdecimal() else None


def _refuse_page(response: http.client.HTTPResponse, url: str) -> None:
    """A missing file is often a friendly web page with a good status, and no table."""
    if response.headers.get_content_type() in ("text/html", "application/xhtml+xml"):
        raise RemoteError(f"{url}: a web page, not a data file")


class Client:
    """Asks servers, over http and https only, and turns what goes wrong into one line."""

    def __init__(self, settings: Settings) -> None:
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
        """Return status and body of an answer; a client error (4xx) has a body worth reading, too."""
        url = checked_url(url)
        return self.patiently(url, lambda: self._read(url))

    def _read(self, url: str) -> tuple[int, bytes]:
        try:
            with self.open(url, {}) as response:
                return response.status, self._whole(response, url)
        except _RefusedError as refused:
            return refused.status, refused.body

    def _whole(self, response: http.client.HTTPResponse, url: str) -> bytes:
        body = bytearray()
        while block := self.receive(response):
            body += block
            if len(body) > LARGEST_ANSWER:
                raise RemoteError(f"{url}: an answer of more than {LARGEST_ANSWER >> 20} MB")
        expected = _whole_number(response.headers.get("Content-Length"))
        if expected is not None and len(body) != expected:
            raise _TransientError(f"the connection was cut after {len(body):,} of {expected:,} bytes")
        return bytes(body)

    def patiently(self, url: str, work: Callable[[], T]) -> T:
        """Call the work until it succeeds, waiting longer each time, or the tries are used up."""
        tries = self.settings.tries
        for number in range(1, tries + 1):
            self.check_stop()
            try:
                return work()
            except _TransientError as again:
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
        """Return the next bytes of a body as soon as there are any, none at its end."""
        try:
            block = response.read1(BLOCK)
        except (OSError, http.client.HTTPException) as error:
            raise _TransientError(f"the connection was cut ({_words(error)})") from error
        self.check_stop()
        return block

    def check_stop(self) -> None:
        """Leave the thread if the run is being ended."""
        if self.stop.is_set():
            raise _StopError

    def _network_error(self, url: str, reason: object) -> Exception:
        host = urlsplit(url).hostname
        if isinstance(reason, socket.gaierror) and reason.errno != socket.EAI_AGAIN:
            return RemoteError(f"{url}: there is no host {host}; check the address and the network", unreachable=True)
        if isinstance(reason, socket.gaierror):
            return _TransientError(f"the name of host {host} cannot be looked up; check the network", unreachable=True)
        if isinstance(reason, ssl.SSLCertVerificationError):
            return RemoteError(f"{url}: the certificate of {host} is not valid: {reason.verify_message}")
        if isinstance(reason, http.client.InvalidURL):
            return RemoteError(f"{url}: not a valid address: {reason}")
        if isinstance(reason, TimeoutError):
            return _TransientError(f"no answer within {self.settings.timeout:g} seconds", unreachable=True)
        refused = isinstance(reason, OSError) and not isinstance(reason, http.client.RemoteDisconnected)
        return _TransientError(f"no connection ({_words(reason)})", unreachable=refused)


class _RefusedError(RemoteError):
    """A request that the server will not serve, however often it is asked."""

    def __init__(self, message: str, status: int, body: bytes) -> None:
        super().__init__(message)
        self.status = status
        self.body = body


def _status_error(url: str, error: urllib.error.HTTPError) -> Exception:
    said = f"HTTP {error.code} {_phrase(error)}".rstrip()
    if error.code >= 500 or error.code in _TRY_AGAIN:
        return _TransientError(said, wait=float(_whole_number(error.headers.get("Retry-After")) or 0))
    body = b""
    with contextlib.suppress(OSError, http.client.HTTPException):
        body = error.read(BLOCK)
    return _RefusedError(f"{url}: {said}", error.code, body)


def _phrase(error: urllib.error.HTTPError) -> str:
    """The server's own words, but on one line: urllib explains an endless redirect on two."""
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
    """Return the address ready to be sent, blanks and umlauts encoded; http and https only."""
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


class Checksums:
    """The ``checksums.sha256`` of a folder: a line is added at once, the whole is put in order on leaving."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / CHECKSUMS
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}

    def __enter__(self) -> Checksums:
        if self._path.exists():
            self._known = read_checksums(self._path, strict=False)
            self._put_in_order()  # a line that a crash cut short must not run into the next
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._known:
                self._put_in_order()

    def get(self, name: str) -> str | None:
        """Return the recorded checksum of a file."""
        return self._known.get(name)

    def set(self, name: str, sha256: str) -> None:
        """Record a checksum."""
        with self._lock, local_errors(self._path):
            if self._known.get(name) != sha256:
                self._known[name] = sha256
                with self._path.open("ab", buffering=0) as file:
                    file.write(f"{sha256}  {name}\n".encode())

    def _put_in_order(self) -> None:
        with local_errors(self._path):
            write_whole(self._path, "".join(f"{self._known[name]}  {name}\n" for name in sorted(self._known)))


def read_checksums(path: Path, *, strict: bool = True) -> dict[str, str]:
    """Read the output of ``sha256sum``: name to checksum; other lines are an error, or are left out."""
    known = {}
    with local_errors(path):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        match = _CHECKSUM_LINE.fullmatch(line)
        if match:
            known[match[2]] = match[1].lower()
        elif strict and line.strip():
            raise CorpusError(f"{path}, line {number}: not a line of sha256sum (64 hex digits, two blanks, a name)")
    return known


def write_whole(path: Path, text: str) -> None:
    """Write a small file so that a reader sees the old one or the new one, never half of it."""
    new = path.with_name(f".{path.name.lstrip('.')}.new")
    new.write_text(text, encoding="utf-8", newline="")
    new.replace(path)


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold the folder for this run: two that append to the same part would spoil it."""
    with local_errors(folder):
        handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CorpusError(f"{folder}: another mate fetch is writing to this folder") from error
        except OSError:  # a file system without locks
            _log.debug("%s cannot be locked", folder)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def local_errors(path: Path) -> Iterator[None]:
    """Turn what the disk has against us into one line about this path."""
    try:
        yield
    except OSError as error:
        raise CorpusError(_local_message(path, error)) from error


def _local_message(path: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{path}: the disk is full; make room and run the same command again, it goes on from here"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{path}: cannot be written to: {error.strerror}"
    return f"{path}: {error.strerror or error}"
