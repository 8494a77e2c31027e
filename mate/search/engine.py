"""The one engine: a query is prepared once, a *strategy* goes through segment after segment, the best tables are kept.

Strategies differ in how they go through a segment; what they read is the same. Column-first is the default
(`mate.search.column_first`), Algorithm 1 of the paper is `mate.search.algorithm_1`, and what it is compared with lives
in `baselines.systems`. All but MCR JOSIE are exact: a table that they leave out joins no more key tuples than the k-th.

A ranking by usefulness comes on top of any strategy. Joinability bounds usefulness, so that a strategy is run again,
for tables that were not found yet and join enough key tuples to be among the k most useful, until there are none.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.errors import ChangedError, QueryError
from mate.hashing import Keys, SuperKeyHash, or_aggregate
from mate.lake.base import Ids, Index
from mate.lake.folder import LakeFolder
from mate.lake.records import TableInfo
from mate.lake.segment import SearchSegment
from mate.search.best import Best, Ranked
from mate.search.evidence import Evidence, Measured, measure, usefulness
from mate.search.evidence.names import similarity
from mate.search.evidence.ranking import JOINABILITY, USEFULNESS, Rank, check_ranking, floor
from mate.search.query import KeyTuples, QueryTable, from_arrow, from_pandas, initial_column, key_tuples, read_query
from mate.search.results import Matches, Result, SearchResult
from mate.search.statistics import Statistics
from mate.values.parallel import at_once
from mate.values.token_ids import token_ids
from mate.work import Work, current_work

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

    AnyQuery: TypeAlias = QueryTable | str | PathLike[str] | pd.DataFrame | pa.Table


Out = TypeVar("Out")

ATTEMPTS = 10
"""How often a search is repeated that met a change of the index."""

WAVE = 4
"""Segments that are searched at the same time."""

WORTH_THREADS = 100_000
"""Directory entries of the key's values from which a wave of segments is searched in threads."""

ROUNDS_GROW = 4
"""How many times more tables each further round of a ranking by usefulness may find."""

READ_TOGETHER = 100
"""Further tables that an index may read along with one that is measured."""

PARTS_KEPT = 8
"""Segments of which the query's values are kept, for rounds, evidence and matches."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How a search is done; nothing but the first four changes the answer."""

    k: int = 10
    exclude: frozenset[int] = frozenset()
    """Tables that are not wanted, such as the query's own."""
    rank: str = JOINABILITY
    """What the best tables are: ``joinability``, the paper's, or ``usefulness`` (`mate.search.evidence.ranking`)."""
    names: bool = True
    """Whether the names of columns and tables play a part among equally useful tables."""
    hash_name: str | None = None
    """Which of the index's hash functions is the row filter; the first one unless named."""
    bits: int | None = None
    row_filter: bool = True
    """Off: no super key is used, as in SCR."""
    initial_column: str | None = None
    """How the initial column is chosen: see `mate.search.query.STRATEGIES`, or the name of a key column. Unless given,
    as in the paper, by cardinality; column-first search, which has one in databases only, takes that with the fewest
    pairs."""
    table_filters: bool = True
    """Rules 1 and 2 of section 6.2."""
    semi_join: bool = False
    """Drop key tuples with a value that the index does not have before Algorithm 1 or a relative of it begins. The
    paper does not; column-first search always does."""
    tight_bound: bool = False
    """Algorithm 1 and its relatives: bound a table by the distinct key tuples among its candidates, column by column,
    not by its postings as the paper does."""
    threads: bool = True
    """Whether a large search may use several threads; off where many searches keep all cores busy anyway."""


