"""What Algorithm 1 and its relatives go through: the postings of the initial column's values, table by table.

Key tuples are ordered by their value in the initial column. A *run* is a directory entry of such a value, that is its
postings in one table column; a *group* is all runs of one table, ordered by value, then by column.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from mate.lake.arrays import Array
from mate.lake.base import Ids
from mate.lake.counting import entry_sizes, ranges
from mate.lake.layout import SegmentArrays
from mate.search.engine import SegmentSearch
from mate.values.compiled import is_worth

INTERPRETED_RUNS = 20_000
"""Up to this many runs are grouped and bounded without the compiler."""


class Counter(IntEnum):
    """What is counted for each table, named as in `mate.search.statistics.Statistics`."""

    tables_cut_rule_1 = 0
    tables_cut_rule_2 = 1
    tables_checked = 2
    candidates = 3
    rows_read = 4
    true_positives = 5
    false_positives = 6
    false_positives_held = 7


class Probes(NamedTuple):
    """The key tuples of a segment, ordered by initial value: those of value v are ``first[v]:first[v + 1]``."""

    initial: int
    """The key column to begin with."""
    value: Ids
    """Its distinct values, as places of tokens."""
    first: Ids
    number: Array
    """int32: the tuples as numbers in `token`, one row per tuple."""
    token: Ids
    """The distinct tokens of all key columns, as places."""
    needed: Array
    """int32: how many key columns beside the initial one have the value that the tuple has in each key column."""
    order: Ids
    """Which of the segment's key tuples each one is."""


class Groups(NamedTuple):
    """The runs of each table."""

    table: Ids
    """Places of tables, ascending."""
    first: Ids
    """The runs of group g are ``first[g]:first[g + 1]``."""
    entry: Ids
    """The directory entry of each run."""
    value: Ids
    """Its initial value, as a number in `Probes.value`."""


class Bounds(NamedTuple):
    """What is known of each group before a posting is read."""

    postings: Ids
    """L_t of section 6.2."""
    pairs: Ids
    """Pairs of a posting and a key tuple that share their initial value."""
    tight: Ids
    """The most key tuples that may join, whatever column the initial one is mapped to.

    Per table column: the sum over values of the lesser of postings there and key tuples with that value.
    """


def with_unknown(part: SegmentSearch) -> SegmentSearch:
    """Return the search with the key tuples that Algorithm 1 begins with: without a semi-join, all whose initial value
    the segment has, whatever the others are."""
    if part.search.semi_joins:
        return part
    inside = np.flatnonzero(part.places[:, part.search.initial] >= 0)
    return part._replace(tuple_id=inside, tuples=part.places[inside])


def probes(part: SegmentSearch) -> Probes:
    """Return the key tuples of a segment by their initial values."""
    initial = part.search.initial
    order = np.argsort(part.tuples[:, initial], kind="stable")
    tuples = part.tuples[order]
    value, first = np.unique(tuples[:, initial], return_index=True)
    token, place = np.unique(tuples, return_inverse=True)
    number: Array = place.reshape(tuples.shape).astype(np.int32)
    needed = np.zeros(number.shape, np.int32)
    for key in range(number.shape[1]):
        if key != initial:
            needed += number == number[:, [key]]
    return Probes(initial, value, np.append(first, len(tuples)), number, token, needed, order)


def group(arrays: SegmentArrays, value: Ids, wanted: Array) -> Groups:
    """Return the runs of values in the tables that are wanted (flags), without reading a posting."""
    start, stop = arrays.entry_first[value].astype(np.int64), arrays.entry_first[value + 1].astype(np.int64)
    if is_worth(int((stop - start).sum()), INTERPRETED_RUNS):
        from mate.search import candidates_kernel as kernel

        runs = kernel.count_runs(arrays, start, stop, wanted)
        return Groups(*kernel.group_runs(arrays, start, stop, wanted, runs))
    entry, owner = ranges(start, stop)
    table = arrays.column_table[arrays.entry_column[entry]].astype(np.int64)
    kept = np.flatnonzero(wanted[table])
    order = kept[np.argsort(table[kept], kind="stable")]
    tables, first = np.unique(table[order], return_index=True)
    return Groups(tables, np.append(first, len(order)), entry[order], owner[order])


def bound(arrays: SegmentArrays, groups: Groups, probe: Probes) -> Bounds:
    """Count postings, pairs, and the key tuples that may join, of every group."""
    if is_worth(len(groups.entry), INTERPRETED_RUNS):
        from mate.search import candidates_kernel as kernel

        return Bounds(*kernel.bound_groups(arrays, groups, probe.first))
    size = entry_sizes(arrays, groups.entry)
    tuples = np.diff(probe.first)[groups.value]
    number = np.repeat(np.arange(len(groups.table)), np.diff(groups.first))
    columns, place = np.unique(arrays.entry_column[groups.entry], return_inverse=True)
    joining = np.zeros(len(columns), np.int64)
    np.add.at(joining, place, np.minimum(size, tuples))
    postings, pairs, tight = (np.zeros(len(groups.table), np.int64) for _ in range(3))
    np.add.at(postings, number, size)
    np.add.at(pairs, number, size * tuples)
    np.maximum.at(tight, number, joining[place])
    return Bounds(postings, pairs, tight)
