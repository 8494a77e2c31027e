"""Made-up results: the records of a lake that behaves as a test says, among them one that behaves as the paper does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.reporting import paper
from experiments.reporting.results import Results

ALPHA = "paper's alpha"
LIMIT = 60.0
Change = Callable[[float], float]


def same(value: float) -> float:
    return value


def parts(method: str) -> dict[str, Any]:
    """Return what a method's name is made of: ``bf 128 (fair)``."""
    name, _, variant = method.partition(" (")
    head, _, bits = name.partition(" ")
    return {
        "system": "mate" if bits else head,
        "hash": head if bits else "",
        "bits": int(bits) if bits else pd.NA,
        "variant": variant.removesuffix(")"),
        "method": method,
    }


def search(lake: str, query_set: str, query: int, method: str, **values: Any) -> dict[str, Any]:
    """Return the record of one search."""
    late = values.get("seconds", 1.0) is None
    row: dict[str, Any] = {
        "lake": lake,
        "label": "",
        "engine": "arrays",
        "query_set": query_set,
        "query": f"{query}:0,1",
        "cardinality": 10 * (query + 1),
        "key_columns": 2,
        "hash_parameters": f"{method.split(' (')[0].replace(' ', ':')}:alpha=3",
        "k": 10,
        "repetition": 1,
        "counted": True,
        "seconds": 1.0,
        "true_positives": 10,
        "false_positives": 10,
        "precision": 0.5,
        "postings": 100,
        "pairs": 100,
        "best": 5,
        "best_other": 3,
        "answer_scores": [5, 3],
        "checksum": "same",
        "exact": method != "mcr-josie",
        "finished": not late,
        "error": f"stopped after {LIMIT:g} s" if late else "",
        "limit": LIMIT,
    }
    row |= parts(method) | values
    row.setdefault("phase_fetch_postings", 0.05 * (row["seconds"] or 0))
    return row


def results(
    frames: Mapping[str, Iterable[Mapping[str, Any]] | pd.DataFrame], lakes: Mapping[str, str] | None = None
) -> Results:
    """Return results of some records."""
    tables = {
        name: pd.DataFrame(rows if isinstance(rows, pd.DataFrame) else list(rows)) for name, rows in frames.items()
    }
    for table in tables.values():
        if "bits" in table:
            table["bits"] = table["bits"].astype("Int64")
    found = dict.fromkeys((lake for table in tables.values() for lake in table["lake"] if lake), "")
    return Results(Path("results"), tables, lakes or found, {})


def both_alphas(method: str) -> list[str]:
    """Return XASH with either alpha, any other method alone."""
    return [method, f"{method} ({ALPHA})"] if method.startswith("xash") else [method]


def systems(change: Change = same, queries: int = 6) -> list[dict[str, Any]]:
    """Return figure 4 as the paper has it; `change` is applied to how many times as long as MATE a system takes."""
    wide, rows = paper.system_seconds(), []
    for lake in ("webtables", "opendata"):
        for name in (s for s in paper.sets_of(lake) if s in wide.index):
            cardinality = int(paper.query_sets().loc[name, "mean_cardinality"])
            for method in wide.columns:
                mate, value = wide.loc[name, "xash 128"], wide.loc[name, method]
                seconds = (
                    None if value != value else float(mate * change(value / mate) if method != "xash 128" else mate)
                )
                for own in both_alphas(method):
                    rows += [
                        search(lake, name, q, own, seconds=seconds, cardinality=cardinality + q) for q in range(queries)
                    ]
    return rows


def hashes(time: Change = same, precise: Change = same, queries: int = 6) -> list[dict[str, Any]]:
    """Return tables 2 and 3 as the paper has them.

    The changes are applied to runtimes relative to SCR's, and to precisions. What the paper does not print (Murmur, 256
    bits) lies where its neighbours are.
    """
    seconds, precision, rows = paper.hash_seconds(), paper.precision(), []
    for lake, names in paper.CORPORA.items():
        for name in names:
            for method in seconds.columns:
                share = precise(_printed(precision, name, method))
                scr = seconds.loc[name, "scr"]
                took = scr * time(seconds.loc[name, method] / scr)
                wrong = round(10 / max(share, 0.0001) - 10)
                for own in both_alphas(method):
                    values = {"seconds": took, "precision": share, "false_positives": wrong}
                    rows += [search(lake, name, q, own, **values) for q in range(queries)]
    return rows


def _printed(precision: pd.DataFrame, query_set: str, method: str) -> float:
    if method == "scr":
        return 0.01
    name, bits = method.split()
    if bits == "256":
        return float((precision.loc[query_set, f"{name} 128"] + precision.loc[query_set, f"{name} 512"]) / 2)
    return float(precision.loc[query_set, "md5 128" if name == "murmur" else method])