@dataclass(frozen=True)
class Search:
    """One search: the query in the index's tokens, the settings, what was counted, and the best tables so far."""

    index: Index
    key: KeyTuples
    settings: SearchSettings
    statistics: Statistics
    ids: Ids
    """Ids of the query's distinct tokens (`key.tokens`)."""
    best: Best = field(repr=False)
    change: int = 0
    """Number of the index's last change when it began."""
    kept: dict[int, Located] = field(default_factory=dict, repr=False)
    """Where segments have the query's values, by the identity of the segment."""
    work: Work = field(default_factory=current_work, repr=False)
    """How far it is, and whether it is still wanted."""
    column_first: bool = False
    """Whether it is column-first search: key tuples with a value that the index does not have are always dropped, and a
    database may bound tables by looking at whole rows. The paper's systems go by postings alone."""
    intersects: bool = False
    """Whether the posting lists of all key columns are intersected by row, or the initial one's fetched."""
    cache: dict[str, Any] = field(default_factory=dict, repr=False)
    """What the index keeps until the search ends, for further rounds."""

    @property
    def measures(self) -> bool:
        """Whether every table that is found will be measured as a whole."""
        return self.settings.rank == USEFULNESS

    @property
    def k(self) -> int:
        """How many tables are wanted, at most as many as there are."""
        return len(self.best.score)

    @property
    def kth(self) -> int:
        """Score that a table needs to exceed to be among the answers: 0 while there is room."""
        return self.best.kth

    @property
    def exclude(self) -> frozenset[int]:
        """Tables that are not wanted."""
        return self.settings.exclude

    @property
    def table_filters(self) -> bool:
        """Whether tables may be left out by their bounds."""
        return self.settings.table_filters

    @cached_property
    def postings(self) -> Ids:
        """Posting counts of the query's distinct tokens in the whole index."""
        return self.index.posting_counts(self.ids, self.key.tokens)

    @cached_property
    def met(self) -> npt.NDArray[np.bool_]:
        """Which of the query's distinct tokens the segments searched so far have."""
        return np.zeros(len(self.ids), np.bool_)

    @property
    def semi_joins(self) -> bool:
        """Whether key tuples with a value that the index does not have are dropped before anything is fetched."""
        return self.column_first or self.settings.semi_join

    @cached_property
    def known(self) -> Ids:
        """Key tuples all of whose values the index has; all of them without a semi-join."""
        if not self.semi_joins:
            return np.arange(len(self.key))
        return np.flatnonzero((self.postings[self.key.place] > 0).all(axis=1))

    @property
    def token_ids(self) -> Ids:
        """Token ids of the known key tuples."""
        return self.ids[self.key.place[self.known]]

    @cached_property
    def initial(self) -> int:
        """The key column that Algorithm 1 and its relatives begin with (section 6.1)."""
        usual = "pairs" if self.column_first else "cardinality"
        initial = initial_column(self.key, self.settings.initial_column or usual, self.postings)
        values = self.key.place[self.known, initial]
        self.statistics.initial_column = self.key.columns[initial]
        self.statistics.postings = int(self.postings[np.unique(values)].sum())
        self.statistics.pairs = int(self.postings[values].sum())
        return initial

    @property
    def initial_postings(self) -> int:
        """How many postings the values of the initial column have in the index."""
        return int(self.postings[np.unique(self.key.place[self.known, self.initial])].sum())

    @cached_property
    def hash_number(self) -> int | None:
        """Which hash function filters rows; None: no row is filtered."""
        if not self.settings.row_filter:
            return None
        return self.index.manifest.hash_number(self.settings.hash_name, self.settings.bits)

    @cached_property
    def all_tuple_keys(self) -> Keys:
        """The super key of every key tuple of the query: the OR of the hashes of its values."""
        assert self.hash_number is not None
        spec = self.index.manifest.hashes[self.hash_number]
        self.statistics.hash = str(spec)
        place = self.key.place
        hashes = spec.function().hash(self.key.tokens)[place.ravel()]
        return or_aggregate(hashes, np.arange(0, place.size + 1, place.shape[1]))

    def tuple_hashes(self, function: SuperKeyHash) -> Keys:
        """Return the hashes of the values of the known key tuples: ``uint64[tuples, key columns, words]``."""
        return function.hash(self.key.tokens)[self.key.place[self.known]]

    def waves(self) -> Iterator[Sequence[SegmentSearch]]:
        """Yield the searches of segments that may be done at the same time; the next ones go by what these found.

        The most promising segment comes first. Always as many in a wave: what is pruned never depends on the machine.
        """
        if not isinstance(self.index, LakeFolder):
            yield from ([part] for part in self._fetched())  # a database decides by the k-th score which ones follow
            return
        ordered = sorted(map(self.part, self.index.search_segments(self)), key=lambda part: -len(part.tuples))
        for first in range(0, len(ordered), WAVE):
            yield ordered[first : first + WAVE]

    def at_once(self, task: Callable[..., Out], *items: Iterable[Any]) -> list[Out]:
        """Return what a task makes of items: at the same time, or one after the other if the search is to have one
        thread. What is searched, and what is pruned, is the same."""
        return at_once(task, *items) if self.settings.threads else list(map(task, *items))

    def _fetched(self) -> Iterator[SegmentSearch]:
        """Yield the searches of what a database sends, which takes its time."""
        segments = self.index.search_segments(self)
        while True:
            with self.statistics.phase("fetch postings"):
                segment = next(segments, None)
            if segment is None:
                return
            yield self.part(segment)

    def again(self, above: int, exclude: Sequence[int], room: int) -> Search:
        """Return the same search for other tables, up to `room` of them, that join more key tuples than `above`."""
        settings = replace(self.settings, exclude=self.exclude.union(exclude))
        best = Best.above(above, room, len(self.key.columns))
        other = copy(self)
        vars(other).update(settings=settings, best=best, statistics=Statistics(system=self.statistics.system))
        return other

    def part(self, segment: SearchSegment) -> SegmentSearch:
        """Return the search of one segment."""
        located = self.kept.get(id(segment))
        if located is None:
            located = self._locate(segment)
            if segment.row_number is None:
                if len(self.kept) >= PARTS_KEPT:
                    self.kept.clear()
                self.kept[id(segment)] = located
        return SegmentSearch(self, segment, located.tuple_id, located.tuples, self.best, located.places, {})

    def _locate(self, segment: SearchSegment) -> Located:
        texts = self.key.tokens if segment.row_number is None else None
        own = segment.places(self.ids, texts)
        np.logical_or(self.met, own >= 0, out=self.met)
        places = own[self.key.place]
        inside = np.flatnonzero((places >= 0).all(axis=1))
        return Located(segment, inside, places[inside], places)


