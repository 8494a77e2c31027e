"""Keys of a query table that join with one table of a lake: they grow column by column while that makes them unique."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from heapq import nsmallest
from typing import NamedTuple

import numpy as np

from mate.lake.base import Ids
from mate.lake.columns import column_codes
from mate.lake.records import TableInfo
from mate.search.evidence import Measured, codes_of, is_likely, measure_codes
from mate.search.names import similarity
from mate.search.suggestion_columns import QueryColumns
from mate.search.suggestion_cover import LEAST, PromisingTable

PARTNERS = 3
"""Columns of a table that are tried for one column of the query: those that hold the most of it."""

CHECKS = 12
"""Keys of each length that are checked in a table, those of the highest bound first."""

GROWN = 200
"""Pairs of columns that keys grow from and with: the most useful ones. Tables of a thousand columns have more."""

CHECK_COSTS = 20_000
"""What a check costs beside reading rows, in rows."""


class Pair(NamedTuple):
    """A column of the query and one of the table, counted within it."""

    own: int
    other: int


@dataclass(frozen=True)
class Candidate:
    """A key with its mapping to a table, and what was measured of it."""

    table_id: int
    pairs: tuple[Pair, ...]
    """Ascending by the query's columns."""
    containment: float
    measured: Measured
    find_names: Callable[[], float] = field(repr=False)

    @cached_property
    def names(self) -> float:
        """How well the names of the key's columns fit those of the table."""
        return self.find_names()

    @property
    def key(self) -> tuple[int, ...]:
        """The key's columns of the query."""
        return tuple(pair.own for pair in self.pairs)

    @cached_property
    def usefulness(self) -> float:
        """Containment * uniqueness."""
        return self.containment * self.measured.uniqueness

    @property
    def is_chance(self) -> bool:
        """Whether independent columns may well give what was measured."""
        key_tuples = round(self.measured.joinability / self.containment)
        return is_likely(self.measured.joinability, self.measured.chance, key_tuples)

    @property
    def order(self) -> tuple[float, float, int, int, int, tuple[int, ...]]:
        """What candidates are ordered by, best first."""
        measured = self.measured
        return -self.usefulness, -self.names, -len(self.pairs), -measured.joinability, self.table_id, self.key

    def is_nested(self, other: Candidate) -> bool:
        """Tell whether one of two keys for the same table includes the other."""
        mine, yours = set(self.key), set(other.key)
        return self.table_id == other.table_id and (mine <= yours or mine >= yours)


