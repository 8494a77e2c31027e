"""Tables of an index as sources: their stored cells are read again, as they are or edited on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

Edit: TypeAlias = Callable[[pa.Table], pa.Table]
"""From the cells of a table to what they become."""

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
        info, header = self.info, self.info.columns
        schema = pa.schema([(name, pa.string()) for name in header])
        batches = (pa.RecordBatch.from_arrays(columns, schema=schema) for columns in self.chunks())
        if self.edit:
            edited = self.edit(pa.Table.from_batches(batches, schema))
            batches, header = iter(edited.to_batches()), tuple(edited.column_names)
        table = Table(info.source, info.position, info.line, info.name, header)
        step = max(1, limits.chunk_cells // len(header))
        row = 0
        for batch in batches:
            for start in range(0, batch.num_rows, step):
                part = batch.slice(start, step)
                yield Chunk(table, row, _by_row(part.columns))
                row += part.num_rows
        if not row:
            yield Chunk(table, 0, pa.array([], pa.string()))

    def chunks(self) -> Iterator[list[pa.Array]]:
        """Yield the cells of consecutive rows as they are stored: an array per column."""
        for _, columns in _opened(self.folder).column_chunks(self.place, len(self.info.columns)):
            yield columns


@lru_cache(maxsize=4)
def _opened(folder: str) -> SegmentFolder:
    """Open the folder of a segment, once for all tables that are read from it: segments never change."""
    return SegmentFolder(Path(folder))


def _by_row(columns: list[pa.Array]) -> pa.StringArray:
    """Return the cells of columns row by row."""
    rows, width = len(columns[0]), len(columns)
    order = np.arange(rows * width).reshape(width, rows).T.ravel()
    return pa.concat_arrays(columns).take(pa.array(order))


def set_cells(table: pa.Table, cells: dict[int, dict[int, str | None]]) -> pa.Table:
    """Return a table with cells that are given as row -> column -> value."""
    for column in sorted({column for values in cells.values() for column in values}):
        new = {row: values[column] for row, values in sorted(cells.items()) if column in values}
        mask = np.zeros(table.num_rows, np.bool_)
        mask[list(new)] = True
        replaced = pc.replace_with_mask(table.column(column), pa.array(mask), string_array(list(new.values())))
        table = table.set_column(column, table.field(column), replaced)
    return table
