"""The comparison of candidates with their rows, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

if TYPE_CHECKING:
    from mate.joinability import RowCells
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
