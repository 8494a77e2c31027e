"""The query files that the authors released, apart from all else: few of them join with anything in another corpus."""

from __future__ import annotations

import pandas as pd

from experiments.metrics import by_query, paired
from experiments.reporting.comparisons import readings_in, xash
from experiments.reporting.numbers import share, times
from experiments.reporting.results import BY, Results
from experiments.reporting.style import name_of
from experiments.reporting.tables.table import Table


def released(results: Results) -> list[Table]:
    """Return how many of the authors' queries join with anything here, and what a filter and MATE do for these."""
    frame = results.released.get("table3", results.released.get("table2"))
    if frame is None:
        return []
    queries = by_query(frame, BY)
    methods = [xash(128, reading) for reading in readings_in(queries)] + ["bf 128"]
    rows, numbers = [], []
    for (lake, engine, name), group in queries.groupby(["lake", "engine", "query_set"], sort=False):
        joining = group[group["best"].astype("Float64").fillna(0) > 0]
        wide = paired(joining[joining["method"].isin(methods)], "precision", BY)
        wide = wide.pivot(index="query", columns="method", values="precision").astype(float).reindex(columns=methods)
        seconds = joining.groupby("method")["seconds"].mean().reindex(["scr", methods[0]])
        facts = {"asked": group["query"].nunique(), "joining": joining["query"].nunique(), "paired": len(wide)}
        means = wide.mean()
        ratio = seconds.iloc[0] / seconds.iloc[1]
        numbers.append({"lake": lake, "engine": engine, "query_set": name, **facts, **means, "scr_to_mate": ratio})
        rows.append((results.title(lake), name, *map(str, facts.values()), *map(share, means), times(ratio)))
    header = [
        ("", "lake"),
        ("", "query set"),
        *(("queries", text) for text in ("all", "that join", "with a precision")),
    ]
    header += [("precision", name_of(method)) for method in methods] + [("seconds", "SCR / MATE")]
    note = (
        "Sampled from the authors' corpora. A query joins if any table of this lake has one of its key tuples; means "
    )
    note += "are over such queries, precisions over those that have one with every method. They count in no verdict."
    title = "The authors' released queries on another corpus than theirs"
    return [Table("released", title, tuple(header), tuple(rows), pd.DataFrame(numbers), (note,))] if rows else []
