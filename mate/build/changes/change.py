"""One change to an index: which tables go, and segments with those that come.

A change is worked out before anything is published (`Change`); a writer then applies it all at once, as its kind of
index needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from mate.build.build import MEMORY, now
from mate.build.dictionary import count_distinct
from mate.build.engine import Engine, Progress
from mate.build.parts import cut_sources
from mate.build.segments import (
    LEAST_SEGMENT,
    PHASE,
    NewSegment,
    most_cells,
    plan_segments,
    segment_task,
    stage_settings,
)
from mate.build.sources import Source
from mate.build.stage import Lot, oversized_cells, stage_sources, stage_unit
from mate.build.stored_tables import Edit, StoredTable
from mate.corpus import Limits
from mate.errors import UpdateError
from mate.lake.arrays import Array
from mate.lake.base import Index
from mate.lake.folder import require_folder
from mate.lake.manifest import Counts, Manifest, SegmentRecord
from mate.lake.records import REJECTS_SCHEMA, SOURCES_SCHEMA, TableInfo
from mate.values.arrow import string_array
from mate.values.text import characters, tokens

Records = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Report:
    """What a change did."""

    added: list[TableInfo] = field(default_factory=list)
    changed: list[TableInfo] = field(default_factory=list)
    removed: list[TableInfo] = field(default_factory=list)
    rows_added: int = 0
    """Rows that are new or have new values."""
    rows_removed: int = 0
    """Rows that are gone or had other values."""
    before: Manifest | None = None
    after: Manifest | None = None
    seconds: float = 0.0

    @property
    def worth_compacting(self) -> int:
        """Segments that `compact` would merge now, where that pays."""
        return len(worth_merging(self.after)) if self.after and self.after.is_scattered else 0


class Writer(Protocol):
    """What an index offers to those who change it; as a context, it holds the lock that keeps others out."""

    directory: Path
    """A folder for the files of the change."""

    @property
    def index(self) -> Index:
        """The index as it is before the change."""

    def stored(self, table: TableInfo) -> StoredTable:
        """Return a table of the index as a source."""

    def counts_of(self, tables: list[TableInfo]) -> Counts:
        """Count what tables hold."""

    def apply(self, change: Change, after: Manifest) -> Manifest:
        """Make the change, durably and all at once; return the new manifest, with the segments that it names."""


class Change:
    """What a writer does to an index, all at once."""

    def __init__(self, writer: Writer, engine: Engine, progress: Progress, memory: int) -> None:
        self.index = writer.index
        self._writer, self._engine, self._progress, self._memory = writer, engine, progress, memory
        manifest = writer.index.manifest
        self._settings = stage_settings(manifest.nulls, Limits(**manifest.limits), memory)
        self.gone_tables: list[TableInfo] = []
        """Tables whose stored version goes; the new version of one that changes is in a new segment."""
        self.gone_sources: list[str] = []
        """Sources whose record and rejects go."""
        self.new_segments: list[NewSegment] = []
        """Segments with what comes."""
        self.report = Report()
        self._sources: Records = []
        self._rejects: Records = []
        """The new records."""
        self._lots: list[Lot] = []
        self._table_ids: list[Array] = []
        self._next_table = manifest.next_table
        self._noted: dict[str, Any] = {}
        """What else the new manifest notes."""

    def __bool__(self) -> bool:
        return bool(self.gone_tables or self.gone_sources or self.new_segments)

    def update_sources(self, removed: Mapping[str, int], rejects: Records) -> None:
        """Note that the index differs from these sources; `removed` counts the tables of each that go.

        A source without tables is forgotten. The others get further rejects.
        """
        for record in self.index.sources(list(removed)):
            name = record["source"]
            left = record["tables"] - removed[name]
            self.gone_sources.append(name)
            if left:
                self._sources.append({**record, "sha256": "", "tables": left})
                self._rejects += [*self.index.rejects(sources=[name]), *rejects]

    def edit_table(
        self, table: TableInfo, edit: Edit, rows: tuple[int, int], values: Sequence[tuple[int, str | None]] = ()
    ) -> None:
        """Write a table again, and note that it differs from its file and which new values are too long.

        `rows` has how many are added and removed, `values` the new ones with their rows.
        """
        self.gone_tables.append(table)
        [lot] = self._copy([replace(self._writer.stored(table), edit=edit)])
        [record] = lot.records("tables").to_pylist()
        count = int(lot.records("pieces").column("rows").to_numpy().sum())
        changed = TableInfo.of({**record, "table_id": table.table_id, "rows": count})
        limit = self._settings.limits.cell_characters
        lengths = characters(tokens(string_array([value for _, value in values]), self._settings.nulls))
        long = np.flatnonzero(lengths > limit).tolist()
        rejects = [asdict(oversized_cells(table.source, values[long[0]][0], len(long), limit))] if long else []
        self.update_sources({table.source: 0}, rejects)
        self.report = Report(changed=[changed], rows_added=rows[0], rows_removed=rows[1])

    def compact(self) -> None:
        """Merge the segments of a lake that are worth it: their tables and records are written again, as they are."""
        lake, segments = require_folder(self.index, "compaction merges the segments of"), self.index.manifest.segments
        merged = worth_merging(lake.manifest, self._memory)
        tables: list[int] = []
        sources: set[str] = set()
        for segment, record in zip(lake.segments, segments, strict=True):
            if record in merged:
                tables += segment.arrays.table_id[segment.live].tolist()
                sources |= segment.folder.source_names() - set(record.superseded_sources)
        if merged:
            self.gone_tables, self.gone_sources = lake.tables(tables), sorted(sources)
            lots = self._copy([self._writer.stored(table) for table in self.gone_tables])
            self._sources, self._rejects = lake.sources(self.gone_sources), lake.rejects(sources=self.gone_sources)
            self._noted = {"operations": 0}
            if len(merged) == len(segments):
                self._noted["distinct_tokens"] = count_distinct(self._engine, lots, self._progress)

    def _copy(self, tables: Sequence[StoredTable]) -> list[Lot]:
        """Write tables again under their numbers."""
        lots = self._stage(tables)
        numbers = np.array([table.info.table_id for table in tables], np.int64)
        self._table_ids += np.split(numbers, np.cumsum([lot.tables for lot in lots[:-1]], dtype=np.int64))
        return lots

    def add_sources(self, sources: list[Source], known: Mapping[tuple[str, int], int]) -> list[TableInfo]:
        """Read sources and add their tables; a table at a known place of a known source keeps its number."""
        tables: dict[int, TableInfo] = {}
        last = -1
        for lot in self._stage(cut_sources(sources, self._engine, self._settings.limits, self._progress)):
            ids = [last] if lot.continues else []
            for record in lot.records("tables").to_pylist():
                number = known.get((record["source"], record["position"]))
                if number is None:
                    number, self._next_table = self._next_table, self._next_table + 1
                ids.append(number)
                tables[number] = TableInfo.of({**record, "table_id": number})
            for piece in lot.records("pieces").to_pylist():
                table = tables[ids[piece["table_no"]]]
                tables[table.table_id] = replace(table, rows=table.rows + piece["rows"])
            last = ids[-1] if ids else last
            self._table_ids.append(np.array(ids, np.int64))
            self._sources += lot.records("sources").to_pylist()
            self._rejects += lot.records("rejects").to_pylist()
        return list(tables.values())

    def _stage(self, sources: Sequence[Source]) -> list[Lot]:
        directory = self._writer.directory / f"staged-{len(self._lots)}"
        directory.mkdir()
        lots = stage_sources(self._engine, sources, directory, self._settings, self._progress)
        self._lots += lots
        return lots

    def write_segments(self) -> None:
        """Write segments with everything that comes."""
        if self._sources and not self._lots:
            self._table_ids = [np.empty(0, np.int64)]
            self._lots = stage_unit([], str(self._writer.directory), self._settings)
        if self._lots:
            records = pa.Table.from_pylist(self._sources, SOURCES_SCHEMA)
            rejects = pa.Table.from_pylist(self._rejects, REJECTS_SCHEMA)
            for lot in self._lots:  # the first one takes all records
                lot.replace_records(records, rejects)
                records, rejects = records.slice(0, 0), rejects.slice(0, 0)
            plans = plan_segments(self._lots, self._table_ids, self._memory, self._engine.parallelism)
            task = segment_task(self._writer.directory, self.index.manifest.hashes)
            self.new_segments = self._engine.run(plans, task, self._progress, PHASE)

    def manifest(self) -> Manifest:
        """Return the manifest of the changed index, but for its segments."""
        before = self.index.manifest
        rejects = sum(record["count"] for record in self.index.rejects(sources=self.gone_sources))
        gone = self._writer.counts_of(self.gone_tables) + Counts(rejects=rejects)
        counts = sum((segment.record.counts for segment in self.new_segments), before.counts - gone)
        if min(counts.tables, counts.rows, counts.cells) < 0:
            raise UpdateError("the counts in the manifest are wrong: mate check --repair")
        noted = {"operations": before.operations + 1, **self._noted}
        return replace(before, counts=counts, changed=now(), next_table=self._next_table, **noted)


def worth_merging(manifest: Manifest, memory: int = MEMORY) -> list[SegmentRecord]:
    """Return the segments that compaction merges: all that are small or partly superseded, if that leaves fewer."""
    small = min(LEAST_SEGMENT, most_cells(memory) // 2)
    chosen = [record for record in manifest.segments if _is_superseded(record) or record.counts.cells < small]
    return chosen if len(chosen) > 1 or any(map(_is_superseded, chosen)) else []


def _is_superseded(record: SegmentRecord) -> bool:
    return bool(record.superseded_tables or record.superseded_sources)
