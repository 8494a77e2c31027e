"""Tables 2 and 3: runtime and precision by hash function and size, beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

import pandas as pd

from experiments.reporting import paper
from experiments.reporting.comparisons import READINGS, by_method, precision_ratio, readings_in, sets_in, xash
from experiments.reporting.numbers import NOTHING, number, share, times
from experiments.reporting.results import Results
from experiments.reporting.style import look_of_hash
from experiments.reporting.tables.statistics import precision_summary, runtime_summary, unit_of
from experiments.reporting.tables.table import Table, best
from experiments.reporting.timings import ratio_table, timings

PRINTED = (128, 512)
"""The sizes of the paper's table 3."""
_AVERAGE = "Average"
Texts = Mapping[str, str]
"""What stands in the cells of a query set, by method."""


def columns_of(summary: pd.DataFrame, sizes: tuple[int, ...] = (128, 256, 512)) -> list[tuple[str, str, str]]:
    """Return method, group and size of every column, in the order of the paper; SCR has no size."""
    found = summary.drop_duplicates("method")
    columns = []
    for _, row in found.iterrows():
        bits = None if pd.isna(row["bits"]) else int(row["bits"])
        if bits is None or bits in sizes:
            group = look_of_hash(str(row["hash"] or ""), str(row["variant"] or "")).label
            columns.append((str(row["method"]), group, "" if bits is None else str(bits)))
    return columns


