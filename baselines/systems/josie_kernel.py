"""The loop that puts the sets of a segment into JOSIE's global order."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def order_sets(arrays, tokens):
    """Return the position of every directory entry in its set, and the sets as ranks of tokens in the global order."""
    entries = len(arrays.entry_column)
    position, members = np.empty(entries, np.uint32), np.empty(entries, np.uint32)
    filled = np.zeros(len(arrays.column_table), np.int64)
    for rank in range(len(tokens)):
        token = tokens[rank]
        for entry in range(np.int64(arrays.entry_first[token]), np.int64(arrays.entry_first[token + 1])):
            column = arrays.entry_column[entry]
            position[entry] = filled[column]
            members[np.int64(arrays.column_entry_first[column]) + filled[column]] = rank
            filled[column] += 1
    return position, members
