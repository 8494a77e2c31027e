"""One change to an index: which tables go, and segments with those that come.

A change is worked out before anything is published (`ChangeBuilder`); a writer then applies it all at once, as its
kind of index needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mate.build.engine import Engine
from mate.build.parts import cut_sources
from mate.build.progress import Progress
from mate.build.segments import PHASE, Written, plan_segments, segment_task, stage_settings
from mate.build.sources import Source, Unit
from mate.build.stage import Staged, stage_sources, stage_unit
from mate.build.stored_tables import StoredTable
from mate.corpus import Limits
from mate.errors import UpdateError
from mate.lake.arrays import Array
from mate.lake.base import Index
from mate.lake.manifest import Counts, Manifest
from mate.lake.records import REJECTS_SCHEMA, SOURCES_SCHEMA, TableInfo

Records = list[dict[str, Any]]


@dataclass(frozen=True)
class Change:
    """What a writer does to an index, all at once."""

    gone_tables: list[TableInfo] = field(default_factory=list)
    """Tables whose stored version goes; the new version of one that changes is in a new segment."""
    gone_sources: list[str] = field(default_factory=list)
    """Sources whose record and rejects go."""
    written: list[Written] = field(default_factory=list)
    """Segments with what comes."""
    next_table: int = 0

    def __bool__(self) -> bool:
        return bool(self.gone_tables or self.gone_sources or self.written)


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
    """Collects one change to an index; `sources` and `rejects` are the new records."""

    def __init__(self, writer: Writer, engine: Engine, progress: Progress, memory: int) -> None:
        self.index = writer.index
        self._writer, self._engine, self._progress, self._memory = writer, engine, progress, memory
        manifest = writer.index.manifest
        self.settings = stage_settings(manifest.nulls, Limits(**manifest.limits), memory)
        self._gone: dict[int, TableInfo] = {}
        self._gone_sources: list[str] = []
        self.sources: Records = []
        self.rejects: Records = []
        self.staged: list[Staged] = []
        self._table_ids: list[Array] = []
        self._next_table = manifest.next_table

    def remove_tables(self, tables: list[TableInfo]) -> None:
        """Take tables out."""
        self._gone.update((table.table_id, table) for table in tables)

    def remove_sources(self, names: list[str]) -> None:
        """Forget sources and what was rejected of them."""
        self._gone_sources += names

    def put_source(self, record: dict[str, Any], rejects: Records) -> None:
        """Replace the record of a source, and what was rejected of it."""
        self._gone_sources.append(record["source"])
        self.sources.append(record)
        self.rejects += rejects

    def rewrite(self, table: TableInfo, **edited: Any) -> TableInfo:
        """Write a table again, edited as `StoredTable` takes it; return what it is then."""
        self.remove_tables([table])
        stored = replace(self._writer.stored(table), **edited)
        [lot] = self.copy([stored])
        rows = lot.records("pieces").column("rows").to_numpy()
        return replace(table, columns=stored.header or table.columns, rows=int(rows.sum()))

    def copy(self, tables: Sequence[StoredTable]) -> list[Staged]:
        """Write tables again under their numbers."""
        staged = self._stage(tables)
        numbers = np.array([table.info.table_id for table in tables], np.int64)
        self._table_ids += np.split(numbers, np.cumsum([lot.tables for lot in staged[:-1]], dtype=np.int64))
        return staged

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

    def _stage(self, sources: Sequence[Source]) -> list[Staged]:
        directory = self._writer.directory / f"staged-{len(self.staged)}"
        directory.mkdir()
        staged = stage_sources(self._engine, sources, directory, self.settings, self._progress)
        self.staged += staged
        return staged

    def finish(self) -> Change:
        """Write segments with everything that comes; return the change."""
        written: list[Written] = []
        if self.staged or self.sources:
            if not self.staged:
                self._table_ids = [np.empty(0, np.int64)]
                self.staged = stage_unit(Unit(0, ()), str(self._writer.directory), self.settings)
            # The first lot has the records of all sources and rejects, and the others have none.
            for number, lot in enumerate(self.staged):
                sources = pa.Table.from_pylist([] if number else self.sources, SOURCES_SCHEMA)
                pq.write_table(sources, lot.path("sources.parquet"))
                rejects = pa.Table.from_pylist([] if number else self.rejects, REJECTS_SCHEMA)
                pq.write_table(rejects, lot.path("rejects.parquet"))
            plans = plan_segments(self.staged, self._table_ids, self._memory, self._engine.parallelism)
            task = segment_task(self._writer.directory, self.index.manifest.hashes)
            written = self._engine.run(plans, task, self._progress, PHASE)
        return Change(list(self._gone.values()), self._gone_sources, written, self._next_table)


def counts_after(before: Counts, gone: Counts, change: Change) -> Counts:
    """Return what an index holds after a change; `gone` is what goes."""
    after = sum((written.record.counts for written in change.written), before - gone)
    if min(after.tables, after.rows, after.cells) < 0:
        raise UpdateError("the counts in the manifest are wrong: mate check --repair")
    return after
