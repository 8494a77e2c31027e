"""Counts that follow from a segment's directory alone, without reading a posting."""

from __future__ import annotations

import numpy as np

from mate.lake.arrays import Array
from mate.lake.layout import NO_PLACE, WIDE_ROWS, SegmentArrays
from mate.values.compiled import is_worth

INTERPRETED_ENTRIES = 5_000_000
"""So many directory entries are counted without the compiler in the time that loading it takes."""


def posting_counts(arrays: SegmentArrays, places: Array, live: Array) -> Array:
    """Return how many postings each token has in the tables that are in use (flags); 0 for `NO_PLACE`."""
    known = np.flatnonzero(np.asarray(places) != NO_PLACE)
    start = arrays.entry_first[places[known]].astype(np.int64)
    stop = arrays.entry_first[places[known] + 1].astype(np.int64)
    if is_worth(int((stop - start).sum()), INTERPRETED_ENTRIES):
        from mate.lake.counting_kernel import count_postings

        odd = np.flatnonzero(~live | (np.diff(arrays.table_row_first) >= WIDE_ROWS))
        found: Array = count_postings(arrays, places, live, odd)
        return found
    counts = np.zeros(len(places), np.int64)
    entry, owner = ranges(start, stop)
    in_use = live[arrays.column_table[arrays.entry_column[entry]]]
    np.add.at(counts, known[owner], entry_sizes(arrays, entry) * in_use)
    return counts


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
