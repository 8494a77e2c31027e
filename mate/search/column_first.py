"""Column-first search, the default: bound tables and mappings by the directory before any row is read.

1. *Cover*: one pass over the directory entries of the key's values tells for every key column and table column how many
   key tuples may join there. Tables are collected in batches by falling bound, and visited by the number of key tuples
   all of whose values they have (`held_kernel`).
2. *Row filter*: key tuples whose values share no row of the table are left out (`rows_kernel`).
3. *Joint bound*: bit sets over key tuples, one per column that may still matter, bound mappings (`mapping_kernel`).
4. *Check*: what is left is counted exactly (`check_kernel`), or where a table has very many mappings whose columns hold
   the values, all are counted at once, by row (`pairs_kernel`, `triples_kernel`, `extension_kernel`).

Tables are split between threads, and so are the columns of a large table that is counted by row. A table whose mappings
are checked one by one stays on one thread, however large it is. Counting longer keys by row takes memory that has no
limit of its own: 8 bytes per row of the table and key column, in each thread that does so (`RowLists`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.search.best import Best
from mate.search.engine import WAVE, Rest, SegmentSearch
from mate.values.compiled import is_ready, is_worth

if TYPE_CHECKING:
    from mate.search.column_first_kernel import Collected, Cover
    from mate.search.mapping_kernel import Limits

SMALL = 20_000
"""Work, in directory entries, that the plain reference has done before the compiler is loaded."""

BATCH = 100_000
"""Directory entries of the tables that are collected in one pass and searched before parts compare what they found."""

HELD_WORDS = 4_000_000
"""Words of 64 bits that note which table of a batch has which value; there are always enough for 64 tables."""

GROWTH = 4
"""How many times as many the next batch has."""

PARTS = 4
"""Parts of a batch that are worked on at the same time. Always so many: what is pruned never depends on the machine."""

WORTH_PARTS = 100_000
"""Batches of fewer directory entries are one part: they are done before a thread has started."""

WORTH_SPLITTING = 20_000_000
"""Nanoseconds of going by row, about, from which the columns of one table are split between parts."""

LEAVES = 1_024
"""Whole mappings of a table that are collected before they are checked, best first."""

PAIRWISE = 64
"""Longer keys: columns are checked two by two, once, in tables that have this many mappings or more."""

ALL_PAIRS = 20
"""Nanoseconds per hit that going by row takes at least: mappings that cost less are checked one by one."""

LOOK_UP = 500
"""Nanoseconds that it takes to look one value of a key tuple up in a column, about."""

READ = 2
"""Nanoseconds that it takes to read a row in a scan, about."""

POSTING = 1
"""Nanoseconds that it takes to read a posting of a table whose postings were read before, about."""

STEP = 32
"""Keys of three columns: key tuples that are counted before the counters are looked at: the rest may be too few."""

PAIR_WORDS = 64_000_000
"""Words of 64 bits that hold what was found two by two, in all threads; tables that need more do without."""

MASK_WORDS = 64_000_000
"""Words of 64 bits for row masks and counters of tables that are gone through by row, in all threads."""

LOOK_UPS = 50_000_000
"""Options times key tuples of tables, of 12 bytes each, that are kept to look key tuples up, in all threads."""

DECODED = 64_000_000
"""Options times rows of tables, of 4 bytes each, that are kept of columns that are scanned, in all threads."""

BY_ROW = -1
"""Nanoseconds per hit below all others: a table is gone through by row."""

COUNTERS = (
    "tables_cut_rule_1",
    "tables_checked",
    "mappings_bounded",
    "mappings_checked",
    "checks_by_postings",
    "checks_by_look_up",
    "checks_by_scan",
    "tables_by_row",
    "rows_read",
)
"""Fields of `Statistics` that kernels add to, by name."""

_COVER = "cover"
"""What `cover_ahead` notes it as."""

_TALLY = np.dtype([(name, np.int64) for name in COUNTERS])


def column_first(part: SegmentSearch) -> Rest | None:
    """Offer every table of a segment that may be among the k best; return after the first batch, with the others."""
    if not is_ready():
        from mate.search.reference import expected_work, reference

        if not is_worth(expected_work(part), SMALL):
            reference(part)
            return None
    with part.search.statistics.phase("cover"):
        cover = part.ahead.pop(_COVER, None) or _cover(part)
    part.search.statistics.count({"tables": len(cover.table)})
    batches = _search_batches(part, cover)
    next(batches, None)
    return partial(_finish, batches)


def cover_ahead(part: SegmentSearch) -> None:
    """Work out the cover of a segment, for `column_first` to find."""
    if len(part.tuples) and is_ready():
        part.ahead[_COVER] = _cover(part)


def _finish(batches: Iterator[None]) -> None:
    for _ in batches:
        pass


def _cover(part: SegmentSearch) -> Cover:
    from mate.search import column_first_kernel as kernel

    key = part.search.key
    numbers = key.place[part.tuple_id]
    cover: Cover = kernel.cover(part.segment.read_only, part.tuples, numbers, len(key.tokens), part.wanted_tables())
    return cover


def _search_batches(part: SegmentSearch, cover: Cover) -> Iterator[None]:
    """Go through the tables by falling bound, and offer them; stop after every batch."""
    from mate.search import column_first_kernel as kernel

    tally = np.zeros(1, _TALLY)
    start, size = 0, BATCH
    while start < len(cover.table) and cover.bound[start] > part.floor:
        part.search.work.check()
        with part.search.statistics.phase("bound and check"):
            collected = kernel.collect(part.segment.read_only, cover, start, size, HELD_WORDS, part.floor)
            stop = start + len(collected.bound)
            Batch(part, cover, collected, np.zeros(stop - start, bool), tally).search()
        start, size = stop, size * GROWTH
        yield
    tally["tables_cut_rule_1"] += len(cover.table) - start
    part.search.statistics.count(dict(zip(COUNTERS, tally[0].item(), strict=True)))


@dataclass(frozen=True)
class Batch:
    """Tables that are searched before what was found is compared."""

    part: SegmentSearch
    cover: Cover
    collected: Collected
    put_off: npt.NDArray[np.bool_]
    """Tables that were left for all parts to split between them."""
    tally: npt.NDArray[np.void]
    """What was counted in the segment."""

    def search(self) -> None:
        """Offer its tables."""
        numbers = np.argsort(-self.collected.bound, kind="stable")
        if len(numbers) > 1 and len(self.collected.runs.run) >= WORTH_PARTS:
            left = self._search_parts([numbers[number::PARTS].copy() for number in range(PARTS)], self.tally)
        else:
            left = self._search_part(numbers, self.part.best, (0, 1), _limits(1), self.tally)
        if left:
            for number in np.flatnonzero(self.put_off):
                self._split(np.array([number]))

    def _split(self, number: Ids) -> None:
        """Offer a table whose columns are split between parts."""
        tally = np.zeros(1, _TALLY)
        self._search_parts([number] * PARTS, tally, shares=PARTS)
        tally["tables_checked"] = 0  # it was counted when it was put off
        tally["tables_by_row"] = 1
        _add(self.tally, tally)

    def _search_parts(self, numbers: Sequence[Ids], tally: npt.NDArray[np.void], shares: int = 1) -> int:
        """Offer the tables of these numbers, a list for each part, which does its share of them."""
        limits = _limits(len(numbers))
        if shares > 1:
            limits = limits._replace(all_pairs=BY_ROW, alone=np.iinfo(np.int64).max)
        bests = [self.part.best.copy() for _ in numbers]
        own = [(number if shares > 1 else 0, shares) for number in range(len(numbers))]
        tallies = [np.zeros(1, _TALLY) for _ in numbers]
        left = self.part.search.at_once(self._search_part, numbers, bests, own, [limits] * len(numbers), tallies)
        self.part.best.take_all(bests)
        for other in tallies:
            _add(tally, other)
        return sum(left)

    def _search_part(
        self, numbers: Ids, best: Best, share: tuple[int, int], limits: Limits, tally: npt.NDArray[np.void]
    ) -> int:
        """Offer tables in this thread; return how many are put off."""
        from mate.search import mapping_kernel as kernel

        left: int = kernel.search_tables(
            self.part.segment.read_only,
            self.cover.values,
            self.collected,
            self.cover.prefixes,
            numbers,
            kernel.Share(*share),
            self.part.search.table_filters,
            limits,
            best,
            tally,
            self.put_off,
        )
        return left


def _add(tally: npt.NDArray[np.void], other: npt.NDArray[np.void]) -> None:
    tally.view(np.int64)[:] += other.view(np.int64)


def _limits(parts: int) -> Limits:
    """Return the limits of a thread, one of so many parts; as many segments as a wave has may be searched meanwhile."""
    from mate.search.mapping_kernel import Limits

    threads = parts * WAVE
    return Limits(
        leaves=LEAVES,
        pairwise=PAIRWISE,
        pair_words=PAIR_WORDS // threads,
        all_pairs=ALL_PAIRS,
        mask_words=MASK_WORDS // threads,
        look_ups=LOOK_UPS // threads,
        decoded=DECODED // threads,
        alone=WORTH_SPLITTING,
        look_up=LOOK_UP,
        read=READ,
        posting=POSTING,
        step=STEP,
    )
