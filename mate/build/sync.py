"""Files compared with an index: which are new, which differ from what was read, which are gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from os.path import realpath
from pathlib import Path
from typing import Any

from mate.build.sources import FileSource, corpus_files
from mate.corpus import File
from mate.errors import CorpusError, UpdateError
from mate.index.base import Index

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
        if not Path(path).exists():
            raise CorpusError(f"{path}: no such file or folder")
    try:
        files = corpus_files(paths, format)
    except CorpusError:
        if format is not None or any(Path(path).is_file() for path in paths):
            raise
        files = []  # the folders are empty
    known = {realpath(record["source"]): record for record in index.sources() if record["format"] != "synthetic"}
    found = {realpath(file.path): file for file in files}
    new = [FileSource(file, _size(file.path)) for place, file in found.items() if place not in known]
    pairs = [(file, known[place]) for place, file in found.items() if place in known]
    with ThreadPoolExecutor(_READERS) as pool:
        same = list(pool.map(lambda pair: _same(*pair), pairs))
    changed = [_source(*pair, format) for pair, equal in zip(pairs, same, strict=True) if not equal]
    roots = [Path(realpath(path)) for path in paths]
    gone = [r["source"] for place, r in known.items() if place not in found and _under(Path(place), roots)]
    records = {r["source"]: r["sha256"] for r in known.values()}
    kept = {name: records[name] for name in (*(source.name for source in changed), *gone)}
    return Difference(new, changed, gone, sum(same), kept)


def _same(file: File, record: dict[str, Any]) -> bool:
    size = _size(file.path)
    return bool(record["sha256"]) and size == record["bytes"] and FileSource(file, size).checksum() == record["sha256"]


def _source(file: File, record: dict[str, Any], format: str | None) -> FileSource:
    """Return a file to be read again, by its name in the index."""
    return FileSource(File(record["source"], format or file.format), _size(file.path))


def _under(path: Path, roots: Iterable[Path]) -> bool:
    """Tell whether a file was inside one of these places and is there no more."""
    return any(path == root or root in path.parents for root in roots) and not path.exists()


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
