"""Figures of section 7.5: top-k, figure 5, figure 6, initial column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from experiments.reporting import paper
from experiments.reporting.figures.drawing import (
    PAPER,
    Drawn,
    grid,
    legend,
    log_axis,
    mixed,
    panels,
    share_axis,
    styled,
)
from experiments.reporting.numbers import count, share
from experiments.reporting.results import Results
from experiments.reporting.style import Look, look_of_hash
from experiments.reporting.tables.in_depth import (
    COMPONENTS,
    MATE,
    components,
    initial_columns,
    key_sizes,
    published_component,
)
from experiments.reporting.tables.statistics import precision_summary, unit_of


def _look(row: pd.Series) -> Look:
    return look_of_hash(str(row["hash"] or ""), str(row["variant"] or ""))


def _lines(axis: Any, frame: pd.DataFrame, x: str, y: str, scale: float = 1.0) -> dict[str, Look]:
    """Draw one line per method; return the looks."""
    looks = {}
    for method, group in frame.groupby("method", sort=False):
        look = looks[str(method)] = _look(group.iloc[0])
        ordered = group.sort_values(x)
        axis.plot(
            ordered[x].astype(int),
            ordered[y].astype(float) * scale,
            color=look.colour,
            marker=look.marker,
            linestyle=look.line,
            markersize=4.5,
            linewidth=1.3,
        )
    return looks


def _places(frame: pd.DataFrame, value: str) -> list[tuple[str, str, pd.DataFrame]]:
    """Return the panels of a figure: lake, query set and their rows; none for a set without any value."""
    groups = frame.groupby(["lake", "query_set"], sort=False)
    return [(str(lake), str(name), rows) for (lake, name), rows in groups if rows[value].notna().any()]


def _heading(results: Results, lake: str, name: str, queries: int) -> str:
    return f"{results.title(lake)}, {name}: {count(queries, 'query')}"


@styled
def top_k(results: Results) -> list[Drawn]:
    """Draw precision by k."""
    summary = precision_summary(results.queries("top-k"))
    places = _places(summary, "mean")
    if not places:
        return []
    title = "Top-k: precision for growing k (128 bits)"
    figure, axes = panels(len(places), 4.6 if len(places) > 1 else 6.5, 3.2, columns=2, title=title)
    looks: dict[str, Look] = {}
    for axis, (lake, name, own) in zip(axes, places, strict=True):
        grid(axis)
        looks |= _lines(axis, own, "k", "mean")
        axis.set_xticks(sorted(set(own["k"].astype(int))))
        share_axis(axis)
        axis.set_xlabel("k")
        axis.set_ylabel("precision")
        axis.set_title(_heading(results, lake, name, own["queries"].max()), fontsize=9, loc="left")
    legend(figure, list(looks.values()), bars=False)
    return [Drawn("top-k", title, "Mean precision of the row filter.", figure)]


@styled
def figure5(results: Results) -> list[Drawn]:
    """Draw precision by component of XASH, the paper's as diamonds."""
    found = components(results)
    places = _places(found, "precision") if len(found) else []
    if not places:
        return []
    title = "Figure 5: precision by component of XASH"
    figure, axes = panels(len(places), 9, 2.9, title=title)
    for axis, (lake, name, own) in zip(axes, places, strict=True):
        grid(axis)
        _component_bars(axis, own)
        axis.set_ylim(0, 1.12)
        axis.set_ylabel("precision")
        axis.set_title(_heading(results, lake, name, own["queries"].max()), fontsize=9, loc="left")
    looks = [Look("128 bits", mixed("#0072B2", 0.45), ""), Look("512 bits", "#0072B2", "//")]
    legend(figure, looks, bars=True, paper=True)
    caption = (
        "Mean precision. The components and XASH have the paper's alpha. Diamonds: the paper's numbers for WT (100)."
    )
    return [Drawn("figure5", title, caption, figure)]


