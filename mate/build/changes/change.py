"""One change to an index: which tables go, and segments with those that come.

A change is worked out before anything is published (`ChangeBuilder`); a writer then applies it all at once, as its
kind of index needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from mate.build.engine import Engine
from mate.build.parts import cut_sources
from mate.build.progress import Progress
from mate.build.segments import PHASE, NewSegment, plan_segments, segment_task, stage_settings
from mate.build.sources import Source, Unit
from mate.build.stage import Lot, stage_sources, stage_unit
from mate.build.stored_tables import StoredTable
from mate.corpus import Limits
from mate.lake.arrays import Array
from mate.lake.base import Index
from mate.lake.manifest import Counts, Manifest
from mate.lake.records import REJECTS_SCHEMA, SOURCES_SCHEMA, TableInfo

Records = list[dict[str, Any]]


@dataclass(frozen=True)
class Change:
    """What a writer does to an index, all at once."""

    gone_tables: list[TableInfo]
    """Tables whose stored version goes; the new version of one that changes is in a new segment."""
    gone_sources: list[str]
    """Sources whose record and rejects go."""
    new_segments: list[NewSegment]
    """Segments with what comes."""
    next_table: int

    def __bool__(self) -> bool:
        return bool(self.gone_tables or self.gone_sources or self.new_segments)


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

    def apply(self, change: Change, counts: Counts) -> Manifest:
        """Make the change, durably and all at once; `counts` is what the index holds afterwards."""


class ChangeBuilder:
    """Collects one change to an index."""

    def __init__(self, writer: Writer, engine: Engine, progress: Progress, memory: int) -> None:
        self.index = writer.index
        self._writer, self._engine, self._progress, self._memory = writer, engine, progress, memory
        manifest = writer.index.manifest
        self.settings = stage_settings(manifest.nulls, Limits(**manifest.limits), memory)
        self.gone_tables: list[TableInfo] = []
        self.gone_sources: list[str] = []
        self.sources: Records = []
        self.rejects: Records = []
        """The new records."""
        self.lots: list[Lot] = []
        self._table_ids: list[Array] = []
        self._next_table = manifest.next_table

    def update_sources(self, removed: Mapping[str, int], rejects: Records) -> None:
        """Note that the index differs from these sources; `removed` counts the tables of each that go.

        A source without tables is forgotten. The others get further rejects.
        """
        for record in self.index.sources(list(removed)):
            name = record["source"]
            left = record["tables"] - removed[name]
            self.gone_sources.append(name)
            if left:
                self.sources.append({**record, "sha256": "", "tables": left})
                self.rejects += [*self.index.rejects(sources=[name]), *rejects]

    def rewrite(self, table: TableInfo, **edited: Any) -> TableInfo:
        """Write a table again, edited as `StoredTable` takes it; return what it is then."""
        self.gone_tables.append(table)
        stored = replace(self._writer.stored(table), **edited)
        [lot] = self.copy([stored])
        rows = lot.records("pieces").column("rows").to_numpy()
        return replace(table, columns=stored.header or table.columns, rows=int(rows.sum()))

    def copy(self, tables: Sequence[StoredTable]) -> list[Lot]:
        """Write tables again under their numbers."""
        lots = self._stage(tables)
        numbers = np.array([table.info.table_id for table in tables], np.int64)
        self._table_ids += np.split(numbers, np.cumsum([lot.tables for lot in lots[:-1]], dtype=np.int64))
        return lots

    def add_sources(self, sources: list[Source], known: Mapping[tuple[str, int], int]) -> list[TableInfo]:
        """Read sources and add their tables; a table at a known place of a known source keeps its number."""
        tables: dict[int, TableInfo] = {}
        last = -1
        for lot in self._stage(cut_sources(sources, self._engine, self.settings.limits, self._progress)):
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
            self.sources += lot.records("sources").to_pylist()
            self.rejects += lot.records("rejects").to_pylist()
        return list(tables.values())

    def _stage(self, sources: Sequence[Source]) -> list[Lot]:
        directory = self._writer.directory / f"staged-{len(self.lots)}"
        directory.mkdir()
        lots = stage_sources(self._engine, sources, directory, self.settings, self._progress)
        self.lots += lots
        return lots

    def finish(self) -> Change:
        """Write segments with everything that comes; return the change."""
        new_segments: list[NewSegment] = []
        if self.sources and not self.lots:
            self._table_ids = [np.empty(0, np.int64)]
            self.lots = stage_unit(Unit(0, ()), str(self._writer.directory), self.settings)
        if self.lots:
            records = pa.Table.from_pylist(self.sources, SOURCES_SCHEMA)
            rejects = pa.Table.from_pylist(self.rejects, REJECTS_SCHEMA)
            for lot in self.lots:  # the first one takes all records
                lot.replace_records(records, rejects)
                records, rejects = records.slice(0, 0), rejects.slice(0, 0)
            plans = plan_segments(self.lots, self._table_ids, self._memory, self._engine.parallelism)
            task = segment_task(self._writer.directory, self.index.manifest.hashes)
            new_segments = self._engine.run(plans, task, self._progress, PHASE)
        return Change(self.gone_tables, self.gone_sources, new_segments, self._next_table)
