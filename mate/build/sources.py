"""What tables are read from: files, objects of a store, synthetic lakes; and how much of it one task reads.

A file or object that changes while it is read is noticed by what the system or the store says of it before and after:
size, times, inode or tag. Then the index notes no checksum, so that `mate sync` reads it again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

from mate.corpus import READERS, Chunk, File, Limits, Reject, detect, discover, read
from mate.corpus.formats import HEAD
from mate.errors import CorpusError, StoreError, did_you_mean
from mate.lake.folder import LOCK, MANIFEST, SEGMENTS
from mate.storage import Entry, Place, is_remote, shown

if TYPE_CHECKING:
    from mate.corpus.synthetic import SyntheticLake

SYNTHETIC = "synthetic:"
CHANGED = "changed while it was read; mate sync reads it again"
_LAKE_DEPTH = 3
"""Folders of a lake that a file of it is in: the lake itself, its segments, one of them."""
_SYNTHETIC_PARTS = 32
"""Sources that a synthetic lake is cut into at least."""
_LEAST_UNIT = 1 << 20
_MOST_UNIT = 64 << 20


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the index notes of a source that has been read."""

    format: str
    bytes: int
    sha256: str
    """Of the bytes that were parsed; empty if they changed meanwhile or cannot be read."""
    tables: int | None = None
    """Tables in the whole source; None: all that it yielded."""


Item: TypeAlias = Chunk | Reject | Provenance
Stamp: TypeAlias = tuple[int, ...]


class Source(Protocol):
    """Something that tables are read from."""

    @property
    def name(self) -> str:
        """The path or address."""

    @property
    def size(self) -> int:
        """Its bytes, exactly or about."""

    def read(self, limits: Limits) -> Iterator[Item]:
        """Yield its tables, in chunks, and its rejects; last its provenance."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file of the corpus."""

    file: File
    size: int

    @classmethod
    def of(cls, file: File) -> Self:
        """Return a file with the size that it has now; 0 if there is none."""
        try:
            return cls(file, Path(file.path).stat().st_size)
        except OSError:
            return cls(file, 0)

    @property
    def name(self) -> str:
        """The path."""
        return self.file.path

    @property
    def format(self) -> str:
        """The name of its format."""
        return self.file.format or "unknown"

    def read(self, limits: Limits) -> Iterator[Item]:
        """Yield its tables."""
        before = self.stamp()
        yield from read(self.file, limits)
        checksum = self.checksum()
        if self.stamp() != before:
            yield Reject(self.name, None, "file", CHANGED)
            checksum = ""
        yield Provenance(self.format, self.size, checksum)

    def stamp(self) -> Stamp | None:
        """Return the size, the times of change and the inode of a file that is read: they differ once it is changed."""
        if self.file.problem or not self.file.format:
            return None
        try:
            stat = Path(self.name).stat()
        except OSError:
            return None
        return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino

    def checksum(self) -> str:
        """Return the SHA-256 of the file as it is now, or of its known problem; nothing if it cannot be read."""
        if self.file.problem:
            return hashlib.sha256(self.file.problem.encode()).hexdigest()
        try:
            with Path(self.name).open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            return ""


@dataclass(frozen=True, slots=True)
class RemoteSource:
    """An object of a store: a task fetches it once, to a temporary file, and reads it there."""

    address: str
    size: int
    format: str | None
    """The format that was asked for; None: it is detected."""

    @property
    def name(self) -> str:
        """Its address, as messages and indexes have it."""
        return shown(self.address)

    def read(self, limits: Limits) -> Iterator[Item]:
        """Fetch the object and yield its tables; an object that changes while it is fetched is a reject."""
        with tempfile.NamedTemporaryFile(prefix="mate-object-") as stream:
            copy = Path(stream.name)
            try:
                format, sha256, changed = self._fetch(copy)
            except StoreError as error:
                yield Reject(self.name, None, "file", f"cannot be read: {error}")
                yield Provenance(self.format or detect(self.name, b"") or "unknown", self.size, "")
                return
            yield from read(File(self.name, format), limits, lambda: copy.open("rb"))
        if changed:
            yield Reject(self.name, None, "file", CHANGED)
        yield Provenance(format or "unknown", self.size, "" if changed else sha256)

    def _fetch(self, copy: Path) -> tuple[str | None, str, bool]:
        """Return the format of the object, the SHA-256 of its copy, and whether it changed meanwhile."""
        place = Place.at(self.address)
        if self.format is None and detect(self.name, b"") is None and detect(self.name, place.head(HEAD)) is None:
            return None, "", False  # no reader fits, and it may be large
        before = place.info()
        place.fetch(copy)
        with copy.open("rb") as stream:
            format = self.format or detect(self.name, stream.read(HEAD))
            stream.seek(0)
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        return format, sha256, place.info() != before


