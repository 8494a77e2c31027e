"""What is read, cut into units of work of about equal size: one unit is one Spark task."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Protocol

from mate.corpus import Chunk, File, Limits, Reject, discover, read
from mate.corpus.parts import Part, changed, read_part
from mate.errors import CorpusError
from mate.lake.folder import LOCK, MANIFEST, SEGMENTS
from mate.storage import is_remote

if TYPE_CHECKING:
    from mate.corpus.synthetic import SyntheticLake

SYNTHETIC = "synthetic:"
Stamp = tuple[int, ...]
_LAKE_DEPTH = 3
"""Folders of a lake that a file of it is in: the lake itself, its segments, one of them."""
_LEAST_UNIT = 1 << 20
_MOST_UNIT = 64 << 20


class Source(Protocol):
    """Something that tables are read from."""

    @property
    def name(self) -> str:
        """The path or address."""

    @property
    def format(self) -> str:
        """The name of its format."""

    @property
    def size(self) -> int:
        """Bytes, or what comes near it."""

    def read(self, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield its tables, in chunks."""

    def checksum(self) -> str:
        """SHA-256 of its bytes, or what identifies its content as well."""

    def stamp(self) -> Stamp | None:
        """What the system notes of its bytes, which differs when they were written to; None if nothing."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file of the corpus."""

    file: File
    size: int

    @property
    def name(self) -> str:
        """The path."""
        return self.file.path

    @property
    def format(self) -> str:
        """The name of its format."""
        return self.file.format or "unknown"

    def read(self, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield its tables."""
        return read(self.file, limits)

    def checksum(self) -> str:
        """SHA-256 of the file; empty if it cannot be read, which the reader reports."""
        if self.file.problem:
            return hashlib.sha256(self.file.problem.encode()).hexdigest()
        try:
            with Path(self.file.path).open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            return ""

    def stamp(self) -> Stamp | None:
        """Size and times of the last changes."""
        try:
            found = Path(self.file.path).stat()
        except OSError:
            return None
        return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


class ChangedError(CorpusError):
    """A file that is read in parts is no longer what it was when it was looked at."""

    def __init__(self, source: str) -> None:
        super().__init__(changed(source))
        self.source = source


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a large file. The index notes the file once, with its last part."""

    whole: FileSource
    part: Part
    size: int
    last: bool
    sha256: str
    """Of the whole file."""
    tables: int
    """In the whole file."""
    rows: int | None
    """Of the table, where the whole file is one."""
    noted: Stamp | None
    """The stamp of the file when it was looked at."""

    @property
    def name(self) -> str:
        """The path of the file."""
        return self.whole.name

    @property
    def format(self) -> str:
        """The name of its format."""
        return self.whole.format

    def read(self, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield what the whole file would give here; `ChangedError` if it is no longer the one that was looked at."""
        try:
            yield from read_part(self.whole.file, self.part, limits)
        except CorpusError as error:
            raise ChangedError(self.name) from error
        if self.stamp() != self.noted:
            raise ChangedError(self.name)

    def checksum(self) -> str:
        """SHA-256 of the whole file."""
        return self.sha256

    def stamp(self) -> Stamp | None:
        """That of the whole file."""
        return self.whole.stamp()


@dataclass(frozen=True, slots=True)
class SyntheticSource:
    """Some tables of a synthetic lake, made where they are needed."""

    lake: SyntheticLake
    first: int
    stop: int
    size: int
    format: str = "synthetic"

    @property
    def name(self) -> str:
        """The lake's address and the tables meant."""
        return f"{self.lake.address}#{self.first}-{self.stop - 1}"

    def read(self, limits: Limits) -> Iterator[Chunk | Reject]:
        """Generate the tables."""
        return self.lake.read(self.first, self.stop, limits)

    def checksum(self) -> str:
        """The address says everything."""
        return hashlib.sha256(self.name.encode()).hexdigest()

    def stamp(self) -> None:
        """Nobody writes to it."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Consecutive sources that one task reads."""

    number: int
    sources: tuple[Source, ...]

    @property
    def size(self) -> int:
        """Bytes of all its sources."""
        return sum(source.size for source in self.sources)


def find_sources(paths: Iterable[str | os.PathLike[str]], format: str | None, tasks: int) -> list[Source]:
    """Return the sources under paths, in the order in which their tables are numbered.

    A synthetic lake is cut into as many as there are tasks; into more if it is large, so that many cores share it.
    """
    given = [os.fspath(path) for path in paths]
    lakes = [path for path in given if path.startswith(SYNTHETIC)]
    remote = [path for path in given if is_remote(path)]
    files = [path for path in given if not path.startswith(SYNTHETIC) and not is_remote(path)]
    found: list[Source] = []
    if files:
        found += (FileSource(file, _size(file.path)) for file in corpus_files(files, format))
    for address in remote:
        from mate.build.remote_source import remote_sources

        found += remote_sources(address, format)
    for address in lakes:
        from mate.corpus.synthetic import SyntheticLake

        lake = SyntheticLake.parse(address)
        size = lake.expected_cells * 8
        parts = lake.split(max(1, tasks, -(-size // _MOST_UNIT)))
        share = max(1, size // max(1, len(parts)))
        found += (SyntheticSource(lake, part.start, part.stop, share) for part in parts)
    return found


def corpus_files(paths: Iterable[str], format: str | None) -> list[File]:
    """Return the files under paths that tables are read from, which those of a lake among them are not."""
    files = discover(paths, format)
    folders = {folder for file in files for folder in list(PurePath(file.path).parents)[:_LAKE_DEPTH]}
    lakes = {folder for folder in folders if all(Path(folder, name).exists() for name in (MANIFEST, SEGMENTS, LOCK))}
    kept = [file for file in files if lakes.isdisjoint(PurePath(file.path).parents)] if lakes else files
    if not kept:
        raise CorpusError("no file found under the given paths but those of an index")
    return kept


def unit_size(sources: list[Source], parallelism: int) -> int:
    """Return how large units should be: several for each core, so that the last to finish is not waited for long."""
    total = sum(source.size for source in sources)
    return min(max(total // (parallelism * 8), _LEAST_UNIT), _MOST_UNIT)


def plan_units(sources: list[Source], parallelism: int) -> list[Unit]:
    """Put sources that follow each other together to units of about equal size."""
    target = unit_size(sources, parallelism)
    units: list[Unit] = []
    group: list[Source] = []
    filled = 0
    for source in sources:
        if group and filled + source.size > target:
            units.append(Unit(len(units), tuple(group)))
            group, filled = [], 0
        group.append(source)
        filled += source.size
    if group:
        units.append(Unit(len(units), tuple(group)))
    return units


def read_whole(units: Iterable[Unit], names: Set[str]) -> list[Unit]:
    """Return the units that hold parts of these files, with each file in one piece where its first part was."""
    again: list[Unit] = []
    begun: set[str] = set()
    for unit in units:
        if not any(isinstance(source, FilePart) and source.name in names for source in unit.sources):
            continue
        sources: list[Source] = []
        for source in unit.sources:
            if not isinstance(source, FilePart) or source.name not in names:
                sources.append(source)
            elif source.name not in begun:
                begun.add(source.name)
                sources.append(FileSource(source.whole.file, _size(source.name)))
        again.append(Unit(unit.number, tuple(sources)))
    return again


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
