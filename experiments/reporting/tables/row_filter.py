"""Tables of the row filter: false positives by width, length and type; precision without the query's own table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments.regenerate.row_filter import LENGTHS, WIDTHS
from experiments.reporting import bootstrap
from experiments.reporting.comparisons import sets_in
from experiments.reporting.numbers import NOTHING, percent, share
from experiments.reporting.results import Results
from experiments.reporting.style import look_of_hash
from experiments.reporting.tables.table import Table
from experiments.reporting.verdicts import Case, difference

TYPES = ("digits", "letters", "digits and letters")
GROUPS = [("columns of the row", "width", name) for name in WIDTHS]
GROUPS += [("characters of the value", "length", name) for name in LENGTHS]
GROUPS += [("type of the value", "type", name) for name in TYPES]
GROUPS += [("row holds a value that looks like it", "similar", name) for name in ("similar", "other")]
SHOWN = ("", "paper's alpha", "released", "fair, released")


def covered(results: Results) -> list[Table]:
    """Return how often rows cover a value that they do not hold, by what row and value are like."""
    frame = results.frames["row-filter"]
    found = frame[(frame["kind"] == "covered") & (frame["bits"] == 128)].assign(variant=frame["variant"].fillna(""))
    found = found[found["variant"].isin(SHOWN)]
    rows = []
    for (lake, name, variant), own in found.groupby(["lake", "hash", "variant"], sort=False):
        shares = own.set_index(["by", "group"])["share"]
        cells = [percent(shares.get(("all", "all")))]
        cells += [percent(shares[by, group]) if (by, group) in shares else NOTHING for _, by, group in GROUPS]
        rows.append((results.title(lake), look_of_hash(name, variant).label, *cells))
    header = [("", "lake"), ("", "hash function"), ("", "all"), *((title, group) for title, _, group in GROUPS)]
    note = (
        "Share of rows whose super key of 128 bits covers a value of their own table that they do not hold: what a row "
        "filter lets through by mistake."
    )
    title = "False positives by width, length and type"
    return [Table("row-filter", title, tuple(header), tuple(rows), found, (note,))]


def own_table(results: Results) -> list[Table]:
    """Return mean precision with and without the query's own table, on the same queries."""
    without = results.queries("own-table")
    inside = results.queries("table3") if results.has("table3") else without.iloc[:0]
    rows, numbers = [], []
    methods = [method for method in dict.fromkeys(without["method"]) if method != "scr"]
    for lake in results.lakes_of("own-table"):
        own = without[without["lake"] == lake]
        for name in sets_in(own):
            cells: list[str] = []
            for method in ("scr", *methods):
                found = [_precisions(frame, lake, name, method) for frame in (inside, own)]
                common = found[0].index.intersection(found[1].index) if len(found[0]) else found[1].index
                means = [float(part.reindex(common).mean()) if len(part) else None for part in found]
                gap = _gap(found[0].reindex(common), found[1].reindex(common), name)
                cells += [*(share(mean) for mean in means), gap.text if gap else NOTHING]
                low, high = (gap.interval if gap else None) or (None, None)
                facts = {"lake": lake, "query_set": name, "method": method, "with": means[0], "without": means[1]}
                numbers.append({**facts, "difference": gap.value if gap else None, "low": low, "high": high})
            rows.append((results.title(lake), name, *cells))
    header = [("", "lake"), ("", "query set")]
    header += [(method, where) for method in ("scr", *methods) for where in ("with", "without", "difference")]
    note = "Mean precision over the queries that have one both with and without. All rows of a query's own table join, "
    note += "so that it raises every precision (table 3: with it)."
    title = "Precision with and without the query's own table"
    return [Table("own-table", title, tuple(header), tuple(rows), pd.DataFrame(numbers), (note,))]


def _gap(inside: pd.Series, without: pd.Series, query_set: str) -> Case | None:
    """Return what the query's own table adds to the precision, on the same queries."""
    gaps = (inside - without).to_numpy(np.float64)
    if not len(gaps) or np.isnan(gaps).any():
        return None
    return difference(query_set, float(gaps.mean()), samples=bootstrap.means(query_set, gaps), weight=len(gaps))


def _precisions(queries: pd.DataFrame, lake: str, query_set: str, method: str) -> pd.Series:
    """Return the precision of a method by query, of those that have one."""
    own = queries[(queries["lake"] == lake) & (queries["query_set"] == query_set) & (queries["method"] == method)]
    return own.set_index("query")["precision"].astype(float).dropna()
