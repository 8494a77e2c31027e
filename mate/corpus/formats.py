"""Which files there are under a path, and which reader each one needs."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO

from mate.corpus import delimited, dwtc, json_records, parquet
from mate.corpus.compression import unpacked_head, unpacked_name
from mate.corpus.parts import Cutting
from mate.corpus.table import Chunk, Limits, Reject
from mate.errors import CorpusError, did_you_mean

Reader = Callable[[str, BinaryIO, Limits], Iterator[Chunk | Reject]]

READERS: dict[str, Reader] = {
    "delimited": delimited.read,
    "dwtc": dwtc.read,
    "json": json_records.read,
    "parquet": parquet.read,
}
CUTTERS: dict[str, Callable[[str, BinaryIO, Limits, int], Cutting | None]] = {
    "delimited": delimited.cut,
    "dwtc": dwtc.cut,
    "json": json_records.cut,
    "parquet": parquet.cut,
}
HEAD = 65_536
"""Bytes of a file that tell its format."""
CHECKSUMS = "checksums.sha256"
"""Where a download notes the checksums of its files; the list of their sources is in the next one."""
SOURCES = "sources.csv"
UNFINISHED = ".part"
"""What the name of a file ends with until a download has every byte of it."""
SOURCES_COLUMNS = ("file", "url", "title", "licence", "dataset", "checksum", "size", "status", "reason")

_BY_SUFFIX = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".psv", ".txt", ".dat"), "delimited"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "json"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
}
_RELATION = re.compile(rb'"relation"\s*:|"headerPosition"\s*:|"tableType"\s*:')
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[{]")


@dataclass(frozen=True, slots=True, order=True)
class File:
    """A file of the corpus and the name of its format, None where no reader fits."""

    path: str
    format: str | None
    problem: str = ""
    """Why it cannot be read at all, if that is known already."""


def detect(path: str, head: bytes) -> str | None:
    """Name the format of a file from its ending and its first bytes, looking through compression."""
    unpacked = unpacked_name(path)
    plain = unpacked_head(head)
    if plain.startswith(b"PAR1"):
        return "parquet"
    if not unpacked.suffix:
        named = "json" if _JSON.match(plain) else "delimited" if unpacked.name != PurePath(path).name else None
    else:
        named = _BY_SUFFIX.get(unpacked.suffix.lower())
    return "dwtc" if named == "json" and _RELATION.search(plain) else named


def discover(paths: Iterable[str | os.PathLike[str]], format: str | None = None) -> list[File]:
    """List the files under the paths, sorted, each with its format.

    Links to folders are not followed. Left out unless named are hidden files and folders, and what a download writes
    for itself. A ``format`` holds for every file. A file that no reader fits is listed with the format None, so that
    it is reported and not lost; so is what only looks like a file, with its problem: a link to nothing or to a folder,
    a pipe, a folder that cannot be read.
    """
    if format is not None and format not in READERS:
        raise CorpusError(f'unknown format "{format}": {did_you_mean(format, READERS)}')
    files = {file for path in paths for file in _files(Path(path))}
    if not files:
        raise CorpusError("no file found under the given paths")
    return sorted(file if file.problem else _detected(file.path, format) for file in files)


def read(
    file: File, limits: Limits | None = None, opened: Callable[[], BinaryIO] | None = None
) -> Iterator[Chunk | Reject]:
    """Yield what the file's reader finds; a file that no reader fits, or that cannot be opened, is a reject.

    So is one on which a reader fails in any other way: one file never stops a build. `opened` opens its bytes, where
    that is not done by its path.
    """
    if file.problem or file.format is None:
        suffix = unpacked_name(file.path).suffix.lower()
        reason = file.problem or f"unsupported file type {suffix or 'without an ending'}"
        yield Reject(file.path, None, "file", reason)
        return
    try:
        with opened() if opened else Path(file.path).open("rb") as stream:
            yield from READERS[file.format](file.path, stream, limits or Limits())
        return
    except MemoryError:
        raise
    except CorpusError as error:
        reason = str(error)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
    except Exception as error:
        what = ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])
        reason = f"cannot be read: {what[:200]}"
    yield Reject(file.path, None, "file", reason)


def cut_file(file: File, limits: Limits, size: int) -> Cutting | None:
    """Cut a file into spans of about `size` bytes; None if it cannot be cut, or is not worth it."""
    if file.format is None:
        return None
    try:
        with Path(file.path).open("rb") as stream:
            cutting = CUTTERS[file.format](file.path, stream, limits, size)
    except MemoryError:
        raise
    except Exception:
        return None  # its reader says what is wrong
    return cutting if cutting and len(cutting.spans) > 1 else None


def _files(path: Path) -> Iterator[File]:
    """Yield a file, or the files of a folder."""
    if not path.is_dir():
        if problem := _problem(path):
            raise CorpusError(f"{_shown(path)}: {problem}")
        yield File(str(path), None)
        return
    unreadable: list[OSError] = []
    for where, folders, names in os.walk(path, onerror=unreadable.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        left_out = _download_files(Path(where), names)
        for name in (*names, *(name for name in folders if Path(where, name).is_symlink())):
            if not name.startswith(".") and name not in left_out:
                found = Path(where, name)
                yield File(_shown(found), None, _problem(found))
    for error in unreadable:
        yield File(_shown(Path(error.filename)), None, f"a folder that cannot be read: {error.strerror}")


def note_of(part: str) -> str:
    """Return the name of the note about an unfinished file; it is hidden, so that nobody takes it for a table."""
    return f".{part}.json"


def _download_files(folder: Path, names: Collection[str]) -> set[str]:
    """Return which of a folder's files a download has written for itself.

    These are the list of checksums; unfinished files, if there is such a list or a note about them; and a
    ``sources.csv`` with the columns of a download. A ``sources.csv`` with other columns is somebody's table.
    """
    found = {name for name in names if name.endswith(UNFINISHED) and (CHECKSUMS in names or note_of(name) in names)}
    if SOURCES in names:
        with contextlib.suppress(OSError), (folder / SOURCES).open("rb") as stream:
            if stream.readline(1_000).strip() == ",".join(SOURCES_COLUMNS).encode():
                found.add(SOURCES)
    return {CHECKSUMS, *found}


def _problem(path: Path) -> str:
    """Say why a path is no file that can be read; nothing if it is one."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "a link to nothing" if path.is_symlink() else "no such file or folder"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISDIR(mode):
        return "a link to a folder, which is not followed: name the folder itself"
    if not stat.S_ISREG(mode):
        return "no regular file but a pipe, a socket or a device"
    return "" if _shown(path) == str(path) else "the name of this file is not valid UTF-8: rename it"


def _shown(path: Path) -> str:
    """Return a path as text, with escapes for bytes that are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _detected(path: str, format: str | None) -> File:
    try:
        with Path(path).open("rb") as stream:
            return File(path, format or detect(path, stream.read(HEAD)))
    except OSError as error:
        return File(path, None, f"cannot be read: {error.strerror}")
