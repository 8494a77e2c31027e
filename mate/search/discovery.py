"""The online phase, Algorithm 1 of the paper: initialise, filter tables, filter rows, score, top-k.

It runs on arrays, a block of tables at a time, so that the table filters still save work while nothing loops over
postings. The row filter is part of the look-up: the store returns only postings whose super key covers a key
tuple. Answers are exact whatever the hash function, and also without one. On an index with a flat file the same steps
run inside one loop instead: see `mate.search.scan`.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from mate.errors import QueryError
from mate.hashing import or_aggregate
from mate.search.joinability import Matches, RowCells, TableScore, dense, joined
from mate.search.joinability import check as check_candidates
from mate.search.joinability import score as score_tables
from mate.search.query import KeyTuples, QueryTable, from_arrow, from_pandas, initial_column, key_tuples, read_query
from mate.search.scan import Scan
from mate.store.base import Candidates, Ids, IndexStore, Probes, TableCounts, TableInfo

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    import pyarrow as pa

    AnyQuery: TypeAlias = QueryTable | str | PathLike[str] | pd.DataFrame | pa.Table

FIRST_BLOCK = 4_000
"""Candidates that are checked before the table filters are asked for the first time; later blocks grow."""

MOST_PAIRS = 5_000_000
MOST_FILTERED_PAIRS = 50_000_000
"""Pairs of posting and key tuple that one look-up may return, and may run through the row filter."""

_MOST_FLAGS = 400_000_000
"""Up to this many flags are set and counted, which is faster than sorting."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How a search is done; nothing here changes the scores."""

    k: int = 10
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
    exclude: frozenset[int] = frozenset()
    """Tables that are not wanted, such as the query's own."""


@dataclass(slots=True)
class Statistics:
    """What a search did: the funnel from postings to answers, and where the time went."""

    system: str = "mate"
    hash: str = ""
    initial_column: str = ""
    key_tuples: int = 0
    known_tuples: int = 0
    """Key tuples all of whose values occur in the index at all."""
    postings: int = 0
    """Posting list items of the initial column's values."""
    pairs: int = 0
    """Postings paired with the key tuples that share their value: what the row filter decides on."""
    candidates: int = 0
    """Pairs that passed the row filter, of the tables that the search came to."""
    tables: int = 0
    """Tables with a posting of the initial column; with the tight bound, with a candidate."""
    tables_cut_rule_1: int = 0
    tables_cut_rule_2: int = 0
    tables_checked: int = 0
    rows_fetched: int = 0
    true_positives: int = 0
    false_positives: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def checked(self) -> int:
        """Candidates that were checked exactly."""
        return self.true_positives + self.false_positives

    @property
    def precision(self) -> float | None:
        """TP / (TP + FP) over the candidates that were checked; None if there were none."""
        return self.true_positives / self.checked if self.checked else None

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time of the block to a phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Result:
    """One joinable table."""

    table: TableInfo
    joinability: int
    mapping: dict[str, str]
    """Key column of the query to column of the table."""
    column_ids: tuple[int, ...]
    find_matches: Callable[[], Matches] = field(repr=False, compare=False)

    @cached_property
    def matches(self) -> Matches:
        """Which key tuple of the query joins with which row of the index; found when first asked for."""
        return self.find_matches()

    @property
    def tuple_ids(self) -> Ids:
        """The key tuples of `matches`."""
        return self.matches.tuple_id

    @property
    def row_ids(self) -> Ids:
        """The rows of `matches`, parallel to the key tuples."""
        return self.matches.row_id

    @property
    def table_id(self) -> int:
        """Number of the table in the index."""
        return self.table.table_id


@dataclass(frozen=True)
class SearchResult:
    """The answer to a search, best table first."""

    results: list[Result]
    key: KeyTuples
    statistics: Statistics

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)


class Prepared(NamedTuple):
    """A query in the index's numbers: its known key tuples as tokens, and the tokens' posting counts."""

    key: KeyTuples
    known: Ids
    """Which of the key tuples these are."""
    tuples: Ids
    """Token numbers, one row a known tuple."""
    postings: Ids
    """Posting counts of the query's distinct tokens, 0 for those that the index does not have."""
    initial: int


