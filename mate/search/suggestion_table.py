"""Keys of a query table that join with one table of a lake: they grow column by column while that makes them unique."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from heapq import nsmallest
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.lake.records import TableInfo
from mate.search.evidence import HeldTable, Measured, codes_of, is_likely
from mate.search.names import similarity
from mate.search.suggestion_columns import QueryColumns
from mate.search.suggestion_cover import LEAST, PromisingTable, Shares

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

    def __init__(
        self,
        table: PromisingTable,
        info: TableInfo,
        own: QueryColumns,
        held: HeldTable | None = None,
        *,
        names: bool = True,
    ) -> None:
        self._table, self._info, self._own, self._by_names = table, info, own, names
        self._held = held or HeldTable(table.arrays, table.place)
        self._share: list[list[float]] = table.share.tolist()
        self._distinct: list[int] = table.distinct.tolist()
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
                least = np.sort(share[others, own])[-PARTNERS]
                others = [other for other in others if share[other, own] >= least]
                others.sort(key=lambda other: (-share[other, own], -self._names([Pair(own, other)]), other))
            found += [Pair(own, other) for other in others[:PARTNERS]]
        return found

    def grow(self, most_columns: int) -> list[Candidate]:
        """Return the keys of two columns and more that hold enough of the query, chance left out."""
        found: list[Candidate] = []
        singles = [self.single(pair, self._held.filled(pair.other)) for pair in self.pairs]
        open_ones = [single for single in self._noted(singles) if single.measured.uniqueness != 1]
        last = nsmallest(GROWN, open_ones, key=lambda single: (-single.usefulness, single.pairs))
        self._growing = sorted(single.pairs[0] for single in last)
        while last and len(last[0].pairs) < most_columns:
            last = self._noted(filter(None, map(self._measured, self._longer(last))))
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
        """Return mappings with one more column that have no unique part, by falling bound of their usefulness.

        A mapping is bounded by each of its parts that was measured. Mappings are numbers whose digits are places in
        the pairs that keys grow with: their order is that of the mappings.
        """
        growing, place = self._growing, {pair: number for number, pair in enumerate(self._growing)}
        parts = np.array([[place[pair] for pair in candidate.pairs] for candidate in candidates])
        bounds = self._bounds(candidates, parts)
        part, added = np.nonzero(bounds >= 0)
        digits = np.sort(np.column_stack([parts[part], added]), axis=1)
        number = digits @ (len(growing) ** np.arange(digits.shape[1])[::-1])
        order = np.lexsort((bounds[part, added], number))
        first = np.flatnonzero(np.diff(number[order], prepend=-1))
        least = order[first]  # the least bound of each mapping
        least = least[bounds[part[least], added[least]] >= LEAST]
        found: list[tuple[Pair, ...]] = []
        for chosen in least[np.argsort(-bounds[part[least], added[least]], kind="stable")].tolist():
            longer = tuple(growing[digit] for digit in digits[chosen].tolist())
            if not any(unique.issubset(longer) for unique in self._unique):
                found.append(longer)
                if len(found) == CHECKS:
                    break
        return found

    def _bounds(self, candidates: Sequence[Candidate], parts: npt.NDArray[np.int64]) -> Shares:
        """Bound, about, the usefulness of each key with each pair added; -1 where the key has one of its columns."""
        own, other = np.array(self._growing).T
        containment = np.array([candidate.containment for candidate in candidates])
        uniqueness = np.array([candidate.measured.uniqueness for candidate in candidates])
        share, distinct = self._table.share[other, own], np.array(self._distinct)[other]
        bounds: Shares = np.minimum(containment[:, None], share)
        bounds *= np.minimum(1.0, uniqueness[:, None] * distinct)
        for pair in parts.T:
            bounds[(own[pair][:, None] == own) | (other[pair][:, None] == other)] = -1.0
        return bounds

    def _noted(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the candidates that hold enough of the query; note what is unique, as it needs no more columns."""
        found = [candidate for candidate in candidates if candidate.containment >= LEAST]
        self._unique += [frozenset(candidate.pairs) for candidate in found if candidate.measured.uniqueness == 1]
        return found

    def _measured(self, pairs: tuple[Pair, ...]) -> Candidate | None:
        """Return what is measured of a key on a sample, unless the table holds too little of it."""
        self.checks += 1
        tuples = self._own.tuples(tuple(pair.own for pair in pairs))
        columns = [pair.other for pair in pairs]
        asked = np.stack([self._lookup(pair)[tuples[:, place]] for place, pair in enumerate(pairs)], axis=1)
        fan_outs = self._held.fan_outs(columns, asked)
        containment = np.count_nonzero(fan_outs) / max(1, len(tuples))
        if containment < LEAST:
            return None
        return self._candidate(pairs, containment, self._held.measured(columns, asked, fan_outs))

    def _candidate(self, pairs: tuple[Pair, ...], containment: float, measured: Measured) -> Candidate:
        return Candidate(self._info.table_id, pairs, containment, measured, partial(self._names, pairs))

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
