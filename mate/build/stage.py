"""First step of a build, one task per unit: read its sources, tokenise the cells, write both to files.

A task that is retried or runs twice writes to other files; the driver goes on with those that successful tasks
report, so that every row is taken once. The cells are written as the segment keeps them.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mate.build.engine import Engine, Progress
from mate.build.parts import FileChangedError, FilePart, with_whole_files
from mate.build.sources import Provenance, Source, plan_units
from mate.build.stored_tables import StoredTable
from mate.corpus import Chunk, Limits, Reject
from mate.corpus.table import Table
from mate.lake.arrays import Array
from mate.lake.records import REJECTS_SCHEMA, SOURCES_SCHEMA, TABLES_SCHEMA
from mate.values.text import characters, tokens
from mate.values.token_ids import token_ids

PHASE = "read and tokenise"
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
CELLS_SCHEMA = pa.schema({"cell": pa.dictionary(pa.int32(), pa.string())})
TOKENS_SCHEMA = pa.schema({"token_id": pa.int64(), "token": pa.string()})
PIECES_SCHEMA = pa.schema([(name, pa.int64()) for name in ("table_no", "rows", "width", "group", "offset")])

_UNITE_AFTER = 16
"""Batches whose token ids are kept before they are united."""


@dataclass(frozen=True, slots=True)
class StageSettings:
    """What decides which tokens a cell gives, and how much is staged together."""

    nulls: frozenset[str]
    limits: Limits
    most_cells: int = sys.maxsize
    """Cells from which on the next table of a unit goes to another lot, so that segments can be smaller than units."""


@dataclass(frozen=True, slots=True)
class Lot:
    """Tables that are staged together, those of a unit or some of them: counts, and where the files are."""

    prefix: str
    files: int
    tables: int
    columns: int
    cells: int
    """Cells that have a token."""
    slots: int
    """All cells."""
    distinct: int
    """Distinct tokens."""
    rejects: int
    rejected_tables: int
    """Files and records of which nothing is indexed."""
    continues: bool = False
    """Whether its first table, its number 0, begins in the lot before, which has the record of it."""
    oversized: tuple[Reject, ...] = ()
    """Cells over the limit of tables that other units hold parts of, too: counted, but not among the rejects yet."""

    def path(self, part: str) -> str:
        """Return the path of one of the files."""
        return f"{self.prefix}.{part}"

    def records(self, part: str) -> pa.Table:
        """Return records of tables, rejects, sources or pieces."""
        return pq.read_table(self.path(f"{part}.parquet"))

    def replace_records(self, sources: pa.Table, rejects: pa.Table) -> None:
        """Replace the records of sources and rejects."""
        pq.write_table(sources, self.path("sources.parquet"))
        pq.write_table(rejects, self.path("rejects.parquet"))

    def codes(self) -> Array:
        """Return the codes of all cells, batch after batch."""
        empty = not Path(self.path("codes")).stat().st_size
        return np.empty(0, np.int32) if empty else np.memmap(self.path("codes"), np.int32, "r")

    def dictionaries(self) -> Iterator[pa.RecordBatch]:
        """Yield the dictionary of every batch."""
        with pa.memory_map(self.path("dictionary")) as stream, pa.ipc.open_stream(stream) as batches:
            yield from batches


def stage_sources(
    engine: Engine, sources: Sequence[Source], directory: Path, settings: StageSettings, progress: Progress
) -> list[Lot]:
    """Read sources and tokenise them, unit by unit.

    A large file that changes meanwhile does not fit its parts: it is read again, in one piece.
    """

    def run(unit: list[Source]) -> tuple[list[Lot] | str, dict[str, int]]:
        try:
            lots = stage_unit(unit, str(directory), settings)
        except FileChangedError as error:
            return error.source, {}
        return lots, {name: sum(getattr(lot, name) for lot in lots) for name in ("files", "tables", "cells")}

    units = dict(enumerate(plan_units(sources, engine.parallelism)))
    results: dict[int, list[Lot] | str] = {}
    pending = units
    while pending:
        results.update(zip(pending, engine.run(list(pending.values()), run, progress, PHASE), strict=True))
        changed = {source for source in results.values() if isinstance(source, str)}
        whole = {number: with_whole_files(unit, changed) for number, unit in units.items()}
        pending = {number: unit for number, unit in whole.items() if unit != units[number]}
        units = whole
    lots = [lot for number in units for lot in results[number] if isinstance(lot, Lot)]
    _report_oversized(lots)
    return lots


def stage_unit(sources: Iterable[Source], directory: str, settings: StageSettings) -> list[Lot]:
    """Read sources; return what they hold, in several lots if that is much: another one begins with a table."""
    prefix = str(Path(directory, uuid.uuid4().hex))
    lots: list[Lot] = []
    lot = _LotWriter(prefix, settings)
    table: Table | None = None
    tables = 0
    for source in sources:
        before, part = tables, source.part if isinstance(source, FilePart) else None
        continues = part is not None and part.continues
        if not continues:
            table = None
        for item in source.read(settings.limits):
            if isinstance(item, Reject):
                lot.rejects.append(item)
            elif isinstance(item, Provenance):
                count = tables - before if item.tables is None else item.tables
                lot.sources.append({"source": source.name, **asdict(replace(item, tables=count))})
            elif item.rows or isinstance(source, StoredTable):
                if item.table != table and continues and not tables and not lot.continues:
                    lot.continues = True  # the unit before has noted the table
                elif item.table != table:
                    if lot.is_full:
                        lots.append(lot.finish())
                        lot = _LotWriter(f"{prefix}-{len(lots)}", settings)
                    lot.begin_table(item.table)
                    tables += 1
                table = item.table
                lot.add(item, shared=part is not None and part.rows is not None)
    return [*lots, lot.finish()]


class _LotWriter:
    """Writes what is staged together: tables, sources, rejects, and batches of cells."""

    def __init__(self, prefix: str, settings: StageSettings) -> None:
        self._prefix, self._settings = prefix, settings
        self.continues = False
        """Whether its first table begins in the lot before."""
        self._tables: list[dict[str, Any]] = []
        self.rejects: list[Reject] = []
        self.sources: list[dict[str, object]] = []
        self._pieces: list[tuple[int, ...]] = []
        self._oversized: dict[int, Reject] = {}
        self._shared: set[int] = set()
        """Numbers of tables that other units read parts of, too."""
        self._chunks: list[tuple[int, Chunk]] = []
        """Those of the next batch, each with the number of its table."""
        self._pending = self._pending_bytes = 0
        """Cells of the next batch, and their bytes."""
        self._batches = self._cells = self._slots = 0
        self._ids: list[Array] = []
        self._cell_file = pq.ParquetWriter(f"{prefix}.cells.parquet", CELLS_SCHEMA, **CELLS_OPTIONS)
        self._code_file = Path(f"{prefix}.codes").open("wb")  # noqa: SIM115
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._dictionary_file = pa.ipc.new_stream(f"{prefix}.dictionary", TOKENS_SCHEMA, options=options)

    @property
    def is_full(self) -> bool:
        """Whether the next table goes to another lot."""
        return self._slots + self._pending >= self._settings.most_cells

    def begin_table(self, table: Table) -> None:
        """Note a table that begins here."""
        record = {"table_id": len(self._tables) + self.continues, "columns": list(table.header), "rows": 0}
        self._tables.append(record | {name: getattr(table, name) for name in ("name", "source", "position", "line")})

    def add(self, chunk: Chunk, *, shared: bool) -> None:
        """Take in rows of the last table."""
        number = len(self._tables) - 1 + self.continues
        if shared:
            self._shared.add(number)
        if not chunk.rows:
            self._pieces.append((number, 0, len(chunk.table.header), 0, 0))
            return
        self._chunks.append((number, chunk))
        self._pending += len(chunk.cells)
        self._pending_bytes += chunk.cells.nbytes
        if self._pending >= BATCH_CELLS or self._pending_bytes >= BATCH_BYTES:
            self._write_batch()

    def _write_batch(self) -> None:
        """Write the cells, codes and dictionary of a batch."""
        chunks = [chunk for _, chunk in self._chunks]
        batch = tokenise(chunks, self._settings.nulls, self._settings.limits.cell_characters)
        offset = 0
        for number, chunk in self._chunks:
            self._pieces.append((number, chunk.rows, len(chunk.table.header), self._batches, offset))
            if len(batch.too_long):
                self._count_oversized(number, chunk, batch.too_long - offset)
            offset += len(chunk.cells)
        self._cell_file.write_table(pa.table([batch.cells], schema=CELLS_SCHEMA), row_group_size=len(batch.cells))
        self._code_file.write(batch.codes.tobytes())
        self._dictionary_file.write_batch(batch.dictionary)
        self._ids.append(batch.dictionary.column(0).to_numpy())
        if len(self._ids) == _UNITE_AFTER:
            self._ids = [np.unique(np.concatenate(self._ids))]
        self._batches += 1
        self._slots += len(batch.codes)
        self._cells += int(np.count_nonzero(batch.codes >= 0))
        self._chunks, self._pending, self._pending_bytes = [], 0, 0

    def _count_oversized(self, number: int, chunk: Chunk, places: Array) -> None:
        """Count the cells of a chunk that are over the limit, by table."""
        inside = places[(places >= 0) & (places < len(chunk.cells))]
        if len(inside):
            row = chunk.first_row + int(inside[0]) // len(chunk.table.header)
            limit = self._settings.limits.cell_characters
            before = self._oversized.get(number) or oversized_cells(chunk.table.source, row, 0, limit)
            self._oversized[number] = replace(before, count=before.count + len(inside))

    def finish(self) -> Lot:
        """Write what is left; return what there is."""
        if self._chunks:
            self._write_batch()
        for file in (self._cell_file, self._code_file, self._dictionary_file):
            file.close()
        ids = np.unique(np.concatenate([np.empty(0, np.int64), *self._ids]))
        Path(f"{self._prefix}.ids").write_bytes(ids.tobytes())
        shared = tuple(cells for number, cells in self._oversized.items() if number in self._shared)
        self.rejects += (cells for number, cells in self._oversized.items() if number not in self._shared)
        pieces = [dict(zip(PIECES_SCHEMA.names, piece, strict=True)) for piece in self._pieces]
        for part, records in (
            ("tables", pa.Table.from_pylist(self._tables, TABLES_SCHEMA)),
            ("rejects", _reject_records(self.rejects)),
            ("sources", pa.Table.from_pylist(self.sources, SOURCES_SCHEMA)),
            ("pieces", pa.Table.from_pylist(pieces, PIECES_SCHEMA)),
        ):
            pq.write_table(records, f"{self._prefix}.{part}.parquet")
        return Lot(
            prefix=self._prefix,
            files=len(self.sources),
            tables=len(self._tables),
            columns=sum(len(table["columns"]) for table in self._tables),
            cells=self._cells,
            slots=self._slots,
            distinct=len(ids),
            rejects=sum(reject.count for reject in self.rejects) + sum(cells.count for cells in shared),
            rejected_tables=sum(reject.count for reject in self.rejects if reject.kind in ("file", "record")),
            continues=self.continues,
            oversized=shared,
        )


def _reject_records(rejects: Iterable[Reject]) -> pa.Table:
    return pa.Table.from_pylist([asdict(reject) for reject in rejects], REJECTS_SCHEMA)


def oversized_cells(source: str, first_row: int, count: int, limit: int) -> Reject:
    """Return what is reported of the cells of a table that are over the limit."""
    reason = f"cell longer than {limit:,} characters: kept, not indexed (first in data row {first_row + 1})"
    return Reject(source, None, "cell", reason, count)


def _report_oversized(lots: Iterable[Lot]) -> None:
    """Report cells over the limit once per table, where several units hold parts of it: with the last of them."""
    shared: dict[str, list[tuple[Reject, Lot]]] = {}
    for lot in lots:
        for cells in lot.oversized:
            shared.setdefault(cells.source, []).append((cells, lot))
    for parts in shared.values():
        first, last = parts[0][0], parts[-1][1]
        reject = replace(first, count=sum(cells.count for cells, _ in parts))
        records = pa.concat_tables([last.records("rejects"), _reject_records([reject])])
        pq.write_table(records, last.path("rejects.parquet"))


class TokenisedChunks(NamedTuple):
    """Chunks one after the other; in each of them column after column."""

    cells: pa.DictionaryArray
    """As they were read."""
    codes: Array
    """The token of each cell, as its place in the dictionary; -1 for none."""
    dictionary: pa.RecordBatch
    """The distinct tokens of the batch with their ids."""
    too_long: Array
    """Places, in the order of the chunks' own cells, of those that are longer than the limit."""


