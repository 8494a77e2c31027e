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

_AT_A_TIME = 8
"""Files that are hashed."""


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
        found = {r["source"]: r["sha256"] for r in index.sources(list(self.records))}
        if found != self.records or index.sources([source.name for source in self.new]):
            raise UpdateError("the index was changed by somebody else in the meantime; please try again")


def compare(index: Index, paths: Sequence[str], format: str | None = None) -> Difference:
    """Compare files and folders with what the index was read from, by checksum."""
    files = _files(paths, format)
    records = [record for record in index.sources() if record["format"] != "synthetic"]
    pairs, new, unpaired = _paired(files, records)
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        same = list(pool.map(lambda pair: _is_same(*pair), pairs))
    changed = [
        FileSource.of(replace(file, path=record["source"], format=format or file.format))
        for (file, record), equal in zip(pairs, same, strict=True)
        if not equal
    ]
    roots = [Path(place) for path in paths for place in (_absolute(path), realpath(path))]
    gone = [record["source"] for record in unpaired if _gone(record["source"], roots)]
    names = {*(source.name for source in changed), *gone}
    checksums = {record["source"]: record["sha256"] for record in records if record["source"] in names}
    return Difference(list(map(FileSource.of, new)), changed, gone, sum(same), checksums)


def _files(paths: Sequence[str], format: str | None) -> list[File]:
    """Return the files under paths, which must exist; a folder may be empty."""
    for path in paths:
        if is_remote(path):
            where = shown(path)
            raise CorpusError(f"{where}: only files on this machine are followed; mate add takes those in a store")
        if not Path(path).exists():
            raise CorpusError(f"{path}: no such file or folder")
    try:
        return corpus_files(paths, format)
    except CorpusError:
        if format is not None or any(Path(path).is_file() for path in paths):
            raise
        return []


def _paired(
    files: list[File], records: list[dict[str, Any]]
) -> tuple[list[tuple[File, dict[str, Any]]], list[File], list[dict[str, Any]]]:
    """Pair files with the records that the index has of them; also return the files and records that have no partner.

    Each path is a source of its own, also one of several links to a file. What no path fits is paired by the file that
    it leads to, since folders may be named in several ways.
    """
    pairs: list[tuple[File, dict[str, Any]]] = []
    for place_of in (_absolute, realpath):
        by_place = {place_of(record["source"]): record for record in records}
        new = []
        for file in files:
            record = by_place.pop(place_of(file.path), None)
            if record is None:
                new.append(file)
            else:
                pairs.append((file, record))
        files = new
        paired = {record["source"] for _, record in pairs}
        records = [record for record in records if record["source"] not in paired]
    return pairs, files, records


def _absolute(path: str) -> str:
    """Return a path from the root on, links left as they are."""
    return normpath(Path(path).absolute())


def _is_same(file: File, record: dict[str, Any]) -> bool:
    source = FileSource.of(file)
    return bool(record["sha256"]) and source.size == record["bytes"] and source.checksum() == record["sha256"]


def _gone(source: str, roots: Sequence[Path]) -> bool:
    """Tell whether a file was inside one of these places and is there no more; where we may not look, it may be."""
    try:
        Path(source).lstat()
        return False
    except (FileNotFoundError, NotADirectoryError):
        places = (Path(_absolute(source)), Path(realpath(source)))
        return any(place == root or root in place.parents for place in places for root in roots)
    except OSError:
        return False
