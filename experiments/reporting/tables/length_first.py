"""The table on the short circuit: what the length segment rejects alone, and what comparing it first costs or saves."""

from __future__ import annotations

import pandas as pd

from experiments.reporting.comparisons import sets_in
from experiments.reporting.numbers import percent, times, whole
from experiments.reporting.results import Results
from experiments.reporting.style import look_of_hash
from experiments.reporting.tables.table import Table

FACTS = ("rows_compared", "rows_cut_by_first_bits", "pairs_compared", "pairs_cut_by_first_bits", "candidates")


def length_first(results: Results) -> list[Table]:
    """Return, by query set and hash function, the shares of rows and pairs that the first bits reject, and the time."""
    queries = results.queries("length-first")
    keys = ["lake", "query_set", "hash_parameters"]
    at_once = queries[queries["system"] == "mate"].set_index([*keys, "query"])["seconds"].sort_index()
    rows, numbers = [], []
    for (lake, name, spec), own in queries[queries["system"] != "mate"].groupby(keys, sort=False):
        found = {fact: int(own[fact].sum()) for fact in FACTS}
        seconds = pd.DataFrame({"first": own.set_index("query")["seconds"], "once": at_once.loc[lake, name, spec]})
        seconds = seconds.astype(float).dropna()
        ratio = seconds["first"].sum() / seconds["once"].sum() if len(seconds) else float("nan")
        rejected = found["pairs_compared"] - found["candidates"]
        rows_cut = found["rows_cut_by_first_bits"] / max(1, found["rows_compared"])
        pairs_cut = found["pairs_cut_by_first_bits"] / max(1, rejected)
        facts = {"lake": lake, "query_set": name, "hash": spec, "queries": len(own), "rejected": rejected, **found}
        numbers.append({**facts, "rows_cut": rows_cut, "pairs_cut": pairs_cut, "time": ratio})
        first = own.iloc[0]
        label = look_of_hash(str(first["hash"]), str(first["variant"]).removesuffix("length first").rstrip(", ")).label
        cells = whole(found["rows_compared"]), percent(rows_cut), whole(rejected), percent(pairs_cut), times(ratio)
        rows.append((results.title(lake), name, f"{label} {int(first['bits'])}", *cells))
    header = [("", "lake"), ("", "query set"), ("", "hash function"), ("rows", "compared"), ("rows", "cut alone")]
    header += [("pairs", "rejected"), ("pairs", "by the first bits alone"), ("", "time, length first / at once")]
    order = {place: number for number, place in enumerate(_places(results, queries))}
    rows.sort(key=lambda row: order[row[0], row[1]])
    note = (
        "The first bits are the length segment: 17 of 128 bits, 31 of 512. Of a Bloom filter as many are compared "
        "first, though they mean nothing there. Rows cut alone: those that have no key tuple left then. Pairs of a row "
        "and a key tuple: those that the super key rejects, and the share of them that its first bits reject alone. "
        "Below 1 the short circuit saves time."
    )
    title = "What the length segment rejects alone (sections 5.3.3, 7.3, 7.4)"
    return [Table("length-first", title, tuple(header), tuple(rows), pd.DataFrame(numbers), (note,), left=3)]


def _places(results: Results, queries: pd.DataFrame) -> list[tuple[str, str]]:
    return [
        (results.title(lake), name)
        for lake in results.lakes_of("length-first")
        for name in sets_in(queries[queries["lake"] == lake])
    ]
