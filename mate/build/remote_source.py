"""Tables in an object store: a task fetches an object once, to a temporary file, and reads it there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mate.build.sources import CHANGED, Item, Provenance
from mate.corpus import READERS, File, Limits, Reject, detect, read
from mate.corpus.formats import HEAD
from mate.errors import CorpusError, StoreError, did_you_mean
from mate.lake.folder import MANIFEST, SEGMENTS
from mate.storage import Entry, Place, shown


@dataclass(frozen=True, slots=True)
class RemoteSource:
    """An object of a store."""

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
        sha256 = place.fetch(copy).sha256
        with copy.open("rb") as stream:
            format = self.format or detect(self.name, stream.read(HEAD))
        return format, sha256, place.info() != before


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
