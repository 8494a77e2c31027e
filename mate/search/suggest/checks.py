"""Keys of several columns measured in one table, on a sample of the query's rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.search.evidence import KeyCounts
from mate.search.suggest._suggest import check_mappings
from mate.search.suggest.columns import QueryColumns
from mate.search.suggest.cover import LEAST, PromisingTable
from mate.search.suggest.growth import Growing


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
