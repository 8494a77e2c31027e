"""One search: the query in the numbers of an index (`Search`), and in those of one segment (`SegmentSearch`).

query table -> distinct key tuples -> ids of their tokens -> by segment: places of these tokens in its dictionary
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from mate.hashing import Keys, SuperKeyHash, or_aggregate
from mate.lake.base import Ids, Index
from mate.lake.segment import SearchSegment
from mate.search.best import Best
from mate.search.evidence.ranking import USEFULNESS
from mate.search.query import KeyTuples, QueryTable, as_query, initial_column, key_tuples
from mate.search.settings import SearchSettings
from mate.search.statistics import Statistics
from mate.values.parallel import at_once
from mate.values.token_ids import token_ids
from mate.work import Work, current_work

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    import pyarrow as pa

    AnyQuery: TypeAlias = QueryTable | str | PathLike[str] | pd.DataFrame | pa.Table

Out = TypeVar("Out")

AT_ONCE = 4
"""Segments that are searched at the same time."""

PARTS = 4
"""Parts of many tables that are searched at the same time. Always so many: pruning never depends on the machine."""

CACHED_SEGMENTS = 8
"""Segments whose places of the query's tokens are cached, for further rounds, evidence and matches."""


@dataclass
class Search:
    """The query in the index's tokens, the settings, what was counted, and the best tables so far."""

    index: Index
    key: KeyTuples
    settings: SearchSettings
    statistics: Statistics
    ids: Ids
    """Ids of the query's distinct tokens (`key.tokens`)."""
    best: Best = field(repr=False)
    change: int = 0
    """Number of the index's last change when the search began."""
    column_first: bool = False
    """Whether this is column-first search: it always semi-joins, and a database may bound tables by looking at whole
    rows. The paper's systems go by postings alone."""
    intersects: bool = False
    """Whether the posting lists of all key columns are intersected by row, or only the initial one's fetched."""
    work: Work = field(default_factory=current_work, repr=False)
    """Progress and cancellation."""
    cache: dict[str, Any] = field(default_factory=dict, repr=False)
    """What the index keeps until the search ends, for further rounds."""
    _segments: dict[int, tuple[SearchSegment, Ids, Ids, Ids]] = field(default_factory=dict, repr=False)
    """Fields of a `SegmentSearch`, by the identity of the segment.

    None leads back to the search, so that an index that is closed is freed with the last one, not when cycles are.
    """

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
        return self.settings.filters.table_filters

    @property
    def semi_joins(self) -> bool:
        """Whether key tuples with a value that the index does not have are dropped before anything is fetched."""
        return self.column_first or self.settings.filters.semi_join

    @cached_property
    def postings(self) -> Ids:
        """Posting counts of the query's distinct tokens in the whole index."""
        return self.index.posting_counts(self.ids, self.key.tokens)

    @cached_property
    def tokens_met(self) -> npt.NDArray[np.bool_]:
        """Which of the query's distinct tokens the segments searched so far have."""
        return np.zeros(len(self.ids), np.bool_)

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
        initial = initial_column(self.key, self.settings.filters.initial_column or usual, self.postings)
        values = self.key.place[self.known, initial]
        self.statistics.initial_column = self.key.columns[initial]
        self.statistics.postings = int(self.postings[np.unique(values)].sum())
        self.statistics.pairs = int(self.postings[values].sum())
        return initial

    @cached_property
    def hash_number(self) -> int | None:
        """Which hash function filters rows; None: no row is filtered."""
        filters = self.settings.filters
        return self.index.manifest.hash_number(filters.hash_name, filters.bits) if filters.row_filter else None

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

    def next_round(self, above: int, exclude: Sequence[int], room: int) -> Search:
        """Return the same search for other tables, up to `room` of them, that join more key tuples than `above`.

        What is known of the query stays known.
        """
        other = copy(self)
        other.settings = replace(self.settings, exclude=self.exclude.union(exclude))
        other.best = Best.above(above, room, len(self.key.columns))
        other.statistics = Statistics(system=self.statistics.system)
        return other

    def segment_groups(self) -> Iterator[Sequence[SegmentSearch]]:
        """Yield searches of segments that may run at the same time; the next ones use the k-th score of these.

        The most promising segment comes first. Groups have the same size on all machines, and so what is pruned is the
        same.
        """
        if not self.index.has_directory:
            yield from ([part] for part in self._fetched())  # a database decides by the k-th score which ones follow
            return
        ordered = sorted(map(self.part, self.index.search_segments(self)), key=lambda part: -len(part.tuples))
        for first in range(0, len(ordered), AT_ONCE):
            yield ordered[first : first + AT_ONCE]

    def at_once(self, task: Callable[..., Out], *items: Iterable[Any]) -> list[Out]:
        """Map a task over items, in threads unless the settings have only one."""
        return at_once(task, *items) if self.settings.threads else list(map(task, *items))

    def _fetched(self) -> Iterator[SegmentSearch]:
        """Yield the searches of the segments that a database fills."""
        segments = self.index.search_segments(self)
        while True:
            with self.statistics.phase("fetch postings"):
                segment = next(segments, None)
            if segment is None:
                return
            yield self.part(segment)

    def part(self, segment: SearchSegment) -> SegmentSearch:
        """Return the search of one segment."""
        known = self._segments.get(id(segment))
        if known is None:
            known = segment, *self._places(segment)
            if segment.row_number is None:
                if len(self._segments) >= CACHED_SEGMENTS:
                    self._segments.clear()
                self._segments[id(segment)] = known
        return SegmentSearch(self, *known, self.best, {})

    def _places(self, segment: SearchSegment) -> tuple[Ids, Ids, Ids]:
        """Return the key tuples that a segment has, as numbers and as places, and the places of all."""
        texts = self.key.tokens if segment.row_number is None else None
        own = segment.places(self.ids, texts)
        np.logical_or(self.tokens_met, own >= 0, out=self.tokens_met)
        places = own[self.key.place]
        inside = np.flatnonzero((places >= 0).all(axis=1))
        return inside, places[inside], places


