"""Tables of an index as sources: their stored cells are read again, as they are or edited on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.corpus import Chunk, Limits, Table
from mate.lake.records import TableInfo
from mate.lake.segment_folder import SegmentFolder
from mate.values.arrow import string_array

Columns: TypeAlias = list[pa.Array]
"""Cells of consecutive rows, an array per column."""

Edit: TypeAlias = Callable[[int, Columns], Columns]
"""From the number of the first row and the cells of consecutive rows to what they become."""

Row: TypeAlias = Sequence[str | None]


@dataclass(frozen=True)
class StoredTable:
    """A table of a segment as a source; its provenance is that of the file that it comes from, and is kept."""

    folder: str
    """Of the segment."""
    place: int
    info: TableInfo
    size: int
    edit: Edit | None = None
    header: tuple[str, ...] | None = None
    """The new one, where it changes."""
    more: Sequence[Row] = ()
    """Rows that are added at the end."""

    @property
    def name(self) -> str:
        """The file that the table comes from."""
        return self.info.source

    def read(self, limits: Limits) -> Iterator[Chunk]:
        """Yield its rows."""
        info = self.info
        header = info.columns if self.header is None else self.header
        table = Table(info.source, info.position, info.line, info.name, header)
        step = max(1, limits.chunk_cells // len(header))
        row = 0
        for columns in self._edited_chunks():
            for start in range(0, len(columns[0]), step):
                part = [column.slice(start, step) for column in columns]
                yield Chunk(table, row, _by_row(part))
                row += len(part[0])
        if not row:
            yield Chunk(table, 0, pa.array([], pa.string()))

    def _edited_chunks(self) -> Iterator[Columns]:
        for first, columns in self.chunks():
            yield self.edit(first, columns) if self.edit else columns
        if self.more:
            yield [string_array(list(column)) for column in zip(*self.more, strict=True)]

    def chunks(self) -> Iterator[tuple[int, Columns]]:
        """Yield the cells as they are stored: the number of the first row, and an array per column."""
        yield from _opened(self.folder).column_chunks(self.place, len(self.info.columns))


@lru_cache(maxsize=4)
def _opened(folder: str) -> SegmentFolder:
    """Open the folder of a segment, once for all tables that are read from it: segments never change."""
    return SegmentFolder.open(Path(folder))


def _by_row(columns: Columns) -> pa.StringArray:
    """Return the cells of columns row by row."""
    rows, width = len(columns[0]), len(columns)
    order = np.arange(rows * width).reshape(width, rows).T.ravel()
    return pa.concat_arrays([column.cast(pa.string()) for column in columns]).take(pa.array(order))


def setting(cells: dict[int, dict[int, str | None]]) -> Edit:
    """Return the edit that sets cells, given as row -> column -> value."""
    rows = np.array(sorted(cells), np.int64)

    def edit(first: int, columns: Columns) -> Columns:
        inside = rows[(rows >= first) & (rows < first + len(columns[0]))].tolist()
        for column in {column for row in inside for column in cells[row]}:
            changed = [row for row in inside if column in cells[row]]
            mask = np.zeros(len(columns[column]), np.bool_)
            mask[np.array(changed) - first] = True
            values = string_array([cells[row][column] for row in changed])
            columns[column] = pc.replace_with_mask(columns[column], pa.array(mask), values)
        return columns

    return edit
