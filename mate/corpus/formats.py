"""Which files there are under a path, and which reader each one needs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO

from mate.corpus import delimited, dwtc, records
from mate.corpus.compression import SUFFIXES, unpacked_head
from mate.corpus.sidecars import sidecar_files
from mate.corpus.table import Chunk, Limits, Reject
from mate.errors import CorpusError, did_you_mean

Reader = Callable[[str, BinaryIO, Limits], Iterator[Chunk | Reject]]

READERS: dict[str, Reader] = {
    "delimited": delimited.read,
    "dwtc": dwtc.read,
    "json": records.read_json,
    "parquet": records.read_parquet,
}
HEAD = 65_536
"""Bytes of a file that tell its format."""

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


def detect(path: str, head: bytes) -> str | None:
    """Name the format of a file from its ending and its first bytes, looking through compression."""
    suffix, packed = _suffix(path)
    plain = unpacked_head(head)
    if plain.startswith(b"PAR1"):
        return "parquet"
    named = _BY_SUFFIX.get(suffix)
    if named == "json" or (named is None and not suffix and _JSON.match(plain)):
        return "dwtc" if _RELATION.search(plain) else "json"
    return "delimited" if named is None and packed and not suffix else named


def _suffix(path: str) -> tuple[str, bool]:
    """Return the ending that names the format, and whether a compression's ending came after it."""
    name = PurePath(path)
    packed = name.suffix.lower() in SUFFIXES
    return PurePath(name.stem if packed else name.name).suffix.lower(), packed


def discover(paths: Iterable[str | os.PathLike[str]], format: str | None = None) -> list[File]:
    """List the files under the paths, sorted, each with its format.

    Folders are walked without following links to other folders. Left out unless named are hidden files and
    folders, and what a download writes for itself. A ``format`` given here holds for every file. A file that
    no reader fits is listed with the format None, so that it is reported and not lost.
    """
    if format is not None and format not in READERS:
        raise CorpusError(f'unknown format "{format}": {did_you_mean(format, READERS)}')
    found = {file for path in paths for file in _files(Path(path))}
    if not found:
        raise CorpusError("no file found under the given paths")
    return sorted(File(str(path), format or _detected(path)) for path in found)


def read(file: File, limits: Limits | None = None) -> Iterator[Chunk | Reject]:
    """Yield what the file's reader finds; a file that no reader fits, or that cannot be opened, is a reject."""
    if file.format is None:
        suffix, _ = _suffix(file.path)
        yield Reject(file.path, None, "file", f"unsupported file type {suffix or 'without an ending'}")
        return
    try:
        with Path(file.path).open("rb") as stream:
            yield from READERS[file.format](file.path, stream, limits or Limits())
    except OSError as error:
        yield Reject(file.path, None, "file", f"cannot be read: {error.strerror or error}")


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from _walk(path)
    else:
        raise CorpusError(f"{path}: no such file or folder")


def _walk(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder, onerror=_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        left_out = sidecar_files(Path(where), names)
        visible = (Path(where, name) for name in names if not name.startswith(".") and name not in left_out)
        yield from (path for path in visible if path.is_file())


def _unreadable(error: OSError) -> None:
    raise CorpusError(f"{error.filename}: {error.strerror}") from error


def _detected(path: Path) -> str | None:
    try:
        with path.open("rb") as stream:
            return detect(str(path), stream.read(HEAD))
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}") from error
