"""The arrays of a segment, and how they follow from the tokens of its cells.

Within a segment tables, columns, rows and tokens are numbered from 0: columns and rows through all its tables, tokens
by the order of their ids. A *directory entry* is a token in one table column; its *postings* are the rows there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from mate.hashing import Keys
from mate.lake._arrays import fill_keys, make_columns
from mate.lake.arrays import Array, offset_type

WIDE_ROWS = 65_536
"""Tables with at least this many rows have postings of 4 bytes, others of 2."""

NO_PLACE = -1
"""The place of a cell without a token."""


class SegmentArrays(NamedTuple):
    """The arrays that a search reads; native loops read them through `mate.lake._arrays.SegmentView`.

    Postings are counted in units of 2 bytes: those of entry e are ``postings[posting_first[e]:posting_first[e + 1]]``,
    one unit per row in a narrow table, two (low half first) in a wide one. A column's codes are in `codes` from byte
    ``code_first[c]`` on, ``code_bytes[c]`` bytes per row: 0 for a cell without a token, else 1 + the number of its
    token among those of the column, ``column_token[column_entry_first[c]:column_entry_first[c + 1]]``, which ascend.
    """

    token_id: Array
    """int64, ascending; equal only where two texts share an id."""
    text_first: Array
    """Where a token's text begins in `text`; one more at the end."""
    text: Array
    """UTF-8 bytes of all tokens."""
    entry_first: Array
    """Where a token's directory entries begin; one more at the end."""
    entry_column: Array
    """uint32: column of each directory entry; ascending within a token."""
    posting_first: Array
    """Where an entry's postings begin; one more at the end."""
    postings: Array
    """uint16: rows, counted within their table, ascending within an entry."""
    column_table: Array
    """uint32: table of each column."""
    column_entry_first: Array
    """Where a column's tokens begin; one more at the end."""
    column_token: Array
    """uint32: tokens of each column, ascending."""
    code_first: Array
    """int64: byte of `codes` where a column's codes begin, a multiple of 4."""
    code_bytes: Array
    """uint8: 1, 2 or 4 bytes per code, 0 for a column without a token."""
    codes: Array
    """uint8: the codes of all columns."""
    table_column_first: Array
    """int64: a table's first column; one more at the end."""
    table_row_first: Array
    """int64: a table's first row; one more at the end."""
    table_id: Array
    """int64, ascending: the number of each table in the lake."""


class Shapes(NamedTuple):
    """Tables by their number in the lake, rows and columns."""

    table_id: Array
    rows: Array
    columns: Array


class Texts(NamedTuple):
    """Tokens, ascending by id, with their texts as one buffer."""

    token_id: Array
    text_first: Array
    text: Array

    def strings(self) -> pa.LargeStringArray:
        """Return the texts."""
        first = pa.py_buffer(self.text_first.astype(np.int64, copy=False))
        return pa.LargeStringArray.from_buffers(len(self.token_id), first, pa.py_buffer(self.text))


def make_arrays(shapes: Shapes, tokens: Texts, cells: Array) -> SegmentArrays:
    """Return the arrays of a segment.

    `cells` has the tokens of all cells as places in `tokens`, `NO_PLACE` for none: table after table, and in a table
    column after column.
    """
    cells, rows, columns = native_cells(shapes, cells)
    column_table = np.repeat(np.arange(len(rows), dtype=np.uint32), columns)
    made = make_columns(cells, np.repeat(rows, columns), len(tokens.token_id))
    for name in ("entry_first", "posting_first", "column_entry_first"):
        made[name] = made[name].astype(offset_type(int(made[name][-1])))
    return SegmentArrays(
        **tokens._asdict(),
        **made,
        column_table=column_table,
        table_column_first=offsets_of(columns),
        table_row_first=offsets_of(rows),
        table_id=np.asarray(shapes.table_id, np.int64),
    )


def row_keys(shapes: Shapes, cells: Array, hashes: Keys) -> Keys:
    """Return the super key of every row: the OR of the hashes of its tokens (section 5)."""
    keys = np.zeros((shapes.rows.sum(dtype=np.int64), hashes.shape[1]), np.uint64)
    first = offsets_of(shapes.rows.astype(np.int64) * hashes.shape[1])
    fill_keys(*native_cells(shapes, cells), np.ascontiguousarray(hashes), 0, first, keys.reshape(-1))
    return keys


def native_cells(shapes: Shapes, cells: Array) -> tuple[Array, Array, Array]:
    """Return cells, and rows and columns of their tables, in the types of native loops."""
    rows, columns = (np.ascontiguousarray(counts, np.int64) for counts in (shapes.rows, shapes.columns))
    return np.ascontiguousarray(cells, np.int32), rows, columns


def offsets_of(sizes: Array) -> Array:
    """Return where consecutive items of these sizes begin; one more at the end."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets
