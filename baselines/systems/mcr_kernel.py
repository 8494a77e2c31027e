"""The loop of MCR over flat arrays."""

from __future__ import annotations

import numba


@numba.njit(cache=True, nogil=True)
def mark(start, stop, posting_row, bit, marks):
    """Set a bit of every row that has one of these posting lists' postings."""
    for value in range(len(start)):
        for row in posting_row[start[value] : stop[value]]:
            marks[row, 0] |= bit
