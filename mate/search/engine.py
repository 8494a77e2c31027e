"""The one engine: prepare a query, search segment after segment with a system, rank, describe.

A ranking by usefulness comes on top of any system. Joinability bounds usefulness: segments are searched again for
tables that were not found yet and join enough key tuples to be among the k most useful, until there are none.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from operator import call
from typing import TYPE_CHECKING

import numpy as np

from mate.errors import ChangedError
from mate.lake.base import Index
from mate.lake.records import TableInfo
from mate.search.best import Ranked
from mate.search.evidence import Evidence, Measured, match_rows, measure, usefulness
from mate.search.evidence.names import similarity
from mate.search.evidence.ranking import JOINABILITY, USEFULNESS, Rank, floor
from mate.search.query import as_query
from mate.search.results import Matches, Result, SearchResult
from mate.search.search import Search, SegmentSearch, prepare
from mate.search.settings import FilterSettings, SearchSettings

if TYPE_CHECKING:
    from mate.search.search import AnyQuery
    from mate.search.systems import Remainder, System

ATTEMPTS = 10
"""How often a search is repeated that met a change of the index."""

WORTH_THREADS = 100_000
"""Directory entries of the key's values from which a group of segments is searched in threads."""

ROUNDS_GROW = 4
"""How many times more tables each further round of a ranking by usefulness may find."""

READ_TOGETHER = 100
"""Further tables that an index may read along with one that is measured."""


def run(system: System, index: Index, query: AnyQuery, key: Sequence[str], settings: SearchSettings) -> SearchResult:
    """Search an index with a system."""
    table = as_query(query)

    def search_once() -> SearchResult:
        search = prepare(system.name, index, table, key, settings, column_first=system.column_first)
        search.intersects = system.intersects
        _search_segments(search, system)
        if settings.rank == JOINABILITY:
            return answer(search)
        return SearchResult(_most_useful(search, system), search.key, search.statistics, settings.rank)

    return on_one_state(index, search_once)


def on_one_state(index: Index, search: Callable[[], SearchResult]) -> SearchResult:
    """Search, again if the index was changed meanwhile, so that an answer is that of one state."""
    for _ in range(ATTEMPTS):
        before = index.change  # its own: threads share the index, and another one may notice the change first
        try:
            result = search()
        except Exception as error:  # two states at once can break anything
            if index.last_change() == before and not isinstance(error, ChangedError):
                raise
            continue
        if index.last_change() == before:
            return result
    raise ChangedError(f"{index.address} changes faster than it can be searched: try again later")


# Segments


def _search_segments(search: Search, system: System) -> None:
    """Find the best tables of all segments."""
    search.work.expect(len(search.index.manifest.segments))
    for group in search.segment_groups():
        _search_group(group, system, search)
        search.work.advance(len(group))


def _search_group(group: Sequence[SegmentSearch], system: System, search: Search) -> None:
    """Search a group of segments, at the same time if that takes long.

    While there is no k-th score that tables could be left out by, the first one's best tables come before all others.
    """
    others, remainder, cut = list(group), None, 0
    is_long = sum(part.entries() for part in others[1:]) >= WORTH_THREADS
    if not search.kth and others[0].is_promising:
        first = partial(system.visit, others.pop(0))
        prefetches = [partial(system.prefetch, part) for part in others] if system.prefetch and is_long else []
        in_threads = prefetches and search.settings.threads
        remainder = search.at_once(call, [first, *prefetches])[0] if in_threads else first()
    if not is_long:
        if remainder:
            remainder()
        for part in others:
            if part.is_promising:
                search_segment(part, system)
            else:
                cut += 1
    else:
        own = [part._replace(best=search.best.copy()) for part in others if part.is_promising]
        cut = len(others) - len(own)
        tasks: list[Remainder] = [partial(search_segment, part, system) for part in own]
        search.at_once(call, [remainder, *tasks] if remainder else tasks)
        search.best.take_all(part.best for part in own)
    search.statistics.count({"segments": len(group), "segments_cut": cut})


def search_segment(part: SegmentSearch, system: System) -> None:
    """Offer every table of a segment that may be among the k best, to the end."""
    remainder = system.visit(part)
    if remainder:
        remainder()


# Ranking


def answer(search: Search) -> SearchResult:
    """Return the best tables in the order of the ranking."""
    ranked = search.best.ranked()
    results = describe(search, ranked, MeasuredTables(search, ranked))
    if search.settings.rank == USEFULNESS:
        results.sort(key=rank_of)
    return SearchResult(results, search.key, search.statistics, search.settings.rank)


def _most_useful(search: Search, system: System) -> list[Result]:
    """Return the k most useful tables, given those of the highest joinability.

    Names are looked up at the end: they only order tables that are equally useful.
    """
    measured = MeasuredTables(search, search.best.ranked())
    room, more = search.k, len(measured.tables) == search.k
    while more:
        room *= ROUNDS_GROW
        other = search.next_round(floor(measured.usefulness, search.k, len(search.key)), measured.tables, room)
        _search_segments(other, system)
        ranked = other.best.ranked()
        measured.add(ranked)
        search.statistics.add_round(other.statistics)
        more = len(ranked) == room
    described = describe(search, measured.best(search.k), measured)
    search.cache.clear()
    return heapq.nsmallest(search.k, described, key=rank_of)


