"""Columns of a lake's tables that hold a column of the query: keys of one column, and what longer keys grow from.

All tables of a lake are gone through at once, as there are thousands of such columns. Names are asked for only where
they decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mate.lake.base import Ids
from mate.search.suggest.cover import LEAST, Covered, PromisingTable, Shares, as_high

PARTNERS = 3
"""Columns of a table that are tried for one column of the query: those that hold the most of it."""


class Pair(NamedTuple):
    """A column of the query and one of the table, counted within it."""

    own: int
    other: int


@dataclass(frozen=True)
class Pairs:
    """Pairs of columns of many tables, table by table."""

    table: Ids
    """Which of the tables, ascending."""
    own: Ids
    other: Ids
    usefulness: Shares
    """That of the pair as a key of its own, no cell of the table's column being taken for empty."""

    def __len__(self) -> int:
        return len(self.table)

    def of(self, table: int) -> list[Pair]:
        """Return the pairs of one table."""
        these = slice(self._first[table], self._first[table + 1])
        return [
            Pair(own, other) for own, other in zip(self.own[these].tolist(), self.other[these].tolist(), strict=True)
        ]

    def can_grow(self, table: int) -> bool:
        """Tell whether a table holds two columns of the query in columns of its own."""
        start, stop = self._first[table], self._first[table + 1]
        own, other = self.own[start:stop], self.other[start:stop]
        return stop - start > 1 and bool((own != own[0]).any() and (other != other[0]).any())

    def as_useful(self) -> Ids:
        """Return for each pair how many of the same column of the query are as useful."""
        found = np.zeros(len(self), np.int64)
        for own in np.unique(self.own).tolist():
            same = self.own == own
            found[same] = as_high(self.usefulness[same])
        return found

    @cached_property
    def _first(self) -> list[int]:
        tables = int(self.table[-1]) + 1 if len(self) else 0
        first: list[int] = np.searchsorted(self.table, np.arange(tables + 1)).tolist()
        return first


def pairs_of(tables: Sequence[PromisingTable], names: Callable[[int, int, list[int]], list[int]]) -> Pairs:
    """Return the pairs of tables, each of which has one.

    It is asked how well names fit with the number of a table, a column of the query, and columns of the table.
    """
    if not tables:
        none = np.empty(0, np.int64)
        return Pairs(none, none, none, np.empty(0))
    parts = {id(table.covered): table.covered for table in tables}
    own, other, share, number, usefulness = (
        np.concatenate(every) for every in zip(*(_pairs_in(part, tables) for part in parts.values()), strict=True)
    )
    order = np.lexsort((other, own, number))
    own, other, share, number, usefulness = own[order], other[order], share[order], number[order], usefulness[order]
    group = np.cumsum((np.diff(number, prepend=-1) != 0) | (np.diff(own, prepend=-1) != 0))
    kept = best_partners(group, share, lambda at: names(int(number[at[0]]), int(own[at[0]]), other[at].tolist()))
    return Pairs(number[kept], own[kept], other[kept], usefulness[kept])


def _pairs_in(part: Covered, tables: Sequence[PromisingTable]) -> tuple[Ids, Ids, Shares, Ids, Shares]:
    """Return pairs of a segment: own and other columns, shares, numbers of tables, usefulness."""
    arrays = part.segment.arrays
    number = np.full(len(arrays.table_id), -1)
    for at, table in enumerate(tables):
        if table.covered is part:
            number[table.place] = at
    column, own = np.nonzero((part.share >= LEAST) & (number[arrays.column_table] >= 0)[:, None])
    place = arrays.column_table[column].astype(np.int64)
    share = part.share[column, own]
    distinct = np.diff(arrays.column_entry_first.astype(np.int64))[column]
    rows = arrays.table_row_first[place + 1] - arrays.table_row_first[place]
    return own, column - arrays.table_column_first[place], share, number[place], share * (distinct / rows)


def best_partners(group: Ids, share: Shares, names: Callable[[Ids], list[int]]) -> Ids:
    """Return the places of the pairs of each group that hold the most; of equals first those whose names fit.

    Groups ascend. Names are asked for where pairs of a group that hold as much, by their places, are too many.
    """
    order = np.lexsort((-share, group))
    rank = np.arange(len(group)) - np.searchsorted(group, group)  # the order leaves groups where they are
    kept = rank < PARTNERS
    next_ones = np.flatnonzero(rank == PARTNERS)
    for following in next_ones[share[order[next_ones]] == share[order[next_ones - 1]]].tolist():
        first = following - PARTNERS
        every = order[first : first + int(np.searchsorted(group[first:], group[first], "right"))]
        equals = np.flatnonzero(share[every] == share[order[following]])
        room = PARTNERS - int(equals[0])
        equals = equals[np.argsort([-fit for fit in names(every[equals])], kind="stable")]
        kept[first + equals] = False
        kept[first + equals[:room]] = True
    return np.sort(order[kept])
