"""First step, one task a unit: read its sources, make tokens, write both to Parquet files of the task's own.

A task that is retried or run twice writes to other files; the driver goes on with those that successful tasks
report, so that every row is taken once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mate.corpus import Chunk, Limits, Reject
from mate.corpus.table import Table
from mate.pipeline.batches import ROWS_SCHEMA, TOKENS_SCHEMA, Batch, make_batch
from mate.pipeline.sources import Source, Unit

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
        for item in source.read(self.settings.limits):
            if isinstance(item, Reject):
                self.rejects.append(item)
            elif item.rows:
                self._add(item)
        self._open = None
        record = {"source": source.name, "format": source.format, "bytes": source.size}
        self.sources.append({**record, "sha256": source.checksum(), "tables": len(self.tables) - before})

    def _add(self, chunk: Chunk) -> None:
        table = chunk.table
        if table != self._open:
            self._open = table
            self.columns += len(table.header)
            self.tables.append(
                {
                    "table_no": len(self.tables),
                    "name": table.name,
                    "source": table.source,
                    "position": table.position,
                    "line": table.line,
                    "columns": list(table.header),
                    "first_row": self.rows,
                    "rows": 0,
                }
            )
        self.tables[-1]["rows"] += chunk.rows  # type: ignore[operator]
        self.rows += chunk.rows
        self._chunks.append((len(self.tables) - 1, chunk))
        self._pending += len(chunk.cells)
        if self._pending >= BATCH_CELLS:
            self._flush()

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
        self.rejects += self._oversized(batch)
        self._chunks, self._pending = [], 0

    def _oversized(self, batch: Batch) -> Iterator[Reject]:
        """Report cells over the limit, one reject a chunk of a table."""
        start = 0
        for _, chunk in self._chunks if len(batch.too_long) else ():
            inside = batch.too_long[(batch.too_long >= start) & (batch.too_long < start + len(chunk.cells))] - start
            start += len(chunk.cells)
            if len(inside):
                row = chunk.first_row + int(inside[0]) // len(chunk.table.header)
                reason = f"cell longer than {self.settings.limits.cell_characters:,} characters: kept, not indexed"
                yield Reject(chunk.table.source, None, "cell", f"{reason} (first in data row {row + 1})", len(inside))

    def close(self) -> None:
        """Write what is left."""
        self._flush()
        self._row_file.close()
        self._token_file.close()
        pq.write_table(
            _merged(self._dictionaries), f"{self.prefix}.dictionary.parquet", compression="lz4", use_dictionary=False
        )
        rejects = [{name: getattr(reject, name) for name in REJECTS_SCHEMA.names} for reject in self.rejects]
        for part, schema, records in (
            ("tables", TABLES_SCHEMA, self.tables),
            ("rejects", REJECTS_SCHEMA, rejects),
            ("sources", SOURCES_SCHEMA, self.sources),
        ):
            pq.write_table(pa.Table.from_pylist(records, schema), f"{self.prefix}.{part}.parquet")


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
    return Staged(
        unit=unit.number,
        prefix=prefix,
        files=len(unit.sources),
        tables=len(writer.tables),
        columns=writer.columns,
        rows=writer.rows,
        cells=writer.cells,
        rejects=sum(reject.count for reject in writer.rejects),
        rejected_tables=sum(reject.count for reject in writer.rejects if reject.kind in ("file", "record")),
    )
