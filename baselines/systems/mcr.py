"""MCR, multi-column retrieval: fetch the postings of every key column and intersect them by row.

What remains are rows that hold a value of each key column; whether these values belong to one key tuple is then
checked. Over flat arrays rows are marked, and the marks stand where MATE has super keys: table filters and exact check
are the same loop. Elsewhere postings are sorted, and the check is made on these alone, without reading rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mate.hashing import Keys
from mate.search.discovery import (
    MOST_PAIRS,
    Prepared,
    SearchResult,
    SearchSettings,
    Statistics,
    answer,
    begin,
)
from mate.search.joinability import Checked, RowCells, TableScore, joined
from mate.search.joinability import check as check_candidates
from mate.search.joinability import score as score_tables
from mate.search.scan import Scan
from mate.store.base import Candidates, Ids, IndexStore, Postings, Probes
from mate.store.flat import FlatIndex
from mate.values.compiled import is_worth

if TYPE_CHECKING:
    from mate.search.discovery import AnyQuery

_MOST_MARKS = 64
"""Key columns that a row has bits for."""

_SMALL = 50_000
"""Up to this many postings are marked before the compiled loop is loaded."""


def search(
    store: IndexStore, query: AnyQuery, key: Sequence[str], k: int = 10, settings: SearchSettings | None = None
) -> SearchResult:
    """Return the k tables with the highest joinability, by intersecting posting lists."""
    prepared, chosen, statistics = begin(store, query, key, k, settings, "mcr")
    if store.flat is not None and not len(store.flat_lacks) and prepared.tuples.shape[1] <= _MOST_MARKS:
        best = _in_place(store.flat, prepared, chosen, statistics)
    else:
        best = _by_postings(store, prepared, chosen, statistics)
    return answer(store, prepared, best, statistics)


def _in_place(
    flat: FlatIndex, prepared: Prepared, settings: SearchSettings, statistics: Statistics
) -> list[TableScore]:
    """Mark the rows that have a value of a key column, a bit for each but the initial one, and scan for all marks."""
    with statistics.phase("fetch and filter"):
        marks = np.zeros((len(flat.row_table), 1), np.uint64)
        statistics.postings = 0
        for number, column in enumerate(prepared.tuples.T):
            place = flat.places(np.unique(column))
            place = place[place >= 0]
            start, stop = flat.token_first[place], flat.token_first[place + 1]
            statistics.postings += int((stop - start).sum())
            if number != prepared.initial:
                _mark(flat, start, stop, number, marks)
        marks.setflags(write=False)
        wanted = np.uint64(sum(1 << number for number in range(prepared.tuples.shape[1]) if number != prepared.initial))
        count = len(prepared.known)
        probes = Probes(prepared.tuples[:, prepared.initial], np.arange(count), np.full((count, 1), wanted))
    return Scan(flat, prepared, probes, marks, settings, statistics).top_k()


def _mark(flat: FlatIndex, start: Ids, stop: Ids, number: int, marks: Keys) -> None:
    """Mark every row of these posting lists."""
    bit = np.uint64(1 << number)
    if is_worth(int((stop - start).sum()), _SMALL):
        from baselines.systems.mcr_kernel import mark

        mark(start, stop, flat.posting_row, bit, marks)
    else:
        for first, last in zip(start.tolist(), stop.tolist(), strict=True):
            marks[flat.posting_row[first:last], 0] |= bit


def _by_postings(
    store: IndexStore, prepared: Prepared, chosen: SearchSettings, statistics: Statistics
) -> list[TableScore]:
    """Sort the postings of all key columns by row and keep the rows that all have."""
    with statistics.phase("fetch and filter"):
        columns = [store.postings(np.unique(column)) for column in prepared.tuples.T]
        statistics.postings = sum(len(postings.row_id) for postings in columns)
        rows = reduce(np.intersect1d, (postings.row_id for postings in columns))
        columns = [_select(postings, np.isin(postings.row_id, rows)) for postings in columns]
        if chosen.exclude:
            columns = [_select(p, ~np.isin(p.table_id, list(chosen.exclude))) for p in columns]
    scores = _scores(columns, prepared, statistics)
    return sorted(scores, key=lambda score: (-score.joinability, score.table_id))[: chosen.k]


def _select(postings: Postings, kept: npt.NDArray[np.bool_]) -> Postings:
    return Postings(*(column[kept] for column in postings))


def _scores(columns: list[Postings], prepared: Prepared, statistics: Statistics) -> list[TableScore]:
    """Check every pair of a remaining posting and a key tuple, and score all tables."""
    cells = _cells(columns)

    def fetch(row_ids: Ids) -> RowCells:
        return cells

    pieces: list[Checked] = []
    with statistics.phase("check"):
        for candidates in _pairs(columns[prepared.initial], prepared):
            checked = check_candidates(candidates, cells, prepared.tuples, prepared.initial)
            statistics.candidates += len(candidates.row_id)
            statistics.true_positives += len(checked.mapping)
            statistics.false_positives += len(candidates.row_id) - len(checked.mapping)
            pieces.append(checked)
    statistics.tables = statistics.tables_checked = len(np.unique(columns[prepared.initial].table_id))
    with statistics.phase("score"):
        return score_tables(joined(pieces), fetch, prepared.tuples, prepared.initial) if pieces else []


def _cells(columns: list[Postings]) -> RowCells:
    """Return what is known of the remaining rows: the cells that hold a key value."""
    row = np.concatenate([postings.row_id for postings in columns])
    column = np.concatenate([postings.column_id for postings in columns])
    token = np.concatenate([postings.token_id for postings in columns])
    order = np.lexsort((column, row))
    row, column, token = row[order], column[order], token[order]
    # A value that two key columns share was fetched for both.
    new = np.ones(len(row), np.bool_)
    new[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    row, column, token = row[new], column[new], token[new]
    row_id, first = np.unique(row, return_index=True)
    return RowCells(row_id, np.append(first, len(row)), column, token)


def _pairs(postings: Postings, prepared: Prepared) -> Iterator[Candidates]:
    """Yield postings paired with the key tuples that share their value, so many pairs at a time."""
    values = prepared.tuples[:, prepared.initial]
    order = np.argsort(values, kind="stable")
    first = np.searchsorted(values[order], postings.token_id)
    count = np.searchsorted(values[order], postings.token_id, side="right") - first
    part = np.cumsum(count) // MOST_PAIRS
    for number in np.unique(part).tolist():
        chosen = np.flatnonzero(part == number)
        owner = np.repeat(chosen, count[chosen])
        ends = np.cumsum(count[chosen])
        place = np.arange(len(owner)) - np.repeat(ends - count[chosen], count[chosen])
        tuple_id = order[first[owner] + place]
        yield Candidates(tuple_id, postings.table_id[owner], postings.column_id[owner], postings.row_id[owner])
