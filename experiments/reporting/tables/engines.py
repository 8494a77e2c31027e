"""Figure 4 and table 2 by engine: what searching in a database changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from experiments.definitions import ARRAYS
from experiments.reporting.numbers import NOTHING, number
from experiments.reporting.results import Results
from experiments.reporting.tables.hashing import columns_of
from experiments.reporting.tables.searching import BASE, label, methods_in
from experiments.reporting.tables.statistics import runtime_summary
from experiments.reporting.tables.table import Table
from experiments.reporting.timings import time_ratios, timings

_NOTE = (
    "Ratios are of mean seconds, as in the paper's figures, with the range of nearly all draws of the queries. Engines "
    "are compared by their ratios: what a second of one means on another depends on machine and server."
)


class _Shown(NamedTuple):
    """What a table by engine shows."""

    experiment: str
    title: str
    base: str
    """What the base of all ratios is called."""
    labels: Mapping[str, str]
    """Methods, and what they are called."""


def figure4(results: Results) -> list[Table]:
    """Return figure 4 by engine; nothing where only arrays were searched."""
    queries = _queries(results, "figure4")
    if queries is None:
        return []
    called = {row["method"]: label(row) for _, row in runtime_summary(queries).iterrows()}
    labels = {method: called[method] for method in methods_in(queries)}
    return [_by_engine(results, queries, _Shown("figure4", "Figure 4 by engine", "MATE", labels))]


def table2(results: Results) -> list[Table]:
    """Return table 2 by engine, with the hash functions that a database has; nothing if only arrays were searched."""
    queries = _queries(results, "table2")
    if queries is None:
        return []
    elsewhere = set(queries.loc[queries["engine"] != ARRAYS, "method"])
    shown = queries[queries["method"].isin(elsewhere)]
    labels = {method: f"{group} {size}".strip() for method, group, size in columns_of(runtime_summary(shown))}
    title = "Table 2 by engine: the hash functions that a database has"
    return [_by_engine(results, shown, _Shown("table2", title, "XASH 128", labels))]


def _queries(results: Results, experiment: str) -> pd.DataFrame | None:
    """Return the searches of an experiment on all engines; None if there are only arrays."""
    engines = results.engines([experiment])
    return None if engines == [ARRAYS] else pd.concat([results.queries(experiment, engine) for engine in engines])


def _by_engine(results: Results, queries: pd.DataFrame, shown: _Shown) -> Table:
    """Return medians of all engines and ratios to the base on the same engine."""
    summary = runtime_summary(queries)
    rows, numbers = [], []
    for (lake, name, engine), group in summary.groupby(["lake", "query_set", "engine"], sort=False):
        own = queries[(queries["lake"] == lake) & (queries["query_set"] == name) & (queries["engine"] == engine)]
        medians, took = group.set_index("method"), timings(own)
        cells = []
        for method in shown.labels:
            if method not in medians.index:
                cells.append(NOTHING)
                continue
            case = next(iter(time_ratios(took, method, BASE)), None)
            median = float(medians.loc[method, "median"])
            ratio = f" · {case.text}" if case is not None and method != BASE else ""
            cells.append(f"{number(median * 1e3)}{ratio}" if median == median else f"none finished{ratio}")
            low, high = (case.interval if case is not None else None) or (None, None)
            place = {"lake": lake, "query_set": name, "engine": engine, "method": method, "median_seconds": median}
            numbers.append(place | {"ratio_to_mate": case.value if case else None, "low": low, "high": high})
        rows.append((results.title(str(lake)), str(name), str(engine), str(medians["queries"].max()), *cells))
    order = list(dict.fromkeys(row[:2] for row in rows))
    rows.sort(key=lambda row: order.index(row[:2]))
    header = [("", "lake"), ("", "query set"), ("", "engine"), ("", "queries")]
    told = f"ms per query (median) · times as long as {shown.base} on the same engine"
    header += [(told, name) for name in shown.labels.values()]
    name = f"{shown.experiment}-engines"
    return Table(name, shown.title, tuple(header), tuple(rows), pd.DataFrame(numbers), (_NOTE,), left=3)
