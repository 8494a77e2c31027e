"""The loop of `mate.lake.counting`."""

from __future__ import annotations

import numpy as np

from mate.lake.reading_kernel import first_entry, units_per_posting
from mate.values.kernels import inner, kernel

_STEPS = 16
"""About how many steps it takes to find a table among the entries of a token."""


@kernel
def count_postings(arrays, places, live, odd):
    """Return how many postings tokens have in tables in use.

    Postings lie in the order of entries, so that the first and the last entry tell how many units there are. The odd
    tables are those for which that is wrong: not in use, or with postings of two units.
    """
    counts = np.zeros(len(places), np.int64)
    for i in range(len(places)):
        token = places[i]
        if token < 0:
            continue
        start, stop = np.int64(arrays.entry_first[token]), np.int64(arrays.entry_first[token + 1])
        if len(odd) * _STEPS > stop - start:
            counts[i] = _walk(arrays, start, stop, live)
            continue
        counts[i] = np.int64(arrays.posting_first[stop]) - np.int64(arrays.posting_first[start])
        for table in odd:
            found = first_entry(arrays, token, arrays.table_column_first[table])
            last = arrays.table_column_first[table + 1]
            end = found
            while end < stop and arrays.entry_column[end] < last:
                end += 1
            units = np.int64(arrays.posting_first[end]) - np.int64(arrays.posting_first[found])
            counts[i] -= units // 2 if live[table] else units
    return counts


@inner
def _walk(arrays, start, stop, live):
    """Return how many postings entries have in tables in use."""
    total = np.int64(0)
    for entry in range(start, stop):
        table = arrays.column_table[arrays.entry_column[entry]]
        if live[table]:
            units = np.int64(arrays.posting_first[entry + 1]) - np.int64(arrays.posting_first[entry])
            total += units // units_per_posting(arrays, table)
    return total
