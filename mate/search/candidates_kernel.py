"""The loops of `mate.search.candidates`, and how kernels read a segment's postings and codes."""

from __future__ import annotations

import numpy as np

from mate.index.layout import WIDE_ROWS
from mate.values.kernels import inner, kernel


@inner
def units_per_posting(arrays, table):
    """Return how many units of `postings` a row takes in a table."""
    rows = arrays.table_row_first[table + 1] - arrays.table_row_first[table]
    return 2 if rows >= WIDE_ROWS else 1


@inner
def posting_row(postings, place, units):
    """Return the row of the posting that begins at a unit."""
    if units == 1:
        return np.int64(postings[place])
    return np.int64(postings[place]) | (np.int64(postings[place + 1]) << 16)


@inner
def code_at(codes, first, size, row):
    """Return the code of a row in the column whose codes begin at a byte and take so many bytes each."""
    narrow, halves, words = codes
    if size == 1:
        return np.int64(narrow[first + row])
    if size == 2:
        return np.int64(halves[(first >> 1) + row])
    return np.int64(words[(first >> 2) + row])


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
