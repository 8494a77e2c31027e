"""The best mapping of a table so far, and what another one needs to take its place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mate.search.bits_kernel import popcount
from mate.values.kernels import inner

Array = npt.NDArray[Any]


class Found(NamedTuple):
    """The best mapping of a table so far."""

    score: Array
    """One number: the key tuples that it joins."""
    kth: int
    """Score that the table needs to exceed."""
    columns: Array
    """Column in the segment of each key column."""


@inner
def _may_precede(columns, best):
    """Tell whether a mapping, -1 where it is not decided, may come before another by its columns."""
    for key in range(len(columns)):
        if columns[key] < 0:
            return True
        if columns[key] != best[key]:
            return columns[key] < best[key]
    return False


@inner
def least_score(found, columns):
    """Return the score that a mapping needs to be the best of its table and to bring the table among the best."""
    best = found.score[0]
    return max(found.kth + 1, best if best and _may_precede(columns, found.columns) else best + 1)


@inner
def is_taken(columns, column):
    """Tell whether a mapping has a column already."""
    for other in columns:  # noqa: SIM110
        if other == column:
            return True
    return False


@inner
def intersect(one, other, both):
    """Set `both` to what two sets of key tuples have in common, and return how many that is."""
    count = np.int64(0)
    for word in range(len(both)):
        left = one[word] & other[word]
        both[word] = left
        count += popcount(left)
    return count
