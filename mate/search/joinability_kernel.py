"""The comparison of candidates with their rows, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mate.search.joinability import RowCells
    from mate.store.base import Candidates, Ids


def find(candidates: Candidates, cells: RowCells, row: Ids, tuples: Ids, initial: int) -> tuple[Ids, Ids]:
    """Return in how many columns each value was found (the initial one: in its own), and the last of them."""
    found = np.zeros((len(row), tuples.shape[1]), np.int64)
    mapping = np.full(found.shape, -1, np.int64)
    _find(
        row,
        candidates.tuple_id,
        candidates.column_id,
        cells.offsets,
        cells.column_id,
        cells.token_id,
        np.ascontiguousarray(tuples),
        initial,
        found,
        mapping,
    )
    return found, mapping


@numba.njit(cache=True, nogil=True)
def _find(row, tuple_id, own_column, offsets, column_id, token_id, tuples, initial, found, mapping):
    width = tuples.shape[1]
    for i in range(len(row)):
        t = tuple_id[i]
        own = own_column[i]
        found[i, initial] = 1
        mapping[i, initial] = own
        for p in range(offsets[row[i]], offsets[row[i] + 1]):
            column = column_id[p]
            if column == own:
                continue
            token = token_id[p]
            for key in range(width):
                if key != initial and tuples[t, key] == token:
                    found[i, key] += 1
                    mapping[i, key] = column


def expand(
    candidates: Candidates, cells: RowCells, row: Ids, tuples: Ids, initial: int, most: int
) -> tuple[Ids, Ids, npt.NDArray[np.bool_]]:
    """Return every injective mapping (owner and columns) of candidates that have at most so many, and who has more."""
    width = tuples.shape[1]
    scratch = np.empty((width, most), np.int64)
    tokens = np.ascontiguousarray(tuples)

    def run(places: Ids, mappings: Ids) -> None:
        _expand(
            row,
            candidates.tuple_id,
            candidates.column_id,
            cells.offsets,
            cells.column_id,
            cells.token_id,
            tokens,
            initial,
            most,
            scratch,
            places,
            mappings,
        )

    counts = np.zeros(len(row), np.int64)
    run(counts, np.empty((0, width), np.int64))
    too_many = counts < 0
    counts[too_many] = 0
    ends = np.cumsum(counts)
    mappings = np.empty((int(ends[-1]) if len(ends) else 0, width), np.int64)
    run(ends - counts, mappings)
    return np.repeat(np.arange(len(row)), counts), mappings, too_many


@numba.njit(cache=True, nogil=True)
def _expand(row, tuple_id, own_column, offsets, column_id, token_id, tuples, initial, most, columns, places, mappings):
    """First call, without room for mappings: count them into `places`, -1 for too many. Second: write them there."""
    width = tuples.shape[1]
    filling = len(mappings) > 0
    found = np.empty(width, np.int64)
    wheel = np.empty(width, np.int64)
    for i in range(len(row)):
        t = tuple_id[i]
        found[:] = 0
        found[initial] = 1
        columns[initial, 0] = own_column[i]
        options = 1
        for p in range(offsets[row[i]], offsets[row[i] + 1]):
            if column_id[p] == own_column[i]:
                continue
            for key in range(width):
                if key != initial and tuples[t, key] == token_id[p]:
                    if found[key] < most:
                        columns[key, found[key]] = column_id[p]
                    found[key] += 1
        for key in range(width):
            options = min(options * found[key], most + 1)
        if options > most:
            if not filling:
                places[i] = -1
            continue
        if options == 0:
            continue
        wheel[:] = 0
        at = places[i]
        while True:
            apart = True
            for key in range(width):
                for other in range(key):
                    if columns[key, wheel[key]] == columns[other, wheel[other]]:
                        apart = False
            if apart:
                if filling:
                    for key in range(width):
                        mappings[at, key] = columns[key, wheel[key]]
                at += 1
            key = width - 1
            while key >= 0:
                wheel[key] += 1
                if wheel[key] < found[key]:
                    break
                wheel[key] = 0
                key -= 1
            if key < 0:
                break
        if not filling:
            places[i] = at