def search(
    store: IndexStore, query: AnyQuery, key: Sequence[str], k: int = 10, settings: SearchSettings | None = None
) -> SearchResult:
    """Return the k tables of the index with the highest joinability with the query on its key columns."""
    prepared, chosen, statistics = begin(store, query, key, k, settings, "mate")
    probes, number = query_keys(store, prepared, chosen, statistics)
    if store.flat is None:
        scores = _by_block(store, prepared, probes, number, chosen, statistics)
    else:
        known = replace(chosen, exclude=chosen.exclude | set(store.flat_lacks.tolist()))
        keys = None if number is None else store.flat.keys[number]
        scores = Scan(store.flat, prepared, probes, keys, known, statistics).top_k()
        if len(store.flat_lacks):
            scores = _by_block(store, prepared, probes, number, chosen, statistics, store.flat_lacks, scores)
    return answer(store, prepared, scores, statistics)


class Begun(NamedTuple):
    """What every system has before it searches."""

    prepared: Prepared
    settings: SearchSettings
    statistics: Statistics


def begin(
    store: IndexStore, query: AnyQuery, key: Sequence[str], k: int, settings: SearchSettings | None, system: str
) -> Begun:
    """Check what is asked for and prepare the query, for a system of that name."""
    chosen = replace(settings or SearchSettings(), k=k)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise QueryError(f"k must be a whole number of at least 1, not {k!r}")
    table = as_query(query)
    statistics = Statistics(system=system, hash="none")
    with statistics.phase("prepare"):
        return Begun(prepare(store, table, key, chosen, statistics), chosen, statistics)


def _by_block(
    store: IndexStore,
    prepared: Prepared,
    probes: Probes,
    number: int | None,
    settings: SearchSettings,
    statistics: Statistics,
    tables: Ids | None = None,
    held: Sequence[TableScore] = (),
) -> list[TableScore]:
    """Ask the store for candidates, of certain tables if given, and keep the best, with those held already."""
    source = candidate_source(store, prepared, probes, number, settings, statistics, tables)
    return top_k(source, prepared, settings, statistics, lambda row_ids: dense(store.rows(row_ids)), held)


def as_query(query: AnyQuery) -> QueryTable:
    """Return whatever stands for a query table as one."""
    if isinstance(query, QueryTable):
        return query
    if hasattr(query, "column_names"):
        return from_arrow(query)
    if hasattr(query, "iloc"):
        return from_pandas(query)
    return read_query(query)


def prepare(
    store: IndexStore, query: QueryTable, key: Sequence[str], settings: SearchSettings, statistics: Statistics
) -> Prepared:
    """Look the query's tokens up and choose the initial column (section 6.1)."""
    tuples = key_tuples(query, key, frozenset(store.manifest.nulls))
    entries = store.tokens(tuples.tokens)
    ids, postings = np.full(len(tuples.tokens), -1), np.zeros(len(tuples.tokens), np.int64)
    ids[entries.place], postings[entries.place] = entries.token_id, entries.postings
    known = np.flatnonzero((postings[tuples.place] > 0).all(axis=1))
    initial = initial_column(tuples, settings.initial_column, postings)
    statistics.key_tuples, statistics.known_tuples = len(tuples), len(known)
    statistics.initial_column = tuples.columns[initial]
    values = tuples.place[known, initial]
    statistics.postings = int(postings[np.unique(values)].sum())
    statistics.pairs = int(postings[values].sum())
    return Prepared(tuples, known, ids[tuples.place[known]], postings, initial)


def query_keys(
    store: IndexStore, prepared: Prepared, settings: SearchSettings, statistics: Statistics
) -> tuple[Probes, int | None]:
    """Return the key tuples as probes, with the OR of their hashes if the index is to filter rows by it."""
    number = store.manifest.hash_number(settings.hash_name, settings.bits) if settings.row_filter else None
    with statistics.phase("hash query"):
        keys = np.zeros((len(prepared.known), 0), np.uint64)
        if number is not None:
            spec = store.manifest.hashes[number]
            statistics.hash = str(spec)
            place = prepared.key.place[prepared.known]
            hashes = spec.function().hash(prepared.key.tokens)[place.ravel()]
            keys = or_aggregate(hashes, np.arange(0, place.size + 1, place.shape[1]))
    return Probes(prepared.tuples[:, prepared.initial], np.arange(len(prepared.known)), keys), number