def rank_of(result: Result) -> Rank:
    """Return a table's place in the order of usefulness."""
    return Rank.of(result.evidence, result.table_id)


class MeasuredTables:
    """How the tables that were found hold the key: measured when asked for, several tables at a time."""

    def __init__(self, search: Search, ranked: Sequence[Ranked]) -> None:
        self._search = search
        self._ranked: dict[int, Ranked] = {}
        self._unmeasured: dict[int, Ranked] = {}
        self._measured: dict[int, Measured] = {}
        self.add(ranked)

    def add(self, ranked: Sequence[Ranked]) -> None:
        """Add tables that a further round found."""
        added = {table: (score, table, mapping) for score, table, mapping in ranked}
        self._ranked |= added
        self._unmeasured |= added

    @property
    def tables(self) -> list[int]:
        """Numbers of the tables."""
        return list(self._ranked)

    @property
    def usefulness(self) -> list[float]:
        """How useful each of them is."""
        keys = len(self._search.key)
        return [usefulness(self.of(table), keys) for table in self._ranked]

    def best(self, k: int) -> list[Ranked]:
        """Return those that are no less useful than the k-th."""
        values = self.usefulness
        least = min(heapq.nlargest(k, values), default=0.0)
        return [ranked for ranked, value in zip(self._ranked.values(), values, strict=True) if value >= least]

    def of(self, table_id: int) -> Measured:
        """Return the measures of a table; others are read along with it."""
        if table_id not in self._measured:
            with self._search.statistics.phase("evidence"):
                self._read(table_id)
        return self._measured[table_id]

    def _read(self, table_id: int) -> None:
        search = self._search
        first = self._unmeasured.pop(table_id)
        wanted = [first, *islice(self._unmeasured.values(), READ_TOGETHER)]
        read = search.index.whole_tables(search, [table for _, table, _ in wanted])
        if not search.measures:  # asked for after the search
            search.index.check_unchanged(search.change)
        for (_, table, mapping), (segment, place) in zip(wanted, read, strict=False):
            search.work.check()
            search.statistics.count({"tables_measured": 1})
            self._measured[table] = measure(segment.arrays, place, search.part(segment).tuples, mapping)
            self._unmeasured.pop(table, None)


# Description


def describe(search: Search, ranked: Sequence[Ranked], measured: MeasuredTables) -> list[Result]:
    """Return results for tables, in the order given."""
    with search.statistics.phase("describe tables"):
        infos = {
            table.table_id: table for table in search.index.tables_found(search, [table for _, table, _ in ranked])
        }
        if len(infos) < len(ranked):
            raise ChangedError(f"{search.index.address}: a table was removed while it was searched")
    search.statistics.known_tuples = int(search.tokens_met[search.key.place].all(axis=1).sum())
    results = []
    for score, table_id, mapping in ranked:
        table = infos[table_id]
        names = table.column_names()
        pairs = zip(search.key.columns, (names[column] for column in mapping), strict=True)
        matches = partial(find_matches, search, table_id, mapping)
        evidence = partial(_evidence, search, measured, table, mapping)
        results.append(Result(table, score, dict(pairs), mapping, matches, evidence, search.change))
    return results


def _evidence(search: Search, measures: MeasuredTables, table: TableInfo, mapping: tuple[int, ...]) -> Evidence:
    """Return what speaks for joining with a table under a mapping."""
    names = similarity(search.key.columns, table, mapping) if search.settings.names else None
    return Evidence.of(measures.of(table.table_id), len(search.key), names)


def find_matches(search: Search, table_id: int, mapping: tuple[int, ...]) -> Matches:
    """Return which key tuple joins with which row of a table under a mapping."""
    found = search.index.table_segment(search, table_id)
    search.index.check_unchanged(search.change)
    if found is None:
        return Matches(np.empty(0, np.int64), np.empty(0, np.int64))
    part = search.part(found.segment)
    tuples, rows = match_rows(found.segment.arrays, found.place, part.tuples, mapping)
    numbers = found.segment.row_number
    if numbers is not None:
        rows = numbers[found.segment.arrays.table_row_first[found.place] + rows]
    return Matches(part.tuple_id[tuples], rows)


# One table


def match_table(
    index: Index,
    query: AnyQuery,
    key: Sequence[str],
    table_id: int,
    mapping: Sequence[int] | None = None,
    *,
    names: bool = True,
) -> SearchResult:
    """Return how one table of the index joins with the query; no result if it does not.

    A mapping is the table's column for each key column; the best one is looked for if there is none.
    """
    from mate.search.column_first import SYSTEM

    settings = SearchSettings(k=1, filters=FilterSettings(row_filter=False), names=names)
    table = as_query(query)

    def match_once() -> SearchResult:
        search = prepare(SYSTEM.name, index, table, key, settings, column_first=True)
        found = index.table_segment(search, table_id)
        if found is not None:
            only = np.zeros(len(found.segment.live), np.bool_)
            only[found.place] = True
            part = search.part(replace(found.segment, live=only))
            if mapping is not None:
                joined = measure(found.segment.arrays, found.place, part.tuples, mapping).joinability
                if joined:
                    search.best.offer(joined, table_id, mapping)
            elif len(part.tuples):
                search_segment(part, SYSTEM)
        return answer(search)

    return on_one_state(index, match_once)