def _rows(summary: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield lake, query set and its methods."""
    for (lake, name), group in summary.groupby(["lake", "query_set"], sort=False):
        yield lake, name, group.set_index("method")


def table2(results: Results) -> list[Table]:
    """Return the spread of the runtimes of table 2, and their ratios to XASH beside the paper's."""
    queries = results.queries("table2")
    summary = runtime_summary(queries)
    unit, scale = unit_of(summary["median"])
    columns = columns_of(summary)

    def spread(cells: pd.DataFrame) -> Texts:
        quartiles = zip(cells.index, cells["p25"], cells["median"], cells["p75"], cells["unfinished"], strict=True)
        found = {
            method: f"{number(middle * scale)} ({number(low * scale, 2)}–{number(high * scale, 2)})"
            + (f" · {late} late" if late else "")
            for method, low, middle, high, late in quartiles
        }
        return _marked(found, _fastest(cells))

    note = (
        f"Median (lower to upper quartile), {unit} per query, of the whole search; bold: the fastest of its size. One "
    )
    note += "index holds the super keys of every hash function, once per row. BF (fair) sets as many bits per value as "
    note += "XASH."
    wide = Caption("table2-spread", f"Table 2: medians and spread of the runtimes ({unit})", note, minor=True)
    return [_time_ratios(results, queries, columns), _shaped(wide, results, summary, columns, spread)]


def _fastest(cells: pd.DataFrame) -> set[str]:
    """Return the fastest method of each size."""
    sized = cells[cells["bits"].notna() & cells["median"].notna()]
    return {group["median"].idxmin() for _, group in sized.groupby("bits")}


def _marked(texts: Texts, winners: set[str]) -> Texts:
    """Return texts by method, those of the best marked."""
    return {method: best(text) if method in winners else text for method, text in texts.items()}


class Caption(NamedTuple):
    """What a table is called, and what is said of it."""

    name: str
    title: str
    note: str
    minor: bool = False


def _shaped(
    caption: Caption,
    results: Results,
    summary: pd.DataFrame,
    columns: list[tuple[str, str, str]],
    written: Callable[[pd.DataFrame], Texts],
) -> Table:
    """Return query sets as rows and methods by size as columns; `written` gives the cells of a query set."""
    rows = []
    for lake, query_set, cells in _rows(summary):
        texts = written(cells)
        told = (texts.get(method, NOTHING) for method, _, _ in columns)
        rows.append((results.title(lake), query_set, str(cells["queries"].max()), *told))
    header = [("", "lake"), ("", "query set"), ("", "queries"), *((group, size) for _, group, size in columns)]
    name, title, note, minor = caption
    return Table(name, title, tuple(header), tuple(rows), summary, (note,), minor=minor)


def _base(method: str, reading: str = "") -> str:
    """Return a reading of XASH of the same size, SCR's being 128 bits."""
    parts = method.split()
    return xash(int(parts[1]) if len(parts) > 1 else 128, reading)


def _besides(columns: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return the columns of all methods but the readings of XASH."""
    return [column for column in columns if column[0] not in {_base(column[0], reading) for reading in READINGS}]


def _time_ratios(results: Results, queries: pd.DataFrame, columns: list[tuple[str, str, str]]) -> Table:
    wide = paper.hash_seconds()
    others, readings = _besides(columns), readings_in(queries)
    rows, numbers = [], []
    for lake, measure in product(results.lakes_of("table2"), results.measures("table2")):
        own = results.queries("table2", measure=measure)
        own = own[own["lake"] == lake]
        took = timings(own)
        for name, reading in ((name, reading) for name in sets_in(own) for reading in readings):
            pairs = ((method, _base(method, reading)) for method, _, _ in others)
            found = ratio_table(took.of(name), pairs)
            known, cells = paper.corresponding(lake, name), []
            for method, _, _ in others:
                case = found.get((name, method))
                printed = wide.loc[known, method] / wide.loc[known, _base(method)] if known and method in wide else None
                here = case.text if case else NOTHING
                cells.append(here if printed is None else f"{here} / {times(printed)}")
                value = case.value if case else None
                numbers.append(
                    {"lake": lake, "query_set": name, "xash": READINGS[reading], "method": method}
                    | {"measure": measure, "ratio_to_xash": value, "paper": printed}
                )
            rows.append((results.title(lake), name, READINGS[reading], measure or "whole search", *cells))
    header = [("", name) for name in ("lake", "query set", "XASH of", "measure")]
    header += [(group, size) for _, group, size in others]
    note = "Ratio of mean seconds to XASH of the same size (SCR: to XASH 128), here / paper. Above 1: XASH is faster."
    title = "Table 2: runtime relative to XASH"
    return Table("table2-ratios", title, tuple(header), tuple(rows), pd.DataFrame(numbers), (note,), left=4)


def table3(results: Results) -> list[Table]:
    """Return precisions of table 3 relative to XASH beside the paper's, and XASH beside the fair Bloom filters."""
    queries = results.queries("table3")
    searched = queries[queries["hash"].fillna("") != ""]
    summary = precision_summary(searched)
    return [_precision_ratios(results, queries, columns_of(summary, PRINTED)), _all_sizes(results, summary)]


def _most_precise(cells: pd.DataFrame) -> set[str]:
    known = cells[cells["mean"].notna()]
    return {m for _, group in known.groupby("bits") for m in group.index[group["mean"] >= group["mean"].max() - 1e-9]}


def _precision_ratios(results: Results, queries: pd.DataFrame, columns: list[tuple[str, str, str]]) -> Table:
    wide, others = paper.precision(), _besides(columns)
    measured = list(dict.fromkeys(queries["method"]))
    rows, numbers = [], []
    for lake, name, own in _sets_and_average(results, queries):
        average = name == _AVERAGE and paper.sets_of(lake)
        known = _AVERAGE if average else paper.corresponding(lake, name)
        precision, drawn = by_method(own, measured, "precision"), "all" if name == _AVERAGE else name
        for reading in readings_in(queries):
            texts = []
            for method, _, _ in others:
                case = precision_ratio(precision, method, _base(method, reading), drawn)
                printed = wide.loc[known, method] / wide.loc[known, _base(method)] if known and method in wide else None
                here = case.text if case else NOTHING
                texts.append(here if printed is None else f"{here} / {times(printed)}")
                low, high = (case.interval if case else None) or (None, None)
                numbers.append(
                    {"lake": lake, "query_set": name, "xash": READINGS[reading], "method": method}
                    | {"ratio_to_xash": case.value if case else None, "low": low, "high": high, "paper": printed}
                )
            rows.append((results.title(lake), name, READINGS[reading], *texts))
    header = [("", "lake"), ("", "query set"), ("", "XASH of"), *((group, size) for _, group, size in others)]
    note = "Mean precision relative to XASH of the same size, over the queries that have both, here / paper. Below 1: "
    note += "XASH is more precise."
    title = "Table 3: precision relative to XASH"
    return Table("table3-ratios", title, tuple(header), tuple(rows), pd.DataFrame(numbers), (note,), left=3)


def _sets_and_average(results: Results, queries: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield lake, query set and its queries, all queries of a lake after its sets."""
    for lake in results.lakes_of("table3"):
        own = queries[queries["lake"] == lake]
        for name in sets_in(own):
            yield lake, name, own[own["query_set"] == name]
        yield lake, _AVERAGE, own


def _all_sizes(results: Results, summary: pd.DataFrame) -> Table:
    """Return XASH beside the Bloom filters in all sizes, which the paper's table leaves out."""
    chosen = summary[summary["hash"].isin(("bf", "xash"))]

    def written(cells: pd.DataFrame) -> Texts:
        return _marked({method: share(mean) for method, mean in cells["mean"].items()}, _most_precise(cells))

    note = "Mean precision. BF (fair) sets as many bits per value as XASH, so that only the encoding differs."
    caption = Caption("fair-bloom-filter", "A fair Bloom filter beside XASH: precision", note)
    return _shaped(caption, results, chosen, columns_of(chosen), written)