class Ranked(NamedTuple):
    """Tables in the order of the search, most promising first."""

    table_id: Ids
    limit: Ids
    """What rule 1 compares: no table from here on can join more key tuples than this."""
    matched: Ids
    """What rule 2 compares: postings of the table that passed the row filter."""
    weight: Ids
    """How much work the table is: its candidates, or an upper bound of them."""


class CandidateSource(Protocol):
    """Where the candidates of a block of tables come from."""

    ranked: Ranked

    def block(self, first: int, stop: int) -> Iterator[Candidates]:
        """Yield the candidates of the tables ``ranked[first:stop]``, in pieces that fit into memory."""


class WholeSource:
    """All candidates fetched at once: one look-up, and bounds from the candidates themselves."""

    def __init__(
        self,
        store: IndexStore,
        prepared: Prepared,
        candidates: Candidates,
        settings: SearchSettings,
        statistics: Statistics,
        only: Ids | None = None,
    ) -> None:
        statistics.candidates += len(candidates.row_id)
        tables, place, members = np.unique(candidates.table_id, return_inverse=True, return_counts=True)
        if settings.tight_bound:
            limit = matched = tightest(candidates, place, len(tables))
            statistics.tables += len(tables)
        else:
            counts = store.count_by_table(np.unique(prepared.tuples[:, prepared.initial]))
            counted = np.setdiff1d(counts.table_id, list(settings.exclude))
            counted = counted if only is None else np.intersect1d(counted, only)
            statistics.tables += len(counted)
            # Tables without a single candidate: L_t - r_checked + r_match is 0 for them.
            statistics.tables_cut_rule_2 += len(counted) - len(tables)
            by_table = np.argsort(counts.table_id)
            limit = counts.postings[by_table][np.searchsorted(counts.table_id[by_table], tables)]
            matched = distinct_postings(candidates, place, len(tables))
        order = np.lexsort((tables, -limit))
        self.ranked = Ranked(tables[order], limit[order], matched[order], members[order])
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        sequence = np.argsort(rank[place], kind="stable")
        self._candidates = Candidates(*(column[sequence] for column in candidates))
        self._bounds = np.concatenate([[0], np.cumsum(self.ranked.weight)])

    def block(self, first: int, stop: int) -> Iterator[Candidates]:
        """Yield the block's candidates, in one piece."""
        start, end = self._bounds[first], self._bounds[stop]
        yield Candidates(*(column[start:end] for column in self._candidates))


