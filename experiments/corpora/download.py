"""Download files whole or not at all: resumable, verified, several at a time.

A file arrives as ``NAME.part`` and gets its final name when every byte is there. Bytes that have arrived are not
asked for again: a cut connection, Ctrl-C or a full disk leaves the part, and the next try resumes it (``Range``),
provided that the server confirms by ETag or date that the file is still the same (``If-Range``).

The SHA-256 of each file is written to ``checksums.sha256`` before the file gets its name, in the form that
``sha256sum -c`` reads. A file that agrees with it is kept; any other is downloaded again.

There are two kinds of errors. A `RemoteError` concerns one address and becomes the result of that file. An error of
the folder (full, not writable, in use) ends the run.
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

from experiments.corpora.client import (
    BLOCK,
    Client,
    DownloadSettings,
    RefusedError,
    RemoteError,
    StopError,
    TransientError,
    checked_url,
)
from experiments.corpora.download_log import Checksums, local_errors
from experiments.corpora.incoming import Incoming
from mate.corpus.compression import DAMAGE, damage
from mate.corpus.formats import CHECKSUMS, UNFINISHED
from mate.errors import CorpusError

DEAD_HOST = 3
"""Files in a row that a host may leave unanswered; its other files then fail without being tried."""
PATIENCE = 2.0
"""Seconds that a stopped run waits for its threads."""

_NAME = re.compile(r"[^\W_][\w.+-]{0,199}", re.ASCII)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file to download, and its name in the folder."""

    url: str
    name: str
    sha256: str | None = None
    """The checksum that it must have, where that is known."""


@dataclass(frozen=True, slots=True)
class DownloadResult:
    """The outcome of one download."""

    file: RemoteFile
    status: str
    """``fetched``, ``kept`` (it was there and its checksum agrees) or ``failed``."""
    size: int = 0
    sha256: str = ""
    reason: str = ""
    """Why it failed."""


class DownloadProgress(Protocol):
    """Progress protocol; called from several threads."""

    def started(self, name: str, done: int, total: int | None) -> None:
        """The transfer of a file starts; ``done`` bytes are there already."""

    def received(self, name: str, size: int) -> None:
        """``size`` more bytes of a file have arrived."""

    def ended(self, name: str) -> None:
        """The transfer of a file is over, complete or not."""


class _NoProgress:
    """Shows nothing."""

    def started(self, name: str, done: int, total: int | None) -> None: ...

    def received(self, name: str, size: int) -> None: ...

    def ended(self, name: str) -> None: ...


