"""Column-first search, the default: bound tables and mappings by the directory before any row is read.

1. *Cover*: one pass over the directory entries of the key's values tells for every key column and table column how many
   key tuples may join there. Tables are visited by falling bound.
2. *Row filter*: key tuples whose values share no row of the table are left out (`rows_kernel`).
3. *Joint bound*: bit sets over key tuples, one per column that may still matter, bound mappings (`mapping_kernel`).
4. *Check*: what is left is counted exactly (`check_kernel`), or where a table has very many pairs of columns that hold
   the values, all pairs are counted at once (`pairs_kernel`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mate.index.base import Ids, Index
from mate.index.layout import SegmentArrays
from mate.search.best import Best
from mate.search.engine import SearchSettings, SegmentSearch, run
from mate.search.results import SearchResult
from mate.values.compiled import is_worth

if TYPE_CHECKING:
    from mate.search.column_first_kernel import Runs, Values
    from mate.search.engine import AnyQuery
    from mate.search.prefix_kernel import Prefixes

SMALL = 20_000
"""Up to this many directory entries of the key the plain reference is done before the compiler is loaded."""

COLLECTED = 1_000_000
"""Directory entries that are collected by table in one pass; the next pass takes `GROWTH` times as many."""

BATCH = 50_000
"""Directory entries of the tables that are searched before parts compare what they found; it grows likewise."""

GROWTH = 4

PARTS = 4
"""Parts of a batch that are worked on at the same time. Always so many: what is pruned never depends on the machine."""

WORTH_PARTS = 100_000
"""Batches of fewer directory entries are one part: they are done before a thread has started."""

LEAVES = 1_024
"""Whole mappings of a table that are collected before they are checked, best first."""

PAIRWISE = 64
"""Longer keys: columns are checked two by two, once, in tables that have this many mappings or more."""

PAIR_WORDS = 16_000_000
"""Words of 64 bits that may hold what was found so; tables that need more do without."""

ALL_PAIRS = 20
"""Nanoseconds per hit that going by row takes at least: mappings that cost less are checked one by one."""

COUNTERS = (
    "tables_cut_rule_1",
    "tables_checked",
    "mappings_bounded",
    "mappings_checked",
    "checks_by_look_up",
    "checks_by_scan",
    "tables_by_row",
    "rows_read",
)
"""Fields of `Statistics` that kernels add to, by name."""


def search(
    index: Index, query: AnyQuery, key: Sequence[str], k: int | None = None, settings: SearchSettings | None = None
) -> SearchResult:
    """Return the k tables that join most key tuples of the query."""
    from dataclasses import replace

    settings = settings or SearchSettings()
    return run("column-first", column_first, index, query, key, settings if k is None else replace(settings, k=k))


def column_first(part: SegmentSearch) -> None:
    """Offer every table of a segment that may be among the k best."""
    arrays = part.segment.arrays
    if not is_worth(_entries(arrays, part.tuples), SMALL):
        from mate.search.reference import reference

        reference(part)
        return
    with part.search.statistics.phase("cover"):
        covered = _cover(part)
    with part.search.statistics.phase("bound and check"):
        best = _search_batches(part, covered)
        with part.search.lock:
            part.search.best.take_all(best)


def _entries(arrays: SegmentArrays, tuples: Ids) -> int:
    """Return the number of directory entries of the tuples' values, those of a value counted once per tuple."""
    first = arrays.entry_first
    return int((first[tuples + 1].astype(np.int64) - first[tuples].astype(np.int64)).sum())


class Covered(NamedTuple):
    """What the directory tells of a segment's tables."""

    arrays: SegmentArrays
    values: Values
    prefixes: Prefixes
    room: Ids
    """By table and key column, the directory entries of the query's values."""
    table: Ids
    """Tables that may join at all, by falling bound."""
    bound: Ids
    """Their bounds."""
    work: Ids
    """Their directory entries."""


