"""Keys of several columns: which longer ones to check in a table, and what a sample of the rows says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.search.evidence import KeyCounts
from mate.search.suggest._suggest import check_mappings, longer_mappings
from mate.search.suggest.columns import QueryColumns
from mate.search.suggest.cover import LEAST, PromisingTable, Shares

LONGEST = 4
"""Columns that a key may have."""

CHECKS = 12
"""Keys of each length that are checked in a table, those of the highest bound first."""


class Growing(NamedTuple):
    """The pairs of columns that keys grow from and with; mappings are places among them, ascending."""

    own: Ids
    other: Ids
    share: Shares
    """Share of the query column's rows that the table's column holds."""
    distinct: Ids
    """Distinct values of the table's column."""


class Grown(NamedTuple):
    """Mappings of the same length that were measured."""

    mappings: npt.NDArray[np.int64]
    """One row per mapping."""
    containment: Shares
    uniqueness: Shares


def longer(growing: Growing, grown: Grown, unique: Ids) -> Ids:
    """Return mappings with one more column that have no unique part, by falling bound of their usefulness.

    A mapping is bounded by each of its parts that was measured. Unique mappings have a row each, -1 where they end.
    """
    return longer_mappings(growing, grown, unique, LEAST, CHECKS)


def padded(mappings: Sequence[Sequence[int]]) -> Ids:
    """Return mappings of different lengths with a row each."""
    found = np.full((len(mappings), LONGEST), -1)
    for row, mapping in enumerate(mappings):
        found[row, : len(mapping)] = mapping
    return found


class Checked(NamedTuple):
    """A mapping of which the table holds enough."""

    number: int
    """Which one of those that were to be checked."""
    joined: int
    """Key tuples that it holds."""
    containment: float
    uniqueness: float


class Lookups(NamedTuple):
    """The codes of the sample's values in the columns that keys grow with, where they are known."""

    code: npt.NDArray[np.int32]
    is_known: npt.NDArray[np.bool_]


class Checks:
    """Measures keys in one table; mappings are places among the pairs that keys grow with."""

    def __init__(self, table: PromisingTable, held: KeyCounts, own: QueryColumns, growing: Growing) -> None:
        self._table, self._held, self._own, self._growing = table, held, own, growing
        self.count = 0
        """Mappings that were measured."""

    def measure(self, mappings: Ids) -> Iterator[Checked]:
        """Yield those of which the table holds enough."""
        self.count += len(mappings)
        if not len(mappings):
            return
        for number, (joined, tuples) in enumerate(self._joined(mappings)):
            containment = joined / max(1, tuples)
            if containment >= LEAST:
                columns = self._growing.other[mappings[number]].tolist()
                yield Checked(number, joined, containment, self._held.uniqueness(columns))

    def chance(self, mapping: list[int]) -> float:
        """Return how many key tuples of a mapping that was measured would join if the columns were independent."""
        tuples = self._own.tuples(tuple(self._growing.own[mapping].tolist()))
        asked = np.stack([self._lookups.code[digit, tuples[:, key]] for key, digit in enumerate(mapping)], axis=1)
        return self._held.chance(self._growing.other[mapping].tolist(), asked)

    def _joined(self, mappings: Ids) -> Iterator[tuple[int, int]]:
        """Yield how many key tuples of each mapping join, fewer where they are not enough, and how many there are."""
        places = np.array([self._own.place(tuple(key)) for key in self._growing.own[mappings].tolist()])
        joined = check_mappings(
            self._held.native,
            self._growing.own,
            self._table.first_column + self._growing.other,
            self._own.sampled_places(self._table.covered.places),
            self._lookups,
            mappings,
            self._own.pool(mappings.shape[1]),
            places,
            LEAST,
        )
        return zip(joined.tolist(), (places[:, 1] - places[:, 0]).tolist(), strict=True)

    @cached_property
    def _lookups(self) -> Lookups:
        pairs = len(self._growing.own)
        return Lookups(np.zeros((pairs, self._own.most_sampled), np.int32), np.zeros(pairs, np.bool_))
