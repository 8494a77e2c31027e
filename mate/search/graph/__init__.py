"""The lake against itself: which tables join with which, on which columns, and how well.

    each table --> mate.search.suggest.finder, as for a suggestion --> telling keys --> measured with all rows --> edges

Every table asks for keys as a user's would. What is kept tells something: it scores enough, and few tables score as
high for the same columns. `mate.search.suggest.copies` finds tables that are copies of each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from threading import local
from typing import Any, NamedTuple

import numpy as np

from mate.lake.base import Ids
from mate.lake.folder import LakeFolder
from mate.search.batches import Partition, partitions_of
from mate.search.evidence import Evidence, codes_of
from mate.search.query import unique_names
from mate.search.suggest.candidates import Candidate
from mate.search.suggest.finder import Asked, KeyFinder
from mate.search.suggest.keys import LEAST
from mate.values.parallel import at_once

TELLING = 0.4
"""Score of a join on one column."""

COMMON = 10
"""Tables that may join equally well on the same columns: more of them are a coincidence."""

PARTNERS = 20
"""Tables in which longer keys are looked for, for each table: the least likely coincidences."""

MOST_WORK = 10_000_000
"""What joint checks may cost for each table, about in rows that are read: a few tables of millions of rows reach it."""

MOST_PAIRS = 20_000_000_000
"""Pairs of columns that share a value, counted once per value, that are gone through: about a minute."""

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


class JoinGraph:
    """The search for joins in a lake, for this process or for tasks wherever the lake's folder can be read."""

    def __init__(self, lake: LakeFolder, most_columns: int = LONGEST) -> None:
        self.lake, self.most_columns = lake, most_columns
        self._threads = local()

    def __reduce__(self) -> tuple[Any, ...]:
        [all_segments] = partitions_of(self.lake, 1)
        return _opened, (all_segments, self.most_columns)

    @cached_property
    def finder(self) -> KeyFinder:
        """The search for keys in all of its tables."""
        finder = KeyFinder(self.lake, most_columns=self.uncounted)
        finder.load_infos(finder.tables)  # which words are usual depends on all names
        return finder

    @cached_property
    def uncounted(self) -> int:
        """Values that more columns of a segment hold are too common to be counted; 0: all are counted."""
        held = [np.diff(segment.arrays.entry_first.astype(np.int64)) for segment in self.lake.segments]
        counts, values = np.unique(np.concatenate([np.empty(0, np.int64), *held]), return_counts=True)
        work = np.cumsum(values * counts.astype(np.float64) ** 2) * len(held)
        if not len(work) or work[-1] <= MOST_PAIRS:
            return 0
        return max(2, int(counts[max(0, int(np.searchsorted(work, MOST_PAIRS, "right")) - 1)]))

    def ranges(self, most: int) -> list[Ids]:
        """Cut the tables into up to `most` groups with about as many values."""
        every = [segment.arrays for segment in self.finder.segments]
        held = (np.diff(own.column_entry_first.astype(np.int64)[own.table_column_first]) for own in every)
        values = np.concatenate([np.empty(0, np.int64), *held])[self.finder.tables]
        filled = np.cumsum(values + 1)  # a table without values is work, too
        ends = np.searchsorted(filled, (filled[-1] if len(filled) else 0) * np.arange(1, most) / most) + 1
        return [group for group in np.split(self.finder.tables, np.unique(ends)) if len(group)]

    def joins_of(self, tables: Ids) -> tuple[Joins, dict[str, int]]:
        """Return the joins of some tables, by their numbers in the finder, as a task does: on all processors."""
        self.finder.load_kinds()  # once for all threads
        return all_joins(at_once(self.joins, tables.tolist())), {"tables": len(tables)}

    def joins(self, table: int) -> Joins:
        """Return the joins of a table with all others; it looks for partners."""
        if not hasattr(self._threads, "finder"):
            self._threads.finder = self.finder.for_thread()
        finder: KeyFinder = self._threads.finder
        asking = finder.asking(table)
        info = finder.info(table)
        if not asking.columns:
            return Joins([], 0, 0)
        asked = finder.ask(asking, frozenset({info.table_id}))
        promising = finder.promising(asked).tolist() if self.most_columns > 1 else []
        found = _uncommon(finder.singles(asked, TELLING, COMMON + 1))
        work = checked = 0
        for other in promising[:PARTNERS]:
            growth = finder.growth(asked, other)
            found += [key for key in growth.grow(self.most_columns) if key.usefulness * key.support >= LEAST]
            work += growth.work
            checked += 1
            if work > MOST_WORK:
                break
        edges = [_measured(finder, info.table_id, asked, key) for key in _best(found)]
        joins = [edge for edge in edges if edge.evidence.usefulness >= LEAST and not edge.evidence.is_chance]
        return Joins(joins, len(promising), checked)


@lru_cache(maxsize=2)
def _opened(all_segments: Partition, most_columns: int) -> JoinGraph:
    """Map the lake; a process that has done so keeps it for the next task."""
    return JoinGraph(all_segments.open(), most_columns)


def _measured(finder: KeyFinder, child: int, asked: Asked, key: Candidate) -> Edge:
    """Return a join with its evidence from all rows."""
    segment, place = finder.place(key.table)
    arrays, places = finder.segments[segment].arrays, asked.places[segment]
    tuples = asked.table.whole.tuples(key.own)
    first = int(arrays.table_column_first[place])
    codes = [
        codes_of(arrays, first + other, places[own])[tuples[:, at]]
        for at, (own, other) in enumerate(zip(key.own, key.other, strict=True))
    ]
    measured = finder.counts(key.table).measure(key.other, np.stack(codes, axis=1))
    names = unique_names(key.info.columns)
    columns = tuple(names[other] for other in key.other)
    evidence = Evidence.of(measured, len(tuples), key.names)
    return Edge(child, key.info.table_id, asked.table.names(key.own), columns, evidence)


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
