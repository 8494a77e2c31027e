"""The directories of all segments as one: which columns of a lake share values, and how many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.arrays import Array
from mate.lake.base import Ids
from mate.lake.counting import entry_sizes
from mate.lake.folder import LakeFolder
from mate.lake.segment import Segment
from mate.search.suggest._suggest import add_overlaps

MOST_WORK = 20_000_000_000
"""Pairs of columns that share a value, counted once per value, that are gone through: about a minute."""

NUMBERS = 0.9
"""Share of a column's distinct values without a letter from which on it is a column of numbers, dates and the like."""

TEXTS = 1_000_000
"""Values whose letters are looked for in one go."""


class TablePlace(NamedTuple):
    """Where a table is, and its first column in the directory of the whole lake."""

    segment: Segment
    place: int
    first: int
    width: int

    @property
    def rows(self) -> int:
        """Rows of the table."""
        first = self.segment.arrays.table_row_first
        return int(first[self.place + 1] - first[self.place])


@dataclass(frozen=True)
class LakeDirectory:
    """All columns of the tables in use, numbered table after table, and their values, numbered through the lake.

    Values are told apart by their ids, which are hashes of 63 bits. Where there are many, numbers have 32 bits if they
    fit. One thread at a time may ask for overlaps: give each a copy of its own (`dataclasses.replace`).
    """

    tables: list[TablePlace]
    column_table: Ids
    """Number of each column's table in `tables`."""
    column_first: Ids
    """The values of column c are ``column_value[column_first[c]:column_first[c + 1]]``."""
    column_value: Array
    """Ascending in each column."""
    column_rows: Array
    """In how many rows of the column each of them is."""
    value_first: Ids
    """The columns that hold value v are ``value_column[value_first[v]:value_first[v + 1]]``."""
    value_column: Array
    """Ascending for each value."""
    column_numbers: npt.NDArray[np.bool_]
    """Which columns are of numbers, dates and the like."""
    most_columns: int
    """Values that more columns hold are too common to be counted; 0: all are counted."""

    def columns_of(self, values: Array) -> Ids:
        """Return how many columns hold each of some values."""
        found: Ids = self.value_first[values + 1] - self.value_first[values]
        return found

    def values(self, column: int) -> slice:
        """Return where the values of a column are."""
        return slice(int(self.column_first[column]), int(self.column_first[column + 1]))

    def overlaps(self, column: int) -> tuple[Ids, Ids]:
        """Return the columns that share values with one, and the rows of that one whose values each of them holds."""
        own = self.values(column)
        values, rows = self.column_value[own], self.column_rows[own]
        return add_overlaps(values, rows, self.value_first, self.value_column, self.most_columns, self._room)

    @cached_property
    def _room(self) -> Ids:
        """A counter per column, all 0 (the loop leaves them so), and room for as many columns."""
        return np.zeros((2, len(self.column_table)), np.int64)


def lake_directory(lake: LakeFolder, most_work: int = MOST_WORK) -> LakeDirectory:
    """Merge the directories of a lake's segments."""
    values = np.unique(np.concatenate([np.empty(0, np.int64), *(s.arrays.token_id for s in lake.segments)]))
    most = sum(len(segment.arrays.column_table) for segment in lake.segments)
    tables: list[TablePlace] = []
    known = 0
    owners: list[Array] = []
    entries: list[tuple[Array, Array, Array]] = []
    letterless = np.zeros(len(values), np.bool_)
    for segment in lake.segments:
        number = np.full(len(segment.arrays.column_table), -1, _narrow(most))
        for place in np.flatnonzero(segment.live).tolist():
            first, last = segment.arrays.table_column_first[place : place + 2].tolist()
            number[first:last] = np.arange(known, known + last - first)
            owners.append(np.full(last - first, len(tables)))
            tables.append(TablePlace(segment, place, known, last - first))
            known += last - first
        value = np.searchsorted(values, segment.arrays.token_id).astype(_narrow(len(values)))
        letterless[value] = _letterless(segment)
        entries.append(_entries(segment, number, value))
    owner = np.concatenate([np.empty(0, np.int64), *owners])
    return _directory(tables, owner, entries, letterless, most_work)


def _narrow(most: int) -> type[np.signedinteger[Any]]:
    """Return the type for numbers up to `most` and one more: half the room where that is enough."""
    return np.int32 if most < 2**31 - 1 else np.int64


def _letterless(segment: Segment) -> npt.NDArray[np.bool_]:
    """Tell which tokens of a segment have no letter."""
    import pyarrow.compute as pc

    count = len(segment.arrays.token_id)
    found = np.empty(count, np.bool_)
    for start in range(0, count, TEXTS):
        stop = min(start + TEXTS, count)
        texts = segment.texts(np.arange(start, stop))
        found[start:stop] = pc.match_substring_regex(texts, r"^[^\p{L}]*$").to_numpy(zero_copy_only=False)
    return found


def _entries(segment: Segment, number: Array, value: Array) -> tuple[Array, Array, Array]:
    """Return column, value and rows of every directory entry of the tables in use, by value and column."""
    arrays = segment.arrays
    column = number[arrays.entry_column]
    token = np.repeat(value, _sizes(arrays.entry_first))
    kept = np.flatnonzero(column >= 0)
    rows = entry_sizes(arrays, kept)
    return column[kept], token[kept], rows.astype(_narrow(int(rows.max(initial=0))))


def _directory(
    tables: list[TablePlace],
    owner: Ids,
    entries: Sequence[tuple[Array, ...]],
    letterless: npt.NDArray[np.bool_],
    most_work: int,
) -> LakeDirectory:
    empty = np.empty(0, np.int32)
    column, token, rows = (np.concatenate([empty, *(part[piece] for part in entries)]) for piece in range(3))
    # Entries come by value and column, segment after segment, and later segments have later columns.
    by_column = np.argsort(column, kind="stable")
    column_value, column_rows = token[by_column], rows[by_column]
    del by_column, rows
    by_value = np.argsort(token, kind="stable")
    held = np.bincount(token, minlength=len(letterless))
    column_first = _first(column, len(owner))
    numbers = np.bincount(column[letterless[token]], minlength=len(owner))
    return LakeDirectory(
        tables=tables,
        column_table=owner,
        column_first=column_first,
        column_value=column_value,
        column_rows=column_rows,
        value_first=np.append(0, np.cumsum(held)),
        value_column=column[by_value],
        column_numbers=numbers >= NUMBERS * np.maximum(1, np.diff(column_first)),
        most_columns=_too_common(held, most_work),
    )


def _sizes(first: Ids) -> Ids:
    sizes: Ids = first[1:].astype(np.int64) - first[:-1].astype(np.int64)
    return sizes


def _first(numbers: Array, count: int) -> Ids:
    return np.append(0, np.cumsum(np.bincount(numbers, minlength=count)))


def _too_common(held: Ids, most_work: int) -> int:
    """Return the number of columns up to which values are counted, 0 if all can be."""
    counts, values = np.unique(held, return_counts=True)
    work = np.cumsum(values * counts.astype(np.float64) ** 2)
    if not len(work) or work[-1] <= most_work:
        return 0
    return max(2, int(counts[max(0, int(np.searchsorted(work, most_work, "right")) - 1)]))
