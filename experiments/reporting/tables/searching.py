"""Tables of the systems: runtimes (figure 4), phases."""

from __future__ import annotations

from itertools import product

import pandas as pd

from experiments.metrics import recalls
from experiments.reporting import paper
from experiments.reporting.comparisons import READINGS, readings_in, sets_in, xash
from experiments.reporting.numbers import NOTHING, number, percent, share, times
from experiments.reporting.results import Results
from experiments.reporting.style import look_of_system
from experiments.reporting.tables.statistics import runtime_summary, unit_of
from experiments.reporting.tables.table import Table
from experiments.reporting.timings import ratio_table, timings

BASE = "xash 128"
"""MATE in figure 4."""


def methods_in(queries: pd.DataFrame) -> list[str]:
    """Return the methods in the order of the records, MATE's first."""
    return list(dict.fromkeys(queries["method"]))


def label(row: pd.Series) -> str:
    """Return a contestant of figure 4 for people."""
    return look_of_system(str(row["system"]), str(row["hash"] or ""), str(row["variant"] or "")).label


def figure4(results: Results) -> list[Table]:
    """Return the runtimes of figure 4, and their ratios to MATE beside the paper's."""
    queries = results.queries("figure4")
    return [_runtimes(results, queries), _ratios(results, queries)]


def _runtimes(results: Results, queries: pd.DataFrame) -> Table:
    summary = runtime_summary(queries)
    unit, scale = unit_of(summary["median"])
    methods = methods_in(queries)
    labels = {row["method"]: label(row) for _, row in summary.iterrows()}
    recall = recalls(results.frames["figure4"]).set_index(["lake", "query_set"])["recall"]
    rows = []
    for (lake, name), group in summary.groupby(["lake", "query_set"], sort=False):
        cells = group.set_index("method")
        found = [_spread(cells.loc[m], scale) if m in cells.index else NOTHING for m in methods]
        rows.append((results.title(lake), name, str(cells["queries"].max()), *found, share(recall.get((lake, name)))))
    header = [("", "lake"), ("", "query set"), ("", "queries"), *((f"{unit} per query", labels[m]) for m in methods)]
    notes = (
        "Median over queries (lower to upper quartile); fetching included. Paper's initial column and table filters, "
        "except for tight bounds and column-first search. A time limit that was reached is counted beside the figure.",
    )
    header.append(("recall of", "MCR JOSIE"))
    numbers = summary.assign(lake_title=summary["lake"].map(results.title))
    title = "Figure 4 as a table: runtime by system"
    return Table("figure4", title, tuple(header), tuple(rows), numbers, notes)


def _spread(row: pd.Series, scale: float) -> str:
    """Write median and quartiles, and what was not finished."""
    late = f" · {row['unfinished']} late" if row["unfinished"] else ""
    if row["median"] != row["median"]:
        return f"none finished{late}"
    low, high = number(row["p25"] * scale, 2), number(row["p75"] * scale, 2)
    return f"{number(row['median'] * scale)} ({low}–{high}){late}"


def _ratios(results: Results, queries: pd.DataFrame) -> Table:
    """Compare ratios of mean runtimes, which is what the paper's figure shows."""
    wide, readings = paper.system_seconds(), readings_in(queries)
    bases = {xash(128, reading): READINGS[reading] for reading in readings}
    methods = [m for m in methods_in(queries) if m not in bases]
    labels = {row["method"]: label(row) for _, row in runtime_summary(queries).iterrows()}
    rows, numbers = [], []
    for lake, measure in product(results.lakes_of("figure4"), results.measures("figure4")):
        own = results.queries("figure4", measure=measure)
        own = own[own["lake"] == lake]
        took = timings(own)
        for name, base in ((name, base) for name in sets_in(own) for base in bases):
            found = ratio_table(took.of(name), ((method, base) for method in methods))
            cells, known = [], paper.corresponding(lake, name)
            for method in methods:
                case = found.get((name, method))
                printed = wide.loc[known, method] / wide.loc[known, BASE] if _has(wide, known, method) else None
                here = case.text if case else NOTHING
                cells.append(f"{here} / {times(printed)}" if known and method in wide else here)
                value = case.value if case else None
                numbers.append(
                    {"lake": lake, "query_set": name, "measure": measure, "mate": base, "method": method}
                    | {"ratio_to_mate": value, "paper": printed}
                )
            rows.append((results.title(lake), name, bases[base], measure or "whole search", *cells))
    header = [
        ("", "lake"),
        ("", "query set"),
        ("", "MATE with XASH of"),
        ("", "measure"),
        *(("times as long as MATE, here / paper", labels[m]) for m in methods),
    ]
    notes = (
        "Ratios of mean seconds, without fetching as in the paper and of the whole search; a "
        "query that was stopped counts with the time limit, "
        "which makes the ratio a bound (≥, ≤; ≈ where both were stopped). Above 1: MATE is faster.",
    )
    title = "Figure 4: runtime relative to MATE"
    return Table("figure4-ratios", title, tuple(header), tuple(rows), pd.DataFrame(numbers), notes, left=4)


def _has(wide: pd.DataFrame, query_set: str | None, method: str) -> bool:
    return query_set in wide.index and method in wide.columns


def phases(results: Results) -> list[Table]:
    """Return the phases of the searches of figure 4."""
    summary = phase_summary(results)
    if summary.empty:
        return []
    names = phase_names(summary)
    rows = []
    for _, row in summary.iterrows():
        parts = [f"{number(row[p] * 1e3)} ({percent(row[p] / row['seconds'])})" if row[p] else NOTHING for p in names]
        rows.append((results.title(row["lake"]), row["query_set"], row["label"], number(row["seconds"] * 1e3), *parts))
    header = [("", "lake"), ("", "query set"), ("", "system"), ("ms per query", "total")]
    header += [("ms per query", phase(name)) for name in names]
    notes = ("Means over finished queries. The paper leaves fetching out of its runtimes.",)
    title = "Phases of the searches of figure 4"
    return [Table("phases", title, tuple(header), tuple(rows), summary, notes, left=3, minor=True)]


_PHASES = (
    *("prepare", "hash_query", "calibrate", "josie", "mark_rows", "fetch_postings", "filter_tables"),
    *("filter_rows_and_score", "cover", "bound_and_check", "describe_tables"),
)


def phase_names(summary: pd.DataFrame, least: float = 0.0) -> list[str]:
    """Return the phases that take more than a share of the time of some search, in the order in which they run."""
    known = {f"phase_{name}": place for place, name in enumerate(_PHASES)}
    parts = {name: (summary[name] / summary["seconds"]).max() for name in summary if name.startswith("phase_")}
    names = [name for name, part in parts.items() if part > least]
    return sorted(names, key=lambda name: known.get(name, len(known)))


def phase_summary(results: Results) -> pd.DataFrame:
    """Return mean seconds by phase of each system and query set."""
    queries = results.queries("figure4")
    done = queries[queries["finished"]]
    names = [name for name in done if name.startswith("phase_")]
    groups = done.groupby(["lake", "query_set", "method"], sort=False)
    means = groups[["seconds", *names]].mean().fillna(0.0)
    labels = groups[["system", "hash", "variant"]].first().apply(label, axis=1)
    return means.assign(label=labels).reset_index()


def phase(name: str) -> str:
    """Return a phase for people."""
    return name.removeprefix("phase_").replace("_", " ")
