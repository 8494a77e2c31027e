"""Tables 1 to 3 as the paper prints them: means, and in each cell our number and the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pandas as pd

from experiments.definitions import ARRAYS, titled
from experiments.metrics import paired, query_sets
from experiments.reporting import paper
from experiments.reporting.numbers import NOTHING, number, share, whole
from experiments.reporting.results import BY, PART, Results
from experiments.reporting.style import look_of_hash
from experiments.reporting.tables.table import Table, best

SHOWN = ("", "paper's alpha", "released")
"""Variants that stand in tables 2 and 3; fair Bloom filters and mistakes have tables of their own."""
PAPER_SIZES = (128, 512)
_CORPUS = {"webtables": "DWTC", "opendata": "German Open Data", "school": "School corpus"}


def table1(results: Results) -> list[Table]:
    """Return table 1: the query sets."""
    found = query_sets(results.frames["table1"])
    rows, numbers = [], []
    for row in found.itertuples(index=False):
        name = paper.corresponding(row.lake, row.query_set)
        known = paper.query_sets().loc[name] if name else {}
        printed = {column: known.get(column) for column in ("tables", "mean_cardinality", "mean_joinability")}
        ours = (row.queries, row.cardinality, row.joinability)
        forms = (whole, number, number)
        cells = [f"{f(own)} / {whole(there)}" for f, own, there in zip(forms, ours, printed.values(), strict=True)]
        corpus = f"{results.title(row.lake)} / {_CORPUS.get(row.lake, NOTHING)}"
        rows.append((row.query_set, cells[0], corpus, *cells[1:], number(row.elsewhere)))
        numbers.append({**row._asdict(), **{f"paper_{column}": value for column, value in printed.items()}})
    header = ("query set", "# of tables", "corpus", "cardinality", "joinability", "joinability elsewhere")
    notes = (
        "Ours / paper, means over queries. Cardinality: distinct key tuples. Joinability: distinct key tuples found in "
        "the best table, the query's own included as in the paper; elsewhere: in the best other one. The paper counts "
        "pairs of rows, so that its joinability exceeds the cardinality.",
    )
    columns = tuple(("", name) for name in header)
    return [Table("table1", "Table 1: query sets", columns, tuple(rows), pd.DataFrame(numbers), notes, left=1)]


def table2(results: Results) -> list[Table]:
    """Return table 2, mean runtimes: for each engine, and without fetching and whole where records have phases."""
    places = [(e, m) for e in results.engines(["table2"]) for m in results.measures("table2", e)]
    return [_runtimes(results, *place) for place in places]


def _runtimes(results: Results, engine: str, measure: str) -> Table:
    queries = results.queries("table2", engine, measure)
    late = queries[queries["stopped"]].groupby(["lake", "query_set", "method"], sort=False).size()
    facts = _Facts("table2", "bounded", paper.hash_seconds(), (128, 256, 512))

    def written(means: pd.Series, deviations: pd.Series, place: tuple[str, str]) -> Mapping[str, str]:
        stopped = {method for lake, name, method in late.index if (lake, name) == place}
        return {m: ("≥ " if m in stopped else "") + number(mean * 1e3) for m, mean in means.items()}

    note = "Ours in ms / paper in s: means over the queries that all methods were asked, k = 10; a search that was "
    note += (
        "stopped counts with the time limit (≥). Bold: the best of its size here. The paper's number of XASH stands "
    )
    note += "beside the reading with its alpha."
    name = "-".join(filter(None, ("table2", "" if engine == ARRAYS else engine, "whole" * (measure != PART))))
    told = "as the paper has it: without fetching" if measure == PART else "of the whole search"
    return _table(results, queries, facts, written, (name, titled(f"Table 2: runtime {told}", engine), note))


def table3(results: Results) -> list[Table]:
    """Return table 3, mean precision and its deviation, with the paper's last row: the average of the sets."""
    queries = results.queries("table3")
    facts = _Facts("table3", "precision", paper.precision(), PAPER_SIZES, paper.deviation(), least=False)

    def written(means: pd.Series, deviations: pd.Series, place: tuple[str, str]) -> Mapping[str, str]:
        return {method: f"{share(mean)}±{share(deviations[method])}" for method, mean in means.items()}

    note = (
        "Ours / paper: mean ± standard deviation over queries of true positives / (true + false positives) of the row "
    )
    note += "filter, k = 10. Every method is averaged over the same queries, those that have a candidate with all of "
    note += (
        "them; their number is said. The average is that of the sets, as in the paper. Bold: the best of its size here."
    )
    return [_table(results, queries, facts, written, ("table3", "Table 3: precision", note))]


