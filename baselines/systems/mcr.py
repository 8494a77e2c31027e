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

from mate.hashing import Keys
from mate.lake.base import Ids, Index
from mate.lake.counting import entry_sizes
from mate.lake.layout import SegmentArrays
from mate.search.algorithm_1 import scan
from mate.search.candidates import with_unknown
from mate.search.engine import NamedStrategy, SearchSettings, SegmentSearch, run
from mate.search.reference import entries_of, entry_rows
from mate.search.results import SearchResult
from mate.search.row_filter import fixed_filter
from mate.search.systems import settings_with
from mate.values.compiled import is_worth

if TYPE_CHECKING:
    from mate.search.engine import AnyQuery

INTERPRETED_POSTINGS = 20_000
"""Up to this many postings are marked without the compiler."""


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
    arrays = part.segment.read_only
    with statistics.phase("mark rows"):
        marks = np.zeros((int(arrays.table_row_first[-1]), 1), np.uint64)
        others = [column for column in range(part.tuples.shape[1]) if column != initial]
        for column in others:
            postings = _mark(arrays, _present(part.tuples[:, column]), column, marks)
            statistics.count({"postings": postings})
        wanted = np.full((len(part.tuples), 1), sum(1 << column for column in others), np.uint64)
    scan(part, fixed_filter(arrays, marks, wanted))


def _present(tokens: Ids) -> Ids:
    """Return the distinct tokens that the segment has."""
    found: Ids = np.unique(tokens)
    return found[found >= 0]


def _mark(arrays: SegmentArrays, tokens: Ids, number: int, marks: Keys) -> int:
    """Set a bit of every row that has one of the tokens; return the number of postings."""
    entries, _ = entries_of(arrays, tokens)
    postings = int(entry_sizes(arrays, entries).sum())
    bit = np.uint64(1 << number)
    if is_worth(postings, INTERPRETED_POSTINGS):
        from baselines.systems.mcr_kernel import mark

        mark(arrays, entries, bit, marks)
        return postings
    for entry in entries.tolist():
        table = int(arrays.column_table[arrays.entry_column[entry]])
        marks[arrays.table_row_first[table] + entry_rows(arrays, entry), 0] |= bit
    return postings