class Located(NamedTuple):
    """The query's values in one segment (see `SegmentSearch`).

    It does not lead back to the search: an index that is closed is freed with the last search, not when cycles are
    collected.
    """

    segment: SearchSegment
    tuple_id: Ids
    tuples: Ids
    places: Ids


class SegmentSearch(NamedTuple):
    """The search of one segment: the query in the segment's own numbers."""

    search: Search
    segment: SearchSegment
    tuple_id: Ids
    """Key tuples all of whose values the segment has."""
    tuples: Ids
    """Their tokens as places in the segment: one row per tuple, one column per key column."""
    best: Best
    """Takes the best tables: the search's own, or a copy where segments are searched at the same time."""
    places: Ids
    """The tokens of all key tuples, `NO_PLACE` for a value that the segment does not have."""
    ahead: dict[str, Any]
    """What the strategy worked out of this segment before it comes to it."""

    @property
    def floor(self) -> int:
        """Score that a table needs to exceed to be among the answers: 0 while there is room, and without filters."""
        return self.best.kth if self.search.table_filters else 0

    @property
    def is_promising(self) -> bool:
        """Whether a table may be among the answers: none joins more key tuples than the segment knows all values of."""
        return len(self.tuples) > self.floor or not self.search.semi_joins

    def entries(self) -> int:
        """Return the number of directory entries of the key's values, those of a value counted once per key tuple."""
        first = self.segment.arrays.entry_first
        return int((first[self.tuples + 1].astype(np.int64) - first[self.tuples].astype(np.int64)).sum())

    def wanted_tables(self) -> Ids:
        """Return the places of the tables that are in use and not excluded, as flags."""
        wanted = self.segment.live.copy()
        if self.search.exclude:
            wanted &= ~np.isin(self.segment.arrays.table_id, list(self.search.exclude))
        return wanted