def _component_bars(axis: Any, own: pd.DataFrame) -> None:
    shown = [bar for bar in COMPONENTS if (own["bar"] == bar).any()]
    for place, bar in enumerate(shown):
        rows = own[own["bar"] == bar]
        values = {
            None if pd.isna(b) else int(b): float(p) for b, p in zip(rows["bits"], rows["precision"], strict=True)
        }
        single = None in values
        for bits, value in values.items():
            if value != value:
                continue
            x = place + (0 if single else -0.2 if bits == 128 else 0.2)
            colour, hatch = {None: ("#777777", ""), 128: (mixed("#0072B2", 0.45), ""), 512: ("#0072B2", "//")}[bits]
            axis.bar(x, value, 0.37, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4)
            printed = published_component(bar, bits)
            if printed is not None:
                axis.plot(x, printed, markerfacecolor="white", **PAPER)
            near = printed is not None and -0.02 < printed - value < 0.08
            axis.annotate(
                share(value),
                (x, printed if near else value),
                (0, 5 if near else 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=7,
            )
    names = [bar.replace(", ", ",\n").replace(" + ", " +\n", 1).replace(" characters", "\ncharacters") for bar in shown]
    axis.set_xticks(range(len(shown)), [name.replace(" the lake", "\nthe lake") for name in names])
    axis.set_xlim(-0.55, len(shown) - 0.45)


@styled
def figure6(results: Results) -> list[Drawn]:
    """Draw runtime and precision by key size, the paper's below."""
    found = key_sizes(results)
    places = _places(found, "median")
    if not places:
        return []
    unit, scale = unit_of(found["median"])
    title = "Figure 6: runtime (a) and precision (b) by number of key columns"
    figure, axes = panels(2 * len(places) + 2, 4.6, 2.6, columns=2, title=title)
    looks: dict[str, Look] = {}
    for place, (lake, _, own) in enumerate(places):
        heading = f"{results.title(lake)}: {count(own['queries'].max(), 'table')}"
        looks |= _pair(axes[2 * place : 2 * place + 2], own, heading, unit, scale)
    _pair(axes[-2:], _published_key_sizes(), "paper: one table of German open data", "s", 1.0)
    legend(figure, list(looks.values()), bars=False)
    caption = (
        "Tables of the lake with ten columns that vary; their key is extended column by column. Medians; 128 bits."
    )
    return [Drawn("figure6", title, caption, figure)]


def _pair(axes: Sequence[Any], own: pd.DataFrame, heading: str, unit: str, scale: float) -> dict[str, Look]:
    """Draw the two panels of figure 6; return the looks."""
    left, right = axes
    looks = _lines(left, own, "key_columns", "median", scale)
    _lines(right, own, "key_columns", "precision")
    log_axis(left)
    left.set_ylabel(f"{unit} a query")
    right.set_ylim(-0.02, 1.04)
    right.set_ylabel("precision")
    left.set_title(f"(a) {heading}", fontsize=9, loc="left")
    right.set_title(f"(b) {heading}", fontsize=9, loc="left")
    for axis in axes:
        grid(axis)
        axis.set_xlabel("|Q|, columns of the key")
        axis.set_xticks(sorted(set(own["key_columns"].astype(int))))
    return looks


def _published_key_sizes() -> pd.DataFrame:
    """Return the paper's figure 6 in our form."""
    seconds, precision = paper.key_size("runtime_seconds"), paper.key_size("precision")
    return pd.DataFrame(
        [
            {
                "method": method,
                "hash": "" if method == "scr" else str(method).split()[0],
                "variant": "",
                "key_columns": size,
                "median": seconds.loc[size, method],
                "precision": precision.loc[size, method],
            }
            for method in seconds.columns
            for size in seconds.index
        ]
    )


_SET_MARKERS = "osv^PXh*<>"


@styled
def initial_column(results: Results) -> list[Drawn]:
    """Draw posting list items by strategy, relative to MATE's choice."""
    found = initial_columns(results)
    base = found[found["variant"] == MATE].set_index(["lake", "query_set"])["postings"]
    found = found.join(base.rename("base"), on=["lake", "query_set"])
    found = found[found["base"] > 0]
    lakes = [lake for lake in results.lakes_of("initial-column") if (found["lake"] == lake).any()]
    if not lakes:
        return []
    title = "Initial column: posting list items relative to MATE's choice"
    figure, axes = panels(len(lakes), 9, 2.6, title=title)
    for axis, lake in zip(axes, lakes, strict=True):
        _strategies(axis, found[found["lake"] == lake])
        axis.set_title(results.title(lake), fontsize=9, loc="left")
    caption = "Mean over queries of the posting list items fetched; one mark a query set. Diamonds: the paper's, on OD "
    caption += "(10000)."
    return [Drawn("initial-column", title, caption, figure)]


def _strategies(axis: Any, own: pd.DataFrame) -> None:
    """Draw one row a strategy, and in it one mark a query set."""
    printed, strategies = paper.initial_columns(), list(dict.fromkeys(own["variant"]))
    sets = list(dict.fromkeys(own["query_set"]))
    for place, name in enumerate(sets):
        rows = own[own["query_set"] == name].set_index("variant")
        ys = [y + (place - (len(sets) - 1) / 2) * 0.6 / max(2, len(sets)) for y in range(len(strategies))]
        xs = [float(rows["postings"].get(s, float("nan")) / rows["base"].iloc[0]) for s in strategies]
        label = f"{name}: {count(int(rows['queries'].max()), 'query')}"
        colour = mixed("#0072B2", 0.4 + 0.6 * (place + 1) / len(sets))
        axis.plot(xs, ys, linestyle="none", color=colour, marker=_SET_MARKERS[place % 10], markersize=6, label=label)
    known = [(float(printed[s] / printed[MATE]), y) for y, s in enumerate(strategies) if s in printed]
    axis.plot([x for x, _ in known], [y for _, y in known], markerfacecolor="white", label="paper", **PAPER)
    axis.axvline(1, color="black", linewidth=0.8, zorder=1)
    axis.set_yticks(range(len(strategies)), strategies)
    axis.set_ylim(len(strategies) - 0.5, -0.5)
    axis.margins(x=0.08)
    log_axis(axis, "x")
    grid(axis, "both")
    axis.set_xlabel("items relative to MATE's choice")
    axis.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