class _Facts(NamedTuple):
    """What a table by hash function and size shows."""

    experiment: str
    value: str
    printed: pd.DataFrame
    sizes: tuple[int, ...]
    deviations: pd.DataFrame | None = None
    least: bool = True
    """Whether the least value is the best."""


_AVERAGE = "Average"
Written = Callable[[pd.Series, pd.Series, tuple[str, str]], Mapping[str, str]]


def _table(
    results: Results, queries: pd.DataFrame, facts: _Facts, written: Written, caption: tuple[str, str, str]
) -> Table:
    queries = queries[queries["variant"].fillna("").isin(SHOWN)]
    sized = queries["bits"].isin(facts.sizes)
    queries = queries[sized | (queries["system"] == "scr") & (facts.value != "precision")]
    methods = queries.drop_duplicates("method").set_index("method")
    groups = paired(queries, facts.value, BY).groupby(["lake", "query_set", "method"], sort=False)[facts.value]
    found = pd.DataFrame({"mean": groups.mean(), "std": groups.std(ddof=0), "queries": groups.size()}).astype(float)
    places = [*dict.fromkeys((lake, name) for lake, name, _ in found.index)]
    rows, numbers = [], []
    for place in [*places, *([("", _AVERAGE)] if facts.deviations is not None and len(places) > 1 else [])]:
        lake, name = place
        own = found.loc[place] if lake else found.groupby("method").mean().reindex(methods.index)
        known = paper.corresponding(lake, name) if lake else _AVERAGE
        texts = written(own["mean"], own["std"], place)
        best_ones = _best(own["mean"], methods["bits"], least=facts.least)
        cells = []
        for method in methods.index:
            mine = texts.get(method, NOTHING)
            there = _there(facts, known, method)
            cells.append(f"{best(mine) if method in best_ones else mine}{f' / {there}' if there else ''}")
            place_of = {"lake": lake, "query_set": name, "method": method}
            mean = own["mean"].get(method)
            numbers.append(place_of | {"mean": mean, "std": own["std"].get(method), "paper": there})
        count = f"{int(own['queries'].max())}" if lake else f"{len(places)} sets"
        rows.append((results.title(lake) if lake else "", name, count, *cells))
    header = [("", "lake"), ("", "query set"), ("", "queries")]
    for _, row in methods.iterrows():
        label = look_of_hash(str(row["hash"] or ""), str(row["variant"] or "")).label
        header.append((label, "" if pd.isna(row["bits"]) else str(row["bits"])))
    name, title, note = caption
    return Table(name, title, tuple(header), tuple(rows), pd.DataFrame(numbers), (note,), left=2)


def _there(facts: _Facts, query_set: str | None, method: str) -> str:
    """Return the paper's number; that of XASH belongs to the reading with the paper's alpha."""
    if method.startswith("xash") and not method.endswith("(paper's alpha)"):
        return ""
    plain = method.removesuffix(" (paper's alpha)")
    if query_set not in facts.printed.index or plain not in facts.printed.columns:
        return ""
    value = facts.printed.loc[query_set, plain]
    if facts.deviations is None:
        return number(value)
    return f"{share(value)}±{share(facts.deviations.loc[query_set, plain])}"


def _best(means: pd.Series, bits: pd.Series, *, least: bool) -> set[str]:
    """Return the best method of each size."""
    winners = set()
    for _, names in bits.groupby(bits):
        own = means.reindex(names.index).dropna()
        if len(own):
            winners |= set(own.index[own <= own.min() + 1e-9] if least else own.index[own >= own.max() - 1e-9])
    return winners
