"""The lake against itself: which tables join with which, on which columns, and how well.

    each table --> mate.search.suggest.finder, as for a suggestion --> telling keys --> measured with all rows --> edges

Every table asks for keys as a user's would. What is kept tells something: it scores enough, and few tables score as
high for the same columns. `mate.search.graph.copies` finds tables that are copies of each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mate.lake.folder import LakeFolder
from mate.search.batches import Partition
from mate.search.evidence import Evidence, codes_of
from mate.search.query import unique_names
from mate.search.suggest.columns import AskingTable, ValueKinds
from mate.search.suggest.finder import Asked, Candidate, KeyFinder
from mate.search.suggest.keys import LEAST

TELLING = 0.4
"""Score of a join."""

COMMON = 10
"""Tables that may join equally well on the same columns: more of them are a coincidence."""

PARTNERS = 20
"""Tables in which longer keys are looked for, for each table: the least likely coincidences."""

MOST_WORK = 10_000_000
"""What joint checks may cost for each table, about in rows that are read: a few tables of millions of rows reach it."""

KEYS = 3
"""Keys that are kept for a pair of tables."""

LONGEST = 3
"""Columns that a key may have."""


class Edge(NamedTuple):
    """A join: key columns of one table, and where another table holds them."""

    child: int
    """Number of the table in the lake whose rows look for partners."""
    parent: int
    key: tuple[str, ...]
    columns: tuple[str, ...]
    evidence: Evidence


class Joins(NamedTuple):
    """The joins of some tables with all others, and what was done to find them."""

    edges: list[Edge]
    sharing: int
    """Other tables that hold enough of two columns or more, added up over the tables."""
    checked: int
    """Those of them in which keys of several columns were looked for."""


@dataclass(frozen=True)
class JoinGraph:
    """The search for joins in a lake."""

    lake: LakeFolder
    most_columns: int = LONGEST

    @cached_property
    def finder(self) -> KeyFinder:
        """The search for keys in all of its tables."""
        return KeyFinder(self.lake, self.lake.segments)

    @cached_property
    def _kinds(self) -> list[ValueKinds]:
        """For each segment, of which kind its tokens are."""
        every = (np.arange(len(segment.arrays.token_id)) for segment in self.finder.segments)
        return [
            ValueKinds.of(segment.texts(places)) for segment, places in zip(self.finder.segments, every, strict=True)
        ]

    def joins_of(self, tables: Sequence[int]) -> tuple[Joins, dict[str, int]]:
        """Return the joins of some tables, by their numbers in the finder, as a task does."""
        return all_joins([self.joins(table) for table in tables]), {"tables": len(tables)}

    def joins(self, table: int) -> Joins:
        """Return the joins of a table with all others; it looks for partners."""
        finder = self.finder
        finder.load_infos(np.array([table]))
        info = finder.info(table)
        segment, place = finder.place(table)
        asking = AskingTable.of_lake(finder.segments[segment], place, info.columns, self._kinds[segment])
        if not asking.columns:
            return Joins([], 0, 0)
        asked = finder.ask(asking, frozenset({info.table_id}))
        promising = finder.promising(asked).tolist() if self.most_columns > 1 else []
        found = _uncommon(finder.singles(asked, TELLING, COMMON + 1))
        work = checked = 0
        for other in promising[:PARTNERS]:
            growth = finder.growth(asked, other)
            grown = list(finder.grown(asked, other, growth, self.most_columns))
            found += [key for key in grown if key.score >= TELLING]
            work += growth.work
            checked += 1
            if work > MOST_WORK:
                break
        edges = [edge for key in _best(found) for edge in self._measured(info.table_id, asked, key)]
        return Joins(edges, len(promising), checked)

    def _measured(self, child: int, asked: Asked, key: Candidate) -> Iterator[Edge]:
        """Yield the join with its evidence from all rows, unless there is nothing in it."""
        finder = self.finder
        segment, place = finder.place(key.table)
        arrays, places = finder.segments[segment].arrays, asked.places[segment]
        tuples = asked.table.whole.tuples(key.own)
        first = int(arrays.table_column_first[place])
        codes = [
            codes_of(arrays, first + other, places[own])[tuples[:, at]]
            for at, (own, other) in enumerate(zip(key.own, key.other, strict=True))
        ]
        measured = finder.counts(key.table).measure(key.other, np.stack(codes, axis=1))
        evidence = Evidence.of(measured, len(tuples), key.names)
        if evidence.usefulness >= LEAST and not evidence.is_chance:
            names = unique_names(key.info.columns)
            columns = tuple(names[other] for other in key.other)
            yield Edge(child, key.info.table_id, asked.table.names(key.own), columns, evidence)


@dataclass(frozen=True)
class JoinTask:
    """The joins of some tables, found wherever the lake's folder can be read."""

    partition: Partition
    """All segments."""
    most_columns: int

    def joins_of(self, tables: Sequence[int]) -> tuple[Joins, dict[str, int]]:
        """Return the joins of some tables."""
        return JoinGraph(self.partition.open(), self.most_columns).joins_of(tables)


def all_joins(parts: Sequence[Joins]) -> Joins:
    """Return the joins of all tables, given those of parts of them."""
    edges = [edge for part in parts for edge in part.edges]
    return Joins(edges, sum(part.sharing for part in parts), sum(part.checked for part in parts))


def _uncommon(singles: list[Candidate]) -> list[Candidate]:
    """Return keys of one column without those that very many tables score as high for."""
    by_column: dict[tuple[int, ...], list[Candidate]] = defaultdict(list)
    for key in singles:  # for each column the best first
        by_column[key.own].append(key)
    kept = []
    for keys in by_column.values():
        worst = keys[COMMON].score if len(keys) > COMMON else 0.0
        kept += [key for key in keys if key.score > worst]
    return kept


def _best(found: list[Candidate]) -> list[Candidate]:
    """Return the best keys for each table, of keys that include each other just one."""
    chosen: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in sorted(found, key=lambda key: (not key.is_finding, -key.score, key.own, key.other)):
        kept = chosen[candidate.table]
        if len(kept) < KEYS and not any(candidate.is_nested(other) for other in kept):
            kept.append(candidate)
    return [candidate for kept in chosen.values() for candidate in kept]
