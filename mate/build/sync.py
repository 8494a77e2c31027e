"""Files compared with an index: which are new, which differ from what was read, which are gone."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from os.path import normpath, realpath
from pathlib import Path
from typing import Any

from mate.build.sources import FileSource, corpus_files
from mate.corpus import File
from mate.errors import CorpusError, UpdateError
from mate.lake.base import Index
from mate.storage import is_remote, shown

_READERS = 8
"""Files that are read at a time."""


@dataclass(frozen=True)
class Difference:
    """What a folder has that an index has not, and the other way round."""

    new: list[FileSource] = field(default_factory=list)
    changed: list[FileSource] = field(default_factory=list)
    """Under the name that the index knows them by."""
    gone: list[str] = field(default_factory=list)
    same: int = 0
    records: dict[str, str] = field(default_factory=dict)
    """Checksums of the changed and gone sources in the index, to tell whether it is still the one compared with."""

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)

    def check(self, index: Index) -> None:
        """Raise an error if the index was changed after the comparison."""
        found = {r["source"]: r["sha256"] for r in index.sources_named(list(self.records))}
        if found != self.records or index.sources_named([source.name for source in self.new]):
            raise UpdateError("the index was changed by somebody else in the meantime; please try again")


def compare(index: Index, paths: Sequence[str], format: str | None = None) -> Difference:
    """Compare files and folders with what the index was read from, by checksum."""
    for path in paths:
        if is_remote(path):
            where = shown(path)
            raise CorpusError(f"{where}: only files on this machine are followed; mate add takes those in a store")
        if not Path(path).exists():
            raise CorpusError(f"{path}: no such file or folder")
    try:
        files = corpus_files(paths, format)
    except CorpusError:
        if format is not None or any(Path(path).is_file() for path in paths):
            raise
        files = []  # the folders are empty
    known = [record for record in index.sources() if record["format"] != "synthetic"]
    pairs, new_files, missing = _matched(files, known)
    new = [FileSource(file, _size(file.path)) for file in new_files]
    with ThreadPoolExecutor(_READERS) as pool:
        same = list(pool.map(lambda pair: _same(*pair), pairs))
    changed = [_source(*pair, format) for pair, equal in zip(pairs, same, strict=True) if not equal]
    roots = [Path(place) for path in paths for place in (_absolute(path), realpath(path))]
    gone = [record["source"] for record in missing if _gone(record["source"], roots)]
    records = {record["source"]: record["sha256"] for record in known}
    kept = {name: records[name] for name in (*(source.name for source in changed), *gone)}
    return Difference(new, changed, gone, sum(same), kept)


def _matched(
    files: list[File], known: list[dict[str, Any]]
) -> tuple[list[tuple[File, dict[str, Any]]], list[File], list[dict[str, Any]]]:
    """Pair files with what the index has of them; also return the files and the records that have no partner.

    Each path is a source of its own, also one of several links to a file. Only what no path fits is paired by the file
    that it leads to, since folders may be named in several ways.
    """
    pairs: list[tuple[File, dict[str, Any]]] = []
    for place_of in (_absolute, realpath):
        records = {place_of(record["source"]): record for record in known}
        paired = {id(file): records.pop(place_of(file.path), None) for file in files}
        pairs += [(file, record) for file in files if (record := paired[id(file)])]
        files = [file for file in files if not paired[id(file)]]
        taken = {record["source"] for _, record in pairs}
        known = [record for record in known if record["source"] not in taken]
    return pairs, files, known


def _absolute(path: str) -> str:
    """Return a path from the root on, links left as they are."""
    return normpath(Path(path).absolute())


def _same(file: File, record: dict[str, Any]) -> bool:
    size = _size(file.path)
    return bool(record["sha256"]) and size == record["bytes"] and FileSource(file, size).checksum() == record["sha256"]


def _source(file: File, record: dict[str, Any], format: str | None) -> FileSource:
    """Return a file to be read again, by its name in the index."""
    return FileSource(replace(file, path=record["source"], format=format or file.format), _size(file.path))


def _gone(source: str, roots: Sequence[Path]) -> bool:
    """Tell whether a file was inside one of these places and is there no more."""
    places = (Path(_absolute(source)), Path(realpath(source)))
    return _is_missing(source) and any(place == root or root in place.parents for place in places for root in roots)


def _is_missing(path: str) -> bool:
    """Tell whether there is nothing under a path; where we may not look, there may be something."""
    try:
        Path(path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