def tokenise(chunks: list[Chunk], nulls: Set[str], cell_characters: int) -> TokenisedChunks:
    """Tokenise chunks; each distinct cell is normalised once."""
    encoded = pa.concat_arrays([chunk.cells for chunk in chunks]).dictionary_encode()
    texts = tokens(encoded.dictionary, nulls)
    excess = characters(texts) > cell_characters
    if excess.any():
        texts = pc.if_else(pa.array(excess), pa.scalar(None, pa.string()), texts)
    distinct = texts.dictionary_encode()  # several spellings of a cell may share a token
    token_of = np.append(distinct.indices.fill_null(-1).to_numpy(zero_copy_only=False), -1).astype(np.int32)
    # One more entry at the end stands for a cell that is null.
    spelling = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    too_long = np.flatnonzero(np.append(excess, False)[spelling]) if excess.any() else np.empty(0, np.int64)
    turned, start = np.empty(len(spelling), np.int32), 0  # from row by row to column after column
    for chunk in chunks:
        stop = start + len(chunk.cells)
        turned[start:stop] = spelling[start:stop].reshape(-1, len(chunk.table.header)).T.ravel()
        start = stop
    mask = turned == len(texts)
    indices = pa.array(turned, mask=mask if mask.any() else None)
    cells = pa.DictionaryArray.from_arrays(indices, encoded.dictionary)
    ids = pa.array(token_ids(distinct.dictionary))
    dictionary = pa.RecordBatch.from_arrays([ids, distinct.dictionary], schema=TOKENS_SCHEMA)
    return TokenisedChunks(cells, token_of[turned], dictionary, too_long)
