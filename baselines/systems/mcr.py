"""MCR, multi-column retrieval: fetch the postings of every key column and intersect them by row.

Rows are marked, a bit for each key column but the initial one, and the marks stand where MATE has super keys. What
remains are rows that hold a value of each key column; whether these values belong to one key tuple is checked as in
Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from baselines.systems._systems import mark
from mate.lake.base import Index
from mate.search.algorithm_1 import scan
from mate.search.algorithm_1.candidates import with_unknown
from mate.search.algorithm_1.row_filter import fixed_filter
from mate.search.engine import NamedStrategy, SearchSettings, SegmentSearch, run
from mate.search.results import SearchResult
from mate.search.systems import settings_with

if TYPE_CHECKING:
    from mate.search.engine import AnyQuery


def search(
    index: Index, query: AnyQuery, key: Sequence[str], k: int | None = None, settings: SearchSettings | None = None
) -> SearchResult:
    """Return the k tables with the highest joinability, by intersecting posting lists."""
    unfiltered = replace(settings_with(k, settings), row_filter=False)
    return run(NamedStrategy("mcr", mcr, intersects=True), index, query, key, unfiltered)


def mcr(part: SegmentSearch) -> None:
    """Mark the rows that have a value of a key column, and go through those with all marks: a `Strategy`."""
    part = with_unknown(part)
    if not len(part.tuples):
        return
    statistics, initial = part.search.statistics, part.search.initial
    arrays = part.segment.arrays
    with statistics.phase("mark rows"):
        marks = np.zeros((int(arrays.table_row_first[-1]), 1), np.uint64)
        others = [column for column in range(part.tuples.shape[1]) if column != initial]
        for column in others:
            tokens = np.unique(part.tuples[:, column])
            postings = mark(part.segment.native, tokens[tokens >= 0], column, marks.reshape(-1))
            statistics.count({"postings": postings})
        wanted = np.full((len(part.tuples), 1), sum(1 << column for column in others), np.uint64)
    scan(part, fixed_filter(arrays, marks, wanted))