@contextlib.contextmanager
def downloading(
    files: Iterable[RemoteFile],
    folder: Path,
    settings: DownloadSettings | None = None,
    progress: DownloadProgress | None = None,
) -> Iterator[Iterator[DownloadResult]]:
    """Download the files into the folder, and yield an iterator over the results in the order they finish.

    The folder is made if missing, and locked for this run. Leaving the block early stops the downloads; unfinished
    parts stay, and the next run resumes them.
    """
    settings = settings or DownloadSettings()
    todo = _checked(files)
    with local_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder), Checksums(folder) as checksums:
        client = Client(settings)
        download = _Downloader(folder, checksums, client, progress or _NoProgress())
        with contextlib.closing(_in_threads(download, todo, settings.parallel, client.stop)) as results:
            yield results


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder for this run: two runs that append to the same part would spoil it."""
    with local_errors(folder):
        handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CorpusError(f"{folder}: another fetch is writing to this folder") from error
        except OSError:  # a file system without locks
            _log.debug("%s cannot be locked", folder)
        yield
    finally:
        os.close(handle)


def _checked(files: Iterable[RemoteFile]) -> list[RemoteFile]:
    """Return the files if their names are safe.

    Names may come from a server: none may leave the folder, be hidden in it, or be that of a file of our own.
    """
    todo = list(files)
    names = set()
    for file in todo:
        ours = file.name == CHECKSUMS or file.name.endswith(UNFINISHED)
        if ours or not _NAME.fullmatch(file.name):
            raise CorpusError(f"{file.name!r} is not a safe name for a file")
        if file.name.casefold() in names:  # the same file where case does not count
            raise CorpusError(f"two files would be written to {file.name}")
        names.add(file.name.casefold())
    return todo


def _in_threads(
    download: Callable[[RemoteFile], DownloadResult], todo: Sequence[RemoteFile], count: int, stop: threading.Event
) -> Generator[DownloadResult, None, None]:
    """Download in daemon threads: with an executor, Ctrl-C would wait for a silent connection."""
    waiting: queue.SimpleQueue[RemoteFile] = queue.SimpleQueue()
    done: queue.SimpleQueue[DownloadResult | BaseException] = queue.SimpleQueue()
    for file in todo:
        waiting.put(file)

    def run() -> None:
        try:
            while not stop.is_set():
                done.put(download(waiting.get_nowait()))
        except (queue.Empty, StopError):
            pass
        except BaseException as error:
            done.put(error)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(min(count, len(todo)))]
    try:
        for thread in threads:
            thread.start()
        for _ in todo:
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)


class _Downloader:
    """Downloads one file per call; shared by the threads."""

    def __init__(self, folder: Path, checksums: Checksums, client: Client, progress: DownloadProgress) -> None:
        self._folder = folder
        self._checksums = checksums
        self._client = client
        self._progress = progress
        self._hosts = _Hosts()

    def __call__(self, file: RemoteFile) -> DownloadResult:
        try:
            return self._kept(file) or self._fetched(file)
        except RemoteError as error:
            return DownloadResult(file, "failed", reason=str(error))
        finally:
            self._progress.ended(file.name)

    def _kept(self, file: RemoteFile) -> DownloadResult | None:
        path = self._folder / file.name
        wanted = file.sha256 or self._checksums.get(file.name)
        if wanted is None or not path.is_file():
            return None
        with local_errors(path):
            size = path.stat().st_size
            self._progress.started(file.name, 0, size)
            found = self._digest(path, lambda read: self._progress.received(file.name, read)).hexdigest()
        if found != wanted or self._damage(path, file.name):
            _log.warning("%s: does not agree with its checksum, fetching it again", path)
            return None
        self._checksums.set(file.name, found)
        return DownloadResult(file, "kept", size, found)

    def _fetched(self, file: RemoteFile) -> DownloadResult:
        url = checked_url(file.url)
        host = urlsplit(url).netloc
        self._hosts.refuse_dead(host)
        with Incoming(self._folder, file.name, url, self._digest) as part:
            try:
                self._client.patiently(url, lambda: self._fill(part, file.name, url))
            except RemoteError as error:
                self._hosts.note(host, dead=error.unreachable)
                raise
            self._hosts.note(host, dead=False)
            self._verify(part, file)
            self._checksums.set(file.name, part.digest.hexdigest())
            part.finish(self._folder / file.name)
            return DownloadResult(file, "fetched", part.size, part.digest.hexdigest())

    def _fill(self, part: Incoming, name: str, url: str) -> None:
        """Ask for the missing bytes and append them; raise `TransientError` if the part is still incomplete."""
        if part.complete:  # every byte had arrived when the last run ended
            return
        with self._ask(part, url) as response:
            _refuse_page(response, url)
            part.accept(response)
            self._progress.started(name, part.size, part.total)
            while block := self._client.receive(response):
                part.write(block)
                self._progress.received(name, len(block))
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

    def _verify(self, part: Incoming, file: RemoteFile) -> None:
        found = part.digest.hexdigest()
        if file.sha256 and found != file.sha256:
            part.discard()
            raise RemoteError(f"{file.url}: its SHA-256 is {found}, not {file.sha256} as expected")
        if flaw := self._damage(part.path, file.name):
            part.discard()
            raise RemoteError(f"{file.url}: {flaw}")

    def _damage(self, path: Path, name: str) -> str | None:
        """Return what is wrong with a gzip file, if it is to be tested."""
        if not (self._client.settings.test and name.endswith(".gz")):
            return None
        try:
            with gzip.open(path) as stream:
                while stream.read(BLOCK):
                    self._client.check_stop()
        except DAMAGE as error:
            return damage(error, "gzip")
        return None

    def _digest(self, path: Path, count: Callable[[int], None] = lambda _: None) -> hashlib._Hash:
        digest = hashlib.sha256()
        with path.open("rb") as stream:
            while block := stream.read(BLOCK):
                self._client.check_stop()
                digest.update(block)
                count(len(block))
        return digest


class _Hosts:
    """Counts the files that each host leaves unanswered: a dead host may be that of thousands of files."""

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
    """Refuse an HTML page: many servers answer so, with status 200, when a file is missing."""
    if response.headers.get_content_type() in ("text/html", "application/xhtml+xml"):
        raise RemoteError(f"{url}: a web page, not a data file")
