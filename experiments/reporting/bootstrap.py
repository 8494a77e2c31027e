"""Paired bootstrap: the queries of a set are drawn again with replacement, the same draws for every method.

Drawn are queries, not measurements: two methods that are compared are compared on the same queries in every draw, and
all cases of a query set see the same draws, so that a verdict on several of them can be drawn again as a whole.
"""

from __future__ import annotations

import zlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.reporting.rules import threshold

Values = npt.NDArray[np.float64]


@lru_cache(maxsize=256)
def draws(name: str, queries: int) -> npt.NDArray[np.int64]:
    """Return which queries each draw takes: one row per draw. A query set has the same draws wherever it is named."""
    dice = np.random.default_rng(zlib.crc32(name.encode()))
    return dice.integers(0, queries, (int(threshold("resamples")), queries))


def ratios(name: str, values: Values, base: Values) -> Values | None:
    """Return the ratio of means in every draw, 1 where both are 0; none for a single query."""
    if len(values) < 2:
        return None
    drawn = draws(name, len(values))
    above, below = values[drawn].mean(axis=1), base[drawn].mean(axis=1)
    found: Values = np.divide(above, below, out=np.where(above > 0, np.inf, 1.0), where=below > 0)
    return found


def means(name: str, values: Values) -> Values | None:
    """Return the mean in every draw, of each column if there are several; none for a single query."""
    return np.asarray(values[draws(name, len(values))].mean(axis=1)) if len(values) > 1 else None


def deviations(name: str, values: Values) -> Values:
    """Return the standard deviation of each column in every draw."""
    return np.asarray(values[draws(name, len(values))].std(axis=1))


def largest(name: str, values: Values) -> Values | None:
    """Return the largest value in every draw; none for a single query."""
    return np.asarray(values[draws(name, len(values))].max(axis=1)) if len(values) > 1 else None


def correlations(name: str, left: Values, right: Values) -> Values:
    """Return the correlation of two things, given as ranks, in every draw; 0 where nothing varies."""
    drawn = draws(name, len(left))
    return correlated(left[drawn], right[drawn])


def rank_correlations(left: Values, right: Values) -> Values:
    """Return the rank correlation of two things row by row; 0 where nothing varies."""
    ranks = [pd.DataFrame(part).rank(axis=1).to_numpy(np.float64) for part in np.broadcast_arrays(left, right)]
    return correlated(*ranks)


def correlated(x: Values, y: Values) -> Values:
    """Return the correlation of two things row by row; 0 where nothing varies."""
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    spread = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    found: Values = np.divide((x * y).sum(axis=1), spread, out=np.zeros(len(x)), where=spread > 0)
    return found
