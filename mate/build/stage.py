"""First step, one task a unit: read its sources, make tokens, write both to Parquet files of the task's own.

A task that is retried or run twice writes to other files; the driver goes on with those that successful tasks
report, so that every row is taken once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mate.corpus import Chunk, Limits, Reject
from mate.corpus.table import Table
from mate.build.batches import ROWS_SCHEMA, TOKENS_SCHEMA, Batch, make_batch
from mate.build.sources import FilePart, Source, Unit

BATCH_CELLS = 400_000
"""Cells that are tokenised at a time: what bounds a task's memory."""

_MERGE_AFTER = 16
"""Dictionaries of batches that are kept before they are merged into one."""

TABLES_SCHEMA = pa.schema(
    [
        ("table_no", pa.int64()),
        ("name", pa.string()),
        ("source", pa.string()),
        ("position", pa.int64()),
        ("line", pa.int64()),
        ("columns", pa.list_(pa.string())),
        ("first_row", pa.int64()),
        ("rows", pa.int64()),
    ]
)
REJECTS_SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("line", pa.int64()),
        ("kind", pa.string()),
        ("reason", pa.string()),
        ("count", pa.int64()),
    ]
)
SOURCES_SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("format", pa.string()),
        ("bytes", pa.int64()),
        ("sha256", pa.string()),
        ("tables", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class StageSettings:
    """What decides which tokens a cell gives."""

    nulls: frozenset[str]
    limits: Limits
    token_seed: int = 0


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
    """What a finished unit reports to the driver: counts and where its files are."""

    unit: int
    prefix: str
    files: int
    tables: int
    columns: int
    rows: int
    cells: int
    rejects: int
    rejected_tables: int
    """Files and records of which nothing was indexed."""
    continues: bool = False
    """Whether its first table, its number 0, began in the unit before; that one has the record of it."""
    oversized: tuple[Oversized, ...] = ()
    """Of tables that other units hold parts of, too: counted, but not reported yet."""

    def path(self, part: str) -> str:
        """Return the path of one of the unit's files."""
        return f"{self.prefix}.{part}.parquet"


@dataclass
class _Writer:
    """Collects the tables, rows and rejects of a unit."""

    prefix: str
    settings: StageSettings
    tables: list[dict[str, object]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    sources: list[dict[str, object]] = field(default_factory=list)
    rows: int = 0
    cells: int = 0
    columns: int = 0
    continues: bool = False
    oversized: dict[int, Oversized] = field(default_factory=dict)
    shared: set[int] = field(default_factory=set)
    """Numbers of tables that are read in parts."""
    _chunks: list[tuple[int, Chunk]] = field(default_factory=list)
    _pending: int = 0
    _open: Table | None = None
    _dictionaries: list[pa.RecordBatch | pa.Table] = field(default_factory=list)

    def __post_init__(self) -> None:
        options = {"compression": "lz4", "write_statistics": False, "use_dictionary": False}
        self._row_file = pq.ParquetWriter(f"{self.prefix}.rows.parquet", ROWS_SCHEMA, **options)
        self._token_file = pq.ParquetWriter(f"{self.prefix}.tokens.parquet", TOKENS_SCHEMA, **options)

    def read(self, source: Source) -> None:
        """Take in everything that a source yields."""
        before = len(self.tables)
        part = source if isinstance(source, FilePart) else None
        if part is None or not part.part.continues:
            self._open = None
        for item in source.read(self.settings.limits):
            if isinstance(item, Reject):
                self.rejects.append(item)
            elif item.rows:
                self._add(item, part)
        if part is None:
            self._note(source, source.size, len(self.tables) - before)
        elif part.last:
            self._note(source, part.whole.size, part.tables)

    def _note(self, source: Source, size: int, tables: int) -> None:
        record = {"source": source.name, "format": source.format, "bytes": size}
        self.sources.append({**record, "sha256": source.checksum(), "tables": tables})

    def _add(self, chunk: Chunk, part: FilePart | None) -> None:
        table = chunk.table
        if table != self._open:
            self._begin(table, part)
        number = len(self.tables) - 1 + self.continues
        if part is None or part.rows is None:
            self.tables[-1]["rows"] += chunk.rows  # type: ignore[operator]
        else:
            self.shared.add(number)
        self.rows += chunk.rows
        self._chunks.append((number, chunk))
        self._pending += len(chunk.cells)
        if self._pending >= BATCH_CELLS:
            self._flush()

    def _begin(self, table: Table, part: FilePart | None) -> None:
        """Note a table, unless the unit before has done so."""
        if part and part.part.continues and self._open is None:
            self.continues, self._open = True, table
            return
        self._open = table
        self.columns += len(table.header)
        self.tables.append(
            {
                "table_no": len(self.tables) + self.continues,
                "name": table.name,
                "source": table.source,
                "position": table.position,
                "line": table.line,
                "columns": list(table.header),
                "first_row": self.rows,
                "rows": (part and part.rows) or 0,
            }
        )

    def _flush(self) -> None:
        if not self._chunks:
            return
        limits = self.settings.limits
        batch = make_batch(self._chunks, self.settings.nulls, self.settings.token_seed, limits.cell_characters)
        self._row_file.write_batch(batch.rows, row_group_size=batch.rows.num_rows)
        self._token_file.write_batch(batch.dictionary, row_group_size=max(1, batch.dictionary.num_rows))
        self._dictionaries.append(batch.dictionary)
        if len(self._dictionaries) == _MERGE_AFTER:
            self._dictionaries = [_merged(self._dictionaries)]
        self.cells += int(np.sum(batch.dictionary.column(2).to_numpy()))
        self._count_oversized(batch)
        self._chunks, self._pending = [], 0

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

    def close(self) -> None:
        """Write what is left."""
        self._flush()
        limit = self.settings.limits.cell_characters
        self.rejects += (found.reject(limit) for number, found in self.oversized.items() if number not in self.shared)
        self._row_file.close()
        self._token_file.close()
        pq.write_table(
            _merged(self._dictionaries), f"{self.prefix}.dictionary.parquet", compression="lz4", use_dictionary=False
        )
        for part, records in (
            ("tables", pa.Table.from_pylist(self.tables, TABLES_SCHEMA)),
            ("rejects", _records(self.rejects)),
            ("sources", pa.Table.from_pylist(self.sources, SOURCES_SCHEMA)),
        ):
            pq.write_table(records, f"{self.prefix}.{part}.parquet")


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
        path = unit.path("rejects")
        together = pa.concat_tables([pq.read_table(path), _records([found[source].reject(limits.cell_characters)])])
        pq.write_table(together, path)


def _merged(dictionaries: list[pa.RecordBatch | pa.Table]) -> pa.Table:
    """Return one entry a token of the unit, so that Spark shuffles each of them once."""
    tables = [d if isinstance(d, pa.Table) else pa.Table.from_batches([d]) for d in dictionaries]
    together = pa.concat_tables(tables) if tables else TOKENS_SCHEMA.empty_table()
    summed = together.group_by(["token_id", "token"], use_threads=False).aggregate([("postings", "sum")])
    return summed.select(["token_id", "token", "postings_sum"]).rename_columns(TOKENS_SCHEMA.names)


def stage_unit(unit: Unit, directory: str, settings: StageSettings) -> Staged:
    """Read a unit; return what it held and where its files are."""
    prefix = str(Path(directory, f"{unit.number:06d}-{uuid.uuid4().hex[:8]}"))
    writer = _Writer(prefix, settings)
    for source in unit.sources:
        writer.read(source)
    writer.close()
    shared = tuple(found for number, found in writer.oversized.items() if number in writer.shared)
    return Staged(
        unit=unit.number,
        prefix=prefix,
        files=len(writer.sources),
        tables=len(writer.tables),
        columns=writer.columns,
        rows=writer.rows,
        cells=writer.cells,
        rejects=sum(reject.count for reject in writer.rejects) + sum(found.count for found in shared),
        rejected_tables=sum(reject.count for reject in writer.rejects if reject.kind in ("file", "record")),
        continues=writer.continues,
        oversized=shared,
    )
