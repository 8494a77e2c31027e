"""Algorithm 1 of the paper: initialise, filter tables, filter rows, score, top-k.

The postings of the initial column's values are grouped by table, tables bounded and visited by falling bound. The row
filter pairs postings with the key tuples whose super key the row's covers; what passes is compared with the row itself.

Rules 1 and 2 cut a table whose bound is at most the k-th joinability: ``<=``, as the text of section 6.2 has it. The
paper's pseudocode has ``<``, its authors' code ``<=`` in rule 1 and ``<`` in rule 2: tables that can but tie with the
k-th are looked at as well, for the same scores. Which of the tables that tie at the last place are kept is left open.

Relatives of the algorithm differ in the row filter (`scan`): none in SCR, marks of rows in MCR.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from mate.lake._arrays import SegmentView
from mate.lake.base import Ids
from mate.lake.layout import SegmentArrays
from mate.search.algorithm_1._scan import scan_groups
from mate.search.algorithm_1.candidates import Bounds, Groups, Probes, bound, group, probes, with_unknown
from mate.search.algorithm_1.row_filter import MakeFilter, RowFilter, no_filter, super_key_filter
from mate.search.best import Best
from mate.search.search import PARTS, SegmentSearch
from mate.search.systems import System

BLOCK_PAIRS = 1_000_000
"""Pairs that are looked at in one go; more of them are cut into blocks of tables, and these into parts."""

GROWTH = 2
"""How many times larger than all blocks before it a block is."""


class MemoryLimits(NamedTuple):
    """What is held in memory."""

    held: int = 1_000_000
    """Candidates that are held before they are compared with their rows."""
    masks: int = 4_000_000
    """Keys of two columns are counted by bits in tables that need no more than so many words: for pairs of columns,
    and for pairs of column and key tuple; in others as wider keys are."""


LIMITS = MemoryLimits()


class Task(NamedTuple):
    """All that goes through a segment's tables needs to know, in a form that native loops take."""

    arrays: SegmentArrays
    native: SegmentView
    filter: RowFilter
    probes: Probes
    groups: Groups
    bounds: Bounds
    filtering: bool
    """Whether rules 1 and 2 are applied."""
    tight: bool
    """Whether rule 2 counts key tuples, not postings."""


def algorithm_1(part: SegmentSearch) -> None:
    """Offer the tables of a segment, rows filtered by super keys unless the settings say otherwise."""
    part, search = with_unknown(part), part.search
    if not len(part.tuples):
        return
    scan(part, None if search.hash_number is None else super_key_filter(part))


def scan(part: SegmentSearch, row_filter: MakeFilter | None = None, only: Ids | None = None) -> None:
    """Offer the tables of a segment, or `only` those at certain places, with any row filter or none."""
    statistics, settings = part.search.statistics, part.search.settings.filters
    arrays, native = part.segment.arrays, part.segment.native
    with statistics.phase("fetch postings"):
        wanted = part.wanted_tables()
        if only is not None:
            wanted &= np.isin(np.arange(len(wanted)), only)
        probe = probes(part)
        groups = group(native, probe.value, wanted)
        if not len(groups.table):
            return
    with statistics.phase("filter tables"):
        bounds = bound(arrays, groups, probe, tight=settings.tight_bound)
        order = np.lexsort((groups.table, -bounds.limit))
        statistics.count({"tables": len(order)})
    with statistics.phase("filter rows and score"):
        keys = (row_filter or no_filter(part))(probe, groups)
        filters = settings.table_filters, settings.tight_bound
        _offer(Task(arrays, native, keys, probe, groups, bounds, *filters), part, order)


def _offer(task: Task, part: SegmentSearch, order: Ids) -> None:
    """Offer the tables of the groups in this order, in blocks, and large blocks in parts."""
    bounds = task.bounds
    for first, stop in _blocks(bounds.pairs[order]):
        if task.filtering and bounds.limit[order[first]] <= part.best.kth:
            part.search.statistics.count({"tables_cut_rule_1": len(order) - first})
            return
        block = order[first:stop]
        pairs = bounds.pairs[block]
        held = min(LIMITS.held, int(pairs.max())) + int(np.diff(task.probes.first).max())
        parts = 1 if pairs.sum() < BLOCK_PAIRS else PARTS
        part.in_parts(parts, partial(_offer_part, task, part, block, LIMITS._replace(held=held)))


def _offer_part(task: Task, part: SegmentSearch, block: Ids, limits: MemoryLimits, some: slice, best: Best) -> None:
    part.search.statistics.count(scan_groups(task, block[some].copy(), best, limits))


def _blocks(pairs: Ids) -> Iterator[tuple[int, int]]:
    """Cut tables, given by their pairs, into blocks: as many as do not ask for parts, then more and more."""
    total = np.cumsum(pairs)
    first, done = 0, 0
    while first < len(pairs):
        most = done + max(BLOCK_PAIRS, GROWTH * done)
        stop = max(first + 1, int(np.searchsorted(total, most, "right")))
        yield first, stop
        first, done = stop, int(total[stop - 1])


SYSTEM = System("mate", algorithm_1)
