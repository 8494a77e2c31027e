"""The loop of MCR."""

from __future__ import annotations

import numba
import numpy as np

from mate.lake.reading_kernel import posting_row, units_per_posting


@numba.njit(cache=True, nogil=True)
def mark(arrays, entries, bit, marks):
    """Set a bit of every row that one of these directory entries has."""
    for entry in entries:
        table = arrays.column_table[arrays.entry_column[entry]]
        first, units = arrays.table_row_first[table], units_per_posting(arrays, table)
        for place in range(np.int64(arrays.posting_first[entry]), np.int64(arrays.posting_first[entry + 1]), units):
            marks[first + posting_row(arrays.postings, place, units), 0] |= bit