class TableKeys:
    """The search for keys in one table."""

    def __init__(self, table: PromisingTable, info: TableInfo, own: QueryColumns, *, names: bool = True) -> None:
        self._table, self._info, self._own, self._by_names = table, info, own, names
        self._share: list[list[float]] = table.share.tolist()
        self._distinct: list[int] = table.distinct.tolist()
        self._codes: dict[int, Ids] = {}
        self._lookups: dict[Pair, Ids] = {}
        self._unique: list[frozenset[Pair]] = []
        self._growing: list[Pair] = []
        self.checks = 0
        """Keys that were measured."""

    @property
    def work(self) -> int:
        """What its checks cost: rows that were read, and what a check costs anyway."""
        return self.checks * (self._table.rows + self._own.rows + CHECK_COSTS)

    @cached_property
    def pairs(self) -> list[Pair]:
        """Columns that hold enough of a column of the query; of equals first those whose names fit."""
        share = self._table.share
        found = []
        for own in np.flatnonzero(share.max(axis=0) >= LEAST).tolist():
            others = np.flatnonzero(share[:, own] >= LEAST).tolist()
            if len(others) > PARTNERS:
                others.sort(key=lambda other: (-share[other, own], -self._names([Pair(own, other)]), other))
            found += [Pair(own, other) for other in others[:PARTNERS]]
        return found

    def grow(self, most_columns: int) -> list[Candidate]:
        """Return the keys of two columns and more that hold enough of the query, chance left out."""
        found: list[Candidate] = []
        singles = self._noted(self.single(pair, self._filled(pair.other)) for pair in self.pairs)
        open_ones = [single for single in singles if single.measured.uniqueness != 1]
        last = nsmallest(GROWN, open_ones, key=lambda single: (-single.usefulness, single.pairs))
        self._growing = sorted(single.pairs[0] for single in last)
        while last and len(last[0].pairs) < most_columns:
            last = self._noted(map(self._measured, self._longer(last)))
            found += last
        return [candidate for candidate in found if not candidate.is_chance]

    def single(self, pair: Pair, filled: int | None = None) -> Candidate:
        """Return a key of one column, going by the directory: rows stand for key tuples.

        No cell of the table's column is taken for empty unless it is said how many are not.
        """
        share = self._share[pair.other][pair.own]
        uniqueness = self._distinct[pair.other] / (filled or self._table.rows)
        joined = round(share * len(self._own.columns[pair.own].values))
        return self._candidate((pair,), share, Measured(uniqueness, 1.0, 1, 0.0, joined))

    def _longer(self, candidates: Sequence[Candidate]) -> list[tuple[Pair, ...]]:
        """Return mappings with one more column that have no unique part, by falling bound of their usefulness."""
        known = {candidate.pairs: candidate for candidate in candidates}
        bounds: dict[tuple[Pair, ...], float] = {}
        for candidate in candidates:
            for pair in self._added(candidate):
                longer = tuple(sorted((*candidate.pairs, pair)))
                if longer not in bounds:
                    bounds[longer] = self._least_bound(longer, known)
        open_ones = (
            pairs
            for pairs, bound in bounds.items()
            if bound >= LEAST and not any(part.issubset(pairs) for part in self._unique)
        )
        return nsmallest(CHECKS, open_ones, key=lambda pairs: (-bounds[pairs], pairs))

    def _added(self, candidate: Candidate) -> Iterator[Pair]:
        """Yield pairs of other columns that may make a key longer."""
        own, other = {pair.own for pair in candidate.pairs}, {pair.other for pair in candidate.pairs}
        for pair in self._growing:
            if pair.own not in own and pair.other not in other and self._bound(candidate, pair) >= LEAST:
                yield pair

    def _least_bound(self, longer: tuple[Pair, ...], known: Mapping[tuple[Pair, ...], Candidate]) -> float:
        """Return the least bound of a key, going by its parts that were measured."""
        found = 1.0
        for place, pair in enumerate(longer):
            part = known.get(longer[:place] + longer[place + 1 :])
            if part is not None:
                found = min(found, self._bound(part, pair))
        return found

    def _bound(self, candidate: Candidate, pair: Pair) -> float:
        """Bound, about, the usefulness of a key with one more column."""
        containment = min(candidate.containment, self._share[pair.other][pair.own])
        return containment * min(1.0, candidate.measured.uniqueness * self._distinct[pair.other])

    def _noted(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the candidates that hold enough of the query; note what is unique, as it needs no more columns."""
        found = [candidate for candidate in candidates if candidate.containment >= LEAST]
        self._unique += [frozenset(candidate.pairs) for candidate in found if candidate.measured.uniqueness == 1]
        return found

    def _measured(self, pairs: tuple[Pair, ...]) -> Candidate:
        self.checks += 1
        tuples = self._own.tuples(tuple(pair.own for pair in pairs))
        columns = [self._column(pair.other) for pair in pairs]
        asked = [self._lookup(pair)[tuples[:, place]] for place, pair in enumerate(pairs)]
        measured = measure_codes(columns, asked)
        return self._candidate(pairs, measured.joinability / max(1, len(tuples)), measured)

    def _candidate(self, pairs: tuple[Pair, ...], containment: float, measured: Measured) -> Candidate:
        return Candidate(self._info.table_id, pairs, containment, measured, partial(self._names, pairs))

    def _filled(self, other: int) -> int:
        """Return how many cells of a column are not empty."""
        return int(np.count_nonzero(self._column(other)))

    def _column(self, other: int) -> Ids:
        if other not in self._codes:
            self._codes[other] = column_codes(self._table.arrays, self._table.first_column + other)
        return self._codes[other]

    def _lookup(self, pair: Pair) -> Ids:
        """Return the code in the table's column of each value of the query's."""
        if pair not in self._lookups:
            column = self._table.first_column + pair.other
            self._lookups[pair] = codes_of(self._table.arrays, column, self._table.covered.places[pair.own])
        return self._lookups[pair]

    def _names(self, pairs: Sequence[Pair]) -> float:
        if not self._by_names:
            return 0.0
        names = self._own.names(tuple(pair.own for pair in pairs))
        return similarity(names, self._info, [pair.other for pair in pairs])
