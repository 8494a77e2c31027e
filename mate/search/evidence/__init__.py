"""What speaks for a join: how much of the key a table holds, how unique it is there, and what chance would give.

docs/evidence.md has the formulas; `tests.search.evidence_reference` is the same in plain Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from mate.lake._arrays import SegmentView
from mate.lake.base import Ids
from mate.lake.columns import column_codes, column_dictionary
from mate.lake.layout import SegmentArrays
from mate.search.evidence._evidence import count_distinct, tuples_of_rows

Floats = npt.NDArray[np.float64]

COMBINATIONS = 20_000
"""Combinations of columns whose uniqueness is kept for a table."""

LIKELY = 0.001
"""A joinability that independent columns reach with less than this probability is better than chance."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for joining a query with a table under a mapping of its key columns."""

    containment: float
    """Share of the query's key tuples that the table holds."""
    uniqueness: float
    """Distinct combinations of the mapped columns per row that has a value in each of them."""
    fan_out: float
    """Mean number of rows per key tuple that the table holds."""
    most_fan_out: int
    """Rows of the key tuple that has the most of them."""
    chance: float
    """Joinability to be expected if the mapped columns were independent; 0 for a single column."""
    names: float | None
    """Similarity of the key columns' names with the table's, 0 to 1; None if names play no part."""
    joinability: int
    """Key tuples that the table holds."""
    key_tuples: int
    """Key tuples of the query."""

    @classmethod
    def of(cls, measured: Measured, key_tuples: int, names: float | None) -> Self:
        """Return the evidence that follows from what was measured of a table."""
        containment = measured.joinability / key_tuples
        return cls(containment=containment, names=names, key_tuples=key_tuples, **measured._asdict())

    @property
    def usefulness(self) -> float:
        """Containment * uniqueness: how much of the query finds a partner, and how close to just one."""
        return self.containment * self.uniqueness

    @property
    def is_chance(self) -> bool:
        """Whether independent columns may well give this joinability, too: see `is_likely`."""
        return is_likely(self.joinability, self.chance, self.key_tuples)


def is_likely(joinability: float, chance: float, key_tuples: int) -> bool:
    """Tell whether a joinability is to be expected where `chance` is, by the Chernoff-Hoeffding bound.

    The probability that of n key tuples at least j join, where c are expected to, is at most
    ``(c / j) ** j * ((n - c) / (n - j)) ** (n - j)``; what has at least the probability `LIKELY` is to be expected.
    """
    if joinability <= chance or chance <= 0.0:
        return joinability <= chance
    left = key_tuples - joinability
    bound = joinability * log(chance / joinability)
    if left > 0:
        bound += left * log((key_tuples - chance) / left)
    return bound > log(LIKELY)


class Measured(NamedTuple):
    """What the values of a table's columns tell about a key."""

    uniqueness: float
    fan_out: float
    most_fan_out: int
    chance: float
    joinability: int


def usefulness(measured: Measured, key_tuples: int) -> float:
    """Return how useful a table is that was measured so (`Evidence.usefulness`)."""
    return measured.joinability / key_tuples * measured.uniqueness


def measure(arrays: SegmentArrays, table: int, tuples: Ids, mapping: Sequence[int]) -> Measured:
    """Measure how a table (its place in the segment) holds key tuples, given as places of tokens, under a mapping."""
    return KeyCounts(arrays, table).measure(mapping, tuple_codes(arrays, table, tuples, mapping))


def match_rows(arrays: SegmentArrays, table: int, tuples: Ids, mapping: Sequence[int]) -> tuple[Ids, Ids]:
    """Return the pairs of key tuple and row that join, ordered by tuple, then by row."""
    number = KeyCounts(arrays, table).tuples_of_rows(mapping, tuple_codes(arrays, table, tuples, mapping))
    rows = np.flatnonzero(number >= 0)
    rows = rows[np.argsort(number[rows], kind="stable")]
    return number[rows], rows


