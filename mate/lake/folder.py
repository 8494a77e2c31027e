"""A lake: a folder with a manifest and immutable segments, the default index.

A reader keeps the manifest that it opened and the files that it mapped. A new manifest publishes a new state; what was
published is never modified.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.errors import QueryError, StoreError
from mate.lake.arrays import damaged
from mate.lake.base import Ids, Index, Search, TableSegment
from mate.lake.manifest import Manifest
from mate.lake.records import TableInfo
from mate.lake.segment import SearchSegment, Segment
from mate.lake.segment_folder import ParquetRecords
from mate.lake.verified import skip_verification

MANIFEST, SEGMENTS, LOCK = "manifest.json", "segments", ".lock"
_OTHER_FILES = 256
"""Files that a process may have open besides those of lakes."""


_PARTS = {
    "dictionary": ("token_id", "text_first", "text"),
    "directory": ("entry_first", "entry_column", "posting_first"),
    "postings": ("postings",),
    "column dictionaries": ("column_entry_first", "column_token"),
    "codes": ("code_first", "code_bytes", "codes"),
}
"""Arrays by what they are for people."""


class LakeFolder(Index):
    """The index in a folder."""

    has_directory = True

    def __init__(self, address: str | Path, manifest: Manifest, segments: list[Segment]) -> None:
        self.address = str(address)
        self.path = Path(address)
        self.manifest = manifest
        self.segments = segments

    def verify(self) -> None:
        """Read all arrays; raise StoreError for damage."""
        for segment in self.segments:
            segment.verify()

    def trust(self) -> None:
        """Skip the verification of all arrays."""
        for segment in self.segments:
            skip_verification(segment.file.identity)

    def posting_counts(self, ids: Ids, texts: pa.StringArray) -> Ids:
        """Sum up what the segments' directories have."""
        counts = np.zeros(len(ids), np.int64)
        for segment in self.search_segments():
            counts += segment.posting_counts(segment.places(ids, texts))
        return counts

    def search_segments(self, search: Search = None) -> Iterator[SearchSegment]:
        """Yield all segments."""
        return (segment.for_search() for segment in self.segments)

    def table_segment(self, search: Search, table_id: int) -> TableSegment | None:
        """Return the segment of a table."""
        found = self.place_of(table_id)
        return TableSegment(found[0].for_search(), found[1]) if found else None

    def whole_tables(self, search: Search, tables: Sequence[int]) -> list[TableSegment]:
        """Return the segment of the first table: reading more at a time gains nothing."""
        return [self.whole_table(tables[0])]

    def whole_table(self, table_id: int) -> TableSegment:
        """Return the segment of a table, which must be in use."""
        segment, place = self._known_place(table_id)
        return TableSegment(segment.for_search(), place)

    def _known_place(self, table_id: int) -> tuple[Segment, int]:
        found = self.place_of(table_id)
        if found is None:
            raise self._no_table(table_id)
        return found

    def place_of(self, table_id: int) -> tuple[Segment, int] | None:
        """Return the segment of a table in use, and the table's place in it."""
        ids, owner, place = self._tables_by_id
        at = int(np.searchsorted(ids, table_id))
        if at == len(ids) or ids[at] != table_id:
            return None
        return self.segments[int(owner[at])], int(place[at])

    @cached_property
    def _tables_by_id(self) -> tuple[Ids, Ids, Ids]:
        """The ids of all tables in use, ascending, with the number of the segment and the place in it of each."""
        places = [np.flatnonzero(segment.live) for segment in self.segments]
        segment_ids = [segment.arrays.table_id[place] for segment, place in zip(self.segments, places, strict=True)]
        owner = np.repeat(np.arange(len(places)), [len(place) for place in places])
        ids = np.concatenate([np.empty(0, np.int64), *segment_ids])
        order = np.argsort(ids, kind="stable")
        return ids[order], owner[order], np.concatenate([np.empty(0, np.int64), *places])[order]

    def tables(self, table_ids: Sequence[int] | Ids | None = None) -> list[TableInfo]:
        """Return tables by number."""
        ids, owner, place = self._tables_by_id
        chosen = np.arange(len(ids))
        if table_ids is not None and len(ids):
            wanted = np.unique(np.asarray(table_ids, np.int64))
            at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
            chosen = at[ids[at] == wanted]
        infos: list[TableInfo] = []
        for number in np.unique(owner[chosen]).tolist():
            segment, places = self.segments[number], np.sort(place[chosen][owner[chosen] == number])
            records = segment.folder.tables(places)
            if [table.table_id for table in records] != segment.arrays.table_id[places].tolist():
                raise damaged(segment.file.path, "its tables are not those of the records beside it")
            infos += records
        return sorted(infos, key=lambda table: table.table_id)

    def tables_from(self, sources: Sequence[str]) -> list[int]:
        """Return the numbers of the tables that were read from these sources."""
        return self._tables_where("source", sources)

    def tables_named(self, name: str) -> list[int]:
        """Return the numbers of the tables that have this name."""
        return self._tables_where("name", [name])

    def _tables_where(self, column: str, values: Sequence[str]) -> list[int]:
        numbers: list[int] = []
        for segment in self.segments:
            records = segment.folder.tables_file.read([column])
            wanted = pc.is_in(records.column(0), value_set=pa.array(list(values), pa.string()))
            numbers += segment.arrays.table_id[segment.live & wanted.to_numpy()].tolist()
        return sorted(numbers)

    def cells(self, table_id: int, rows: Ids) -> list[list[str | None]]:
        """Return rows of a table as they were read."""
        segment, place = self._known_place(table_id)
        first, last = segment.arrays.table_column_first[place : place + 2].tolist()
        return segment.folder.cells(place, last - first, rows)

    def sources(self, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return the files that were read, without loading the records of others."""
        return self._records([segment.folder.sources_file for segment in self.segments], names)

    def rejects(self, limit: int | None = None, sources: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return what was not indexed, by source and line."""
        rejects = self._records([segment.folder.rejects_file for segment in self.segments], sources)
        return sorted(rejects, key=lambda record: (record["source"], record["line"] or 0))[:limit]

    def _records(self, files: list[ParquetRecords], names: Sequence[str] | None) -> list[dict[str, Any]]:
        """Return the records of sources in use from a file of each segment."""
        records: list[dict[str, Any]] = []
        for file, noted in zip(files, self.manifest.segments, strict=True):
            superseded = set(noted.superseded_sources)
            records += (record for record in file.of_sources(names) if record["source"] not in superseded)
        return records

    def sizes(self) -> dict[str, int]:
        """Return the bytes of all segments by part; what is left of them is `records`."""
        total = dict.fromkeys((*_PARTS, "super keys", "cells", "records"), 0)
        for segment, record in zip(self.segments, self.manifest.segments, strict=True):
            for part, names in _PARTS.items():
                total[part] += sum(getattr(segment.arrays, name).nbytes for name in names)
            total["super keys"] += sum(keys.nbytes for keys in segment.keys)
            total["cells"] += sum(size for name, (size, _) in record.files.items() if name.startswith("cells-"))
        total["records"] = sum(record.bytes for record in self.manifest.segments) - sum(total.values())
        total["manifest"] = (self.path / MANIFEST).stat().st_size if (self.path / MANIFEST).is_file() else 0
        return total


def open_folder(address: str | Path) -> LakeFolder:
    """Open the lake in a folder.

    A change may remove a segment after a reader has read the manifest: the reader then opens the new state.
    """
    path = Path(address)
    manifest = read_manifest(path)
    while True:
        try:
            return LakeFolder(address, manifest, open_segments(path, manifest))
        except StoreError:
            before, manifest = manifest, read_manifest(path)
            if manifest == before:
                raise


def open_segments(path: Path, manifest: Manifest, numbers: Sequence[int] | None = None) -> list[Segment]:
    """Map some segments of the lake in a folder, given by their numbers in the manifest, or all."""
    records = manifest.segments if numbers is None else [manifest.segments[number] for number in numbers]
    _allow_files(sum(len(record.files) for record in records))
    hashes = len(manifest.hashes)
    return [Segment.open(path / SEGMENTS / record.name, hashes, record.superseded_tables) for record in records]


def _allow_files(count: int) -> None:
    """Raise this process's low limit of open files as far as the system allows: readers keep all files open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OTHER_FILES + 4 * count
    if soft != resource.RLIM_INFINITY and wanted > soft:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of the lake in a folder."""
    try:
        text = (path / MANIFEST).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        if path.is_file():
            problem = f"{path} is a file; an index is a folder, made by: mate index PATH --store {path}.mate"
        elif path.is_dir():
            problem = f"{path} is a folder without an index: it has no {MANIFEST}"
        else:
            problem = f"there is no index at {path}; build one with: mate index PATH --store {path}"
        raise StoreError(problem) from None
    except OSError as error:
        raise StoreError(f"{path / MANIFEST} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise StoreError(f"{path / MANIFEST} is damaged: it is not text") from None
    return Manifest.from_json(text, str(path))


def publish(path: Path, manifest: Manifest) -> None:
    """Replace the manifest of the lake in a folder, atomically."""
    new = path / f".{MANIFEST}.new"
    new.unlink(missing_ok=True)
    with new.open("x", encoding="utf-8") as stream:  # a new file, never one that a link leads to
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


def require_folder(index: Index, purpose: str) -> LakeFolder:
    """Return an index as a lake in a folder, whose segments hold whole columns and their directory."""
    if not isinstance(index, LakeFolder):
        raise QueryError(f"{purpose} a lake in a folder, which {index.address} is not")
    return index
