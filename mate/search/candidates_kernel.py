"""The loops of `mate.search.candidates`."""

from __future__ import annotations

import numpy as np

from mate.lake.reading_kernel import units_per_posting
from mate.values.kernels import inner, kernel


@kernel
def count_runs(arrays, start, stop, wanted):
    """Return how many of the entries in these ranges lie in each table that is wanted."""
    runs = np.zeros(len(wanted), np.int64)
    for value in range(len(start)):
        for entry in range(start[value], stop[value]):
            table = arrays.column_table[arrays.entry_column[entry]]
            runs[table] += wanted[table]
    return runs


@kernel
def group_runs(arrays, start, stop, wanted, runs):
    """Return the fields of `Groups`."""
    count = total = np.int64(0)
    for table in range(len(runs)):
        if runs[table]:
            count += 1
            total += runs[table]
    tables, first = np.empty(count, np.int64), np.empty(count + 1, np.int64)
    place = np.empty(len(runs), np.int64)
    count = total = np.int64(0)
    for table in range(len(runs)):
        if runs[table]:
            tables[count], first[count], place[table] = table, total, total
            count += 1
            total += runs[table]
    first[count] = total
    entries, values = np.empty(total, np.int64), np.empty(total, np.int64)
    for value in range(len(start)):
        for entry in range(start[value], stop[value]):
            table = arrays.column_table[arrays.entry_column[entry]]
            if wanted[table]:
                entries[place[table]], values[place[table]] = entry, value
                place[table] += 1
    return tables, first, entries, values


@kernel
def bound_groups(arrays, groups, tuple_first):
    """Return the fields of `Bounds`."""
    count = len(groups.table)
    postings, pairs, tight = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64)
    joining = np.zeros(_widest(arrays, groups), np.int64)
    for group in range(count):
        table = groups.table[group]
        first_column = arrays.table_column_first[table]
        units = units_per_posting(arrays, table)
        for run in range(groups.first[group], groups.first[group + 1]):
            entry, value = groups.entry[run], groups.value[run]
            size = (np.int64(arrays.posting_first[entry + 1]) - np.int64(arrays.posting_first[entry])) // units
            tuples = tuple_first[value + 1] - tuple_first[value]
            postings[group] += size
            pairs[group] += size * tuples
            column = np.int64(arrays.entry_column[entry]) - first_column
            joining[column] += min(size, tuples)
            tight[group] = max(tight[group], joining[column])
        for run in range(groups.first[group], groups.first[group + 1]):
            joining[np.int64(arrays.entry_column[groups.entry[run]]) - first_column] = 0
    return postings, pairs, tight


@inner
def _widest(arrays, groups):
    widest = np.int64(0)
    for table in groups.table:
        widest = max(widest, arrays.table_column_first[table + 1] - arrays.table_column_first[table])
    return widest
