"""Joinability of one table (equation 2) in plain NumPy: the readable reference of the native searches.

A mapping is extended key column by key column. The *prefixes* of the key tuples are numbered at each length, so that a
row carries one number: the prefix that it holds in the columns chosen so far. The key tuples that begin with a prefix
that some row still holds bound what any extension can join.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mate.lake.base import Ids
from mate.lake.columns import column_codes, column_dictionary, ranges
from mate.lake.layout import WIDE_ROWS, SegmentArrays


class Score(NamedTuple):
    """A table's joinability and the mapping that attains it, columns counted within the table."""

    joinability: int
    mapping: tuple[int, ...]


class _Prefixes(NamedTuple):
    """The prefixes of key tuples that end with one key column."""

    values: Ids
    """The tokens of that key column, ascending."""
    combined: Ids
    """Each prefix as one number, ascending: number of the prefix before it * count of values + number of the value."""
    tuples: Ids
    """How many key tuples begin with each prefix."""


class _Partial(NamedTuple):
    """A mapping of the first key columns, and the rows that hold a prefix under it."""

    mapping: tuple[int, ...]
    rows: Ids
    prefix: Ids
    bound: int
    """Key tuples that begin with a prefix that some row holds."""


def entries_of(arrays: SegmentArrays, tokens: Ids) -> tuple[Ids, Ids]:
    """Return the directory entries of tokens, and which of the tokens each belongs to."""
    first = arrays.entry_first
    return ranges(first[tokens].astype(np.int64), first[tokens + 1].astype(np.int64))


def entry_rows(arrays: SegmentArrays, entry: int) -> Ids:
    """Return the rows of a directory entry, counted within its table."""
    table = int(arrays.column_table[arrays.entry_column[entry]])
    units = arrays.postings[int(arrays.posting_first[entry]) : int(arrays.posting_first[entry + 1])].astype(np.int64)
    if arrays.table_row_first[table + 1] - arrays.table_row_first[table] < WIDE_ROWS:
        return units
    return units[::2] + (units[1::2] << 16)


def score_table(
    arrays: SegmentArrays, table: int, tuples: Ids, floor: int = 0, rows: Ids | None = None
) -> Score | None:
    """Return the best injective mapping of a table, of equals the smallest list; None if none exceeds `floor`.

    Only some rows are looked at if it is known that no others join.
    """
    if int(np.diff(arrays.table_column_first[table : table + 2])[0]) < tuples.shape[1]:
        return None
    if rows is None:
        rows = np.arange(int(np.diff(arrays.table_row_first[table : table + 2])[0]))
    nothing_chosen = _Partial((), rows, np.zeros(len(rows), np.int64), len(tuples))
    best = _best(_Table(arrays, table, _prefixes(tuples)), nothing_chosen, Score(floor, ()))
    return best if best.mapping else None


def _prefixes(tuples: Ids) -> list[_Prefixes]:
    """Number the prefixes of the key tuples at each length."""
    found = []
    number = np.zeros(len(tuples), np.int64)
    for column in tuples.T:
        values, value = np.unique(column, return_inverse=True)
        combined, number, counts = np.unique(number * len(values) + value, return_inverse=True, return_counts=True)
        found.append(_Prefixes(values, combined, counts))
    return found


class _Table:
    """A table, as far as it can hold key tuples."""

    def __init__(self, arrays: SegmentArrays, table: int, prefixes: list[_Prefixes]) -> None:
        self.prefixes = prefixes
        self._arrays = arrays
        self._columns = range(*arrays.table_column_first[table : table + 2].tolist())
        self._numbers = [dict(self._columns_with(level.values)) for level in prefixes]

    def _columns_with(self, values: Ids) -> Iterator[tuple[int, Ids]]:
        """Yield the columns that hold some of the values, with the number of the value that each code stands for."""
        for place, column in enumerate(self._columns):
            tokens = column_dictionary(self._arrays, column)
            at = np.minimum(np.searchsorted(tokens, values), max(0, len(tokens) - 1))
            here = np.flatnonzero(tokens[at] == values) if len(tokens) else at[:0]
            if len(here):
                numbers = np.full(len(tokens) + 1, -1)
                numbers[at[here] + 1] = here
                yield place, numbers

    def extensions(self, partial: _Partial) -> Iterator[_Partial]:
        """Yield the mapping extended by each column that serves the next key column."""
        key = len(partial.mapping)
        level = self.prefixes[key]
        for column, numbers in self._numbers[key].items():
            if column in partial.mapping:
                continue
            value = numbers[column_codes(self._arrays, self._columns[column])[partial.rows]]
            combined = np.where(value >= 0, partial.prefix * len(level.values) + value, -1)
            prefix = np.minimum(np.searchsorted(level.combined, combined), len(level.combined) - 1)
            kept = level.combined[prefix] == combined
            held = np.zeros(len(level.combined), np.bool_)
            held[prefix[kept]] = True
            bound = int(level.tuples[held].sum())
            yield _Partial((*partial.mapping, column), partial.rows[kept], prefix[kept], bound)


def _best(table: _Table, partial: _Partial, best: Score) -> Score:
    """Return the better of `best` and the best extension of a mapping, by branch and bound."""
    if len(partial.mapping) == len(table.prefixes):
        return Score(partial.bound, partial.mapping)
    for extended in sorted(table.extensions(partial), key=lambda branch: -branch.bound):
        if extended.bound > best.joinability or _may_be_smaller(extended, best):
            best = _best(table, extended, best)
    return best


def _may_be_smaller(partial: _Partial, best: Score) -> bool:
    """Tell whether an extension may equal the best score with a smaller column list."""
    if not best.mapping or partial.bound < best.joinability:
        return False
    return partial.mapping <= best.mapping[: len(partial.mapping)]
