"""XASH beside the fair Bloom filters, which tables 2 and 3 of the paper leave out."""

from __future__ import annotations

from experiments.reporting.numbers import NOTHING, share
from experiments.reporting.results import Results
from experiments.reporting.style import look_of_hash
from experiments.reporting.tables.statistics import precision_summary
from experiments.reporting.tables.table import Table, best


def fair(results: Results) -> list[Table]:
    """Return mean precision of XASH and of Bloom filters that set as many bits per value, in all sizes."""
    queries = results.queries("table3")
    summary = precision_summary(queries[queries["hash"].isin(("bf", "xash"))])
    methods = summary.drop_duplicates("method").set_index("method")
    rows = []
    for (lake, name), group in summary.groupby(["lake", "query_set"], sort=False):
        cells = group.set_index("method")
        means = cells["mean"]
        most = means.groupby(cells["bits"]).transform("max")
        texts = {m: best(share(means[m])) if means[m] >= most[m] - 1e-9 else share(means[m]) for m in cells.index}
        facts = results.title(lake), name, str(cells["queries"].max())
        rows.append((*facts, *(texts.get(method, NOTHING) for method in methods.index)))
    header = [("", "lake"), ("", "query set"), ("", "queries")]
    for _, row in methods.iterrows():
        header.append((look_of_hash(str(row["hash"]), str(row["variant"] or "")).label, str(row["bits"])))
    note = "Mean precision. BF (fair) sets as many bits per value as XASH, so that only the encoding differs."
    title = "A fair Bloom filter beside XASH: precision"
    return [Table("fair-bloom-filter", title, tuple(header), tuple(rows), summary, (note,))]
