"""Tables with the same columns: copies and near-copies (the same rows), and those that could be united (other rows)."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import NamedTuple

import numpy as np

from mate.lake.base import Ids
from mate.lake.columns import column_codes, column_dictionary
from mate.lake.records import TableInfo
from mate.search.suggest.finder import KeyFinder

NEAR = 0.8
"""Share of the distinct rows of two tables together that both have, from which on they are near-duplicates."""

COMPARED = 2_000_000
"""Cells of a table, at most, that is compared with another one while keys are suggested."""

SHARED_BY = 50
"""Tables with the same columns that may share a row: of more, each is compared with the `NEXT` that follow."""

NEXT = 4

POSITIONS = 0.5
"""Share of their columns that tables without names must have in common, column by column, to be united."""

_MIX = np.uint64(0x9E3779B97F4A7C15)


class Copy(NamedTuple):
    """Two tables with the same columns and mostly the same rows.

    Of tables with exactly the same rows the first one stands for all: the others are copies of it, and it alone is
    compared with the rest.
    """

    one: int
    other: int
    """Numbers of the tables in the finder, the first one lower."""
    shared: float
    """Distinct rows that both have per distinct row that one of them has."""
    shared_rows: int


@dataclass(frozen=True)
class Copies:
    """All copies and near-copies of a lake."""

    pairs: list[Copy]
    first: dict[int, int]
    """For each table that is exactly like an earlier one, the first of these."""

    def are_copies(self, one: int, other: int) -> bool:
        """Tell whether two tables are copies or near-copies of each other."""
        one, other = sorted((self.first.get(one, one), self.first.get(other, other)))
        return one == other or (one, other) in self._near

    @cached_property
    def _near(self) -> set[tuple[int, int]]:
        return {(pair.one, pair.other) for pair in self.pairs}


def same_columns(finder: KeyFinder) -> list[list[int]]:
    """Return groups of two and more tables that have the same columns; tables by their numbers.

    Named columns are the same by their names, in any order; those of tables without names by what they hold.
    """
    found = []
    for names, group in _by_columns(finder).items():
        if names and all(names):
            found.append(group)
        elif names and not any(names) and len(group) > 1:
            found += _nameless_groups(finder, group)
    return sorted(group for group in found if len(group) > 1)


def _by_columns(finder: KeyFinder) -> dict[tuple[str, ...], list[int]]:
    """Return the tables by the names of their columns, in any order."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number in finder.tables.tolist():
        groups[_columns(finder.info(number))].append(number)
    return groups


def _nameless_groups(finder: KeyFinder, numbers: Sequence[int]) -> list[list[int]]:
    """Return tables of one width that are connected by what their columns hold, position by position."""
    group = {number: [number] for number in numbers}
    for number in numbers:
        for other in _alike(finder, number):
            if other in group and group[other] is not group[number]:
                fewer, more = sorted((group[number], group[other]), key=len)
                more += fewer
                group |= dict.fromkeys(fewer, more)
    return [sorted(own) for own in {id(own): own for own in group.values()}.values()]


def _alike(finder: KeyFinder, number: int) -> list[int]:
    """Return the tables that hold enough of a table's columns at the same positions."""
    asking = finder.asking(number)
    places = np.array([column.place for column in asking.columns])
    pairs = finder.pairs(asking, finder.places(asking), frozenset({finder.info(number).table_id}))
    tables, counts = np.unique(pairs.table[pairs.other == places[pairs.own]], return_counts=True)
    found: list[int] = tables[counts >= POSITIONS * len(finder.info(number).columns)].tolist()
    return found


def copies(finder: KeyFinder) -> Copies:
    """Return the tables that are copies or near-copies of each other."""
    pairs: list[Copy] = []
    first: dict[int, int] = {}
    for group in _by_columns(finder).values():
        if len(group) > 1:
            rows = {number: _rows(finder, number) for number in group}
            exact = _first_alike(rows)
            first |= exact
            pairs += (Copy(one, other, 1.0, len(rows[one])) for other, one in exact.items())
            pairs += _near_copies({number: own for number, own in rows.items() if number not in exact})
    return Copies(sorted(pairs), first)


def copy_check(finder: KeyFinder) -> Callable[[int, int], bool]:
    """Return a function that tells whether two tables have the same columns and most of their rows.

    Large tables are not compared. What is read of tables is kept for the next comparison.
    """
    rows = cache(partial(_rows, finder))

    def are_copies(one: int, other: int) -> bool:
        infos = finder.info(one), finder.info(other)
        fewer, more = sorted(info.rows for info in infos)
        if _columns(infos[0]) != _columns(infos[1]) or fewer < NEAR * more or more * len(infos[0].columns) > COMPARED:
            return False
        return _shared(rows(one), rows(other))[1] >= NEAR

    return are_copies


def _folded(table: TableInfo) -> list[str]:
    return [name.strip().casefold() for name in table.columns]


def _columns(table: TableInfo) -> tuple[str, ...]:
    """Return the names of a table's columns, in any order the same."""
    return tuple(sorted(_folded(table)))


def _shared(one: Ids, other: Ids) -> tuple[int, float]:
    """Return how many distinct rows two tables share, also as a share of those that one of them has."""
    count = len(np.intersect1d(one, other, assume_unique=True))
    return count, count / (len(one) + len(other) - count)


def _first_alike(rows: dict[int, Ids]) -> dict[int, int]:
    """Return for each table that has exactly the rows of an earlier one, the first of these."""
    known: dict[bytes, int] = {}
    first = {n: known.setdefault(hashlib.sha256(own.tobytes()).digest(), n) for n, own in rows.items()}
    return {number: same for number, same in first.items() if same != number}


def _near_copies(rows: dict[int, Ids]) -> list[Copy]:
    """Return the pairs of tables that share most of their rows."""
    hashes = np.concatenate(list(rows.values()))
    owner = np.repeat(np.array(list(rows)), [len(own) for own in rows.values()])
    order = np.lexsort((owner, hashes))
    bounds = np.flatnonzero(np.diff(hashes[order], prepend=~hashes[order[:1]], append=~hashes[order[-1:]]))
    shared: Counter[tuple[int, int]] = Counter()
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if stop - start > 1:
            owners = owner[order[start:stop]].tolist()
            reach = len(owners) - 1 if len(owners) <= SHARED_BY else NEXT
            for distance in range(1, reach + 1):
                shared.update(zip(owners, owners[distance:], strict=False))
    found = []
    for (one, other), least in shared.items():
        # A row that very many tables have is counted for some of their pairs only: which are likely is known then.
        if 2 * least >= NEAR * max(len(rows[one]), len(rows[other])):
            count, share = _shared(rows[one], rows[other])
            found += [Copy(one, other, share, count)] if share >= NEAR else []
    return found


def _rows(finder: KeyFinder, number: int) -> Ids:
    """Return a hash of each distinct row of a table; columns count in the order of their names."""
    segment, place = finder.place(number)
    arrays, names = finder.segments[segment].arrays, _folded(finder.info(number))
    first = int(arrays.table_column_first[place])
    mixed = np.zeros(int(arrays.table_row_first[place + 1] - arrays.table_row_first[place]), np.uint64)
    for column in sorted(range(len(names)), key=lambda column: (names[column], column)):
        ids = np.append(-1, arrays.token_id[column_dictionary(arrays, first + column)]).astype(np.uint64)
        mixed = (mixed ^ ids[column_codes(arrays, first + column)]) * _MIX
        mixed ^= mixed >> np.uint64(29)
    return np.unique(mixed)