class SegmentSearch(NamedTuple):
    """The search of one segment: the query in the segment's own numbers."""

    search: Search
    segment: SearchSegment
    tuple_id: Ids
    """Key tuples all of whose values the segment has."""
    tuples: Ids
    """Their tokens as places in the segment: one row per tuple, one column per key column."""
    all_tuples: Ids
    """The tokens of all key tuples, `NO_PLACE` for a value that the segment does not have."""
    best: Best
    """Takes the best tables: the search's own, or a copy where segments are searched at the same time."""
    prefetched: dict[str, Any]
    """What the system computed for this segment while another one was searched."""

    @property
    def floor(self) -> int:
        """Score that a table needs to exceed to be among the answers: 0 while there is room, and without filters."""
        return self.best.kth if self.search.table_filters else 0

    @property
    def is_promising(self) -> bool:
        """Whether a table may be among the answers: none joins more key tuples than the segment knows all values of."""
        return len(self.tuples) > self.floor or not self.search.semi_joins

    def in_parts(self, parts: int, offer: Callable[[slice, Best], None]) -> None:
        """Let each part of an order of tables be offered to a heap of its own, and merge these."""
        if parts == 1:
            offer(slice(0, None, 1), self.best)
            return
        copies = [self.best.copy() for _ in range(parts)]
        self.search.at_once(offer, [slice(number, None, parts) for number in range(parts)], copies)
        self.best.take_all(copies)

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
    settings.check()
    statistics = Statistics(system=system, hash="none")
    table = as_query(query)
    with statistics.phase("prepare"):
        tuples = key_tuples(table, key, frozenset(index.manifest.nulls))
        best = Best.empty(min(settings.k, max(1, index.manifest.counts.tables)), len(tuples.columns))
        statistics.key_tuples = len(tuples)
        return Search(index, tuples, settings, statistics, token_ids(tuples.tokens), best, index.change, column_first)
