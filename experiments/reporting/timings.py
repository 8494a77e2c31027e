"""Seconds of searches as arrays by method, so that pairs of methods are compared without looking queries up again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.reporting import bootstrap
from experiments.reporting.verdicts import Case, factor

Value = TypeVar("Value", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Timings:
    """What some queries took. All arrays have one place per query, in the order of the records."""

    sets: Mapping[str, npt.NDArray[np.int64]]
    """The places of the queries of each query set."""
    seconds: Mapping[str, npt.NDArray[np.float64]]
    """By method; the time limit where a search was stopped, NaN where there is none or it failed otherwise."""
    stopped: Mapping[str, npt.NDArray[np.bool_]]
    """By method: whether a search did not finish in time."""

    def of(self, query_set: str) -> Timings:
        """Return the timings of one query set."""
        return replace(self, sets={query_set: self.sets[query_set]})


def timings(queries: pd.DataFrame) -> Timings:
    """Return the timings of queries, given as one row per query and method."""
    places = queries.groupby(["lake", "query_set", "query"], sort=False).ngroup().to_numpy()
    rows = {str(method): found for method, found in queries.groupby("method", sort=False).indices.items()}
    seconds, stopped = queries["bounded"].to_numpy(np.float64), queries["stopped"].to_numpy(np.bool_)
    size = int(places.max(initial=-1)) + 1
    return Timings(
        _by_set(queries["query_set"], places),
        {method: _placed(seconds[found], places[found], np.full(size, np.nan)) for method, found in rows.items()},
        {method: _placed(stopped[found], places[found], np.zeros(size, np.bool_)) for method, found in rows.items()},
    )


def _by_set(names: pd.Series, places: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.int64]]:
    """Return the places of each query set, in the order of the records."""
    first = names.groupby(places).first()
    return {str(name): np.flatnonzero(first.to_numpy() == name) for name in dict.fromkeys(first)}


def _placed(values: npt.NDArray[Value], places: npt.NDArray[np.int64], empty: npt.NDArray[Value]) -> npt.NDArray[Value]:
    """Return an array with values in their places."""
    empty[places] = values
    return empty


def time_ratios(times: Timings, method: str, base: str) -> list[Case]:
    """Return how many times as long as `base` a method takes, by query set: the ratio of mean seconds.

    A query that one of the two did not finish in time counts with the time limit, so that the ratio is a bound, or
    near the truth at best (≈) if each of them has such queries; one that neither finished, or that failed otherwise, is
    left out. A query set without any other has no ratio.
    """
    if not {method, base} <= set(times.seconds):
        return []
    usable = ~np.isnan(times.seconds[method]) & ~np.isnan(times.seconds[base])
    usable &= ~(times.stopped[method] & times.stopped[base])
    chosen = ((name, places[usable[places]]) for name, places in times.sets.items())
    return [_time_ratio(times, name, (method, base), places) for name, places in chosen if len(places)]


def _time_ratio(times: Timings, query_set: str, pair: tuple[str, str], places: npt.NDArray[np.int64]) -> Case:
    """Return the ratio of mean seconds of a pair of methods over some queries of a set."""
    late, late_base = (times.stopped[method][places].any() for method in pair)
    own, base = (times.seconds[method][places] for method in pair)
    bound = ("≈ " if late_base else "≥ ") if late else "≤ " if late_base else ""
    samples = bootstrap.ratios(query_set, own, base)
    return factor(query_set, float(own.mean() / base.mean()), bound, samples, len(places))


def ratio_table(times: Timings, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Case]:
    """Return ratios of mean seconds by query set and method, each to a base of its own."""
    return {(case.name, method): case for method, base in pairs for case in time_ratios(times, method, base)}
