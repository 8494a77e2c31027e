"""Figure 4: runtimes of the systems beside the paper's, and where the time goes."""

from __future__ import annotations

from itertools import product

import pandas as pd

from experiments.metrics import paired
from experiments.reporting import paper
from experiments.reporting.comparisons import sets_in
from experiments.reporting.figures.drawing import (
    PAPER,
    Drawn,
    grid,
    legend,
    log_axis,
    panels,
    styled,
)
from experiments.reporting.numbers import number
from experiments.reporting.results import BY, Results
from experiments.reporting.style import Look, look_of_system, phase_look, system_order
from experiments.reporting.tables.searching import phase, phase_names, phase_summary


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
    """Draw mean runtimes in the paper's measure, with the paper's numbers at the same bars."""
    measure = results.measures("figure4")[0]
    queries = paired(results.queries("figure4", measure=measure), "bounded", BY)
    looks, lakes, printed = _looks(queries), results.lakes_of("figure4"), paper.system_seconds()
    title = "Figure 4: runtime by system" + (f" ({measure}, as in the paper)" if measure else "")
    figure, axes = panels(len(lakes), 9, 3.0, title=title)
    width = 0.84 / max(1, len(looks))
    for axis, lake in zip(axes, lakes, strict=True):
        own = queries[queries["lake"] == lake]
        groups = sets_in(own)
        means = own.groupby(["query_set", "method"], sort=False)["bounded"].mean()
        late = own[own["stopped"]].groupby(["query_set", "method"]).size()
        sizes = own.groupby("query_set", sort=False)["query"].nunique()
        grid(axis)
        for (place, name), (number_, (m, look)) in product(enumerate(groups), enumerate(looks.items())):
            x, known = place + (number_ - (len(looks) - 1) / 2) * width, paper.corresponding(lake, name)
            if (name, m) in means.index:
                empty = late.get((name, m)) == sizes[name]
                colours = ("white", look.colour) if empty else (look.colour, "white")
                style = dict(zip(("color", "edgecolor"), colours, strict=True), hatch=look.hatch, linewidth=0.8)
                axis.bar(x, means[name, m], width * 0.94, **style)
            if (name, m) in late.index:
                above = {"textcoords": "offset points", "rotation": 90, "ha": "center", "va": "bottom", "fontsize": 6.5}
                axis.annotate(f"{late[name, m]}/{sizes[name]} late", (x, means[name, m]), (0, 3), **above)
            if _in(printed, known, m) and printed.loc[known, m] == printed.loc[known, m]:
                axis.plot(x, printed.loc[known, m], markerfacecolor="white", **PAPER)
        log_axis(axis)
        axis.set_xticks(range(len(groups)), [f"{name}\n{sizes[name]} queries" for name in groups])
        axis.set_xlim(-0.55, len(groups) - 0.45)
        axis.set_ylabel("seconds per query")
        axis.set_title(results.title(lake), fontsize=9, loc="left")
    legend(figure, list(looks.values()), bars=True, paper=any(map(paper.sets_of, lakes)))
    caption = "Mean over queries; one that was stopped counts with the time limit. Diamonds: the paper's seconds, on "
    caption += "its machine and corpora. MCR JOSIE did not terminate there on web tables."
    return [Drawn("figure4", title, caption, figure)]


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