Rest: TypeAlias = Callable[[], None]
"""What is left to do of a segment."""


class Strategy(Protocol):
    """How a segment is gone through: offers its tables to ``part.best`` and counts what it did."""

    def __call__(self, part: SegmentSearch) -> Rest | None:
        """Offer every table that may be among the k best.

        May return when the k-th score is worth knowing in other segments, with what is left to do.
        """


class NamedStrategy(NamedTuple):
    """A strategy as searches are told of it."""

    name: str
    """Name of the system."""
    visit: Strategy
    ahead: Callable[[SegmentSearch], None] | None = None
    """Notes in ``part.ahead`` what does not depend on the k-th score, while another segment is searched."""
    column_first: bool = False
    """Whether it is column-first search (see `Search`)."""
    intersects: bool = False
    """Whether an index may leave out rows that lack a value of some key column for it."""


def run(
    strategy: NamedStrategy, index: Index, query: AnyQuery, key: Sequence[str], settings: SearchSettings
) -> SearchResult:
    """Search an index with a strategy, and return the answer."""
    return unchanged(index, lambda: _run(strategy, index, as_query(query), key, settings))


def _run(
    strategy: NamedStrategy, index: Index, query: QueryTable, key: Sequence[str], settings: SearchSettings
) -> SearchResult:
    prepared = prepare(strategy.name, index, query, key, settings, column_first=strategy.column_first)
    search = replace(prepared, intersects=strategy.intersects)
    _find(search, strategy)
    if settings.rank == JOINABILITY:
        return answer(search)
    return SearchResult(_most_useful(search, strategy), search.key, search.statistics, settings.rank)


def _find(search: Search, strategy: NamedStrategy) -> None:
    """Find the best tables of all segments."""
    search.work.expect(len(search.index.manifest.segments))
    for wave in search.waves():
        _visit(wave, strategy, search)
        search.work.advance(len(wave))


def _most_useful(search: Search, strategy: NamedStrategy) -> list[Result]:
    """Return the k most useful tables, given those of the highest joinability.

    Names are looked up at the end: they only order tables that are equally useful.
    """
    measures = _Measures(search, search.best.ranked())
    room, more = search.k, len(measures.tables) == search.k
    while more:
        room *= ROUNDS_GROW
        other = search.again(floor(measures.usefulness, search.k, len(search.key)), measures.tables, room)
        _find(other, strategy)
        found = other.best.ranked()
        measures.add(found)
        search.statistics.add_round(other.statistics)
        more = len(found) == room
    described = describe(search, measures.best(search.k), measures)
    search.cache.clear()
    return heapq.nsmallest(search.k, described, key=rank_of)


def unchanged(index: Index, search: Callable[[], SearchResult]) -> SearchResult:
    """Search again as long as the index was changed meanwhile, so that an answer is that of one state."""
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


def _visit(wave: Sequence[SegmentSearch], strategy: NamedStrategy, search: Search) -> None:
    """Go through the segments of a wave, at the same time if that takes long.

    While there is no k-th score that tables could be left out by, the first one's best tables come before all others.
    """
    others, rest, cut = list(wave), None, 0
    is_long = sum(part.entries() for part in others[1:]) >= WORTH_THREADS
    if not search.kth and others[0].is_promising:
        first = partial(strategy.visit, others.pop(0))
        ahead = [partial(strategy.ahead, part) for part in others] if strategy.ahead and is_long else []
        rest = search.at_once(_call, [first, *ahead])[0] if ahead and search.settings.threads else first()
    if not is_long:
        if rest:
            rest()
        for part in others:
            if part.is_promising:
                go_through(part, strategy.visit)
            else:
                cut += 1
    else:
        own = [part._replace(best=search.best.copy()) for part in others if part.is_promising]
        cut = len(others) - len(own)
        tasks: list[Rest] = [partial(go_through, part, strategy.visit) for part in own]
        search.at_once(_call, [rest, *tasks] if rest else tasks)
        search.best.take_all(part.best for part in own)
    search.statistics.count({"segments": len(wave), "segments_cut": cut})


