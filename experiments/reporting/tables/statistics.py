"""Summaries of runtimes and precisions that several tables and figures share."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from experiments.metrics import paired
from experiments.reporting.results import BY

DESCRIBED = ("system", "hash", "bits", "variant")
"""What a method is made of; the same in all of its rows."""


def runtime_summary(queries: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """Return median, quartiles, 95th percentile and mean of the seconds, with the queries that were not finished."""
    groups = queries.groupby(list(by), sort=False, dropna=False)
    seconds = groups["seconds"]
    return pd.DataFrame(
        {
            **{name: groups[name].first() for name in DESCRIBED},
            "queries": groups.size(),
            "unfinished": groups["finished"].agg(lambda finished: int((~finished).sum())),
            "median": seconds.median(),
            "p25": seconds.quantile(0.25),
            "p75": seconds.quantile(0.75),
            "p95": seconds.quantile(0.95),
            "mean": seconds.mean(),
        }
    ).reset_index()


def precision_summary(queries: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """Return mean and deviation of the precision over the queries that all methods have one for, and their number."""
    groups = paired(queries, "precision", by).groupby(list(by), sort=False, dropna=False)
    precision = groups["precision"]
    return pd.DataFrame(
        {
            **{name: groups[name].first() for name in DESCRIBED},
            "queries": groups.size(),
            "mean": precision.mean(),
            "std": precision.std(ddof=0),
            "false_positives": groups["false_positives"].sum(),
            "true_positives": groups["true_positives"].sum(),
        }
    ).reset_index()


def unit_of(seconds: pd.Series) -> tuple[str, float]:
    """Return the unit in which runtimes are read best, and how many of it a second has."""
    return ("ms", 1e3) if seconds.median() < 1 else ("s", 1.0)
