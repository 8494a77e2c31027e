"""Which rows of a table hold which key tuples under a mapping: what a join is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mate.lake.base import Ids
from mate.lake.columns import column_tokens
from mate.lake.layout import SegmentArrays


def matches(arrays: SegmentArrays, table: int, tuples: Ids, mapping: Sequence[int]) -> tuple[Ids, Ids]:
    """Return the pairs of key tuple and row that join, ordered by tuple, then by row.

    The columns are read whole: values are numbered among those of the query, and combinations compared as numbers.
    """
    wanted = held = np.zeros(0, np.int64)
    for key, column in enumerate(mapping):
        values = np.unique(tuples[:, key])
        asked = np.searchsorted(values, tuples[:, key])
        tokens = column_tokens(arrays, table, column)
        place = np.minimum(np.searchsorted(values, tokens), len(values) - 1)
        here = np.where(values[place] == tokens, place, -1)
        if key == 0:
            wanted, held = asked, here
            continue
        together = np.where((held >= 0) & (here >= 0), held * len(values) + here, -1)
        # Numbered without gaps again, so that long keys do not overflow.
        wanted_now = wanted * len(values) + asked
        numbers, wanted = np.unique(wanted_now, return_inverse=True)
        place = np.minimum(np.searchsorted(numbers, together), len(numbers) - 1)
        held = np.where(numbers[place] == together, place, -1)
    rows = np.flatnonzero(held >= 0)
    rows = rows[np.argsort(held[rows], kind="stable")]
    owner = np.empty(len(tuples), np.int64)
    owner[wanted] = np.arange(len(tuples))  # tuples are distinct, so are their numbers
    order = np.argsort(owner[held[rows]], kind="stable")
    return owner[held[rows]][order], rows[order]
