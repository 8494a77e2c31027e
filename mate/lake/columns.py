"""Columns and directory entries of a segment, read from its arrays."""

from __future__ import annotations

import numpy as np

from mate.lake.arrays import Array
from mate.lake.layout import WIDE_ROWS, SegmentArrays
from mate.values.token_ids import NO_TOKEN


def column_codes(arrays: SegmentArrays, column: int) -> Array:
    """Return the code of each row of a column, numbered within the segment: 0 for a cell without a token."""
    table = int(arrays.column_table[column])
    rows = int(arrays.table_row_first[table + 1] - arrays.table_row_first[table])
    size, first = int(arrays.code_bytes[column]), int(arrays.code_first[column])
    if size == 0:
        return np.zeros(rows, np.uint8)
    return arrays.codes[first : first + size * rows].view(f"<u{size}")


def column_dictionary(arrays: SegmentArrays, column: int) -> Array:
    """Return the tokens of a column, ascending: code c stands for item c - 1."""
    return arrays.column_token[int(arrays.column_entry_first[column]) : int(arrays.column_entry_first[column + 1])]


def entry_sizes(arrays: SegmentArrays, entries: Array) -> Array:
    """Return the number of postings of each directory entry."""
    table = arrays.column_table[arrays.entry_column[entries]]
    units = np.where(np.diff(arrays.table_row_first)[table] >= WIDE_ROWS, 2, 1)
    first = arrays.posting_first
    sizes: Array = (first[entries + 1].astype(np.int64) - first[entries].astype(np.int64)) // units
    return sizes


def entry_rows(arrays: SegmentArrays, entries: Array) -> tuple[Array, Array]:
    """Return the postings of consecutive directory entries: the entry and the row of each."""
    sizes = entry_sizes(arrays, entries)
    first = arrays.posting_first[entries[0] : entries[-1] + 2].astype(np.int64)
    units = np.diff(first) // sizes
    number, owner = ranges(np.zeros(len(sizes), np.int64), sizes)
    place = first[owner] + number * units[owner]
    row = arrays.postings[place].astype(np.int64)
    wide = np.flatnonzero(units[owner] == 2)
    row[wide] |= arrays.postings[place[wide] + 1].astype(np.int64) << 16
    return entries[owner], row


def cell_tokens(arrays: SegmentArrays, column: Array, row: Array) -> Array:
    """Return the token ids in cells, given by column of the segment and row of its table; `NO_TOKEN` for none."""
    code = np.zeros(len(column), np.int64)
    for size in (1, 2, 4):
        chosen = np.flatnonzero(arrays.code_bytes[column] == size)
        first = arrays.code_first[column[chosen]] // size
        code[chosen] = arrays.codes.view(f"<u{size}")[first + row[chosen]]
    filled = np.flatnonzero(code)
    entry = arrays.column_entry_first[column[filled]].astype(np.int64) + code[filled] - 1
    tokens = np.full(len(column), NO_TOKEN, np.int64)
    tokens[filled] = arrays.token_id[arrays.column_token[entry]]
    return tokens


def ranges(start: Array, stop: Array) -> tuple[Array, Array]:
    """Concatenate ranges; return their numbers, and for each number the range that it comes from."""
    sizes = stop - start
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return np.arange(len(owner)) + np.repeat(start - (np.cumsum(sizes) - sizes), sizes), owner
