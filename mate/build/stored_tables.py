"""Tables of an index as sources: their stored cells are read again, as they are or edited on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from mate.corpus import Chunk, Limits, Table
from mate.lake.records import TableInfo
from mate.lake.segment_folder import SegmentFolder
from mate.values.arrow import string_array

Columns: TypeAlias = list[pa.Array]
"""Cells of consecutive rows, an array per column."""

Edit: TypeAlias = Callable[[int, Columns], Columns]
"""From the number of the first row and the cells of consecutive rows to what they become."""

Row: TypeAlias = Sequence[str | None]

CELL_BYTES = 8
"""What a cell counts for where bytes to read are estimated."""


@dataclass(frozen=True)
class StoredTable:
    """A table of a segment as a source; its provenance is that of the file that it comes from, and is kept."""

    folder: str
    """Of the segment."""
    place: int
    info: TableInfo
    edit: Edit | None = None
    header: tuple[str, ...] | None = None
    """The new one, where it changes."""
    more: Sequence[Row] = ()
    """Rows that are added at the end."""

    @property
    def name(self) -> str:
        """The file that the table comes from."""
        return self.info.source

    @property
    def size(self) -> int:
        """The bytes to read, estimated."""
        return self.info.rows * len(self.info.columns) * CELL_BYTES

    def read(self, limits: Limits) -> Iterator[Chunk]:
        """Yield its rows."""
        info = self.info
        header = info.columns if self.header is None else self.header
        table = Table(info.source, info.position, info.line, info.name, header)
        step = max(1, limits.chunk_cells // len(header))
        row = 0
        chunks = (self.edit(first, columns) if self.edit else columns for first, columns in self.chunks())
        more = [string_array(list(column)) for column in zip(*self.more, strict=True)]
        for columns in chain(chunks, [more] if more else []):
            for start in range(0, len(columns[0]), step):
                part = [column.slice(start, step) for column in columns]
                yield Chunk(table, row, _by_row(part))
                row += len(part[0])
        if not row:
            yield Chunk(table, 0, pa.array([], pa.string()))

    def chunks(self) -> Iterator[tuple[int, Columns]]:
        """Yield the cells as they are stored: the number of the first row, and an array per column."""
        yield from _opened(self.folder).column_chunks(self.place, len(self.info.columns))


@lru_cache(maxsize=4)
def _opened(folder: str) -> SegmentFolder:
    """Open the folder of a segment, once for all tables that are read from it: segments never change."""
    return SegmentFolder(Path(folder))


def _by_row(columns: Columns) -> pa.StringArray:
    """Return the cells of columns row by row."""
    rows, width = len(columns[0]), len(columns)
    order = np.arange(rows * width).reshape(width, rows).T.ravel()
    return pa.concat_arrays([column.cast(pa.string()) for column in columns]).take(pa.array(order))


def set_cells(cells: dict[int, dict[int, str | None]]) -> Edit:
    """Return the edit that sets cells, given as row -> column -> value."""
    rows = np.array(sorted(cells), np.int64)

    def edit(first: int, columns: Columns) -> Columns:
        inside = rows[(rows >= first) & (rows < first + len(columns[0]))].tolist()
        for column in {column for row in inside for column in cells[row]}:
            values = columns[column].to_pylist()
            for row in inside:
                values[row - first] = cells[row].get(column, values[row - first])
            columns[column] = string_array(values)
        return columns

    return edit
