"""Figure 4: runtimes of the systems, their ratios to MATE beside the paper's, and where the time goes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from experiments.reporting import paper
from experiments.reporting.comparisons import sets_in
from experiments.reporting.figures.drawing import (
    PAPER,
    Drawn,
    grid,
    grouped_bars,
    legend,
    log_axis,
    panels,
    styled,
)
from experiments.reporting.numbers import number
from experiments.reporting.results import Results
from experiments.reporting.style import Look, look_of_system, phase_look, system_order
from experiments.reporting.tables.searching import BASE, phase, phase_names, phase_summary
from experiments.reporting.tables.statistics import runtime_summary, unit_of
from experiments.reporting.timings import ratio_table, timings


def _looks(frame: pd.DataFrame) -> dict[str, Look]:
    """Return the methods in the order of the paper, with their looks."""
    first = frame.drop_duplicates("method").set_index("method")
    looks = {
        str(m): look_of_system(str(row["system"]), str(row["hash"] or ""), str(row["variant"] or ""))
        for m, row in first.iterrows()
    }
    return {m: looks[m] for m in sorted(looks, key=lambda m: system_order(str(first.loc[m, "system"])))}


@styled
def figure4(results: Results) -> list[Drawn]:
    """Draw the runtimes, and their ratios to MATE."""
    return [_runtimes(results), *_ratios(results)]


def _runtimes(results: Results) -> Drawn:
    queries = results.queries("figure4")
    limits = queries.groupby(["lake", "query_set", "method"], sort=False)["limit"].max()
    summary = runtime_summary(queries).join(limits, on=["lake", "query_set", "method"])
    looks, lakes = _looks(summary), results.lakes_of("figure4")
    unit, scale = unit_of(summary["median"])
    title = "Figure 4: runtime by system"
    figure, axes = panels(len(lakes), 9, 3.0, title=title)
    for axis, lake in zip(axes, lakes, strict=True):
        own = summary[summary["lake"] == lake]
        groups = sets_in(own)
        series = [(look, own[own["method"] == m].set_index("query_set")) for m, look in looks.items()]
        grid(axis)
        grouped_bars(axis, groups, series, scale)
        log_axis(axis)
        sizes = own.groupby("query_set", sort=False)["queries"].max()
        axis.set_xticks(range(len(groups)), [f"{name}\n{sizes[name]} queries" for name in groups])
        axis.set_ylabel(f"{unit} per query")
        axis.set_title(results.title(lake), fontsize=9, loc="left")
    legend(figure, list(looks.values()), bars=True)
    caption = "Median over queries, whiskers from the lower to the upper quartile; fetching included."
    return Drawn("figure4", title, caption, figure)


def _ratios(results: Results) -> list[Drawn]:
    queries = results.queries("figure4")
    looks = {m: look for m, look in _looks(queries).items() if m != BASE and m not in _own(queries)}
    lakes = results.lakes_of("figure4")
    pairs = queries[["lake", "query_set"]].drop_duplicates().itertuples(index=False, name=None)
    compared = any(paper.corresponding(*pair) in paper.system_seconds().index for pair in pairs)
    title = "Figure 4: runtime relative to MATE" + (", here and in the paper" if compared else "")
    figure, axes = panels(len(lakes), 9, 2.6, title=title)
    drawn = False
    for axis, lake in zip(axes, lakes, strict=True):
        drawn |= _ratio_panel(axis, lake, queries[queries["lake"] == lake], looks)
        axis.set_title(results.title(lake), fontsize=9, loc="left")
    if not looks or not drawn:
        return []
    legend(figure, [replace(look, line="none") for look in looks.values()], bars=False, paper=compared)
    caption = "Ratio of mean seconds; above the line MATE is faster."
    caption += " Diamonds: the paper's ratio on the same query set." * compared
    return [Drawn("figure4-ratios", title, caption, figure)]


def _own(queries: pd.DataFrame) -> set[str]:
    """Return MATE's variants."""
    return set(queries[queries["system"] == "mate"]["method"])


def _ratio_panel(axis: Any, lake: str, queries: pd.DataFrame, looks: dict[str, Look]) -> bool:
    """Draw the ratios of one lake; tell whether there was any."""
    groups, printed, drawn = sets_in(queries), paper.system_seconds(), False
    found = ratio_table(timings(queries), ((method, BASE) for method in looks))
    width = 0.7 / max(1, len(looks))
    for number_, (method, look) in enumerate(looks.items()):
        for place, name in enumerate(groups):
            x = place + (number_ - (len(looks) - 1) / 2) * width
            case = found.get((name, method))
            known = paper.corresponding(lake, name)
            there = printed.loc[known, method] / printed.loc[known, BASE] if _in(printed, known, method) else None
            if case:
                drawn = True
                axis.plot(x, case.value, marker=look.marker, color=look.colour, markersize=7)
            if there is not None and there == there:
                axis.plot(x, there, markerfacecolor="white", **PAPER)
                if case:
                    axis.plot([x, x], [case.value, there], color=look.colour, linewidth=0.8, zorder=1)
    axis.axhline(1, color="black", linewidth=0.8)
    grid(axis)
    log_axis(axis)
    axis.set_ylabel("times as long as MATE")
    axis.set_xticks(range(len(groups)), groups)
    axis.set_xlim(-0.55, len(groups) - 0.45)
    return drawn


def _in(printed: pd.DataFrame, query_set: str | None, method: str) -> bool:
    return query_set in printed.index and method in printed.columns


@styled
def phases(results: Results) -> list[Drawn]:
    """Draw where the time of a search goes, for each system."""
    summary, lakes = phase_summary(results), results.lakes_of("figure4")
    names = phase_names(summary, least=0.002)
    if not names:
        return []
    order = list(_looks(results.queries("figure4")))
    title = "Where the time of a search goes"
    looks = {name: phase_look(phase(name)) for name in [*names, "other"]}
    figure, axes = panels(len(lakes), 9, 0.9 + 0.27 * len(order), title=title)
    for axis, lake in zip(axes, lakes, strict=True):
        own = summary[summary["lake"] == lake]
        means = own.groupby("method")[["seconds", *names]].mean()
        means["other"] = (means["seconds"] - means[names].sum(axis=1)).clip(lower=0)
        labels = own.drop_duplicates("method").set_index("method")["label"]
        shown = [method for method in order if method in means.index]
        for place, method in enumerate(shown):
            left = 0.0
            for name, look in looks.items():
                part = 100 * means.loc[method, name] / means.loc[method, "seconds"]
                axis.barh(place, part, left=left, color=look.colour, hatch=look.hatch, edgecolor="white", linewidth=0.4)
                left += part
            total = f"{number(means.loc[method, 'seconds'] * 1e3)} ms"
            axis.annotate(total, (left, place), (4, 0), textcoords="offset points", va="center", fontsize=7.5)
        axis.set_yticks(range(len(shown)), [labels[method] for method in shown])
        axis.invert_yaxis()
        axis.set_xlim(0, 112)
        axis.set_xticks(range(0, 101, 20))
        axis.set_xlabel("% of the time of a query")
        axis.set_title(results.title(lake), fontsize=9, loc="left")
    legend(figure, list(looks.values()), bars=True)
    caption = "Mean over the query sets of figure 4, finished queries; beside each bar the mean time of a query."
    return [Drawn("phases", title, caption, figure)]
