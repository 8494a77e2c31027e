"""First step of a build, one task per unit: read its sources, make tokens, write both to files of the task's own.

A task that is retried or run twice writes to other files; the driver goes on with those that successful tasks
report, so that every row is taken once. The cells are written as the segment keeps them: nobody touches them again.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mate.build.batches import CELLS_SCHEMA, TOKENS_SCHEMA, Batch, make_batch
from mate.build.sources import FilePart, Source, Unit
from mate.build.stored_tables import StoredTable
from mate.corpus import Chunk, Limits, Reject
from mate.corpus.table import Table
from mate.lake.arrays import Array
from mate.lake.records import REJECTS_SCHEMA, SOURCES_SCHEMA, TABLES_SCHEMA

BATCH_CELLS = 400_000
"""Cells that are tokenised at a time: what bounds a task's memory."""
BATCH_BYTES = 1 << 28
"""The same in bytes, for cells that are long."""

CELLS_OPTIONS = {
    "compression": "zstd",
    "compression_level": 3,
    "write_statistics": False,
    "store_schema": False,
    "dictionary_pagesize_limit": 1 << 24,
    "data_page_size": 1 << 20,
}

CHANGED = "changed while it was read"

_UNITE_AFTER = 16
"""Batches whose token ids are kept before they are united."""

PIECES_SCHEMA = pa.schema([(name, pa.int64()) for name in ("table_no", "rows", "width", "group", "offset")])


@dataclass(frozen=True, slots=True)
class StageSettings:
    """What decides which tokens a cell gives, and how much is staged together."""

    nulls: frozenset[str]
    limits: Limits
    most_cells: int = sys.maxsize
    """Cells from which on the next table of a unit goes to other files, so that a segment need not take the whole."""


@dataclass(frozen=True, slots=True)
class Oversized:
    """Cells of a table that are over the limit."""

    source: str
    first_row: int
    count: int

    def reject(self, limit: int) -> Reject:
        """Return what is reported of them."""
        reason = f"cell longer than {limit:,} characters: kept, not indexed (first in data row {self.first_row + 1})"
        return Reject(self.source, None, "cell", reason, self.count)


@dataclass(frozen=True, slots=True)
class Staged:
    """What a finished unit, or some tables of it, reports to the driver: counts and where the files are."""

    unit: int
    prefix: str
    files: int
    tables: int
    columns: int
    rows: int
    cells: int
    """Cells that have a token."""
    slots: int
    """All cells."""
    distinct: int
    """Distinct tokens."""
    rejects: int
    rejected_tables: int
    """Files and records of which nothing was indexed."""
    continues: bool = False
    """Whether its first table, its number 0, began in the unit before; that one has the record of it."""
    oversized: tuple[Oversized, ...] = ()
    """Of tables that other units hold parts of, too: counted, but not reported yet."""

    def path(self, part: str) -> str:
        """Return the path of one of the unit's files."""
        return f"{self.prefix}.{part}"

    def records(self, part: str) -> pa.Table:
        """Return records of tables, rejects, sources or pieces."""
        return pq.read_table(self.path(f"{part}.parquet"))

    def codes(self) -> Array:
        """Return the codes of all cells, batch after batch."""
        empty = not Path(self.path("codes")).stat().st_size
        return np.empty(0, np.int32) if empty else np.memmap(self.path("codes"), np.int32, "r")

    def dictionaries(self) -> Iterator[pa.RecordBatch]:
        """Yield the dictionary of every batch."""
        with pa.memory_map(self.path("dictionary")) as stream, pa.ipc.open_stream(stream) as batches:
            yield from batches


