"""Keys of several columns measured in one table, on a sample of the query's rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.search.evidence import HeldTable, codes_of
from mate.search.suggestion_columns import QueryColumns
from mate.search.suggestion_cover import LEAST, PromisingTable
from mate.search.suggestion_growth import Growing
from mate.values.compiled import is_worth

SMALL = 5_000_000
"""Rows, of the query and the table, that are gone through before a compiler is loaded."""


class Checked(NamedTuple):
    """A mapping of which the table holds enough."""

    number: int
    """Which one of those that were to be checked."""
    joined: int
    """Key tuples that it holds."""
    containment: float
    uniqueness: float


class _Columns(NamedTuple):
    """The columns of a table that keys grow with, for the compiled loops."""

    own: Ids
    column: Ids
    """Numbered through the segment."""
    values: Ids
    code_first: Ids
    code_bytes: Ids
    rows: int
    column_token: Ids
    column_entry_first: Ids


class _Lookups(NamedTuple):
    """The codes of the sample's values in the columns that keys grow with, where they are known."""

    code: npt.NDArray[np.int32]
    is_known: npt.NDArray[np.bool_]


class Checks:
    """Measures keys in one table; mappings are places among the pairs that keys grow with."""

    def __init__(self, table: PromisingTable, held: HeldTable, own: QueryColumns, growing: Growing) -> None:
        self._table, self._held, self._own, self._growing = table, held, own, growing
        self.count = 0
        """Mappings that were measured."""

    def measure(self, mappings: Ids) -> Iterator[Checked]:
        """Yield those of which the table holds enough."""
        self.count += len(mappings)
        if not len(mappings):
            return
        compiled = is_worth(len(mappings) * (self._own.rows + self._table.rows), SMALL)
        counted = self._compiled(mappings) if compiled else self._plain(mappings)
        for number, (joined, tuples) in enumerate(counted):
            containment = joined / max(1, tuples)
            if containment >= LEAST:
                columns = self._growing.other[mappings[number]].tolist()
                yield Checked(number, joined, containment, self._held.uniqueness(columns))

    def chance(self, mapping: list[int]) -> float:
        """Return how many key tuples would join if the columns were independent."""
        return self._held.chance(self._growing.other[mapping].tolist(), self._asked(mapping))

    def _plain(self, mappings: Ids) -> Iterator[tuple[int, int]]:
        """Yield how many key tuples of each mapping join, and how many there are."""
        for mapping in mappings.tolist():
            asked = self._asked(mapping)
            fan_outs = self._held.fan_outs(self._growing.other[mapping].tolist(), asked)
            yield int(np.count_nonzero(fan_outs)), len(asked)

    def _asked(self, mapping: list[int]) -> Ids:
        """Return the codes of the key tuples of a mapping."""
        tuples = self._own.tuples(tuple(self._growing.own[mapping].tolist()))
        return np.stack([self._codes(digit)[tuples[:, key]] for key, digit in enumerate(mapping)], axis=1)

    def _codes(self, digit: int) -> Ids:
        own = int(self._growing.own[digit])
        places = self._table.covered.places[own][self._own.sampled_values(own)]
        return codes_of(self._table.arrays, self._table.first_column + int(self._growing.other[digit]), places)

    def _compiled(self, mappings: Ids) -> Iterator[tuple[int, int]]:
        """Do so in compiled loops, which leave a mapping as soon as too few of its tuples can join."""
        from mate.search.suggestion_check_kernel import check_mappings

        places = np.array([self._own.place(tuple(key)) for key in self._growing.own[mappings].tolist()])
        tuples = self._own.pool(mappings.shape[1])
        sample = self._own.sampled_places(self._table.covered.places)
        joined = check_mappings(
            self._held.codes_by_size, self._columns, sample, self._lookups, mappings, tuples, places, LEAST
        )
        return zip(joined.tolist(), (places[:, 1] - places[:, 0]).tolist(), strict=True)

    @cached_property
    def _lookups(self) -> _Lookups:
        pairs = len(self._growing.own)
        return _Lookups(np.zeros((pairs, self._own.most_sampled), np.int32), np.zeros(pairs, np.bool_))

    @cached_property
    def _columns(self) -> _Columns:
        arrays, column = self._table.arrays, self._table.first_column + self._growing.other
        return _Columns(
            self._growing.own,
            column,
            self._growing.distinct,
            arrays.code_first[column].astype(np.int64),
            arrays.code_bytes[column].astype(np.int64),
            self._table.rows,
            arrays.column_token,
            arrays.column_entry_first,
        )
