"""The columns of a segment's tables, read back from their codes."""

from __future__ import annotations

import numpy as np

from mate.lake.arrays import Array
from mate.lake.layout import SegmentArrays


def column_codes(arrays: SegmentArrays, column: int) -> Array:
    """Return the codes of a column (numbered through the segment) row by row: 0 for a cell without a token."""
    table = int(arrays.column_table[column])
    rows = int(arrays.table_row_first[table + 1] - arrays.table_row_first[table])
    size, first = int(arrays.code_bytes[column]), int(arrays.code_first[column])
    if size == 0:
        return np.zeros(rows, np.uint8)
    return arrays.codes[first : first + size * rows].view(f"<u{size}")


def column_dictionary(arrays: SegmentArrays, column: int) -> Array:
    """Return the tokens of a column as places, ascending: code c stands for number c - 1 of them."""
    first, last = (int(arrays.column_entry_first[column + end]) for end in (0, 1))
    return arrays.column_token[first:last]


def column_tokens(arrays: SegmentArrays, table: int, column: int) -> Array:
    """Return the tokens of a table's column (counted within the table) as places, row by row; -1 for none."""
    number = int(arrays.table_column_first[table]) + column
    tokens = np.append(-1, column_dictionary(arrays, number).astype(np.int64))
    found: Array = tokens[column_codes(arrays, number)]
    return found
