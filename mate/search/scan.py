"""Algorithm 1 over flat arrays, table by table and in place: no candidate leaves the loop that found it.

The search of `mate.search.discovery`, for stores that have a flat file. Posting lists are sorted by row, so that the
part of a list that lies in a table is found without reading it, and a table is bounded before any super key is looked
at: per table column, by the sum over the initial column's values of min(postings there, key tuples with that value).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mate.hashing import Keys
from mate.search import joinability
from mate.search import scan_kernel as kernel
from mate.search.joinability import Matches, TableScore, check, dense
from mate.search.joinability import score as score_tables
from mate.search.scan_kernel import Bench, Groups, Index
from mate.store.base import Ids, Probes
from mate.store.flat import FlatIndex
from mate.values.compiled import is_worth

if TYPE_CHECKING:
    from mate.search.discovery import Prepared, SearchSettings, Statistics

INTERPRETED_PAIRS = 2_000
"""Up to this many pairs the loops are done before the compiler is loaded."""

ROOM = 1_000_000
"""Candidates of a table that are held before they are compared with their rows."""

MAPPINGS = 1_000
"""Mappings of a table that there is room for at first."""

FLAGS = 4_000_000
"""Up to this many pairs of mapping and key tuple are told apart by flags, more by hashing."""

SLOTS = 1_000_000
MASKS = 4_000_000
"""Keys of two columns are counted by bits in tables that need no more than so many slots for pairs of columns, and
words for pairs of column and key tuple; in others as wider keys are."""

BLOCK_PAIRS = 1_000_000
"""Pairs that are looked at in one go; more of them are cut into blocks of tables, and these into parts."""

GROWTH = 2
"""How many times larger than all blocks before it a block is."""

PARTS = 4
"""Parts of a block that are worked on at the same time. Always so many: what is pruned never depends on the machine."""


NO_KEYS = np.zeros((1, 0), np.uint64)
NO_KEYS.setflags(write=False)
"""Stands for the super keys of a search without them; read-only as the others are, or it would be compiled for anew."""


class Best(NamedTuple):
    """The best tables so far: joinability (0: the place is free) and table, and the mappings."""

    held: Ids
    mapping: Ids

    @property
    def kth(self) -> int:
        """What a table must join more than."""
        return int(self.held[:, 0].min())


@dataclass(frozen=True)
class Scan:
    """A search over an index that has a flat file."""

    flat: FlatIndex
    prepared: Prepared
    probes: Probes
    row_keys: Keys | None
    """What the row filter asks for the bits of the probes, by row; None: no row is filtered."""
    settings: SearchSettings
    statistics: Statistics
    _idle: list[Bench] = field(default_factory=list, init=False)
    """Benches of this search that no part of it is using: large arrays take long to come by."""

    def top_k(self, only: Ids | None = None, held: Sequence[TableScore] = ()) -> list[TableScore]:
        """Return the k best tables, best first: of certain ones, if given, and of those held already."""
        if is_worth(self.statistics.pairs, INTERPRETED_PAIRS):
            kernel.compile_all()
        self._idle.clear()
        with self.statistics.phase("fetch postings"):
            groups = group(self.flat, self.prepared, self.settings.exclude, only)
        with self.statistics.phase("filter tables"):
            postings, pairs, bound = _bounds(self.flat, groups)
            limit = bound if self.settings.tight_bound else postings
            order = np.lexsort((groups.table, -limit))
            self.statistics.tables += len(order)
        k, width = self.settings.k, self.prepared.tuples.shape[1]
        best = Best(np.zeros((k, 2), np.int64), np.zeros((k, width), np.int64))
        for place, score in enumerate(held):
            best.held[place], best.mapping[place] = (score.joinability, score.table_id), score.mapping
        with self.statistics.phase("filter rows and score"):
            for first, stop in _blocks(pairs[order]):
                if self.settings.table_filters and limit[order[first]] <= best.kth:
                    self.statistics.tables_cut_rule_1 += len(order) - first
                    break
                best = self._block(
                    order[first:stop], int(pairs[order[first:stop]].sum()), limit, postings, groups, best
                )
        ranking = np.lexsort((best.held[:, 1], -best.held[:, 0]))[: np.count_nonzero(best.held[:, 0])]
        before = {score.table_id: score for score in held}
        return [before.get(int(best.held[p, 1])) or self._score(groups, best, p) for p in ranking.tolist()]

    def _score(self, groups: Groups, best: Best, place: int) -> TableScore:
        joined, table = best.held[place].tolist()
        mapping = tuple(best.mapping[place].tolist())
        return TableScore(table, joined, mapping, matches_of(self.flat, groups, self.prepared.initial, table, mapping))

    def _block(self, order: Ids, pairs: int, limit: Ids, postings: Ids, groups: Groups, best: Best) -> Best:
        """Go through a block of tables, in parts if it is large."""
        if pairs < BLOCK_PAIRS:
            found = [self._part(order, limit, postings, groups, best)]
        else:
            with ThreadPoolExecutor(min(PARTS, os.cpu_count() or 1)) as pool:
                parts = (order[part::PARTS] for part in range(PARTS))
                running = [pool.submit(self._part, part, limit, postings, groups, best) for part in parts]
                found = [part.result() for part in running]
        for name, count in zip(_COUNTED, np.sum([tally for _, tally in found], axis=0).tolist(), strict=True):
            setattr(self.statistics, name, getattr(self.statistics, name) + count)
        return found[0][0] if len(found) == 1 else _merged([part for part, _ in found])

    def _part(self, order: Ids, limit: Ids, postings: Ids, groups: Groups, best: Best) -> tuple[Best, Ids]:
        """Go through tables in this order; return the best, with those that there were, and what was counted."""
        best = Best(best.held.copy(), best.mapping.copy())
        tally = np.zeros(len(_COUNTED), np.int64)
        keys = np.ascontiguousarray(self.probes.keys[groups.tuple_id])
        index, initial = _index(self.flat, self.row_keys), self.prepared.initial
        filters = self.settings.table_filters, self.settings.tight_bound
        try:
            bench = self._idle.pop()
        except IndexError:
            bench = _bench(groups, self.flat.widest, MAPPINGS)
        at = 0
        while at < len(order):
            at, ended = kernel.scan(
                at, order, limit, postings, groups, keys, index, initial, *filters, bench, *best, tally
            )
            if ended == kernel.NO_ROOM:
                bench = _bench(groups, self.flat.widest, 4 * len(bench.counts))
            elif ended == kernel.TOO_MANY_MAPPINGS:
                tally += self._search(int(groups.table[order[at]]), best)
                at += 1
        self._idle.append(bench)
        return best, tally

    def _search(self, table: int, best: Best) -> Ids:
        """Score one table whose rows fit too many mappings to list them; return what was counted."""
        candidates = self.flat.covered(self.probes, self.row_keys, np.array([table]))
        cells = dense(self.flat.rows(candidates.row_id))
        tuples, initial = self.prepared.tuples, self.prepared.initial
        checked = check(candidates, cells, tuples, initial)
        for found in score_tables(checked, lambda _: cells, tuples, initial):
            worst = np.lexsort((-best.held[:, 1], best.held[:, 0]))[0]
            if (found.joinability, -found.table_id) > (best.held[worst, 0], -best.held[worst, 1]):
                best.held[worst] = found.joinability, found.table_id
                best.mapping[worst] = found.mapping
        count, true = len(candidates.row_id), len(checked.mapping)
        return np.array([0, 0, 1, count, len(cells.row_id), true, count - true])


_COUNTED = (
    "tables_cut_rule_1",
    "tables_cut_rule_2",
    "tables_checked",
    "candidates",
    "rows_fetched",
    "true_positives",
    "false_positives",
)
"""What the kernel counts, in its order."""


def _index(flat: FlatIndex, row_keys: Keys | None) -> Index:
    keys = NO_KEYS if row_keys is None else row_keys
    return Index(flat.posting_row, flat.posting_column, flat.row_first, flat.cell_token, keys)


def _bench(groups: Groups, widest: int, mappings: int) -> Bench:
    """Return an empty bench with room for so many mappings, and as many pairs of mapping and key tuple beyond flags."""
    tuples, width = groups.tuples.shape
    room = ROOM + int(np.diff(groups.value_first).max())
    mappings = max(mappings, 2 * joinability.MOST_OPTIONS)
    buckets = 1 << (2 * mappings - 1).bit_length()
    masks = min(MASKS, tuples * widest * -(-widest // 64)) if width == 2 else 0
    return Bench(
        posting=np.empty(room, np.int64),
        key_tuple=np.empty(room, np.int64),
        met=np.full(tuples, -1),
        options=np.empty((width, joinability.MOST_OPTIONS), np.int64),
        numbers=np.full(buckets, -1),
        columns=np.empty((mappings, width), np.int64),
        counts=np.empty(mappings, np.int64),
        flags=np.zeros(min(FLAGS, mappings * tuples), np.uint8),
        slots=np.full(min(SLOTS, widest**2) if width == 2 else 0, -1, np.int32),
        pairs=np.full(buckets, -1),
        used=np.empty(mappings, np.int64),
        masks=np.zeros(masks, np.uint64),
        touched=np.empty(masks, np.int64),
    )


def _blocks(pairs: Ids) -> Iterator[tuple[int, int]]:
    """Cut tables, given by their pairs, into blocks: as many as do not ask for parts, then more and more."""
    total = np.cumsum(pairs)
    first, done = 0, 0
    while first < len(pairs):
        most = done + max(BLOCK_PAIRS, GROWTH * done)
        stop = max(first + 1, int(np.searchsorted(total, most, "right")))
        yield first, stop
        first, done = stop, int(total[stop - 1])


def _merged(found: list[Best]) -> Best:
    """Return the best of what several parts kept."""
    held = np.concatenate([best.held for best in found])
    mapping = np.concatenate([best.mapping for best in found])
    # A table that several parts started with is there several times.
    new = np.unique(held[:, 1] * (held[:, 0] > 0) - (held[:, 0] == 0), return_index=True)[1]
    ranking = new[np.lexsort((held[new, 1], -held[new, 0]))][: len(found[0].held)]
    best = Best(np.zeros_like(found[0].held), np.zeros_like(found[0].mapping))
    best.held[: len(ranking)], best.mapping[: len(ranking)] = held[ranking], mapping[ranking]
    return best


def group(flat: FlatIndex, prepared: Prepared, exclude: frozenset[int], only: Ids | None = None) -> Groups:
    """Find the postings of the initial column's values by table, without reading them."""
    places = flat.places(prepared.tuples.ravel()).reshape(prepared.tuples.shape)
    # What was changed since the arrays were written may have brought values that they do not know.
    known = np.flatnonzero((places >= 0).all(axis=1))
    tuple_id = known[np.argsort(places[known, prepared.initial], kind="stable")]
    tuples = places[tuple_id].astype(np.int32)
    value, value_first = np.unique(tuples[:, prepared.initial], return_index=True)
    start, stop = flat.token_first[value], flat.token_first[value + 1]
    tables = len(flat.table_first) - 1
    room = int(np.minimum(stop - start, tables).sum())
    runs = [np.empty(room, np.int64) for _ in range(4)]
    count = kernel.find_runs(start, stop, flat.posting_row, flat.row_table, flat.table_first, *runs)
    columns = [column[:count] for column in runs]
    if exclude or only is not None:
        table = columns[1]
        kept = ~np.isin(table, list(exclude)) if only is None else np.isin(table, only)
        columns = [column[kept] for column in columns]
    order = kernel.by_table(columns[1], tables)
    run_value, run_table, run_start, run_stop = (column[order] for column in columns)
    first = np.flatnonzero(np.diff(run_table, prepend=-1))
    return Groups(
        run_table[first],
        np.append(first, len(order)),
        run_value,
        run_start,
        run_stop,
        np.append(value_first, len(tuples)),
        tuple_id,
        tuples,
    )


def _bounds(flat: FlatIndex, groups: Groups) -> tuple[Ids, Ids, Ids]:
    """Return, by table, the number of postings, that of pairs, and the most key tuples that may join."""
    postings, pairs, bound = (np.zeros(len(groups.table), np.int64) for _ in range(3))
    kernel.bounds(groups, flat.posting_column, flat.widest, postings, pairs, bound)
    return postings, pairs, bound


def matches_of(
    flat: FlatIndex, groups: Groups, initial: int, table: int, mapping: tuple[int, ...]
) -> Callable[[], Matches]:
    """Return how to find the pairs of key tuple and row that a mapping joins in a table, when somebody asks."""

    def run(tuple_id: Ids, row_id: Ids) -> int:
        place = int(np.searchsorted(groups.table, table))
        columns = np.array(mapping)
        count: int = kernel.matches(place, groups, _index(flat, None), initial, columns, tuple_id, row_id)
        return count

    def find() -> Matches:
        nothing = np.empty(0, np.int64)
        count = run(nothing, nothing)
        tuple_id, row_id = np.empty(count, np.int64), np.empty(count, np.int64)
        run(tuple_id, row_id)
        return Matches(groups.tuple_id[tuple_id], row_id)

    return find
