"""From raw records to what tables and figures show. Nothing here is stored: it is computed from the records."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from experiments.definitions import ARRAYS

METHOD = ("lake", "query_set", "engine", "method")
"""What a figure is computed for, unless asked otherwise: one method on one query set in one engine."""


def by_query(frame: pd.DataFrame, by: Sequence[str] = METHOD) -> pd.DataFrame:
    """Return one row per query and method: its counts, with the median and the spread of its counted runtimes.

    Phases share the median as they share the time of all counted runs, so that they never add up to more than it.
    ``spread`` is the difference between the slowest and the fastest counted run, relative to the median; it is missing
    where a search was not repeated.
    """
    counted = frame[frame["counted"]]
    keys = [*by, "query"]
    first = counted.drop_duplicates(keys).set_index(keys)
    times = counted.groupby(keys, sort=False)["seconds"].agg(["median", "min", "max", "count"])
    phases = [name for name in counted if str(name).startswith("phase_")]
    means = counted.groupby(keys, sort=False)[["seconds", *phases]].mean()
    first[phases] = means[phases].mul(times["median"] / means["seconds"], axis=0)
    first["seconds"] = times["median"]
    first["repetitions"] = times["count"]
    first["spread"] = ((times["max"] - times["min"]) / times["median"]).where(times["count"] > 1)
    return first.reset_index()


OUTSIDE = ("prepare", "fetch_postings", "calibrate", "describe_tables", "evidence")
"""Phases that the paper leaves out of its runtimes, or does not have: look-ups before the search, fetching, and the
names of the answers behind it."""


def without_fetching(queries: pd.DataFrame) -> pd.Series:
    """Return the seconds of what the paper depicts (section 7.2): to hash, filter and compare, and JOSIE's search.

    In a database one statement fetches and filters, and so a search there has no such part.
    """
    phases = queries.filter(regex="^phase_")
    inside = phases.drop(columns=[f"phase_{name}" for name in OUTSIDE], errors="ignore")
    known = phases.notna().any(axis=1) & bool(len(inside.columns)) & (queries["engine"] == ARRAYS)
    return inside.sum(axis=1).where(known)


def index_bytes(frame: pd.DataFrame) -> pd.Series:
    """Return what the parts of each build take together."""
    return frame.filter(regex="^bytes_").sum(axis=1)


def paired(queries: pd.DataFrame, value: str, by: Sequence[str] = METHOD) -> pd.DataFrame:
    """Return the queries that have a value with every method of their query set: all are averaged over the same.

    A method without any value in a set, such as one that finished no query, does not take part there.
    """
    place = [name for name in by if name != "method"]
    known = queries[queries[value].notna()]
    methods = known.groupby(place, sort=False, dropna=False)["method"].transform("nunique")
    return known[known.groupby([*place, "query"], sort=False, dropna=False)["method"].transform("nunique") == methods]


def precisions(frame: pd.DataFrame, by: Sequence[str] = METHOD) -> pd.DataFrame:
    """Return the precision of each method's row filter: mean and deviation over the queries that all have one for.

    A query without any candidate has no precision; those that are left out for it are counted in ``without``.
    """
    queries = by_query(frame, by)
    everywhere = queries.groupby(list(by), sort=False, dropna=False).size()
    groups = paired(queries, "precision", by).groupby(list(by), sort=False, dropna=False)["precision"]
    found = pd.DataFrame({"queries": groups.size(), "mean": groups.mean(), "std": groups.std(ddof=0)})
    found.insert(1, "without", everywhere.loc[found.index] - found["queries"])
    return found.reset_index()


def recalls(frame: pd.DataFrame, by: Sequence[str] = METHOD) -> pd.DataFrame:
    """Return the share of the exact answers that inexact methods found, over the finished queries.

    Tables as good as the last one of the exact answer are as good an answer.
    """
    queries = by_query(frame, by)
    done = queries[queries["finished"]]
    keys = [name for name in by if name != "method"] + ["query"]
    exact = done[done["exact"]].drop_duplicates(keys).set_index(keys)["answer_scores"].rename("right")
    joined = done[~done["exact"]].join(exact, on=keys).dropna(subset=["right"])
    joined["wanted"] = [len(right) for right in joined["right"]]
    joined["found"] = [_found(own, right) for own, right in zip(joined["answer_scores"], joined["right"], strict=True)]
    groups = joined.groupby(list(by), sort=False)
    share = groups["found"].sum() / groups["wanted"].sum()
    return pd.DataFrame({"queries": groups.size(), "recall": share}).reset_index()


def _found(own: Sequence[int], right: Sequence[int]) -> int:
    return min(len(right), sum(score >= right[-1] for score in own)) if len(right) else 0


def query_sets(frame: pd.DataFrame) -> pd.DataFrame:
    """Return table 1: of each query set the number of queries, mean cardinality and mean joinability.

    ``joinability`` is that of the best table, the query's own included as in the paper; ``elsewhere`` that of the best
    other table.
    """
    queries = by_query(frame, ("lake", "query_set"))
    groups = queries.groupby(["lake", "query_set"], sort=False)
    return pd.DataFrame(
        {
            "queries": groups.size(),
            "cardinality": groups["cardinality"].mean(),
            "joinability": groups["best"].mean(),
            "elsewhere": groups["best_other"].mean(),
        }
    ).reset_index()
