"""Claims on query sets and on single tables: sections 1, 6.1, 7.1 and 7.3."""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments.metrics import by_query
from experiments.reporting import bootstrap, paper, rules
from experiments.reporting.claims.claim import Claim, Scope
from experiments.reporting.claims.key_size import BEST, MATE, WORST
from experiments.reporting.comparisons import LakeResults, by_set, fewest
from experiments.reporting.numbers import number, times
from experiments.reporting.results import BY
from experiments.reporting.verdicts import (
    FEW,
    HALF,
    Case,
    Finding,
    Untestable,
    by_cases,
    ranged,
    reached,
    up_to,
    within,
)

SETS, IRRELEVANT = "table 1", "1000 irrelevant rows per joinable one"
IMDB, MOVIE = "IMDB's initial column", "composite keys find richer tables"
_MOVIE = "movie.csv"


def _query_sets(lake: LakeResults, reading: str) -> Finding:
    queries = by_query(lake.records("table1"), BY)
    cases = []
    for name, own in queries.groupby("query_set", sort=False):
        if name not in paper.sets_of(lake.name):
            continue
        for title, column in (("cardinality", "cardinality"), ("joinability", "best")):
            values, wanted = own[column].to_numpy(np.float64), float(paper.query_sets().loc[name, f"mean_{title}"])
            samples, mean = bootstrap.means(str(name), values), float(values.mean())
            text = f"{number(mean)}{ranged(samples, number)} / {number(wanted)}"
            cases.append(within(f"{name}, {title}", mean, wanted / HALF, wanted * HALF, (text, samples)))
    if not cases:
        raise Untestable("it has none of the paper's query sets")
    return by_cases(cases, fewest(queries))


def _published_sets() -> str:
    table = paper.query_sets()
    pairs = zip(table.index, table["mean_cardinality"], table["mean_joinability"], strict=True)
    return "cardinality, joinability: " + "; ".join(f"{n} {number(c)}, {number(j)}" for n, c, j in pairs)


def _irrelevant(lake: LakeResults, reading: str) -> Finding:
    queries = lake.queries("table2", "scr")
    wrong, right = (by_set(queries, ("scr",), value) for value in ("false_positives", "true_positives"))
    cases = []
    for name in wrong:
        false, true = (found[name]["scr"].to_numpy(np.float64) for found in (wrong, right))
        if true.sum() and len(true) >= FEW:
            samples, ratio = bootstrap.ratios(name, false, true), float(false.sum() / true.sum())
            cases.append(Case(name, ratio, times(ratio) + ranged(samples, times), 0, samples=samples, weight=len(true)))
    factor, least = (rules.number(IRRELEVANT, name) for name in ("factor", "least"))
    return up_to(cases, factor, fewest(queries), least)


def _one(queries: pd.DataFrame) -> pd.DataFrame:
    own: pd.DataFrame = queries[queries["query"] == _MOVIE]
    if own.empty:
        raise Untestable(f"{_MOVIE} of the Kaggle queries was not put to this lake")
    return own


def _imdb(lake: LakeResults, reading: str) -> Finding:
    items = _one(lake.queries("initial-column")).set_index("variant")["postings"].astype(float)
    if not {MATE, WORST, BEST} <= set(items.index) or not items[MATE]:
        raise Untestable("no posting list item was fetched, or a strategy is missing")
    ratio = float(items[WORST] / items[MATE])
    told = f"{number(items[MATE])} items by the column with fewer values, {number(items[WORST])} by the other"
    wanted, least = (rules.number(IMDB, name) for name in ("factor", "least"))
    return Finding(reached(ratio, wanted, least), f"{told}: {times(ratio)}", 1)


def _richer(lake: LakeResults, reading: str) -> Finding:
    row = _one(lake.queries("figure4", "scr")).iloc[0]
    raise Untestable(
        f"Movie: {row['answers']} tables, the best has {row['best']} of {row['cardinality']:,} key tuples; records do "
        "not have the other columns of answers, nor what the title alone finds. Airline: not among the released files"
    )


CLAIMS = (
    Claim(
        SETS,
        "7.1",
        "Table 1: mean cardinality and joinability of the query sets",
        _published_sets,
        _query_sets,
        ("table1",),
    ),
    Claim(
        IRRELEVANT,
        "1, 6",
        '"The FP rate can be up to 1000 times higher than the actual number of joinable table rows"; "users might '
        'encounter over 1000 times more irrelevant table rows"',
        lambda: f"up to {number(1000)}×",
        _irrelevant,
        ("table2",),
        scope=Scope.BOTH,
    ),
    Claim(
        IMDB,
        "6.1",
        '"we obtain 500k tables when fetching with the column Director, and 38M tables when using Movie Title": the '
        "column with fewer values fetches less",
        lambda: "38M / 500k tables: 76×",
        _imdb,
        ("initial-column",),
        lakes=("webtables",),
    ),
    Claim(
        MOVIE,
        "7.3",
        "Kaggle Movie: by title alone no table of the top 10 has more than one further column, by director and title "
        "one has 8; Kaggle Airline: airports by airline and country",
        lambda: "two examples",
        _richer,
        ("figure4",),
        lakes=("webtables",),
    ),
)
