"""Algorithm 1 of the paper as a strategy: initialise, filter tables, filter rows, score, top-k.

The postings of the initial column's values are grouped by table, tables bounded and visited by falling bound. The row
filter pairs postings with the key tuples whose super key the row's covers; what passes is compared with the row itself.
Relatives of the algorithm differ in the row filter (`scan`): none in SCR, marks of rows in MCR.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mate.lake.arrays import Array
from mate.lake.base import Ids
from mate.lake.layout import SegmentArrays
from mate.search.best import Best
from mate.search.candidates import Bounds, Counter, Groups, Probes, bound, group, probes, with_unknown
from mate.search.engine import SegmentSearch
from mate.search.reference import score_table
from mate.search.row_filter import MakeFilter, RowFilter, no_filter, super_key_filter
from mate.search.scratch import SMALLEST, Scratch, scratch_for
from mate.values.compiled import is_worth

INTERPRETED_PAIRS = 2_000
"""Up to this many pairs are looked at without the compiler."""

BLOCK_PAIRS = 1_000_000
"""Pairs that are looked at in one go; more of them are cut into blocks of tables, and these into parts."""

GROWTH = 2
"""How many times larger than all blocks before it a block is."""

PARTS = 4
"""Parts of a block that are worked on at the same time. Always so many: what is pruned never depends on the machine."""


class Codes(NamedTuple):
    """The codes of a segment, as columns of 1, 2 and 4 bytes per row read them."""

    bytes: Array
    halves: Array
    words: Array


class Task(NamedTuple):
    """All that goes through a segment's tables needs to know, in a form that kernels take."""

    arrays: SegmentArrays
    codes: Codes
    filter: RowFilter
    probes: Probes
    groups: Groups
    limit: Ids
    """What rule 1 compares, by group."""
    postings: Ids
    """L_t, by group."""
    filtering: bool
    """Whether rules 1 and 2 are applied."""
    tight: bool
    """Whether rule 2 counts key tuples, not postings."""


def algorithm_1(part: SegmentSearch) -> None:
    """Offer the tables of a segment, rows filtered by super keys unless the settings say otherwise: a `Strategy`."""
    part, search = with_unknown(part), part.search
    if not len(part.tuples):
        return
    scan(part, None if search.hash_number is None else super_key_filter(part))


def scan(part: SegmentSearch, row_filter: MakeFilter | None = None, only: Ids | None = None) -> None:
    """Offer the tables of a segment, or `only` those at certain places, with any row filter or none."""
    statistics, settings = part.search.statistics, part.search.settings
    arrays = part.segment.read_only
    with statistics.phase("fetch postings"):
        wanted = part.wanted_tables()
        if only is not None:
            wanted &= np.isin(np.arange(len(wanted)), only)
        probe = probes(part)
        groups = group(arrays, probe.value, wanted)
    with statistics.phase("filter tables"):
        bounds = bound(arrays, groups, probe)
        limit = bounds.tight if settings.tight_bound else bounds.postings
        order = np.lexsort((groups.table, -limit))
        statistics.count({"tables": len(order)})
    with statistics.phase("filter rows and score"):
        codes = Codes(arrays.codes, arrays.codes.view("<u2"), arrays.codes.view("<u4"))
        filters = settings.table_filters, settings.tight_bound
        keys = (row_filter or no_filter(part))(probe, groups)
        task = Task(arrays, codes, keys, probe, groups, limit, bounds.postings, *filters)
        _Scan(task, bounds, part).run(order)


@dataclass(frozen=True)
class _Scan:
    """The way through the groups of one segment."""

    task: Task
    bounds: Bounds
    part: SegmentSearch
    _idle: list[Scratch] = field(default_factory=list)
    """Scratches that no thread is using: large arrays take long to come by."""

    def run(self, order: Ids) -> None:
        """Go through the groups in this order, in blocks."""
        best = self.part.best
        for first, stop in _blocks(self.bounds.pairs[order]):
            if self.task.filtering and self.task.limit[order[first]] <= best.kth:
                self._count({Counter.tables_cut_rule_1: len(order) - first})
                return
            self._block(order[first:stop])

    def _block(self, order: Ids) -> None:
        """Go through a block of tables, in parts if it is large."""
        best = self.part.best
        pairs = int(self.bounds.pairs[order].sum())
        if not is_worth(pairs, INTERPRETED_PAIRS):
            from mate.search.algorithm_1_reference import scan_plainly

            self._count(scan_plainly(self.task, order, best))
        elif pairs < BLOCK_PAIRS:
            self._part(order, best)
        else:
            copies = [best.copy() for _ in range(PARTS)]
            parts = (order[part::PARTS].copy() for part in range(PARTS))  # with gaps, loops would be compiled again
            self.part.search.at_once(self._part, parts, copies)
            best.take_all(copies)

    def _part(self, order: Ids, best: Best) -> None:
        """Go through tables in this order, compiled, and offer them."""
        from mate.search.algorithm_1_kernel import scan as scan_groups
        from mate.search.verification_kernel import NO_ROOM, TOO_MANY_MAPPINGS

        tally = np.zeros(len(Counter), np.int64)
        try:
            scratch = self._idle.pop()
        except IndexError:
            scratch = self._scratch(SMALLEST)
        at = 0
        while at < len(order):
            at, ended = scan_groups(self.task, order, at, scratch, best, tally)
            if ended == NO_ROOM:
                scratch = self._scratch(4 * scratch.room)
            elif ended == TOO_MANY_MAPPINGS:
                self._search(int(order[at]), best)
                at += 1
        self._idle.append(scratch)
        self._count({counter: int(tally[counter]) for counter in Counter})

    def _scratch(self, room: int) -> Scratch:
        first, table = self.task.arrays.table_column_first, self.task.groups.table
        widest = int((first[table + 1] - first[table]).max())
        return scratch_for(self.task.probes, widest, int(self.bounds.pairs.max()), room)

    def _search(self, number: int, best: Best) -> None:
        """Score a table whose rows fit too many mappings to list them."""
        place = int(self.task.groups.table[number])
        score = score_table(self.task.arrays, place, self.part.tuples, best.kth)
        if score:
            best.offer(score.joinability, int(self.task.arrays.table_id[place]), score.mapping)

    def _count(self, counts: dict[Counter, int]) -> None:
        self.part.search.statistics.count({counter.name: count for counter, count in counts.items()})


def _blocks(pairs: Ids) -> Iterator[tuple[int, int]]:
    """Cut tables, given by their pairs, into blocks: as many as do not ask for parts, then more and more."""
    total = np.cumsum(pairs)
    first, done = 0, 0
    while first < len(pairs):
        most = done + max(BLOCK_PAIRS, GROWTH * done)
        stop = max(first + 1, int(np.searchsorted(total, most, "right")))
        yield first, stop
        first, done = stop, int(total[stop - 1])
