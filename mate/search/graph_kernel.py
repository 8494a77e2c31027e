"""The loop of `mate.search.graph_directory`: which columns hold the values of a column."""

from __future__ import annotations

import numpy as np

from mate.values.kernels import kernel


@kernel
def add_overlaps(value_column, start, stop, rows, counts):
    """Return the columns that hold values, ascending, and the sum of their rows; `counts` is 0 before and after."""
    most = np.int64(0)
    for value in range(len(start)):
        most += stop[value] - start[value]
    touched = np.empty(min(most, len(counts)), np.int64)
    size = 0
    for value in range(len(start)):
        for place in range(start[value], stop[value]):
            column = value_column[place]
            if counts[column] == 0:
                touched[size] = column
                size += 1
            counts[column] += rows[value]
    touched = np.sort(touched[:size])
    found = np.empty(size, np.int64)
    for number in range(size):
        found[number] = counts[touched[number]]
        counts[touched[number]] = 0
    return touched, found
