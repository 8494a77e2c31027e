"""A lake: a folder with a manifest and immutable segments, the default index.

A reader keeps the manifest that it opened and the files that it mapped. Replacing the manifest publishes; nothing that
was published is ever modified.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from mate.errors import StoreError
from mate.lake.arrays import damaged
from mate.lake.base import Ids, Index, Sought, TableSegment
from mate.lake.manifest import Manifest
from mate.lake.records import TableInfo
from mate.lake.segment import SearchSegment, Segment
from mate.lake.segment_folder import SegmentFolder
from mate.lake.verified import skip_verification

MANIFEST, SEGMENTS, LOCK = "manifest.json", "segments", ".lock"
_ATTEMPTS = 5
_SPARE_FILES = 256
"""Files that a process may have open beside those of a lake."""
_OLD = (b"DUCK", 8)
"""What a DuckDB file has at which byte: the embedded index of the first format."""


_ReadRecords: TypeAlias = Callable[[SegmentFolder, Sequence[str] | None], list[dict[str, Any]]]


class LakeFolder(Index):
    """The index in a folder."""

    def __init__(self, address: str | Path, manifest: Manifest, segments: list[Segment]) -> None:
        self.address = str(address)
        self.path = Path(address)
        self.manifest = manifest
        self.segments = segments

    def verify(self) -> None:
        """Make sure that all arrays are sound; reads all of them. Raises StoreError for damage."""
        for segment in self.segments:
            segment.verify()

    def trust(self) -> None:
        """Take all arrays for sound without reading them."""
        for segment in self.segments:
            skip_verification(segment.file.identity)

    def posting_counts(self, ids: Ids, texts: pa.StringArray) -> Ids:
        """Sum up what the segments' directories have."""
        counts = np.zeros(len(ids), np.int64)
        for segment in self.search_segments():
            counts += segment.posting_counts(segment.places(ids, texts))
        return counts

    def search_segments(self, search: Sought | None = None) -> Iterator[SearchSegment]:
        """Yield all segments."""
        return (segment.for_search() for segment in self.segments)

    def table_segment(self, search: Sought | None, table_id: int) -> TableSegment | None:
        """Return the segment that has a table."""
        found = self.place_of(table_id)
        return TableSegment(found[0].for_search(), found[1]) if found else None

    def whole_tables(self, search: Sought, tables: Sequence[int]) -> list[TableSegment]:
        """Return the segment that has the first table: nothing is gained by reading more at a time."""
        return [self.whole_table(tables[0])]

    def whole_table(self, table_id: int) -> TableSegment:
        """Return the segment that has a table."""
        found = self.place_of(table_id)
        if found is None:
            raise self._no_table(table_id)
        return TableSegment(found[0].for_search(), found[1])

    def place_of(self, table_id: int) -> tuple[Segment, int] | None:
        """Return the segment that has a table in use, and the table's place in it."""
        ids, owner, place = self._directory
        at = int(np.searchsorted(ids, table_id))
        if at == len(ids) or ids[at] != table_id:
            return None
        return self.segments[int(owner[at])], int(place[at])

    @cached_property
    def _directory(self) -> tuple[Ids, Ids, Ids]:
        """The numbers of all tables in use, ascending, with the segment and the place in it of each."""
        places = [np.flatnonzero(segment.live) for segment in self.segments]
        ids = [segment.arrays.table_id[place] for segment, place in zip(self.segments, places, strict=True)]
        owner = np.repeat(np.arange(len(places)), [len(place) for place in places])
        every = np.concatenate([np.empty(0, np.int64), *ids])
        order = np.argsort(every, kind="stable")
        return every[order], owner[order], np.concatenate([np.empty(0, np.int64), *places])[order]

    def tables(self, table_ids: Sequence[int] | Ids | None = None) -> list[TableInfo]:
        """Return tables by number."""
        ids, owner, place = self._directory
        chosen = np.arange(len(ids))
        if table_ids is not None:
            wanted = np.unique(np.asarray(table_ids, np.int64))
            at = np.minimum(np.searchsorted(ids, wanted), max(0, len(ids) - 1))
            chosen = at[ids[at] == wanted] if len(ids) else chosen
        found: list[TableInfo] = []
        for number in np.unique(owner[chosen]).tolist():
            segment, places = self.segments[number], np.sort(place[chosen][owner[chosen] == number])
            records = segment.folder.tables(places)
            if [table.table_id for table in records] != segment.arrays.table_id[places].tolist():
                raise damaged(segment.file.path, "its tables are not those of the records beside it")
            found += records
        return sorted(found, key=lambda table: table.table_id)

    def tables_from(self, sources: Sequence[str]) -> list[int]:
        """Return the numbers of the tables that were read from these sources."""
        return self._tables_where("source", sources)

    def tables_named(self, name: str) -> list[int]:
        """Return the numbers of the tables that have this name."""
        return self._tables_where("name", [name])

    def _tables_where(self, column: str, values: Sequence[str]) -> list[int]:
        import pyarrow.compute as pc

        found: list[int] = []
        for segment in self.segments:
            records = segment.folder.table_columns([column])
            kept = pc.is_in(records.column(0), value_set=pa.array(list(values), pa.string()))
            found += segment.arrays.table_id[segment.live & kept.to_numpy()].tolist()
        return sorted(found)

    def cells(self, table_id: int, rows: Ids) -> list[list[str | None]]:
        """Return rows of a table as they were read."""
        found = self.place_of(table_id)
        if found is None:
            raise self._no_table(table_id)
        segment, place = found
        width = int(np.diff(segment.arrays.table_column_first[place : place + 2])[0])
        return segment.folder.cells(place, width, rows)

    def sources(self) -> list[dict[str, Any]]:
        """Return the files that were read."""
        return self._records(SegmentFolder.sources)

    def rejects(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return what was not indexed, by source and line."""
        return sorted(self._records(SegmentFolder.rejects), key=_by_line)[:limit]

    def sources_named(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return what `sources` tells of some files only; no other record leaves Arrow."""
        return self._records(SegmentFolder.sources, names)

    def rejects_from(self, sources: Sequence[str]) -> list[dict[str, Any]]:
        """Return what `rejects` tells of some files only."""
        return sorted(self._records(SegmentFolder.rejects, sources), key=_by_line)

    def _records(self, read: _ReadRecords, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return records of sources that are in use."""
        found: list[dict[str, Any]] = []
        for segment, noted in zip(self.segments, self.manifest.segments, strict=True):
            gone = set(noted.superseded_sources)
            found += (record for record in read(segment.folder, names) if record["source"] not in gone)
        return found

    def sizes(self) -> dict[str, int]:
        """Return bytes by part of all segments."""
        found: dict[str, int] = {}
        for segment, record in zip(self.segments, self.manifest.segments, strict=True):
            for name, size in _parts(segment, record.files).items():
                found[name] = found.get(name, 0) + size
        found["manifest"] = (self.path / MANIFEST).stat().st_size if (self.path / MANIFEST).is_file() else 0
        return found


def _by_line(record: dict[str, Any]) -> tuple[str, int]:
    return record["source"], record["line"] or 0


_PARTS = {
    "dictionary": ("token_id", "text_first", "text"),
    "directory": ("entry_first", "entry_column", "posting_first"),
    "postings": ("postings",),
    "column dictionaries": ("column_entry_first", "column_token"),
    "codes": ("code_first", "code_bytes", "codes"),
}


def _parts(segment: Segment, files: dict[str, tuple[int, int]]) -> dict[str, int]:
    """Return the bytes of a segment by part; what has no part of its own is `records`."""
    found = {part: sum(map(segment.file.bytes_of, names)) for part, names in _PARTS.items()}
    found["super keys"] = sum(segment.file.bytes_of(n) for n in segment.file.names if n.startswith("keys"))
    found["cells"] = sum(size for name, (size, _) in files.items() if name.startswith("cells-"))
    found["records"] = sum(size for size, _ in files.values()) - sum(found.values())
    return found


def open_folder(address: str | Path) -> LakeFolder:
    """Open the lake in a folder.

    A reader may meet a change that removes a segment between its manifest and its files: then it opens the new state.
    """
    path = Path(address)
    for attempt in range(_ATTEMPTS):
        manifest = read_manifest(path)
        try:
            return LakeFolder(address, manifest, open_segments(path, manifest))
        except StoreError:
            if attempt == _ATTEMPTS - 1 or read_manifest(path) == manifest:
                raise
    raise AssertionError


def open_segments(path: Path, manifest: Manifest, numbers: Sequence[int] | None = None) -> list[Segment]:
    """Map segments of the lake in a folder, by their numbers in the manifest; all of them unless some are asked for."""
    records = manifest.segments if numbers is None else [manifest.segments[number] for number in numbers]
    _allow_files(sum(len(record.files) for record in records))
    hashes = len(manifest.hashes)
    return [Segment.open(path / SEGMENTS / record.name, hashes, record.superseded_tables) for record in records]


def _allow_files(count: int) -> None:
    """Let this process keep so many more files open, as far as the system lets it: a reader keeps all that it opened.

    Systems set a low limit that a process may raise by itself.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _SPARE_FILES + 4 * count
    if soft != resource.RLIM_INFINITY and wanted > soft:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of the lake in a folder."""
    try:
        text = (path / MANIFEST).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(path) from None
    except OSError as error:
        raise StoreError(f"{path / MANIFEST} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise StoreError(f"{path / MANIFEST} is damaged: it is not text") from None
    return Manifest.from_json(text, str(path))


def _missing(path: Path) -> StoreError:
    if path.is_file():
        with path.open("rb") as stream:
            old = stream.read(_OLD[1] + len(_OLD[0]))[_OLD[1] :] == _OLD[0]
        if old:
            return StoreError(
                f"{path} is an index of an older format, one DuckDB file: build it again with "
                f"mate index PATH --store {path.with_suffix('.mate')}"
            )
        return StoreError(f"{path} is a file; an index is a folder, made by: mate index PATH --store {path}.mate")
    if path.is_dir():
        return StoreError(f"{path} is a folder without an index: it has no {MANIFEST}")
    return StoreError(f"there is no index at {path}; build one with: mate index PATH --store {path}")


def publish(path: Path, manifest: Manifest) -> None:
    """Make a manifest the one in use, in one step that a crash cannot cut in two."""
    new = path / f".{MANIFEST}.new"
    new.unlink(missing_ok=True)
    with new.open("x", encoding="utf-8") as stream:  # a file of our own, never one that a link leads to
        stream.write(manifest.to_json())
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(path / MANIFEST)
    sync_folder(path)


def sync_folder(path: Path) -> None:
    """Force the names in a folder to disk."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
