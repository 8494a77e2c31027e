"""Paired bootstrap: the queries of a set are drawn again with replacement, the same draws for every method.

Drawn are queries, not measurements: two methods that are compared are compared on the same queries in every draw, and
all cases of a query set see the same draws, so that a verdict on several of them can be drawn again as a whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.reporting.rules import threshold

Values = npt.NDArray[np.float64]

_NOTHING = 1e-12
"""Variances below are those of equal values, but for rounding."""
_more = 1


@contextmanager
def with_times_as_many(queries: int) -> Iterator[None]:
    """Draw so many times as many queries: what a verdict would be if further queries were like those that there are."""
    global _more
    before, _more = _more, queries
    try:
        yield
    finally:
        _more = before


def draws(name: str, queries: int) -> Values:
    """Return how often each draw takes each query: a row per draw. A set has the same draws wherever it is named."""
    return _draws(name, queries, _more)


@lru_cache(maxsize=64)
def _draws(name: str, queries: int, times: int) -> Values:
    dice = np.random.default_rng(zlib.crc32(name.encode()))
    chances = np.full(queries, 1 / queries)
    return dice.multinomial(queries * times, chances, int(threshold("resamples"))).astype(np.float64)


def ratios(name: str, values: Values, base: Values) -> Values | None:
    """Return the ratio of means in every draw, 1 where both are 0; none for a single query."""
    if len(values) < 2:
        return None
    drawn = draws(name, len(values))
    above, below = drawn @ values, drawn @ base
    found: Values = np.divide(above, below, out=np.where(above > 0, np.inf, 1.0), where=below > 0)
    return found


def means(name: str, values: Values) -> Values | None:
    """Return the mean in every draw, of each column if there are several; none for a single query."""
    return _means(draws(name, len(values)), values) if len(values) > 1 else None


def _means(drawn: Values, values: Values) -> Values:
    return np.asarray(drawn @ values / drawn[0].sum())


def deviations(name: str, values: Values) -> Values:
    """Return the standard deviation of each column in every draw."""
    drawn, centred = draws(name, len(values)), values - values.mean(axis=0)
    variances = _means(drawn, centred * centred) - _means(drawn, centred) ** 2
    return np.sqrt(np.where(variances > _NOTHING, variances, 0.0))


def correlations(name: str, left: Values, right: Values) -> Values:
    """Return the correlation of two things, given as ranks, in every draw; 0 where nothing varies."""
    drawn = draws(name, len(left))
    x, y = left - left.mean(), right - right.mean()
    mean_x, mean_y, both = (_means(drawn, values) for values in (x, y, x * y))
    squares = (_means(drawn, x * x) - mean_x**2) * (_means(drawn, y * y) - mean_y**2)
    spread = np.sqrt(np.maximum(0.0, squares))
    found: Values = np.divide(both - mean_x * mean_y, spread, out=np.zeros(len(drawn)), where=spread > _NOTHING)
    return found


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
