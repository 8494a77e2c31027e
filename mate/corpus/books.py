"""What `mate fetch` keeps in a folder beside the files themselves: checksums, a list of sources, unfinished files.

None of it is a table, so that a folder is indexed without it (`own_files`).
"""

from __future__ import annotations

import contextlib
import errno
import re
import threading
from collections.abc import Collection, Iterator
from pathlib import Path

from mate.errors import CorpusError

CHECKSUMS = "checksums.sha256"
SOURCES = "sources.csv"
SOURCES_COLUMNS = ("file", "url", "title", "licence", "dataset", "checksum", "size", "status", "reason")

_PART = ".part"
_CHECKSUM_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")


def part_of(name: str) -> str:
    """Return what a file is called until every byte of it is there."""
    return f"{name}{_PART}"


def note_of(part: str) -> str:
    """Return the name of the note about an unfinished file, which is hidden: nobody takes it for a table."""
    return f".{part}.json"


def is_part(name: str) -> bool:
    """Tell whether a name is that of an unfinished file."""
    return name.endswith(_PART)


def own_files(folder: Path, names: Collection[str]) -> set[str]:
    """Return which of a folder's files `mate fetch` has written for itself.

    A list of checksums; unfinished files, if there is such a list or a note about them; and a ``sources.csv`` with
    the columns that `mate fetch` gives it: one with others is somebody's table.
    """
    fetched = CHECKSUMS in names
    own = {name for name in names if name == CHECKSUMS or (is_part(name) and (fetched or note_of(name) in names))}
    if SOURCES in names and _first_line(folder / SOURCES) == ",".join(SOURCES_COLUMNS):
        own.add(SOURCES)
    return own


def _first_line(path: Path) -> str:
    with contextlib.suppress(OSError), path.open("rb") as stream:
        return stream.readline(1_000).decode("utf-8", "replace").strip()
    return ""


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
