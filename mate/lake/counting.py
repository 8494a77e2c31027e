"""Counts that follow from a segment's directory alone, without reading a posting."""

from __future__ import annotations

import numpy as np

from mate.lake.arrays import Array
from mate.lake.layout import WIDE_ROWS, SegmentArrays


def entry_sizes(arrays: SegmentArrays, entries: Array) -> Array:
    """Return how many postings directory entries have."""
    table = arrays.column_table[arrays.entry_column[entries]]
    units = np.where(np.diff(arrays.table_row_first)[table] >= WIDE_ROWS, 2, 1)
    first = arrays.posting_first
    found: Array = (first[entries + 1].astype(np.int64) - first[entries].astype(np.int64)) // units
    return found


def ranges(start: Array, stop: Array) -> tuple[Array, Array]:
    """Return the numbers of all ranges one after the other, and which range each is of."""
    sizes = stop - start
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return np.arange(len(owner)) + np.repeat(start - (np.cumsum(sizes) - sizes), sizes), owner
