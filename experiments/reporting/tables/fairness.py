"""What the comparison itself adds or takes away: the semi-join, and false positives that no filter removes."""

from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.reporting.comparisons import sets_in
from experiments.reporting.numbers import NOTHING, percent, whole
from experiments.reporting.results import Results
from experiments.reporting.tables.table import Table
from experiments.reporting.timings import time_ratios, timings

PLAIN, SEMI_JOIN, UNFILTERED = "xash 128", "xash 128 (semi-join)", "scr"


def semi_join(results: Results) -> list[Table]:
    """Return what dropping key tuples with unknown values saves MATE, which the paper does not do."""
    queries = results.queries("figure4")
    if not {PLAIN, SEMI_JOIN} <= set(queries["method"]):
        return []
    rows, numbers = [], []
    for lake in results.lakes_of("figure4"):
        own = queries[queries["lake"] == lake]
        ratios = {case.name: case for case in time_ratios(timings(own), PLAIN, SEMI_JOIN)}
        for name in sets_in(own):
            sums = _sums(own[own["query_set"] == name])
            saved: dict[str, Any] = {
                "lake": lake,
                "query_set": name,
                "known": _part(sums.loc[PLAIN, "known_tuples"], sums.loc[PLAIN, "cardinality"]),
                "pairs_saved": 1 - _part(sums.loc[SEMI_JOIN, "pairs"], sums.loc[PLAIN, "pairs"]),
                "candidates_saved": 1 - _part(sums.loc[SEMI_JOIN, "candidates"], sums.loc[PLAIN, "candidates"]),
                "seconds_ratio": ratios[name].value if name in ratios else None,
            }
            numbers.append(saved)
            told = [percent(saved[key]) for key in ("known", "pairs_saved", "candidates_saved")]
            rows.append((results.title(lake), name, *told, ratios[name].text if name in ratios else NOTHING))
    header = ("lake", "query set", "key tuples known", "pairs saved", "candidates saved", "seconds without / with")
    note = (
        "Key tuples with a value that the lake does not have cannot join. The paper does not say that they are dropped "
        "before the search begins, so no method but the one named here drops them. Sums over queries."
    )
    columns = tuple(("", name) for name in header)
    return [Table("semi-join", "What a semi-join saves MATE", columns, tuple(rows), pd.DataFrame(numbers), (note,))]


def held(results: Results) -> list[Table]:
    """Return the false positives whose row holds all values of the key, which no filter of rows can remove."""
    queries = results.queries("figure4")
    rows, numbers = [], []
    for lake in results.lakes_of("figure4"):
        own = queries[(queries["lake"] == lake) & queries["method"].isin((PLAIN, UNFILTERED))]
        for name in sets_in(own):
            sums = _sums(own[own["query_set"] == name])
            cells: list[str] = []
            for method in (UNFILTERED, PLAIN):
                if method not in sums.index:
                    cells += [NOTHING] * 3
                    continue
                wrong, inside = sums.loc[method, "false_positives"], sums.loc[method, "false_positives_held"]
                cells += [whole(wrong), whole(inside), percent(_part(inside, wrong))]
                numbers.append({"lake": lake, "query_set": name, "method": method, "all": wrong, "held": inside})
            rows.append((results.title(lake), name, *cells))
    header = [("", "lake"), ("", "query set")]
    header += [(group, name) for group in ("SCR", "XASH 128") for name in ("false positives", "held", "share")]
    note = (
        "A row holds every value of the key tuple, but one column would have to serve two key columns: joinability "
        "asks for columns that differ (equation 2). They count as false positives everywhere; filter_precision in the "
        "records leaves them out."
    )
    title = "False positives that no row filter can remove"
    return [Table("held", title, tuple(header), tuple(rows), pd.DataFrame(numbers), (note,), minor=True)]


COUNTED = ["cardinality", "known_tuples", "pairs", "candidates", "false_positives", "false_positives_held"]


def _sums(queries: pd.DataFrame) -> pd.DataFrame:
    present = [name for name in COUNTED if name in queries]
    sums: pd.DataFrame = queries[queries["finished"]].groupby("method")[present].sum().astype(float)
    return sums.reindex(columns=COUNTED)


def _part(value: float, whole_of: float) -> float:
    return float(value / whole_of) if whole_of else float("nan")
