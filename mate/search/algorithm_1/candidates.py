"""What Algorithm 1 and its relatives go through: the postings of the initial column's values, table by table.

Key tuples are ordered by their value in the initial column. A *run* is a directory entry of such a value, that is its
postings in one table column; a *group* is all runs of one table, ordered by value, then by column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mate.lake._arrays import SegmentView
from mate.lake.arrays import Array
from mate.lake.base import Ids
from mate.lake.columns import entry_sizes
from mate.lake.layout import SegmentArrays
from mate.search.algorithm_1._scan import group_runs
from mate.search.search import SegmentSearch


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

    pairs: Ids
    """Pairs of a posting and a key tuple that share their initial value."""
    limit: Ids
    """What rule 1 compares: the postings, L_t of section 6.2.

    If tight, the most key tuples that may join, whatever column the initial one is mapped to. Per table column: the sum
    over values of the lesser of postings there and key tuples with that value.
    """
    most: Ids
    """What rule 2 begins with: the postings; if tight, the key tuples that may have one."""


def with_unknown(part: SegmentSearch) -> SegmentSearch:
    """Return the search with the key tuples that Algorithm 1 begins with: without a semi-join, all whose initial value
    the segment has, whatever the others are."""
    if part.search.semi_joins:
        return part
    inside = np.flatnonzero(part.all_tuples[:, part.search.initial] >= 0)
    return part._replace(tuple_id=inside, tuples=part.all_tuples[inside])


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


def group(native: SegmentView, value: Ids, wanted: Array) -> Groups:
    """Return the runs of values in the tables that are wanted (flags), without reading a posting."""
    return Groups(*group_runs(native, value, wanted.view(np.uint8)))


def bound(arrays: SegmentArrays, groups: Groups, probe: Probes, *, tight: bool) -> Bounds:
    """Count pairs, and what may join, of every group."""
    size = entry_sizes(arrays, groups.entry)
    tuples = np.diff(probe.first)[groups.value]
    first = groups.first[:-1]
    pairs, postings = np.add.reduceat(size * tuples, first), np.add.reduceat(size, first)
    if not tight:
        return Bounds(pairs, postings, postings)
    column = arrays.entry_column[groups.entry]
    joining = np.bincount(column, np.minimum(size, tuples)).astype(np.int64)[column]
    is_first = np.diff(groups.value, prepend=-1) != 0
    is_first[first] = True
    value = np.flatnonzero(is_first)
    met = np.minimum(np.add.reduceat(size, value), tuples[value])
    return Bounds(pairs, np.maximum.reduceat(joining, first), np.add.reduceat(met, np.searchsorted(value, first)))