class KeyCounts:
    """Counts of a table: rows per value and per key tuple, distinct combinations of columns. Caches what it counts.

    Columns are counted within the table. Key tuples are distinct, and codes of these columns: one row per tuple, 0 for
    a value that a column does not have.
    """

    def __init__(self, arrays: SegmentArrays, place: int) -> None:
        self._arrays = arrays
        self._first = int(arrays.table_column_first[place])
        self.native = SegmentView(arrays)
        """Its segment."""
        self.rows = int(arrays.table_row_first[place + 1] - arrays.table_row_first[place])
        self.values = int(
            arrays.column_entry_first[int(arrays.table_column_first[place + 1])]
            - arrays.column_entry_first[self._first]
        )
        """Distinct values of all of its columns."""
        self._counts: dict[int, Ids] = {}
        self._uniqueness: dict[tuple[int, ...], float] = {}

    def counts(self, column: int) -> Ids:
        """Return how many rows have each code of a column."""
        if column not in self._counts:
            values = len(column_dictionary(self._arrays, self._first + column))
            self._counts[column] = np.bincount(column_codes(self._arrays, self._first + column), minlength=values + 1)
        return self._counts[column]

    def uniqueness(self, columns: Sequence[int]) -> float:
        """Return the distinct combinations of columns per row that has a value in each of them."""
        key = tuple(sorted(columns))
        if key not in self._uniqueness:
            if len(self._uniqueness) >= COMBINATIONS:
                self._uniqueness.clear()
            if len(key) == 1:
                counts = self.counts(key[0])
                rows, distinct = self.rows - int(counts[0]), int(np.count_nonzero(counts[1:]))
            else:  # rows that have a value in every column, and their distinct combinations
                rows, distinct = count_distinct(self.native, self._places(key))
            self._uniqueness[key] = distinct / rows if rows else 0.0
        return self._uniqueness[key]

    def fan_outs(self, columns: Sequence[int], asked: Ids) -> Ids:
        """Return how many rows hold each key tuple."""
        if len(columns) == 1:
            return np.where(asked[:, 0] > 0, self.counts(columns[0])[asked[:, 0]], 0)
        number = self.tuples_of_rows(columns, asked)
        return np.bincount(number[number >= 0], minlength=len(asked))

    def tuples_of_rows(self, columns: Sequence[int], asked: Ids) -> Ids:
        """Return for each row the number of the key tuple that it holds, -1 for none."""
        return tuples_of_rows(self.native, self._places(columns), np.ascontiguousarray(asked), self.rows)

    def measure(self, columns: Sequence[int], asked: Ids) -> Measured:
        """Measure how the table holds key tuples in columns."""
        fan_outs = self.fan_outs(columns, asked)
        joined = fan_outs[fan_outs > 0]
        return Measured(
            uniqueness=self.uniqueness(columns),
            fan_out=float(joined.sum() / len(joined)) if len(joined) else 0.0,
            most_fan_out=int(joined.max(initial=0)),
            chance=self.chance(columns, asked),
            joinability=len(joined),
        )

    def chance(self, columns: Sequence[int], asked: Ids) -> float:
        """Return the joinability to be expected if the columns were independent.

        Of a key tuple the rarest value stays where it is, in so many rows. Each of them has the tuple's other values
        with the probability that their shares of all rows give.
        """
        asked = asked[(asked > 0).all(axis=1)]
        if len(columns) < 2 or not len(asked):
            return 0.0
        occurs = np.stack([self.counts(column)[asked[:, key]] for key, column in enumerate(columns)])
        occurs.sort(axis=0)
        together: Floats = (occurs[1:] / self.rows).prod(axis=0)
        return float((1 - (1 - together) ** occurs[0]).sum())

    def _places(self, columns: Sequence[int]) -> Ids:
        """Return the numbers of columns in the segment."""
        return self._first + np.array(columns, np.int64)


def tuple_codes(arrays: SegmentArrays, table: int, tuples: Ids, mapping: Sequence[int]) -> Ids:
    """Return the codes that key tuples, given as places of tokens, have in a table's columns; 0 where there is none."""
    first = int(arrays.table_column_first[table])
    return np.stack([codes_of(arrays, first + column, tuples[:, key]) for key, column in enumerate(mapping)], axis=1)


def codes_of(arrays: SegmentArrays, column: int, tokens: Ids) -> Ids:
    """Return the codes of tokens in a column, 0 for those that it does not have."""
    known = column_dictionary(arrays, column)
    if not len(known):
        return np.zeros(len(tokens), np.int64)
    place = np.minimum(np.searchsorted(known, tokens), len(known) - 1)
    return np.where(known[place] == tokens, place + 1, 0)
