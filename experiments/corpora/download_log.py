"""The log that downloads keep in their folder: ``checksums.sha256``, and how small files are written safely."""

from __future__ import annotations

import contextlib
import errno
import re
import threading
from collections.abc import Iterator
from pathlib import Path

from mate.corpus.formats import CHECKSUMS
from mate.errors import CorpusError

_CHECKSUM_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")


class Checksums:
    """The ``checksums.sha256`` of a folder: each checksum is appended at once, and the file is sorted on leaving."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / CHECKSUMS
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}

    def __enter__(self) -> Checksums:
        if self._path.exists():
            self._known = read_checksums(self._path, strict=False)
            self._write_sorted()  # a line that a crash cut short must not run into the next
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._known:
                self._write_sorted()

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

    def _write_sorted(self) -> None:
        with local_errors(self._path):
            write_whole(self._path, "".join(f"{self._known[name]}  {name}\n" for name in sorted(self._known)))


def read_checksums(path: Path, *, strict: bool = True) -> dict[str, str]:
    """Read the output of ``sha256sum`` as name to checksum; other lines are an error if ``strict``, else left out."""
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
def local_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a one-line `CorpusError` about this path."""
    try:
        yield
    except OSError as error:
        raise CorpusError(_local_message(path, error)) from error


def _local_message(path: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{path}: the disk is full; make room and run the same command again; it goes on from here"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{path}: cannot be written to: {error.strerror}"
    return f"{path}: {error.strerror or error}"
