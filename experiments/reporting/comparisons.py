"""What claims are tested with: methods compared on one lake, query set by query set, on the same queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.definitions import ARRAYS
from experiments.reporting import bootstrap
from experiments.reporting.results import WHOLE, Made, Results
from experiments.reporting.timings import Timings, timings
from experiments.reporting.verdicts import POINT, Case, Samples, Untestable, difference, factor

READINGS = {"": "alpha of this lake", "paper's alpha": "the paper's alpha", "released": "the released code"}
"""XASH comes three times: with the alpha that equation 5 gives for the lake, with that of the paper's corpus, and as
the released code has it."""


def xash(bits: int, reading: str = "") -> str:
    """Return the name of one reading of XASH."""
    return f"xash {bits}" + (f" ({reading})" if reading else "")


def readings_in(queries: pd.DataFrame, bits: int = 128) -> list[str]:
    """Return the readings of XASH that were measured; all are shown, not one chosen for the others."""
    measured = set(queries["method"])
    return [reading for reading in READINGS if xash(bits, reading) in measured]


@dataclass(frozen=True)
class LakeResults:
    """The results of one lake, or of several taken together."""

    results: Results
    name: str
    among: tuple[str, ...] = ()
    """The lakes that are taken together; none for the one that is named."""
    engine: str = ARRAYS
    """What searched."""
    measure: str = WHOLE
    """What its runtimes are of."""

    def queries(self, experiment: str, *methods: str) -> pd.DataFrame:
        """Return one row per query and method, of some methods only if named; all of these must be there."""
        if not self.results.has(experiment):
            raise Untestable(f"{experiment} was not measured here")
        frame = self._once(
            "queries", experiment, lambda: self._own(self.results.queries(experiment, self.engine, self.measure))
        )
        if frame.empty:
            elsewhere = set(self._lakes) & set(self.results.lakes_of(experiment))
            raise Untestable(f"{experiment} was not measured here" + (f" on {self.engine}" if elsewhere else ""))
        absent = [method for method in methods if not (frame["method"] == method).any()]
        if absent:
            raise Untestable(f"{experiment} has no records of {', '.join(absent)} here")
        return frame[frame["method"].isin(methods)] if methods else frame

    def timings(self, experiment: str) -> Timings:
        """Return what all queries took with every method."""
        queries = self.queries(experiment)
        return self._once("timings", experiment, lambda: timings(queries))

    def records(self, experiment: str) -> pd.DataFrame:
        """Return the raw records of an experiment of another kind."""
        frame = self.results.frames.get(experiment)
        own = None if frame is None else self._own(frame)
        if own is None or own.empty:
            raise Untestable(f"{experiment} was not measured here")
        return own

    @property
    def _lakes(self) -> tuple[str, ...]:
        return self.among or (self.name,)

    def _own(self, frame: pd.DataFrame) -> pd.DataFrame:
        return frame[frame["lake"].isin(self._lakes)]

    def _once(self, kind: str, experiment: str, make: Callable[[], Made]) -> Made:
        """Return what was made of an experiment for these lakes and this engine before, else make it now."""
        place = f"{kind} of {', '.join(self._lakes)} on {self.engine} {self.measure}"
        return self.results.once(place, experiment, make)


def sets_in(queries: pd.DataFrame) -> list[str]:
    """Return the query sets, in the order of the records."""
    return list(dict.fromkeys(queries["query_set"]))


def measured(queries: pd.DataFrame, *methods: str) -> bool:
    """Tell whether methods were measured: a database has few hash functions and sizes, and the others are skipped."""
    return set(methods) <= set(queries["method"])


def fewest(queries: pd.DataFrame) -> int:
    """Return the number of queries of the smallest query set."""
    return int(queries.groupby("query_set")["query"].nunique().min())


def drawn_ratio(name: str, over: tuple[str, pd.Series], under: tuple[str, pd.Series], least: float = 0.0) -> Case:
    """Return the ratio of two means over different queries, each drawn as its query set is; the lower one has a floor.

    The case weighs as the smaller of the two.
    """
    values = [(label, column.astype(float).dropna().to_numpy(np.float64)) for label, column in (over, under)]
    if not all(len(column) for _, column in values):
        raise Untestable(f"no query of {over[0]} or of {under[0]} was finished")
    drawn = [bootstrap.means(label, column) for label, column in values]
    above, below = (float(column.mean()) for _, column in values)
    samples = None if drawn[0] is None or drawn[1] is None else drawn[0] / np.maximum(least, drawn[1])
    return factor(name, above / max(least, below), "", samples, min(len(column) for _, column in values))


def by_set(queries: pd.DataFrame, methods: Sequence[str], value: str) -> dict[str, pd.DataFrame]:
    """Return a value by query and method for each query set, of the queries that have it with every method."""
    common = _common(queries, methods, value)
    return {str(name): rows.droplevel("query_set") for name, rows in common.groupby("query_set", sort=False)}


def mean_precision(queries: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return mean precision, query sets by methods, over the queries that have one with every method."""
    return _common(queries, methods, "precision").groupby("query_set", sort=False).mean()