class _Files:
    """The files that a unit's batches go to."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._cells = pq.ParquetWriter(f"{prefix}.cells.parquet", CELLS_SCHEMA, **CELLS_OPTIONS)
        self._codes = Path(f"{prefix}.codes").open("wb")  # noqa: SIM115
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._dictionary = pa.ipc.new_stream(f"{prefix}.dictionary", TOKENS_SCHEMA, options=options)
        self._ids: list[Array] = []
        self.cells = self.slots = self.distinct = 0

    def add(self, batch: Batch) -> None:
        """Write a batch."""
        self._cells.write_table(pa.table([batch.cells], schema=CELLS_SCHEMA), row_group_size=len(batch.cells))
        self._codes.write(batch.codes.tobytes())
        self._dictionary.write_batch(batch.dictionary)
        self._ids.append(batch.dictionary.column(0).to_numpy())
        if len(self._ids) == _UNITE_AFTER:
            self._ids = [np.unique(np.concatenate(self._ids))]
        self.slots += len(batch.codes)
        self.cells += int(np.count_nonzero(batch.codes >= 0))

    def close(self) -> None:
        """Write what is left."""
        for file in (self._cells, self._codes, self._dictionary):
            file.close()
        ids = np.unique(np.concatenate([np.empty(0, np.int64), *self._ids]))
        Path(f"{self._prefix}.ids").write_bytes(ids.tobytes())
        self.distinct = len(ids)


@dataclass
class _Writer:
    """Collects tables, rows and rejects that are staged together."""

    prefix: str
    settings: StageSettings
    continues: bool = False
    """Whether its first table began in the unit before."""
    tables: list[dict[str, Any]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    sources: list[dict[str, object]] = field(default_factory=list)
    pieces: list[dict[str, int]] = field(default_factory=list)
    rows: int = 0
    columns: int = 0
    oversized: dict[int, Oversized] = field(default_factory=dict)
    shared: set[int] = field(default_factory=set)
    """Numbers of tables that are read in parts."""
    _chunks: list[tuple[int, Chunk]] = field(default_factory=list)
    _pending: int = 0
    _bytes: int = 0
    _groups: int = 0

    def __post_init__(self) -> None:
        self.files = _Files(self.prefix)

    @property
    def is_full(self) -> bool:
        """Whether another table is to go elsewhere."""
        return self.files.slots + self._pending >= self.settings.most_cells

    def begin(self, table: Table) -> None:
        """Note a table that begins here."""
        self.columns += len(table.header)
        self.tables.append(
            {
                "table_id": len(self.tables) + self.continues,
                "name": table.name,
                "source": table.source,
                "position": table.position,
                "line": table.line,
                "columns": list(table.header),
                "rows": 0,
            }
        )

    def add(self, chunk: Chunk, *, shared: bool) -> None:
        """Take in rows of the last table; `shared`: others read some of it, too."""
        number = len(self.tables) - 1 + self.continues
        if shared:
            self.shared.add(number)
        self.rows += chunk.rows
        if not chunk.rows:
            places = (number, 0, len(chunk.table.header), 0, 0)
            self.pieces.append(dict(zip(PIECES_SCHEMA.names, places, strict=True)))
            return
        self._chunks.append((number, chunk))
        self._pending += len(chunk.cells)
        self._bytes += chunk.cells.nbytes
        if self._pending >= BATCH_CELLS or self._bytes >= BATCH_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._chunks:
            return
        limits = self.settings.limits
        batch = make_batch([chunk for _, chunk in self._chunks], self.settings.nulls, limits.cell_characters)
        self.files.add(batch)
        offset = 0
        for number, chunk in self._chunks:
            width = len(chunk.table.header)
            places = (number, chunk.rows, width, self._groups, offset)
            self.pieces.append(dict(zip(PIECES_SCHEMA.names, places, strict=True)))
            offset += len(chunk.cells)
        self._count_oversized(batch)
        self._chunks, self._pending, self._bytes, self._groups = [], 0, 0, self._groups + 1

    def _count_oversized(self, batch: Batch) -> None:
        """Count cells over the limit by table."""
        start = 0
        for number, chunk in self._chunks if len(batch.too_long) else ():
            inside = batch.too_long[(batch.too_long >= start) & (batch.too_long < start + len(chunk.cells))] - start
            start += len(chunk.cells)
            if len(inside):
                row = chunk.first_row + int(inside[0]) // len(chunk.table.header)
                found = self.oversized.get(number) or Oversized(chunk.table.source, row, 0)
                self.oversized[number] = replace(found, count=found.count + len(inside))

    def finish(self, unit: int) -> Staged:
        """Write what is left; return what there is."""
        self._flush()
        self.files.close()
        limit = self.settings.limits.cell_characters
        self.rejects += (found.reject(limit) for number, found in self.oversized.items() if number not in self.shared)
        for part, records in (
            ("tables", pa.Table.from_pylist(self.tables, TABLES_SCHEMA)),
            ("rejects", _records(self.rejects)),
            ("sources", pa.Table.from_pylist(self.sources, SOURCES_SCHEMA)),
            ("pieces", pa.Table.from_pylist(self.pieces, PIECES_SCHEMA)),
        ):
            pq.write_table(records, f"{self.prefix}.{part}.parquet")
        shared = tuple(found for number, found in self.oversized.items() if number in self.shared)
        return Staged(
            unit=unit,
            prefix=self.prefix,
            files=len(self.sources),
            tables=len(self.tables),
            columns=self.columns,
            rows=self.rows,
            cells=self.files.cells,
            slots=self.files.slots,
            distinct=self.files.distinct,
            rejects=sum(reject.count for reject in self.rejects) + sum(found.count for found in shared),
            rejected_tables=sum(reject.count for reject in self.rejects if reject.kind in ("file", "record")),
            continues=self.continues,
            oversized=shared,
        )


class _Reader:
    """Reads the sources of a unit, to as many writers as their tables are worth."""

    def __init__(self, unit: Unit, directory: str, settings: StageSettings) -> None:
        self._unit, self._settings = unit, settings
        self._prefix = str(Path(directory, f"{unit.number:06d}-{uuid.uuid4().hex[:8]}"))
        self._staged: list[Staged] = []
        self._writer = _Writer(self._prefix, settings)
        self._open: Table | None = None
        self._begun = 0

    def read(self) -> list[Staged]:
        """Read all sources."""
        for source in self._unit.sources:
            self._read(source)
        return [*self._staged, self._writer.finish(self._unit.number)]

    def _read(self, source: Source) -> None:
        """Take in everything that a source yields."""
        before = self._begun
        part = source if isinstance(source, FilePart) else None
        if part is None or not part.part.continues:
            self._open = None
        stamp, checksum = (source.stamp(), source.checksum()) if part is None or part.last else (None, "")
        for item in source.read(self._settings.limits):
            if isinstance(item, Reject):
                self._writer.rejects.append(item)
            elif item.rows or isinstance(source, StoredTable):
                self._add(item, part)
        if part is None:
            if source.stamp() != stamp or source.checksum() != checksum:
                checksum = ""
                self._writer.rejects.append(Reject(source.name, None, "file", f"{CHANGED}; mate sync reads it again"))
            self._note(source, source.size, self._begun - before, checksum)
        elif part.last:
            self._note(source, part.whole.size, part.tables, checksum)

    def _note(self, source: Source, size: int, tables: int, checksum: str) -> None:
        record = {"source": source.name, "format": source.format, "bytes": size}
        self._writer.sources.append({**record, "sha256": checksum, "tables": tables})

    def _add(self, chunk: Chunk, part: FilePart | None) -> None:
        if chunk.table != self._open:
            self._begin(chunk.table, part)
        self._writer.add(chunk, shared=part is not None and part.rows is not None)

    def _begin(self, table: Table, part: FilePart | None) -> None:
        """Note a table, unless the unit before has done so."""
        self._open = table
        if part and part.part.continues and not self._begun and not self._writer.continues:
            self._writer.continues = True
            return
        if self._writer.is_full:
            self._staged.append(self._writer.finish(self._unit.number))
            self._writer = _Writer(f"{self._prefix}-{len(self._staged)}", self._settings)
        self._writer.begin(table)
        self._begun += 1


def _records(rejects: Iterable[Reject]) -> pa.Table:
    names = REJECTS_SCHEMA.names
    return pa.Table.from_pylist([{name: getattr(reject, name) for name in names} for reject in rejects], REJECTS_SCHEMA)


def report_oversized(staged: Iterable[Staged], limits: Limits) -> None:
    """Report cells over the limit once a table, where several units hold parts of it: with the last of them."""
    found: dict[str, Oversized] = {}
    where: dict[str, Staged] = {}
    for unit in staged:
        for cells in unit.oversized:
            earlier = found.get(cells.source)
            found[cells.source] = replace(earlier, count=earlier.count + cells.count) if earlier else cells
            where[cells.source] = unit
    for source, unit in where.items():
        path = unit.path("rejects.parquet")
        together = pa.concat_tables([pq.read_table(path), _records([found[source].reject(limits.cell_characters)])])
        pq.write_table(together, path)


def stage_unit(unit: Unit, directory: str, settings: StageSettings) -> list[Staged]:
    """Read a unit; return what it held and where its files are, in several lots if that is much."""
    return _Reader(unit, directory, settings).read()
