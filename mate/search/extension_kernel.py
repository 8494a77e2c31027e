"""The best mapping of a table by extending *row lists*: how long keys are counted where mappings are too many to check.

The beginning of a mapping has the rows that hold a prefix of a key tuple in its columns, with the number of the prefix.
Only these are read to extend it by another column, and the key tuples that begin with a prefix that is left bound what
any extension joins. So a column that is chosen early is read once for all mappings that begin with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mate.search.bits_kernel import popcount
from mate.search.check_kernel import decode, values_by_row
from mate.search.found_kernel import intersect, is_taken, least_score
from mate.search.prefix_kernel import extend
from mate.values.kernels import inner

Array = npt.NDArray[Any]


class RowLists(NamedTuple):
    """The rows that hold a prefix under the beginning of a mapping, by its length less one."""

    size: Array
    row: Array
    prefix: Array
    """The prefix that each of the rows holds."""
    held: Array
    """The key tuples that begin with one of the prefixes: bit sets."""


@inner
def _begin(search, option, lists):
    """List the rows that hold a value of the first key column; return how many key tuples have it."""
    value = values_by_row(search, option)
    size = 0
    for row in range(len(value)):
        if value[row] >= 0:
            lists.row[0, size] = row
            lists.prefix[0, size] = value[row]
            size += 1
    lists.size[0] = size
    return intersect(search.bits[option], search.bits[option], lists.held[0])


@inner
def _extend_rows(search, prefixes, option, lists, depth):
    """List the rows that hold a longer prefix, and stamp these prefixes."""
    stamp, own = prefixes.stamp, prefixes.last_stamp[0]
    value = values_by_row(search, option)
    before, after = lists.prefix[depth - 1], lists.prefix[depth]
    rows, kept = lists.row[depth - 1], lists.row[depth]
    size = 0
    for place in range(lists.size[depth - 1]):
        row = rows[place]
        if value[row] >= 0:
            prefix = extend(prefixes, np.int64(before[place]), np.int64(value[row]))
            if prefix >= 0:
                stamp[prefix] = own
                kept[size] = row
                after[size] = prefix
                size += 1
    lists.size[depth] = size


@inner
def _drop_unmet(search, prefixes, held, depth):
    """Leave of the key tuples held those whose prefix has the stamp; return how many there are."""
    own = prefixes.last_stamp[0]
    count = np.int64(0)
    for word in range(len(held)):
        left = held[word]
        while left:
            lowest = left & (~left + np.uint64(1))
            left ^= lowest
            t = search.tuples[(word << 6) + popcount(lowest - np.uint64(1))]
            if prefixes.stamp[prefixes.tuple_prefix[depth, t]] == own:
                count += 1
            else:
                held[word] ^= lowest
    return count


@inner
def _count_rows(search, prefixes, option, lists, depth, total):
    """Count the key tuples that rows hold with the last column, until so many are met; return the rows read, too."""
    stamp, own = prefixes.stamp, prefixes.last_stamp[0]
    value = values_by_row(search, option)
    before, rows = lists.prefix[depth - 1], lists.row[depth - 1]
    count = np.int64(0)
    for place in range(lists.size[depth - 1]):
        last = value[rows[place]]
        if last >= 0:
            prefix = extend(prefixes, np.int64(before[place]), np.int64(last))
            if prefix >= 0 and stamp[prefix] != own:
                stamp[prefix] = own
                count += 1
                if count == total:
                    return count, place + 1
    return count, lists.size[depth - 1]


@inner
def _extended(arrays, values, search, prefixes, option, lists, depth, least, tally):
    """Extend the row lists by an option; return how many key tuples any extension may join, fewer than `least` if so.

    The last key column makes a mapping whole: then this is its joinability.
    """
    if depth == 0:
        decode(arrays, values, search, option)
        return _begin(search, option, lists)
    tally[0].mappings_bounded += 1
    held = lists.held[depth]
    total = intersect(lists.held[depth - 1], search.bits[option], held)
    if total < least:
        return total
    decode(arrays, values, search, option)
    prefixes.last_stamp[0] += 1
    if depth == len(lists.size) - 1:
        tally[0].mappings_checked += 1
        count, read = _count_rows(search, prefixes, option, lists, depth, total)
        tally[0].rows_read += read
        return count
    _extend_rows(search, prefixes, option, lists, depth)
    tally[0].rows_read += lists.size[depth - 1]
    return _drop_unmet(search, prefixes, held, depth)


@inner
def best_extension(arrays, values, search, prefixes, found, tally):
    """Find the best mapping of a table, column after column; leave it in `found`."""
    width, words = len(found.columns), search.bits.shape[1]
    lists = RowLists(
        np.zeros(width, np.int64),
        np.empty((width, search.rows), np.int32),
        np.empty((width, search.rows), np.int32),
        np.empty((width, words), np.uint64),
    )
    at = np.zeros(width, np.int64)
    columns = np.full(width, -1, np.int64)
    depth = 0
    while depth >= 0:
        key = prefixes.order[depth]
        option = search.option_first[key] + at[depth]
        columns[key] = -1
        if option == search.option_first[key + 1] or search.bound[option] < least_score(found, columns):
            depth -= 1
            continue
        at[depth] += 1
        if is_taken(columns, search.column[option]):
            continue
        columns[key] = search.column[option]
        least = least_score(found, columns)
        count = _extended(arrays, values, search, prefixes, option, lists, depth, least, tally)
        if count < least:
            continue
        if depth == width - 1:
            found.score[0] = count
            found.columns[:] = columns
            continue
        depth += 1
        at[depth] = 0
