"""The one engine: a query is prepared once, a *strategy* goes through segment after segment, the best tables are kept.

Strategies differ in how they go through a segment; what they read is the same. Column-first is the default
(`mate.search.column_first`), Algorithm 1 of the paper is `mate.search.algorithm_1`, and what it is compared with lives
in `baselines.systems`. All but MCR JOSIE are exact: a table that they leave out joins no more key tuples than the k-th.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.errors import QueryError
from mate.hashing import Keys, or_aggregate
from mate.index.base import Ids, Index
from mate.index.lake import Lake
from mate.index.segment import SearchSegment
from mate.search.best import Best
from mate.search.query import KeyTuples, QueryTable, from_arrow, from_pandas, initial_column, key_tuples, read_query
from mate.search.results import Matches, Result, SearchResult
from mate.search.statistics import Statistics
from mate.values.token_ids import token_ids

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

    AnyQuery: TypeAlias = QueryTable | str | PathLike[str] | pd.DataFrame | pa.Table


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How a search is done; nothing here but `k` and `exclude` changes the answer."""

    k: int = 10
    exclude: frozenset[int] = frozenset()
    """Tables that are not wanted, such as the query's own."""
    hash_name: str | None = None
    """Which of the index's hash functions is the row filter; the first one unless named."""
    bits: int | None = None
    row_filter: bool = True
    """Off: no super key is used, as in SCR."""
    initial_column: str = "pairs"
    """How the initial column is chosen: see `mate.search.query.STRATEGIES`, or the name of a key column."""
    table_filters: bool = True
    """Rules 1 and 2 of section 6.2."""
    tight_bound: bool = True
    """Bound a table by the distinct key tuples among its candidates, column by column, not by its postings."""


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
    lock: Lock = field(default_factory=Lock, repr=False, compare=False)
    """Held while `best` is copied or changed, where segments are searched in threads."""

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

    @cached_property
    def known(self) -> Ids:
        """Key tuples all of whose values the index has."""
        return np.flatnonzero((self.postings[self.key.place] > 0).all(axis=1))

    @property
    def token_ids(self) -> Ids:
        """Token ids of the known key tuples."""
        return self.ids[self.key.place[self.known]]

    @cached_property
    def initial(self) -> int:
        """The key column that Algorithm 1 and its relatives begin with (section 6.1)."""
        initial = initial_column(self.key, self.settings.initial_column, self.postings)
        values = self.key.place[self.known, initial]
        self.statistics.initial_column = self.key.columns[initial]
        self.statistics.postings = int(self.postings[np.unique(values)].sum())
        self.statistics.pairs = int(self.postings[values].sum())
        return initial

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

    def tuple_keys(self) -> Keys:
        """Return the super keys of the known key tuples."""
        return self.all_tuple_keys[self.known]

    def parts(self) -> Iterable[SegmentSearch]:
        """Return the search of each segment, most promising first where all of them are at hand."""
        parts = map(self.part, self.index.search_segments(self))
        if not isinstance(self.index, Lake):
            return parts  # a database decides by the k-th score which ones follow
        return sorted(parts, key=lambda part: -len(part.tuples))

    def part(self, segment: SearchSegment) -> SegmentSearch:
        """Return the search of one segment."""
        texts = self.key.tokens if segment.row_number is None else None
        own = segment.places(self.ids, texts)
        np.logical_or(self.met, own >= 0, out=self.met)
        places = own[self.key.place]
        inside = np.flatnonzero((places >= 0).all(axis=1))
        return SegmentSearch(self, segment, inside, places[inside])


class SegmentSearch(NamedTuple):
    """The search of one segment: the query in the segment's own numbers."""

    search: Search
    segment: SearchSegment
    tuple_id: Ids
    """Key tuples all of whose values the segment has."""
    tuples: Ids
    """Their tokens as places in the segment: one row per tuple, one column per key column."""

    def wanted_tables(self) -> Ids:
        """Return the places of the tables that are in use and not excluded, as flags."""
        wanted = self.segment.live.copy()
        if self.search.exclude:
            wanted &= ~np.isin(self.segment.arrays.table_id, list(self.search.exclude))
        return wanted


class Strategy(Protocol):
    """How a segment is gone through: offers its tables to ``part.search.best`` and counts what it did."""

    def __call__(self, part: SegmentSearch) -> None:
        """Offer every table that may be among the k best."""


def run(
    system: str, strategy: Strategy, index: Index, query: AnyQuery, key: Sequence[str], settings: SearchSettings
) -> SearchResult:
    """Search an index with a strategy, and return the answer."""
    search = prepare(system, index, query, key, settings)
    for part in search.parts():
        search.statistics.segments += 1
        # No table of a segment joins more key tuples than the segment knows all values of.
        if len(part.tuples) <= (search.kth if search.table_filters else 0):
            search.statistics.segments_cut += 1
            continue
        strategy(part)
    return answer(search)


def prepare(system: str, index: Index, query: AnyQuery, key: Sequence[str], settings: SearchSettings) -> Search:
    """Check what is asked for, and find the distinct key tuples of the query."""
    k = settings.k
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise QueryError(f"k must be a whole number of at least 1, not {k!r}")
    statistics = Statistics(system=system, hash="none")
    table = as_query(query)
    with statistics.phase("prepare"):
        tuples = key_tuples(table, key, frozenset(index.manifest.nulls))
        best = Best.empty(min(k, max(1, index.manifest.counts.tables)), len(tuples.columns))
        statistics.key_tuples = len(tuples)
        return Search(index, tuples, settings, statistics, token_ids(tuples.tokens), best)


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
    """Return the best tables with what people want to know of them."""
    with search.statistics.phase("describe tables"):
        ranked = search.best.ranked()
        infos = {table.table_id: table for table in search.index.tables([table for _, table, _ in ranked])}
    search.statistics.known_tuples = int(search.met[search.key.place].all(axis=1).sum())
    results = []
    for score, table_id, mapping in ranked:
        names = infos[table_id].column_names()
        pairs = zip(search.key.columns, (names[column] for column in mapping), strict=True)
        find = partial(find_matches, search, table_id, mapping)
        results.append(Result(infos[table_id], score, dict(pairs), mapping, find))
    return SearchResult(results, search.key, search.statistics)


def match_table(index: Index, query: AnyQuery, key: Sequence[str], table_id: int) -> SearchResult:
    """Return how one table of the index joins with the query; no result if it does not."""
    from mate.search.column_first import column_first

    search = prepare("column-first", index, query, key, SearchSettings(k=1, row_filter=False))
    found = index.table_segment(search, table_id)
    if found is not None:
        alone = np.zeros(len(found.segment.live), np.bool_)
        alone[found.place] = True
        part = search.part(replace(found.segment, live=alone))
        if len(part.tuples):
            column_first(part)
    return answer(search)


def find_matches(search: Search, table_id: int, mapping: tuple[int, ...]) -> Matches:
    """Return which key tuple joins with which row of a table under a mapping."""
    from mate.search.matching import matches

    found = search.index.table_segment(search, table_id)
    if found is None:
        return Matches(np.empty(0, np.int64), np.empty(0, np.int64))
    part = search.part(found.segment)
    tuples, rows = matches(found.segment.arrays, found.place, part.tuples, mapping)
    numbers = found.segment.row_number
    if numbers is not None:
        rows = numbers[found.segment.arrays.table_row_first[found.place] + rows]
    return Matches(part.tuple_id[tuples], rows)
