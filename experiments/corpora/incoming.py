"""A file that is arriving: ``NAME.part`` and a note beside it, from which a later run resumes."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import re
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import IO

from experiments.corpora.client import RemoteError, StopError, TransientError, whole_number
from experiments.corpora.download_log import local_errors, write_whole
from mate.corpus.formats import UNFINISHED, note_of


class Incoming:
    """The bytes so far, their digest, and the validator that shows whether the rest still belongs to them.

    Bytes are only ever appended, and the note is on disk before the first byte: the process may be killed at any
    point.
    """

    def __init__(self, folder: Path, name: str, url: str, digest_of: Callable[[Path], hashlib._Hash]) -> None:
        self.path = folder / f"{name}{UNFINISHED}"
        self._note = folder / note_of(f"{name}{UNFINISHED}")
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

    def __enter__(self) -> Incoming:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._file.close()
        if not self.size and kind is not StopError:  # after a stop, the part may be another run's already
            self.discard()

    @property
    def complete(self) -> bool:
        """Whether every byte has arrived."""
        return self.size > 0 and self.size == self.total

    def request_headers(self) -> dict[str, str]:
        """Return the headers that ask for the rest only."""
        if self.size and self._validator:
            return {"Range": f"bytes={self.size}-", "If-Range": self._validator}
        return {}

    def accept(self, response: http.client.HTTPResponse) -> None:
        """Read the header of an answer, which continues our bytes or starts over."""
        length = whole_number(response.headers.get("Content-Length"))
        validator = _validator(response)
        if response.status == HTTPStatus.PARTIAL_CONTENT:
            first, total = _content_range(response.headers.get("Content-Range"))
            if not self.size or first != self.size or validator not in (None, self._validator):
                self.restart()
                raise TransientError("the server sent another part of the file than the one asked for")
            self.total = total if total is not None else length and self.size + length
            return
        if response.status != HTTPStatus.OK:
            raise RemoteError(f"{self._url}: HTTP {response.status} {response.reason}")
        self.restart()
        self.total, self._validator = length, validator
        self._remember()

    def write(self, block: bytes) -> None:
        """Append bytes."""
        rest = memoryview(block)
        with local_errors(self.path):
            while rest:
                rest = rest[self._file.write(rest) :]  # a disk that fills up takes only some of it
        self.digest.update(block)
        self.size += len(block)

    def restart(self) -> None:
        """Forget all bytes."""
        with local_errors(self.path):
            if self.size:
                self._file.truncate(0)
        self.size, self.total, self._validator = 0, None, None
        self.digest = hashlib.sha256()

    def finish(self, path: Path) -> None:
        """Give the file its final name."""
        with local_errors(path):
            os.fsync(self._file.fileno())
            self.path.replace(path)
            self._note.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove the part and its note."""
        with local_errors(self.path):
            self.path.unlink(missing_ok=True)
            self._note.unlink(missing_ok=True)

    def _remember(self) -> None:
        with local_errors(self._note):
            write_whole(self._note, json.dumps({"url": self._url, "validator": self._validator, "total": self.total}))

    def _recall(self) -> None:
        """Read the note; if it is missing, damaged or about another address, there is no validator."""
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            note = json.loads(self._note.read_text(encoding="utf-8"))
            if note["url"] == self._url:
                self._validator, self.total = note["validator"], note["total"]


def _validator(response: http.client.HTTPResponse) -> str | None:
    """Return the value for ``If-Range``: a strong ETag, else the date of the last change."""
    tag: str | None = response.headers.get("ETag")
    if tag and not tag.startswith("W/"):
        return tag
    return response.headers.get("Last-Modified")


def _content_range(header: str | None) -> tuple[int | None, int | None]:
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", header or "")
    return (int(match[1]), whole_number(match[2])) if match else (None, None)
