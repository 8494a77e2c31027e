"""Tables in an object store: a task fetches an object to a file of its own, once, and reads it there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from mate.corpus import READERS, Chunk, File, Limits, Reject, detect, read
from mate.corpus.formats import HEAD
from mate.errors import CorpusError, StoreError, did_you_mean
from mate.lake.folder import MANIFEST, SEGMENTS
from mate.storage import Entry, Place, shown


@dataclass
class _Copy:
    """An object as a task has it."""

    sha256: str = ""
    format: str | None = None
    path: Path | None = None
    """Where its bytes are, until they were read."""
    problem: str = ""


@dataclass(frozen=True)
class RemoteSource:
    """An object of a store."""

    address: str
    size: int
    wanted: str | None
    """The format that was asked for; None: it is found."""
    _copies: list[_Copy] = field(default_factory=list, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Its address, as messages and indexes have it."""
        return shown(self.address)

    @property
    def format(self) -> str:
        """The name of its format, by its ending until it was fetched."""
        return (self._copies[0].format if self._copies else self.wanted or detect(self.name, b"")) or "unknown"

    def read(self, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield its tables."""
        copy = self._copy()
        try:
            yield from read(File(self.name, copy.format, copy.problem), limits, copy.path)
        finally:
            if copy.path:
                copy.path.unlink(missing_ok=True)

    def checksum(self) -> str:
        """SHA-256 of the object as it was fetched; empty if it could not be, which the reader reports."""
        return self._copy().sha256

    def stamp(self) -> tuple[int, ...] | None:
        """Size and time of the last change, as the store has them."""
        try:
            found = Place.at(self.address).info()
        except StoreError:
            return None
        return found and (found.size, found.changed)

    def _copy(self) -> _Copy:
        """Fetch the object, unless that was done."""
        if not self._copies:
            try:
                self._copies.append(self._fetched())
            except StoreError as error:
                self._copies.append(_Copy(problem=f"cannot be read: {error}"))
        return self._copies[0]

    def _fetched(self) -> _Copy:
        place = Place.at(self.address)
        if self.wanted is None and detect(self.name, b"") is None and detect(self.name, place.head(HEAD)) is None:
            return _Copy()  # no reader fits: it may be large
        with tempfile.NamedTemporaryFile(prefix="mate-object-", delete=False) as stream:
            path = Path(stream.name)
        try:
            sha256 = place.fetch(path).sha256
            with path.open("rb") as own:
                return _Copy(sha256, self.wanted or detect(self.name, own.read(HEAD)), path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def remote_sources(address: str, format: str | None) -> list[RemoteSource]:
    """Return the objects below an address, or the one there, by name; no object is read."""
    if format is not None and format not in READERS:
        raise CorpusError(f'unknown format "{format}": {did_you_mean(format, READERS)}')
    base, mark, settings = address.partition("?")
    base = base.rstrip("/")
    place = Place.at(base + mark + settings)
    single = place.info()
    if single is not None:
        return [RemoteSource(base + mark + settings, single.size, format)]
    kept = _tables(place.walk())
    if not kept:
        place.require_bucket()
        raise CorpusError(f"{shown(address)}: no file found")
    return [RemoteSource(f"{base}/{entry.name}{mark}{settings}", entry.size, format) for entry in kept]


def _tables(entries: list[Entry]) -> list[Entry]:
    """Return what tables may be read from: nothing hidden, and no file of a lake."""
    paths = [PurePosixPath(entry.name) for entry in entries]
    manifests = {path.parent for path in paths if path.name == MANIFEST}
    lakes = {folder for folder in manifests if any(folder / SEGMENTS in path.parents for path in paths)}
    return [
        entry
        for entry, path in zip(entries, paths, strict=True)
        if not any(part.startswith(".") for part in path.parts) and lakes.isdisjoint(path.parents)
    ]
