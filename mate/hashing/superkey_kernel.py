"""Compiled `covers`: one pass over the keys, no temporary arrays, stops at the first word that differs."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from mate.hashing.superkey import Index, Keys


def covers_pairs(query: Keys, rows: Keys) -> npt.NDArray[np.bool_]:
    """Compare ``query[i]`` with ``rows[i]``."""
    out = np.empty(len(query), np.bool_)
    _covers_pairs(query, rows, out)
    return out


def covers_indexed(query: Keys, rows: Keys, query_index: Index, row_index: Index) -> npt.NDArray[np.bool_]:
    """Compare ``query[query_index[i]]`` with ``rows[row_index[i]]`` without gathering either."""
    out = np.empty(len(query_index), np.bool_)
    _covers_indexed(query, rows, query_index, row_index, out)
    return out


@numba.njit(cache=True, nogil=True)
def _covers_pairs(query, rows, out):
    words = query.shape[1]
    if words == 2:  # the usual 128 bits, without a branch: it vectorises
        for i in range(len(out)):
            out[i] = (query[i, 0] & ~rows[i, 0]) | (query[i, 1] & ~rows[i, 1]) == 0
        return
    for i in range(len(out)):
        missing = np.uint64(0)
        for w in range(words):
            missing |= query[i, w] & ~rows[i, w]
        out[i] = missing == 0


@numba.njit(cache=True, nogil=True)
def _covers_indexed(query, rows, query_index, row_index, out):
    words = query.shape[1]
    for i in range(len(out)):
        q, r = query_index[i], row_index[i]
        covered = True
        for w in range(words):
            if query[q, w] & ~rows[r, w]:
                covered = False
                break
        out[i] = covered
