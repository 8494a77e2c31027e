"""Figures for table 3 and for the collisions: every hash function in all its sizes."""

from __future__ import annotations

import pandas as pd

from experiments.reporting import paper
from experiments.reporting.comparisons import sets_in
from experiments.reporting.figures.drawing import Drawn, grid, panels, size_legend, sized_dots, styled
from experiments.reporting.numbers import count
from experiments.reporting.results import Results
from experiments.reporting.style import Look, look_of_hash
from experiments.reporting.tables.statistics import precision_summary


def _methods(frame: pd.DataFrame, values: pd.Series) -> list[tuple[Look, dict[int, float]]]:
    """Return hash functions in the order of the paper, each with its values by size."""
    found: dict[str, tuple[Look, dict[int, float]]] = {}
    for _, row in frame.drop_duplicates("method").iterrows():
        look = look_of_hash(str(row["hash"] or ""), str(row["variant"] or ""))
        bits = 0 if pd.isna(row["bits"]) else int(row["bits"])
        if row["method"] in values.index and values[row["method"]] == values[row["method"]]:
            found.setdefault(look.label, (look, {}))[1][bits] = float(values[row["method"]])
    return list(found.values())


def _paper_sets(lake: str, queries: pd.DataFrame) -> list[str]:
    """Return the paper's query sets that those of a lake correspond to."""
    return list(dict.fromkeys(filter(None, (paper.corresponding(lake, name) for name in sets_in(queries)))))


def _printed(values: pd.Series) -> dict[str, dict[int, float]]:
    """Return the paper's numbers by label and size."""
    found: dict[str, dict[int, float]] = {}
    for method, value in values.items():
        name, _, bits = str(method).partition(" ")
        label = look_of_hash("" if name == "scr" else name, "").label
        found.setdefault(label, {})[int(bits or 0)] = float(value)
    return found


@styled
def table3(results: Results) -> list[Drawn]:
    """Draw precisions."""
    queries = results.queries("table3")
    queries = queries[queries["hash"].fillna("") != ""]
    known = queries[queries["precision"].notna()]
    lakes = [lake for lake in results.lakes_of("table3") if (known["lake"] == lake).any()]
    if not lakes:
        return []
    title = "Table 3: precision by hash function and size"
    figure, axes = panels(len(lakes), 9, 2.9, title=title)
    for axis, lake in zip(axes, lakes, strict=True):
        own = queries[queries["lake"] == lake]
        summary = precision_summary(own)
        grid(axis)
        printed = paper.precision().loc[_paper_sets(lake, own)].mean().dropna()
        sized_dots(axis, _methods(own, summary.groupby("method")["mean"].mean()), _printed(printed))
        axis.set_ylim(0, 1.04)
        axis.set_ylabel("precision")
        axis.set_title(f"{results.title(lake)}: {count(len(sets_in(own)), 'query set')}", fontsize=9, loc="left")
    size_legend(figure, paper=any(paper.sets_of(lake) for lake in lakes))
    caption = "Mean precision of the row filter, averaged over the query sets of a lake. BF (fair) sets as many bits a "
    caption += "value as XASH."
    return [Drawn("table3", title, caption, figure)]


@styled
def collisions(results: Results) -> list[Drawn]:
    """Draw the share of pairs of values that collide."""
    frame = results.frames["collisions"]
    parts = ("", "paper's alpha", "released", "fair", "fair, paper's alpha", "fair, released")
    frame = frame[(frame["kind"] == "measured") & frame["variant"].isin(parts)]
    lakes = [lake for lake in results.lakes if (frame["lake"] == lake).any()]
    if not lakes:
        return []
    title = "Values that collide"
    figure, axes = panels(len(lakes), 9, 2.9, title=title)
    for axis, lake in zip(axes, lakes, strict=True):
        own = frame[frame["lake"] == lake]
        own = own.assign(method=own["hash"] + " " + own["variant"] + own["bits"].astype(str))
        tokens = int(own["tokens"].max())
        floor = 1 / (tokens * (tokens - 1) / 2)
        grid(axis)
        axis.set_yscale("log")
        sized_dots(axis, _methods(own, own.set_index("method")["probability"]), floor=floor)
        axis.set_ylabel("share of pairs")
        axis.set_title(f"{results.title(lake)}: {tokens:,} values", fontsize=9, loc="left")
    size_legend(figure, "no collision (drawn at one pair)")
    caption = "Share of the pairs of a lake's distinct values that have the same hash."
    return [Drawn("collisions", title, caption, figure)]