def _call(task: Callable[[], Out]) -> Out:
    return task()


def go_through(part: SegmentSearch, strategy: Strategy) -> None:
    """Offer every table of a segment that may be among the k best, to the end."""
    rest = strategy(part)
    if rest:
        rest()


def prepare(
    system: str,
    index: Index,
    query: AnyQuery,
    key: Sequence[str],
    settings: SearchSettings,
    *,
    column_first: bool = False,
) -> Search:
    """Check what is asked for, and find the distinct key tuples of the query."""
    check_settings(settings)
    statistics = Statistics(system=system, hash="none")
    table = as_query(query)
    with statistics.phase("prepare"):
        tuples = key_tuples(table, key, frozenset(index.manifest.nulls))
        best = Best.empty(min(settings.k, max(1, index.manifest.counts.tables)), len(tuples.columns))
        statistics.key_tuples = len(tuples)
        ids = token_ids(tuples.tokens)
        return Search(index, tuples, settings, statistics, ids, best, index.change, column_first=column_first)


def check_settings(settings: SearchSettings) -> None:
    """Refuse a k or a ranking that makes no sense, whatever the query."""
    k = settings.k
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise QueryError(f"k must be a whole number of at least 1, not {k!r}")
    check_ranking(settings.rank)


def as_query(query: AnyQuery) -> QueryTable:
    """Return whatever stands for a query table as one."""
    if isinstance(query, QueryTable):
        return query
    if hasattr(query, "column_names"):
        return from_arrow(query)
    if hasattr(query, "iloc"):
        return from_pandas(query)
    return read_query(query)


def answer(search: Search) -> SearchResult:
    """Return the best tables in the order of the ranking."""
    ranked = search.best.ranked()
    results = describe(search, ranked, _Measures(search, ranked))
    if search.settings.rank == USEFULNESS:
        results.sort(key=rank_of)
    return SearchResult(results, search.key, search.statistics, search.settings.rank)


def describe(search: Search, ranked: Sequence[Ranked], measures: _Measures) -> list[Result]:
    """Return tables with what people want to know of them, in the order given."""
    with search.statistics.phase("describe tables"):
        infos = {
            table.table_id: table for table in search.index.tables_found(search, [table for _, table, _ in ranked])
        }
        if len(infos) < len(ranked):
            raise ChangedError(f"{search.index.address}: a table was removed while it was searched")
    search.statistics.known_tuples = int(search.met[search.key.place].all(axis=1).sum())
    results = []
    for score, table_id, mapping in ranked:
        table = infos[table_id]
        names = table.column_names()
        pairs = zip(search.key.columns, (names[column] for column in mapping), strict=True)
        matches = partial(find_matches, search, table_id, mapping)
        evidence = partial(_evidence, search, measures, table, mapping)
        results.append(Result(table, score, dict(pairs), mapping, matches, evidence, search.change))
    return results


def rank_of(result: Result) -> Rank:
    """Return a table's place in the order of usefulness."""
    return Rank.of(result.evidence, result.table_id)


