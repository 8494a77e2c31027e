"""How kernels read the postings, the codes and the directory of a segment.

Places are made unsigned where it counts: those with a sign are looked at for being counted from the end.
"""

from __future__ import annotations

import numpy as np

from mate.lake.layout import WIDE_ROWS
from mate.values.kernels import inner


@inner
def units_per_posting(arrays, table):
    """Return how many units of `postings` a row takes in a table."""
    rows = arrays.table_row_first[table + 1] - arrays.table_row_first[table]
    return 2 if rows >= WIDE_ROWS else 1


@inner
def posting_row(postings, place, units):
    """Return the row of the posting that begins at a unit."""
    if units == 1:
        return np.int64(postings[np.uint64(place)])
    return np.int64(postings[np.uint64(place)]) | (np.int64(postings[np.uint64(place + 1)]) << 16)


@inner
def code_at(codes, first, size, row):
    """Return the code of a row in the column whose codes begin at a byte and take so many bytes each."""
    narrow, halves, words = codes
    if size == 1:
        return np.int64(narrow[np.uint64(first + row)])
    if size == 2:
        return np.int64(halves[np.uint64((first >> 1) + row)])
    return np.int64(words[np.uint64((first >> 2) + row)])


@inner
def first_entry(arrays, token, column):
    """Return the first directory entry of a token at or behind a column."""
    low, high = np.int64(arrays.entry_first[token]), np.int64(arrays.entry_first[token + 1])
    while low < high:
        middle = (low + high) >> 1
        if arrays.entry_column[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low
