"""The table on the paper's Bloom filter: which mistake comes near its numbers."""

from __future__ import annotations

import pandas as pd

from experiments.reporting import paper
from experiments.reporting.comparisons import sets_in
from experiments.reporting.numbers import NOTHING, share
from experiments.reporting.results import Results
from experiments.reporting.tables.table import Table

_BLOOM = "bf 128"


def bloom_mistakes(results: Results) -> list[Table]:
    """Return mean precision by method and query set, and how far each method is from the paper's Bloom filter."""
    queries = results.queries("bloom-mistakes")
    places = [(lake, name) for lake in results.lakes_of("bloom-mistakes") for name in _sets(queries, lake)]
    means = queries.groupby(["lake", "query_set", "method"])["precision"].mean().astype(float)
    printed = [_printed(lake, name) for lake, name in places]
    rows = []
    for method in dict.fromkeys(queries["method"]):
        own = [float(means.get((*place, method), float("nan"))) for place in places]
        gaps = [abs(a - b) for a, b in zip(own, printed, strict=True) if b is not None and a == a]
        rows.append((method, *map(share, own), share(sum(gaps) / len(gaps)) if gaps else NOTHING))
    rows.append(("paper's BF 128", *map(share, printed), NOTHING))
    header = [("", "Bloom filter"), *((results.title(lake), name) for lake, name in places), ("", "mean distance")]
    note = (
        "Mean precision at 128 bits; mean distance: from the paper's numbers, over the query sets that correspond to "
        "one of its own. bf 128 is the filter that the paper's formula gives for the lake; the paper's H is the number "
        "that it gave for web tables (V = 5) and open data (V = 26); the others make one mistake each."
    )
    title = "The paper's Bloom filter and plausible mistakes"
    return [Table("bloom-mistakes", title, tuple(header), tuple(rows), means.reset_index(), (note,), left=1)]


def _sets(queries: pd.DataFrame, lake: str) -> list[str]:
    return sets_in(queries[queries["lake"] == lake])


def _printed(lake: str, name: str) -> float | None:
    known = paper.corresponding(lake, name)
    return float(paper.precision().loc[known, _BLOOM]) if known else None
