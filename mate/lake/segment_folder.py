"""The folder of a segment without its arrays: cells as they were read, and records of tables, sources and rejects.

The arrays can be rebuilt from these files. All are opened at once, so that a reader can use them even after the folder
is removed; their content is read on demand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mate.lake.arrays import Array, damaged
from mate.lake.records import TableInfo
from mate.values.arrow import string_array

TABLES, SOURCES, REJECTS, PIECES = "tables.parquet", "sources.parquet", "rejects.parquet", "pieces.parquet"
CELLS = "cells-{0:04d}.parquet"
"""Cells are in one file or several, as the tasks that read them wrote them."""

TABLE_GROUP = 4_096
"""Records of tables per row group."""
CACHED_GROUPS = 64
"""Row groups of table records in memory."""
CACHED_TABLES, FEW_TABLES = 4_096, 64
"""Tables of a segment whose metadata is in memory, as many searches find the same ones: those asked for by few."""


class Pieces(NamedTuple):
    """Where cells are: parallel arrays, ascending by table and row.

    A piece is consecutive rows of a table, column after column, from `offset` on in a row group of a file of cells.
    """

    table: Array
    """Place of the table in the segment."""
    first_row: Array
    rows: Array
    file: Array
    group: Array
    offset: Array


class ParquetRecords:
    """An open Parquet file, for several threads: Arrow's readers take one at a time."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        with self._explained():
            self._file = pq.ParquetFile(pa.memory_map(str(path)))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except MemoryError:
            raise
        except (OSError, IndexError, pa.ArrowException) as error:
            raise damaged(self._path, str(error).splitlines()[0]) from None

    @property
    def notes(self) -> dict[bytes, bytes]:
        """The file's metadata."""
        return self._file.schema_arrow.metadata or {}

    def read(self, columns: list[str] | None = None) -> pa.Table:
        """Return all records, or some columns of them."""
        with self._lock, self._explained():
            return self._file.read(columns)

    def of_sources(self, names: Sequence[str] | None, columns: list[str] | None = None) -> list[dict[str, Any]]:
        """Return the records of some sources, or of all."""
        table = self.read(columns)
        if names is not None:
            table = table.filter(pc.is_in(table["source"], value_set=pa.array(list(names), pa.string())))
        records: list[dict[str, Any]] = table.to_pylist()
        return records

    def read_row_group(self, group: int) -> pa.Table:
        """Return the records of a row group."""
        with self._lock, self._explained():
            return self._file.read_row_group(group)

    def iter_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all records, a row group at a time."""
        for group in range(self._file.num_row_groups):
            yield from self.read_row_group(group).to_batches()


class SegmentFolder:
    """The files of a segment, opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tables_file, self.sources_file, self.rejects_file, self.pieces_file = (
            ParquetRecords(path / name) for name in (TABLES, SOURCES, REJECTS, PIECES)
        )
        files = int(self.pieces_file.notes.get(b"cell_files", 0))
        self.cell_files = [ParquetRecords(path / CELLS.format(number)) for number in range(files)]
        tables, cells = self.tables_file, self.cell_files
        group = self._table_group = lru_cache(CACHED_GROUPS)(
            lambda group: tables.read_row_group(group).combine_chunks()
        )
        self._table = lru_cache(CACHED_TABLES)(
            lambda place: TableInfo.of(group(place // TABLE_GROUP).slice(place % TABLE_GROUP, 1).to_pylist()[0])
        )
        # The last group of cells is cached, as small tables share it.
        self._cell_group = lru_cache(1)(lambda file, group: string_array(cells[file].read_row_group(group).column(0)))

    @cached_property
    def pieces(self) -> Pieces:
        """Where the cells of its tables are."""
        records = self.pieces_file.read()
        return Pieces(*(records.column(name).to_numpy() for name in Pieces._fields))

    def source_names(self, among: Sequence[str] | None = None) -> set[str]:
        """Return the sources with a record or rejects here: a file in parts may have these in two segments."""
        files = (self.sources_file, self.rejects_file)
        return {record["source"] for file in files for record in file.of_sources(among, ["source"])}

    def tables(self, places: Array | None = None) -> list[TableInfo]:
        """Describe some tables, given by their places, ascending, or all."""
        if places is None:
            return [TableInfo.of(record) for record in self.tables_file.read().to_pylist()]
        if len(places) <= FEW_TABLES:
            return [self._table(place) for place in places.tolist()]
        found: list[TableInfo] = []
        groups = places // TABLE_GROUP
        for group in np.unique(groups).tolist():
            own = places[groups == group] - group * TABLE_GROUP
            found += map(TableInfo.of, self._table_group(group).take(pa.array(own)).to_pylist())
        return found

    def column_chunks(self, table: int, width: int) -> Iterator[tuple[int, list[pa.Array]]]:
        """Yield the cells of a table of `width` columns in pieces: the first row, and an array per column."""
        pieces = self.pieces
        start, stop = np.searchsorted(pieces.table, [table, table + 1]).tolist()
        for at in range(start, stop):
            rows, first = int(pieces.rows[at]), int(pieces.offset[at])
            if not rows:
                yield 0, [pa.array([], pa.string()) for _ in range(width)]
                continue
            cells = self._cell_group(int(pieces.file[at]), int(pieces.group[at]))
            if first + rows * width > len(cells):
                raise damaged(self.path, f"cells of table {table} are missing")
            yield int(pieces.first_row[at]), [cells.slice(first + c * rows, rows) for c in range(width)]

    def cells(self, table: int, width: int, rows: Array) -> list[list[str | None]]:
        """Return rows of a table as they were read, in the given order."""
        found: dict[int, list[str | None]] = {}
        wanted = np.unique(rows)
        for first, columns in self.column_chunks(table, width):
            inside = wanted[(wanted >= first) & (wanted < first + len(columns[0]))]
            if len(inside):
                values = [column.take(pa.array(inside - first)).to_pylist() for column in columns]
                found.update(zip(inside.tolist(), map(list, zip(*values, strict=True)), strict=True))
        return [found[row] for row in np.asarray(rows).tolist()]
