"""Column-first search, the default: bound tables and mappings by the directory before any row is read.

1. *Cover* (`_cover`): one pass over the directory entries of the key's values tells for every key column and table
   column how many key tuples may join there. That bounds tables. They are collected in batches by falling bound, and
   visited by the number of key tuples all of whose values they have.
2. *Row filter* (`_tables`): key tuples whose values share no row of the table are left out.
3. *Joint bound*: bit sets over key tuples, one per column that may still matter, bound mappings.
4. *Check*: what is left is counted exactly, mapping by mapping. Where a table has very many mappings whose columns hold
   the values, all of them are counted at once, by row.

Tables are split between threads. `tests/search/oracle.py` says what the answer is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from mate.search.best import Best
from mate.search.column_first._cover import Cover, TableBatch, collect, cover
from mate.search.column_first._tables import search_tables
from mate.search.search import AT_ONCE, PARTS, SegmentSearch
from mate.search.systems import DEFAULT, Remainder, System

BATCH = 100_000
"""Directory entries of the tables that are collected in one pass and searched before parts are merged."""

GROWTH = 4
"""How many times as many the next batch has."""

HELD_WORDS = 4_000_000
"""Words of 64 bits that note which table of a batch has which value; there are always enough for 64 tables."""

WORTH_PARTS = 100_000
"""Batches of fewer directory entries are one part: they are done before a thread has started."""


class Costs(NamedTuple):
    """What the planner of a thread goes by: room that it may take, and nanoseconds that things take."""

    waiting: int = 1_024
    """Whole mappings of a table that are collected before they are checked, best first; more are counted by row."""
    by_row: int = 20
    """Going by row, per directory entry: mappings that cost less are checked one by one."""
    mask_words: int = 64_000_000
    """Words of 64 bits for row masks and counters of tables that are counted by row."""
    look_up: int = 500
    """Looking one key tuple up in the columns of a mapping."""
    read: int = 2
    """Reading a row for that."""
    step: int = 32
    """Keys of three columns: key tuples that are counted before the counters are looked at: the rest may be too few."""


COSTS = Costs()


def column_first(part: SegmentSearch) -> Remainder | None:
    """Offer every table of a segment that may be among the k best; return after the first batch, with the others."""
    with part.search.statistics.phase("cover"):
        covered = part.prefetched.pop("cover", None) or _cover(part)
    part.search.statistics.count({"tables": len(covered)})
    batches = _search_batches(part, covered)
    next(batches, None)
    return partial(_finish, batches)


def cover_ahead(part: SegmentSearch) -> None:
    """Work out the cover of a segment, for `column_first` to find."""
    if len(part.tuples):
        part.prefetched["cover"] = _cover(part)


def _finish(batches: Iterator[None]) -> None:
    for _ in batches:
        pass


def _cover(part: SegmentSearch) -> Cover:
    key, search = part.search.key, part.search
    numbers = np.ascontiguousarray(key.place[part.tuple_id], np.int64)
    wanted = part.wanted_tables().view(np.uint8)
    return cover(part.segment.native, part.tuples, numbers, len(key.tokens), wanted, search.work.flag)


def _search_batches(part: SegmentSearch, covered: Cover) -> Iterator[None]:
    """Go through the tables by falling bound, and offer them; stop after every batch."""
    native, work, statistics = part.segment.native, part.search.work, part.search.statistics
    start, size = 0, BATCH
    while start < len(covered) and covered.bound_of(start) > part.floor:
        work.check()
        with statistics.phase("bound and check"):
            batch = collect(native, covered, start, size, HELD_WORDS, part.floor, work.flag)
            _search_batch(part, batch)
        start, size = start + len(batch), size * GROWTH
        yield
    statistics.count({"tables_cut_rule_1": len(covered) - start})


def _search_batch(part: SegmentSearch, batch: TableBatch) -> None:
    """Offer the tables of a batch, in parts if it is large."""
    parts = PARTS if len(batch) > 1 and batch.entries >= WORTH_PARTS else 1
    costs = COSTS._replace(mask_words=COSTS.mask_words // (parts * AT_ONCE))  # segments are searched at once, too
    part.in_parts(parts, partial(_search_part, part, batch, costs))


def _search_part(part: SegmentSearch, batch: TableBatch, costs: Costs, some: slice, best: Best) -> None:
    search = part.search
    filtering, cancelled = search.table_filters, search.work.flag
    search.statistics.count(
        search_tables(part.segment.native, batch, some.start, some.step, filtering, costs, best, cancelled)
    )


SYSTEM = System(DEFAULT, column_first, prefetch=cover_ahead, column_first=True)