def precisions(queries: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return precision, queries by methods, of the queries that have one with every method."""
    return _common(queries, methods, "precision")


def false_positives(queries: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the false positives, query sets by methods, summed over the queries that every method finished."""
    return _common(queries, methods, "false_positives").groupby("query_set", sort=False).sum()


def false_positives_by_query(queries: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the false positives, queries by methods, of the queries that every method finished."""
    return _common(queries, methods, "false_positives")


def by_method(queries: pd.DataFrame, methods: Sequence[str], value: str) -> pd.DataFrame:
    """Return a value by query and method, queries in the order of the records."""
    wide = queries.pivot(index=["query_set", "query"], columns="method", values=value).astype(float)
    order = pd.MultiIndex.from_frame(queries[["query_set", "query"]].drop_duplicates())
    return wide.reindex(index=order, columns=list(methods))


def _common(queries: pd.DataFrame, methods: Sequence[str], value: str) -> pd.DataFrame:
    """Return a value by query and method, for the queries that have it with every method."""
    chosen = queries.loc[queries["method"].isin(methods), ["query_set", "query", "method", value]]
    common = by_method(chosen, methods, value).dropna()
    if not len(common):
        raise Untestable("no query has a value with every method")
    return common


def precision_differences(queries: pd.DataFrame, method: str, other: str) -> list[Case]:
    """Return by how much a method is more precise than another, by query set."""
    common = _common(queries, (method, other), "precision")
    cases = []
    for name, rows in (common[method] - common[other]).groupby("query_set", sort=False):
        samples = bootstrap.means(str(name), rows.to_numpy(np.float64))
        cases.append(difference(str(name), float(rows.mean()), samples=samples, weight=len(rows)))
    return cases


def over_best(queries: pd.DataFrame, method: str, rivals: Sequence[str]) -> tuple[str, float, Case]:
    """Return the most precise rival over all queries, its precision, and by how much a method is more precise.

    In every draw the method is compared with the rival that is the most precise there.
    """
    common = _common(queries, (*rivals, method), "precision")
    means, drawn = common.mean(), bootstrap.means("all", common.to_numpy(np.float64))
    best = means[list(rivals)]
    samples = None if drawn is None else drawn[:, -1] - drawn[:, :-1].max(axis=1)
    case = difference(str(best.idxmax()), float(means[method] - best.max()), samples=samples, weight=len(common))
    return str(best.idxmax()), float(best.max()), case


def pooled_difference(queries: pd.DataFrame, method: str, other: str, name: str, least: float = POINT) -> Case:
    """Return by how much a method is more precise than another, over all queries."""
    common = _common(queries, (method, other), "precision")
    gaps = (common[method] - common[other]).to_numpy(np.float64)
    return difference(name, float(gaps.mean()), least, bootstrap.means("all", gaps), len(gaps))


def middle(values: Samples, weights: Sequence[float]) -> Samples:
    """Return the median of each column, its rows weighted; between two rows of the same weight it is their mean."""
    order = np.argsort(values, axis=0)
    sorted_values = np.take_along_axis(values, order, axis=0)
    share = np.cumsum(np.asarray(weights, np.float64)[order], axis=0) / np.sum(weights)
    low, high = (np.argmax(reached, axis=0)[None] for reached in (share >= 0.5 - 1e-9, share > 0.5 + 1e-9))
    both = (np.take_along_axis(sorted_values, place, axis=0)[0] for place in (low, high))
    found: Samples = np.mean(list(both), axis=0)
    return found


def correlation(left: pd.Series, right: pd.Series) -> tuple[float, Samples | None]:
    """Return the rank correlation of two properties of queries, and what it is in draws of the queries."""
    pair = pd.DataFrame({"left": left.astype(float), "right": right.astype(float)}).dropna().rank()
    if len(pair) < 3:
        return float("nan"), None
    rho = rank_correlation(pair["left"], pair["right"])
    return rho, bootstrap.correlations("all", pair["left"].to_numpy(), pair["right"].to_numpy())


def rank_correlation(left: pd.Series, right: pd.Series) -> float:
    """Return Spearman's rank correlation."""
    pair = pd.DataFrame({"left": left.astype(float), "right": right.astype(float)}).dropna()
    if len(pair) < 3 or pair["left"].nunique() < 2 or pair["right"].nunique() < 2:
        return float("nan")
    return float(pair["left"].rank().corr(pair["right"].rank()))