class TableSource:
    """Candidates fetched table by table, in the order of L_t: for queries with too many pairs to hold at once."""

    def __init__(
        self,
        store: IndexStore,
        prepared: Prepared,
        probes: Probes,
        hash_number: int | None,
        settings: SearchSettings,
        statistics: Statistics,
        only: Ids | None = None,
    ) -> None:
        self._store, self._probes, self._hash_number, self._statistics = store, probes, hash_number, statistics
        values, weights = np.unique(probes.token_id, return_counts=True)
        postings, pairs = store.count_by_table(values), store.count_by_table(values, weights)
        postings = TableCounts(*(column[np.argsort(postings.table_id)] for column in postings))
        pairs = TableCounts(*(column[np.argsort(pairs.table_id)] for column in pairs))
        keep = ~np.isin(postings.table_id, list(settings.exclude))
        keep &= True if only is None else np.isin(postings.table_id, only)
        tables, limit, weight = postings.table_id[keep], postings.postings[keep], pairs.postings[keep]
        # A tuple counts once, and so does a posting.
        limit = np.minimum(limit, len(prepared.known)) if settings.tight_bound else limit
        order = np.lexsort((tables, -limit))
        self.ranked = Ranked(tables[order], limit[order], limit[order], weight[order])
        statistics.tables += len(tables)

    def block(self, first: int, stop: int) -> Iterator[Candidates]:
        """Yield the block's candidates, some key tuples at a time."""
        pairs = int(self.ranked.weight[first:stop].sum())
        parts = max(1, -(-pairs // (MOST_PAIRS if self._hash_number is None else MOST_FILTERED_PAIRS)))
        for part in range(parts):
            chosen = slice(part, None, parts)
            probes = Probes(self._probes.token_id[chosen], self._probes.tuple_id[chosen], self._probes.keys[chosen])
            found = self._store.candidates(probes, self._hash_number, self.ranked.table_id[first:stop])
            self._statistics.candidates += len(found.row_id)
            yield found


def candidate_source(
    store: IndexStore,
    prepared: Prepared,
    probes: Probes,
    number: int | None,
    settings: SearchSettings,
    statistics: Statistics,
    tables: Ids | None = None,
) -> CandidateSource:
    """Fetch the postings of the initial column through the row filter (section 6.3), all at once if they fit."""
    with statistics.phase("fetch and filter"):
        if statistics.pairs > (MOST_PAIRS if number is None else MOST_FILTERED_PAIRS):
            return TableSource(store, prepared, probes, number, settings, statistics, tables)
        found = store.candidates(probes, number, tables) if len(prepared.known) else _no_candidates()
    with statistics.phase("filter tables"):
        return WholeSource(store, prepared, without(found, settings.exclude), settings, statistics, tables)


def _no_candidates() -> Candidates:
    return Candidates(*(np.empty(0, np.int64) for _ in Candidates._fields))


def without(candidates: Candidates, tables: Set[int]) -> Candidates:
    """Return the candidates that are not in these tables."""
    if not tables or not len(candidates.table_id):
        return candidates
    keep = ~np.isin(candidates.table_id, list(tables))
    return Candidates(*(column[keep] for column in candidates))


def tightest(candidates: Candidates, table: Ids, count: int) -> Ids:
    """Return, by table, the most distinct key tuples that have a candidate in one and the same column.

    No mapping that puts the initial key column on that table column can join more.
    """
    bound = np.zeros(count, np.int64)
    if count:
        columns, tuples = int(candidates.column_id.max()) + 1, int(candidates.tuple_id.max()) + 1
        place = (table * columns + candidates.column_id) * tuples + candidates.tuple_id
        cells, hits = _distinct_by(place, tuples, count * columns * tuples)
        np.maximum.at(bound, cells // columns, hits)
    return bound


def _distinct_by(place: Ids, size: int, space: int) -> tuple[Ids, Ids]:
    """Group distinct places by ``place // size``; return the groups and how many distinct places each has."""
    if space <= _MOST_FLAGS:
        seen = np.zeros(space, np.bool_)
        seen[place] = True
        hits = seen.reshape(-1, size).sum(axis=1)
        groups = np.flatnonzero(hits)
        return groups, hits[groups]
    return np.unique(np.unique(place) // size, return_counts=True)


def distinct_postings(candidates: Candidates, table: Ids, count: int) -> Ids:
    """Return, by table, how many postings have a candidate."""
    columns = int(candidates.column_id.max(initial=0)) + 1
    first = np.unique(candidates.row_id * columns + candidates.column_id, return_index=True)[1]
    return np.bincount(table[first], minlength=count).astype(np.int64)


Fetch = Callable[[Ids], RowCells]


def top_k(
    source: CandidateSource,
    prepared: Prepared,
    settings: SearchSettings,
    statistics: Statistics,
    fetch: Fetch,
    held: Sequence[TableScore] = (),
) -> list[TableScore]:
    """Go through the tables, most promising first, and keep the k best (section 6.2), with those held already."""
    ranked = source.ranked
    scores = {score.table_id: score for score in held}
    best = [(score.joinability, -score.table_id) for score in held]
    heapq.heapify(best)
    start, size = 0, FIRST_BLOCK
    while start < len(ranked.table_id):
        kth = best[0][0] if len(best) == settings.k else 0
        if settings.table_filters and ranked.limit[start] <= kth:
            statistics.tables_cut_rule_1 += len(ranked.table_id) - start
            break
        stop = _block_end(ranked, start, settings.k if start == 0 else 1, size)
        for score in _check_block(source, start, stop, kth, prepared, settings, statistics, fetch):
            scores[score.table_id] = score
            heapq.heappush(best, (score.joinability, -score.table_id))
            if len(best) > settings.k:
                del scores[-heapq.heappop(best)[1]]
        start, size = stop, size * 4
    return sorted(scores.values(), key=lambda score: (-score.joinability, score.table_id))


def _block_end(ranked: Ranked, start: int, least: int, size: int) -> int:
    """Return where a block of at least so many tables and about so many candidates ends."""
    total = np.cumsum(ranked.weight[start:])
    end = max(least, int(np.searchsorted(total, size)) + 1)
    fits = int(np.searchsorted(total, MOST_PAIRS))
    return start + min(end, max(1, fits), len(total))


def _check_block(
    source: CandidateSource,
    first: int,
    stop: int,
    kth: int,
    prepared: Prepared,
    settings: SearchSettings,
    statistics: Statistics,
    fetch: Fetch,
) -> list[TableScore]:
    """Check the candidates of a block of tables exactly and score them."""
    pieces = []
    ruled_out = np.empty(0, np.int64)
    if settings.table_filters:
        ruled_out = source.ranked.table_id[first:stop][source.ranked.matched[first:stop] <= kth]
        statistics.tables_cut_rule_2 += len(ruled_out)
    for piece in source.block(first, stop):
        candidates = without(piece, set(ruled_out.tolist()))
        if not len(candidates.row_id):
            continue
        with statistics.phase("fetch rows"):
            cells = fetch(np.unique(candidates.row_id))
        with statistics.phase("check"):
            checked = check_candidates(candidates, cells, prepared.tuples, prepared.initial)
        statistics.rows_fetched += len(cells.row_id)
        statistics.true_positives += len(checked.mapping)
        statistics.false_positives += len(candidates.row_id) - len(checked.mapping)
        pieces.append(checked)
    statistics.tables_checked += stop - first - len(ruled_out)
    if not pieces:
        return []
    # Rows that fit several mappings are looked at again; those of a single piece are still at hand.
    again = fetch if len(pieces) > 1 else lambda _: cells
    with statistics.phase("score"):
        return score_tables(joined(pieces), again, prepared.tuples, prepared.initial)


def match_table(store: IndexStore, query: AnyQuery, key: Sequence[str], table_id: int) -> SearchResult:
    """Return how one table of the index joins with the query; no result if it does not."""
    settings = SearchSettings(k=1)
    statistics = Statistics(hash="none")
    prepared = prepare(store, as_query(query), key, settings, statistics)
    probes, number = query_keys(store, prepared, settings, statistics)
    wanted = np.array([table_id])
    if store.flat is None or table_id in store.flat_lacks:
        scores = _by_block(store, prepared, probes, number, settings, statistics, wanted)
    else:
        keys = None if number is None else store.flat.keys[number]
        scores = Scan(store.flat, prepared, probes, keys, settings, statistics).top_k(wanted)
    return answer(store, prepared, scores, statistics)


def answer(store: IndexStore, prepared: Prepared, scores: list[TableScore], statistics: Statistics) -> SearchResult:
    """Return scores with what people want to know of the tables."""
    with statistics.phase("describe tables"):
        infos = {t.table_id: t for t in store.tables(np.array([s.table_id for s in scores], np.int64))}
    results = []
    for score in scores:
        table = infos[score.table_id]
        names = [table.columns[c] or f"column {c + 1}" for c in score.mapping]
        results.append(
            Result(
                table,
                score.joinability,
                dict(zip(prepared.key.columns, names, strict=True)),
                score.mapping,
                partial(_numbered, score, prepared.known),
            )
        )
    return SearchResult(results, prepared.key, statistics)


def _numbered(score: TableScore, known: Ids) -> Matches:
    """Return what a mapping joins, key tuples numbered as in the query."""
    found = score.matches()
    return Matches(known[found.tuple_id], found.row_id)
