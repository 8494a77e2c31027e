"""Keys of a query table that join with one table of a lake: they grow column by column while that makes them unique."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from mate.lake.records import TableInfo
from mate.search.evidence import KeyCounts, is_likely
from mate.search.evidence.names import column_fits, similarity
from mate.search.suggest.checks import Checked, Checks, Growing, Grown, longer, padded
from mate.search.suggest.columns import QueryColumns
from mate.search.suggest.cover import LEAST, PromisingTable
from mate.search.suggest.pairs import Pair, best_partners

GROWN = 200
"""Pairs of columns that keys grow from and with: the most useful ones. Tables of a thousand columns have more."""

CHECK_COSTS = 20_000
"""What a check costs beside reading rows, in rows."""


@dataclass(frozen=True)
class Candidate:
    """A key with its mapping to a table, and what was measured of it."""

    table_id: int
    pairs: tuple[Pair, ...]
    """Ascending by the query's columns."""
    containment: float
    uniqueness: float
    joinability: int
    find_names: Callable[[], float] = field(repr=False)
    find_chance: Callable[[], float] = field(repr=False)

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
        return self.containment * self.uniqueness

    @property
    def is_chance(self) -> bool:
        """Whether independent columns may well give what was measured."""
        return is_likely(self.joinability, self.find_chance(), round(self.joinability / self.containment))

    @property
    def order(self) -> tuple[float, float, int, int, int, tuple[int, ...]]:
        """What candidates are ordered by, best first."""
        return -self.usefulness, -self.names, -len(self.pairs), -self.joinability, self.table_id, self.key

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
        held: KeyCounts | None = None,
        *,
        pairs: list[Pair] | None = None,
        names: bool = True,
    ) -> None:
        """Have a table searched; `pairs` are given where they are known already."""
        self._table, self._info, self._own, self._by_names, self._given = table, info, own, names, pairs
        self._known = held
        self._checks: Checks | None = None

    @cached_property
    def _held(self) -> KeyCounts:
        return self._known or KeyCounts(self._table.arrays, self._table.place)

    @property
    def checks(self) -> int:
        """Keys that were measured."""
        return self._checks.count if self._checks else 0

    @property
    def work(self) -> int:
        """What its checks cost: rows that were read, and what a check costs anyway."""
        return self.checks * (self._table.rows + self._own.rows + CHECK_COSTS)

    @cached_property
    def pairs(self) -> list[Pair]:
        """Columns that hold enough of a column of the query; of equals first those whose names fit."""
        if self._given is not None:
            return self._given
        own, other = np.nonzero(self._table.share.T >= LEAST)
        found = [Pair(*pair) for pair in zip(own.tolist(), other.tolist(), strict=True)]
        kept = best_partners(
            own, self._table.share[other, own], lambda at: self._fits(int(own[at[0]]), other[at].tolist())
        )
        return [found[at] for at in kept.tolist()]

    def _fits(self, own: int, others: list[int]) -> list[int]:
        name = self._own.columns[own].name
        return column_fits(name, self._info, others) if self._by_names else [0] * len(others)

    def grow(self, most_columns: int) -> list[Candidate]:
        """Return the keys of two columns and more that hold enough of the query; chance may give some of them."""
        found: list[Candidate] = []
        growing, last = self._open_pairs()
        self._checks = Checks(self._table, self._held, self._own, growing)
        unique: list[list[int]] = []
        for _ in range(1, most_columns):
            if not len(last.mappings):
                break
            mappings = longer(growing, last, padded(unique))
            checked = list(self._checks.measure(mappings))
            found += [self._grown(growing, mappings[one.number].tolist(), one) for one in checked]
            unique += [mappings[one.number].tolist() for one in checked if one.uniqueness == 1]
            last = Grown(
                mappings[[one.number for one in checked]],
                np.array([one.containment for one in checked]),
                np.array([one.uniqueness for one in checked]),
            )
        return found

    def _grown(self, growing: Growing, mapping: list[int], checked: Checked) -> Candidate:
        pairs = tuple(map(Pair, growing.own[mapping].tolist(), growing.other[mapping].tolist()))
        assert self._checks is not None
        find_chance = partial(self._checks.chance, mapping)
        return self._candidate(pairs, checked.containment, checked.uniqueness, checked.joined, find_chance)

    def _open_pairs(self) -> tuple[Growing, Grown]:
        """Return the pairs that keys grow from and with, the most useful that are not unique; as keys, too."""
        own, other = np.array(self.pairs, np.int64).reshape(-1, 2).T
        share, distinct = self._table.share[other, own], self._table.distinct[other]
        filled = self._table.filled(other)
        uniqueness = distinct / np.where(filled, filled, self._table.rows)
        kept = np.flatnonzero(uniqueness != 1)  # pairs ascend
        if len(kept) > GROWN:
            kept = np.sort(kept[np.argsort(-(share * uniqueness)[kept], kind="stable")[:GROWN]])
        growing = Growing(own[kept], other[kept], share[kept], distinct[kept])
        return growing, Grown(np.arange(len(kept))[:, None], share[kept], uniqueness[kept])

    def single(self, pair: Pair) -> Candidate:
        """Return a key of one column, going by the directory alone: rows stand for key tuples, no cell is empty."""
        share = float(self._table.share[pair.other, pair.own])
        uniqueness = int(self._table.distinct[pair.other]) / self._table.rows
        joined = round(share * len(self._own.columns[pair.own].values))
        return self._candidate((pair,), share, uniqueness, joined, lambda: 0.0)

    def _candidate(
        self,
        pairs: tuple[Pair, ...],
        containment: float,
        uniqueness: float,
        joined: int,
        find_chance: Callable[[], float],
    ) -> Candidate:
        find_names = partial(self._names, pairs)
        return Candidate(self._info.table_id, pairs, containment, uniqueness, joined, find_names, find_chance)

    def _names(self, pairs: Sequence[Pair]) -> float:
        if not self._by_names:
            return 0.0
        names = self._own.names(tuple(pair.own for pair in pairs))
        return similarity(names, self._info, [pair.other for pair in pairs])
