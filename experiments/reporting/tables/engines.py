"""Figure 4 by engine: what searching in a database changes."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from experiments.definitions import ARRAYS
from experiments.reporting.numbers import NOTHING, number
from experiments.reporting.results import Results
from experiments.reporting.tables.searching import BASE, label, methods_in
from experiments.reporting.tables.statistics import runtime_summary
from experiments.reporting.tables.table import Table
from experiments.reporting.timings import time_ratios, timings

_NOTE = (
    "Ratios are of mean seconds, as in the paper's figures, with the range of nearly all draws of the queries. Engines "
    "are compared by their ratios: what a second of one means on another depends on machine and server."
)


def figure4(results: Results) -> list[Table]:
    """Return figure 4 by engine; nothing where only arrays were searched."""
    engines = results.engines(["figure4"])
    if engines == [ARRAYS]:
        return []
    queries = pd.concat([results.queries("figure4", engine) for engine in engines])
    called = {row["method"]: label(row) for _, row in runtime_summary(queries).iterrows()}
    return [_by_engine(results, queries, {method: called[method] for method in methods_in(queries)})]


def _by_engine(results: Results, queries: pd.DataFrame, labels: Mapping[str, str]) -> Table:
    """Return medians of all engines and ratios to the base on the same engine."""
    summary = runtime_summary(queries)
    rows, numbers = [], []
    for (lake, name, engine), group in summary.groupby(["lake", "query_set", "engine"], sort=False):
        own = queries[(queries["lake"] == lake) & (queries["query_set"] == name) & (queries["engine"] == engine)]
        medians, took = group.set_index("method"), timings(own)
        cells = []
        for method in labels:
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
    told = "ms per query (median) · times as long as MATE on the same engine"
    header += [(told, name) for name in labels.values()]
    return Table(
        "figure4-engines", "Figure 4 by engine", tuple(header), tuple(rows), pd.DataFrame(numbers), (_NOTE,), left=3
    )