class _Measures:
    """How the tables that were found hold the key: measured as it is asked for, several tables at a time."""

    def __init__(self, search: Search, ranked: Sequence[Ranked]) -> None:
        self._search = search
        self._ranked = {table: (score, table, mapping) for score, table, mapping in ranked}
        self._waiting = dict(self._ranked)
        self._known: dict[int, Measured] = {}

    @property
    def tables(self) -> list[int]:
        """Numbers of the tables."""
        return list(self._ranked)

    @property
    def usefulness(self) -> list[float]:
        """How useful each of them is."""
        keys = len(self._search.key)
        return [usefulness(self.of(table), keys) for table in self._ranked]

    def add(self, ranked: Sequence[Ranked]) -> None:
        """Add tables that a further round found, and measure them."""
        added = {table: (score, table, mapping) for score, table, mapping in ranked}
        self._ranked |= added
        self._waiting |= added
        for table in added:
            self.of(table)

    def best(self, k: int) -> list[Ranked]:
        """Return those that are no less useful than the k-th."""
        values = self.usefulness
        least = min(heapq.nlargest(k, values), default=0.0)
        return [ranked for ranked, value in zip(self._ranked.values(), values, strict=True) if value >= least]

    def of(self, table_id: int) -> Measured:
        """Measure a table, and those that are read along with it."""
        if table_id not in self._known:
            with self._search.statistics.phase("evidence"):
                self._read(table_id)
        return self._known[table_id]

    def _read(self, table_id: int) -> None:
        search = self._search
        first = self._waiting.pop(table_id)
        wanted = [first, *islice(self._waiting.values(), READ_TOGETHER)]
        found = search.index.whole_tables(search, [table for _, table, _ in wanted])
        if not search.measures:  # asked for after the search
            search.index.check_unchanged(search.change)
        for (_, table, mapping), (segment, place) in zip(wanted, found, strict=False):
            search.work.check()
            search.statistics.count({"tables_measured": 1})
            self._known[table] = measure(segment.arrays, place, search.part(segment).tuples, mapping)
            self._waiting.pop(table, None)


def _evidence(search: Search, measures: _Measures, table: TableInfo, mapping: tuple[int, ...]) -> Evidence:
    """Return what speaks for joining with a table under a mapping."""
    measured = measures.of(table.table_id)
    return Evidence(
        containment=measured.joinability / len(search.key),
        uniqueness=measured.uniqueness,
        fan_out=measured.fan_out,
        most_fan_out=measured.most_fan_out,
        chance=measured.chance,
        names=similarity(search.key.columns, table, mapping) if search.settings.names else None,
        joinability=measured.joinability,
        key_tuples=len(search.key),
    )


def match_table(
    index: Index, query: AnyQuery, key: Sequence[str], table_id: int, *, names: bool = True
) -> SearchResult:
    """Return how one table of the index joins with the query; no result if it does not."""
    settings = SearchSettings(k=1, row_filter=False, names=names)
    return unchanged(index, lambda: _match_table(index, as_query(query), key, table_id, settings))


def _match_table(
    index: Index, query: QueryTable, key: Sequence[str], table_id: int, settings: SearchSettings
) -> SearchResult:
    from mate.search.column_first import column_first

    search = prepare("column-first", index, query, key, settings, column_first=True)
    found = index.table_segment(search, table_id)
    if found is not None:
        alone = np.zeros(len(found.segment.live), np.bool_)
        alone[found.place] = True
        part = search.part(replace(found.segment, live=alone))
        if len(part.tuples):
            go_through(part, column_first)
    return answer(search)


def find_matches(search: Search, table_id: int, mapping: tuple[int, ...]) -> Matches:
    """Return which key tuple joins with which row of a table under a mapping."""
    from mate.search.matching import matches

    found = search.index.table_segment(search, table_id)
    search.index.check_unchanged(search.change)
    if found is None:
        return Matches(np.empty(0, np.int64), np.empty(0, np.int64))
    part = search.part(found.segment)
    tuples, rows = matches(found.segment.arrays, found.place, part.tuples, mapping)
    numbers = found.segment.row_number
    if numbers is not None:
        rows = numbers[found.segment.arrays.table_row_first[found.place] + rows]
    return Matches(part.tuple_id[tuples], rows)
