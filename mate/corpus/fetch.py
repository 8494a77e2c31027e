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
import fcntl
import gzip
import hashlib
import http.client
import logging
import os
import queue
import re
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from mate.corpus.books import (
    CHECKSUMS,
    Checksums,
    is_part,
    local_errors,
    read_checksums,
    write_whole,
)
from mate.corpus.client import (
    AGENT,
    BLOCK,
    Client,
    RefusedError,
    RemoteError,
    Settings,
    StopError,
    TransientError,
    checked_url,
)
from mate.corpus.compression import DAMAGE, damage
from mate.corpus.incoming import Incoming
from mate.errors import CorpusError

__all__ = [
    "AGENT",
    "CHECKSUMS",
    "Checksums",
    "Client",
    "Fetched",
    "RemoteError",
    "Settings",
    "Source",
    "Watcher",
    "checked_url",
    "fetching",
    "local_errors",
    "read_checksums",
    "write_whole",
]

DEAD_HOST = 3
"""Files in a row that a host may leave unanswered; its others then fail without being tried."""
PATIENCE = 2.0
"""Seconds that an interrupted run waits for its threads."""

_NAME = re.compile(r"[^\W_][\w.+-]{0,199}", re.ASCII)
_log = logging.getLogger(__name__)


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


def _checked(sources: Iterable[Source]) -> list[Source]:
    """Names may come from a server: none leaves the folder, hides in it or meets our own files there."""
    todo = list(sources)
    names = set()
    for source in todo:
        ours = source.name == CHECKSUMS or is_part(source.name)
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
        except (queue.Empty, StopError):
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
        with Incoming(self._folder, source.name, url, self._digest) as part:
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

    def _fill(self, part: Incoming, name: str, url: str) -> None:
        """Ask for what the part lacks and append it; `TransientError` if it is not complete then."""
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
            raise TransientError(f"the connection was cut after {part.size:,} of {part.total:,} bytes")

    def _ask(self, part: Incoming, url: str) -> http.client.HTTPResponse:
        try:
            return self._client.open(url, part.request_headers())
        except RefusedError as refused:
            if refused.status != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not part.size:
                raise
            part.restart()
            raise TransientError("the file is now shorter than what has arrived") from refused

    def _verify(self, part: Incoming, source: Source) -> None:
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


def _refuse_page(response: http.client.HTTPResponse, url: str) -> None:
    """A missing file is often a friendly web page with a good status, and no table."""
    if response.headers.get_content_type() in ("text/html", "application/xhtml+xml"):
        raise RemoteError(f"{url}: a web page, not a data file")