def _cover(part: SegmentSearch) -> Covered:
    from mate.search import column_first_kernel as kernel
    from mate.search.prefix_kernel import number_prefixes

    arrays = read_only(part.segment.arrays)
    numbers = part.search.key.place[part.tuple_id]
    values = kernel.number_values(part.tuples, numbers, len(part.search.key.tokens))
    shape = len(arrays.column_table), part.tuples.shape[1]
    columns, entries = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    kernel.cover(arrays, values, columns, entries)
    bound = np.zeros(len(arrays.table_id), np.int64)
    room = np.zeros((len(bound), shape[1]), np.int64)
    kernel.bound_tables(arrays, columns, entries, part.wanted_tables(), bound, room)
    table = np.flatnonzero(bound)
    table = table[np.argsort(-bound[table], kind="stable")]
    part.search.statistics.count({"tables": len(table)})
    prefixes = number_prefixes(values, np.argsort(_entries_by_key(arrays, values), kind="stable"))
    return Covered(arrays, values, prefixes, room, table, bound[table], room[table].sum(axis=1))


def _entries_by_key(arrays: SegmentArrays, values: Values) -> Ids:
    """Return the number of directory entries of each key column's values."""
    first = arrays.entry_first
    sizes = first[values.token + 1].astype(np.int64) - first[values.token].astype(np.int64)
    found: Ids = np.add.reduceat(sizes, values.key_first[:-1])
    return found


def read_only(arrays: SegmentArrays) -> SegmentArrays:
    """Return the arrays as read-only views, so that kernels are compiled once, wherever the arrays are."""

    def view(array: Any) -> Any:
        if array.flags.writeable:
            array = array.view()
            array.flags.writeable = False
        return array

    return SegmentArrays(*map(view, arrays))


def _search_batches(part: SegmentSearch, covered: Covered) -> Best:
    """Go through the tables by falling bound, batch after batch, and return the best."""
    from mate.search import column_first_kernel as kernel

    with part.search.lock:
        best = part.search.best.copy()
    filtering = part.search.table_filters
    cursor = np.full(covered.room.shape, -1, np.int64)
    reached = 0
    for first, last in _batches(covered, 0, len(covered.table), COLLECTED, best, filtering):
        runs = kernel.collect(covered.arrays, covered.values, covered.table[first:last], covered.room, cursor)
        for start, stop in _batches(covered, first, last, BATCH, best, filtering):
            _search_runs(part, covered, runs, np.arange(start - first, stop - first), first, best)
            reached = stop
    part.search.statistics.count({"tables_cut_rule_1": len(covered.table) - reached})
    return best


def _batches(
    covered: Covered, first: int, last: int, size: int, best: Best, filtering: bool
) -> Iterator[tuple[int, int]]:
    """Yield ranges of tables that may be among the best, going by the k-th score when the next one is asked for."""
    ends = np.cumsum(covered.work[first:last])
    start = 0
    while start < len(ends):
        done = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + size, "right")))
        if filtering:
            stop = min(stop, int(np.searchsorted(-covered.bound[first:last], -best.kth)))
        if stop <= start:
            break
        yield first + start, first + stop
        start, size = stop, size * GROWTH


def _search_runs(part: SegmentSearch, covered: Covered, runs: Runs, numbers: Ids, first: int, best: Best) -> None:
    """Search tables of those collected, by their numbers there, the first of which is `first` of all; keep the best."""
    from mate.search import mapping_kernel as kernel

    bound = covered.bound[first : first + len(runs.table)]
    work = int(covered.work[first + numbers[0] : first + numbers[-1] + 1].sum())
    parts = PARTS if work >= WORTH_PARTS and len(numbers) > 1 else 1
    limits = kernel.Limits(LEAVES, PAIRWISE, PAIR_WORDS, ALL_PAIRS)
    tally = [np.zeros(1, [(name, np.int64) for name in COUNTERS]) for _ in range(parts)]
    bests = [best if parts == 1 else best.copy() for _ in range(parts)]

    prefixes = [_own_stamps(covered.prefixes) for _ in range(parts)]

    def search_part(number: int) -> None:
        chosen = numbers[number::parts]
        kernel.search_tables(
            covered.arrays,
            covered.values,
            runs,
            prefixes[number],
            bound,
            chosen,
            part.search.table_filters,
            limits,
            bests[number],
            tally[number],
        )

    if parts == 1:
        search_part(0)
    else:
        with ThreadPoolExecutor(parts) as pool:
            list(pool.map(search_part, range(parts)))
        for other in bests:
            best.take_all(other)
    part.search.statistics.count({name: sum(int(t[name][0]) for t in tally) for name in COUNTERS})


def _own_stamps(prefixes: Prefixes) -> Prefixes:
    """Return prefixes that a thread can stamp while others do."""
    return prefixes._replace(stamp=np.zeros_like(prefixes.stamp), last_stamp=np.zeros(1, np.int64))