@dataclass(frozen=True, slots=True)
class SyntheticSource:
    """Some tables of a synthetic lake, made where they are needed."""

    lake: SyntheticLake
    first: int
    stop: int
    size: int

    @property
    def name(self) -> str:
        """The lake's address and its tables."""
        return f"{self.lake.address}#{self.first}-{self.stop - 1}"

    def read(self, limits: Limits) -> Iterator[Item]:
        """Generate the tables."""
        yield from self.lake.read(self.first, self.stop, limits)
        yield Provenance("synthetic", self.size, hashlib.sha256(self.name.encode()).hexdigest())


def find_sources(paths: Iterable[str | os.PathLike[str]], format: str | None = None) -> list[Source]:
    """Return the sources under paths, in the order in which their tables are numbered."""
    given = [os.fspath(path) for path in paths]
    synthetic = [path for path in given if path.startswith(SYNTHETIC)]
    remote = [path for path in given if is_remote(path)]
    files = [path for path in given if path not in synthetic and path not in remote]
    sources: list[Source] = []
    if files:
        sources += map(FileSource.of, corpus_files(files, format))
    for address in remote:
        sources += _remote_sources(address, format)
    for address in synthetic:
        from mate.corpus.synthetic import SyntheticLake

        lake = SyntheticLake.parse(address)
        size = lake.expected_cells * 8
        parts = lake.split(max(_SYNTHETIC_PARTS, -(-size // _MOST_UNIT)))
        sources += (SyntheticSource(lake, p.start, p.stop, max(1, size // len(parts))) for p in parts)
    return sources


def corpus_files(paths: Iterable[str], format: str | None) -> list[File]:
    """Return the files under paths that tables are read from; files of a lake among them are left out."""
    files = discover(paths, format)
    folders = {folder for file in files for folder in list(PurePath(file.path).parents)[:_LAKE_DEPTH]}
    lakes = {folder for folder in folders if all(Path(folder, name).exists() for name in (MANIFEST, SEGMENTS, LOCK))}
    tables = [file for file in files if lakes.isdisjoint(PurePath(file.path).parents)]
    if not tables:
        raise CorpusError("no file found under the given paths but those of an index")
    return tables


def _remote_sources(address: str, format: str | None) -> list[RemoteSource]:
    """Return the objects below an address, or the one there, by name; no object is read."""
    if format is not None and format not in READERS:
        raise CorpusError(f'unknown format "{format}": {did_you_mean(format, READERS)}')
    base, mark, settings = address.partition("?")
    base = base.rstrip("/")
    place = Place.at(base + mark + settings)
    single = place.info()
    if single is not None:
        return [RemoteSource(base + mark + settings, single.size, format)]
    entries = _table_entries(place.walk())
    if not entries:
        place.require_bucket()
        raise CorpusError(f"{shown(address)}: no file found")
    return [RemoteSource(f"{base}/{entry.name}{mark}{settings}", entry.size, format) for entry in entries]


def _table_entries(entries: list[Entry]) -> list[Entry]:
    """Leave out what holds no tables: hidden objects, and the files of a lake."""
    paths = [PurePosixPath(entry.name) for entry in entries]
    manifests = {path.parent for path in paths if path.name == MANIFEST}
    lakes = {folder for folder in manifests if any(folder / SEGMENTS in path.parents for path in paths)}
    return [
        entry
        for entry, path in zip(entries, paths, strict=True)
        if not any(part.startswith(".") for part in path.parts) and lakes.isdisjoint(path.parents)
    ]


def unit_size(sources: Sequence[Source], parallelism: int) -> int:
    """Return how large units should be: several for each core, so that no core waits long for the last one."""
    total = sum(source.size for source in sources)
    return min(max(total // (parallelism * 8), _LEAST_UNIT), _MOST_UNIT)


def plan_units(sources: Sequence[Source], parallelism: int) -> list[list[Source]]:
    """Put sources that follow each other together, to units of about equal size, each the work of one task."""
    target = unit_size(sources, parallelism)
    units: list[list[Source]] = []
    filled = 0
    for source in sources:
        if not units or filled + source.size > target:
            units.append([])
            filled = 0
        units[-1].append(source)
        filled += source.size
    return units
