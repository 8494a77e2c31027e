"""Timings as arrays come to the same ratios as looking each query up, and are made once for a lake."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.reporting.comparisons import LakeResults
from experiments.reporting.timings import ratio_table, time_ratios, timings
from experiments.reporting.verdicts import Untestable
from tests.experiments.made_up import LIMIT, results, search

METHODS = ("scr", "xash 128", "bf 128")
SETS = ("WT (10)", "WT (100)")
STOPPED, FAILED, ABSENT = "stopped", "failed", "absent"

took = st.one_of(st.floats(0.001, LIMIT), st.sampled_from((STOPPED, FAILED, ABSENT)))
searched = st.fixed_dictionaries(
    {(name, query, method): took for name in SETS for query in range(4) for method in METHODS}
)
Searched = dict[tuple[str, int, str], Any]


def frame_of(outcomes: Searched) -> pd.DataFrame:
    """Return one row per query and method, of those that are there."""
    rows = [
        {"lake": "webtables", "query_set": name, "query": str(query), "method": method}
        | {"bounded": {STOPPED: LIMIT, FAILED: np.nan}.get(outcome, outcome), "stopped": outcome == STOPPED}
        for (name, query, method), outcome in outcomes.items()
        if outcome != ABSENT
    ]
    return pd.DataFrame(rows, columns=["lake", "query_set", "query", "method", "bounded", "stopped"])


def looked_up(outcomes: Searched, query_set: str, method: str, base: str) -> list[tuple[Any, Any]]:
    """Return the outcomes of the queries that can be compared, the plain way."""
    pairs = [(outcomes[query_set, query, method], outcomes[query_set, query, base]) for query in range(4)]
    return [pair for pair in pairs if not {FAILED, ABSENT} & set(pair) and pair != (STOPPED, STOPPED)]


@given(searched)
def test_ratios_are_those_of_looking_queries_up(outcomes: Searched) -> None:
    cases = {case.name: case for case in time_ratios(timings(frame_of(outcomes)), "scr", "xash 128")}
    for name in SETS:
        pairs = looked_up(outcomes, name, "scr", "xash 128")
        assert (name in cases) == bool(pairs)
        if pairs:
            own, base = zip(*pairs, strict=True)
            means = [fmean(LIMIT if value == STOPPED else value for value in values) for values in (own, base)]
            assert cases[name].value == pytest.approx(means[0] / means[1])
            assert cases[name].weight == len(pairs)
            sign = {(True, True): "≈ ", (True, False): "≥ ", (False, True): "≤ "}.get(
                (STOPPED in own, STOPPED in base), ""
            )
            assert cases[name].text.startswith(sign)
            assert bool(sign) == (cases[name].text[0] in "≈≥≤")


def test_a_method_without_records_has_no_ratio() -> None:
    assert time_ratios(timings(frame_of({("WT (10)", 0, "scr"): 1.0})), "scr", "mcr") == []
    assert time_ratios(timings(frame_of({})), "scr", "mcr") == []


def test_one_query_set_of_many() -> None:
    whole = timings(frame_of({(name, query, m): 1.0 + query for name in SETS for query in range(3) for m in METHODS}))
    assert list(ratio_table(whole.of("WT (100)"), [("scr", "bf 128")])) == [("WT (100)", "scr")]
    assert list(ratio_table(whole, [("scr", "bf 128")])) == [(name, "scr") for name in SETS]


def test_queries_and_timings_of_a_lake_are_made_once() -> None:
    rows = [search(lake, f"{lake} (10)", q, m) for lake in ("webtables", "opendata") for q in range(3) for m in METHODS]
    made = results({"figure4": rows})
    web, both = LakeResults(made, "webtables"), LakeResults(made, "all", ("webtables", "opendata"))
    assert web.queries("figure4") is LakeResults(made, "webtables").queries("figure4")
    assert web.timings("figure4") is web.timings("figure4")
    assert list(web.timings("figure4").sets) == ["webtables (10)"]
    assert list(both.timings("figure4").sets) == ["webtables (10)", "opendata (10)"]


@pytest.mark.parametrize(
    ("lake", "engine", "experiment", "told"),
    [
        ("webtables", "arrays", "table2", "table2 was not measured here$"),
        ("school", "arrays", "figure4", "figure4 was not measured here$"),
        ("webtables", "duckdb", "figure4", "figure4 was not measured here on duckdb$"),
    ],
)
def test_what_was_not_measured_is_said(lake: str, engine: str, experiment: str, told: str) -> None:
    made = results({"figure4": [search("webtables", "WT (10)", 0, "scr")]})
    with pytest.raises(Untestable, match=told):
        LakeResults(made, lake, engine=engine).timings(experiment)
