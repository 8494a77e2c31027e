"""Claims on the key size and on the initial column: sections 7.5.3 and 7.5.4, figure 6."""

from __future__ import annotations

import pandas as pd

from experiments.reporting import paper, rules
from experiments.reporting.claims.claim import Claim
from experiments.reporting.comparisons import (
    LakeResults,
    fewest,
    rank_correlation,
    sets_in,
    xash,
)
from experiments.reporting.numbers import number, share, span, times
from experiments.reporting.verdicts import (
    MARGIN,
    STRONG,
    WEAK,
    Case,
    Finding,
    Untestable,
    Verdict,
    by_cases,
    difference,
    factor,
    reached,
    tally,
)


def _by_key_size(lake: LakeResults, method: str, value: str) -> tuple[pd.Series, int]:
    """Return the mean over tables by number of key columns, for the tables that have all sizes."""
    queries = lake.queries("figure6", method)
    table = queries["query"].str.partition(":")[0]
    wide = queries.assign(table=table).pivot_table(index="table", columns="key_columns", values=value, aggfunc="mean")
    wide = wide.astype(float).dropna()
    if not len(wide) or wide.shape[1] < 3:
        raise Untestable("no table was searched with all key sizes")
    return wide.mean(), len(wide)


def _falls(series: pd.Series, what: str, unit: str, tables: int) -> Finding:
    """Judge that something falls as the key grows: the last below the first, and a falling trend."""
    rho = -rank_correlation(pd.Series(series.index, index=series.index), series)
    ratio = float(series.iloc[0] / series.iloc[-1]) if series.iloc[-1] else float("inf")
    lower = ratio >= 1 + MARGIN
    partly = Verdict.IN_PART if lower or rho >= WEAK else Verdict.FAILS
    verdict = Verdict.HOLDS if lower and rho >= STRONG else partly
    cases = tuple(Case(f"|Q| = {size}", float(value), f"{number(value)}{unit}", 0) for size, value in series.items())
    first, last = series.index[0], series.index[-1]
    told = f"{what} at |Q| = {first}: {times(ratio)} that at {last}; rank correlation with |Q| {-rho:+.2f}"
    return Finding(verdict, told, tables, cases)


def _runtime_falls(lake: LakeResults, reading: str) -> Finding:
    series, tables = _by_key_size(lake, xash(128, reading), "seconds")
    return _falls(series, "seconds", " s", tables)


def _false_positives_fall(lake: LakeResults, reading: str) -> Finding:
    series, tables = _by_key_size(lake, xash(128, reading), "false_positives")
    if not series.iloc[0]:
        raise Untestable("there is no false positive with two key columns")
    return _falls(series, "false positives", "", tables)


def _published_fall() -> str:
    series = paper.key_size("runtime_seconds")["xash 128"]
    return f"{series.iloc[0]} s at |Q| = 2 to {series.iloc[-1]} s at 10: {times(series.iloc[0] / series.iloc[-1])}"


def _precision_rises_again(lake: LakeResults, reading: str) -> Finding:
    series, tables = _by_key_size(lake, xash(128, reading), "precision")
    series = series[series.index >= 4]
    rise = float(series.iloc[-1] - series.iloc[0])
    rho = rank_correlation(pd.Series(series.index, index=series.index), series)
    cases = tuple(Case(f"|Q| = {size}", float(value), share(value), 0) for size, value in series.items())
    told = f"from |Q| = 4 to {series.index[-1]}: {share(series.iloc[0])} to {share(series.iloc[-1])}"
    rise_least, full = (rules.number("precision rises from four key columns on", n) for n in ("rise", "full"))
    if series.iloc[0] >= 1 - full:
        raise Untestable(f"{told}: there is nothing left to gain")
    rises = rise >= rise_least
    verdict = Verdict.HOLDS if rises and rho >= STRONG else Verdict.IN_PART if rises else Verdict.FAILS
    return Finding(verdict, told, tables, cases)


def _published_rise() -> str:
    series = paper.key_size("precision")["xash 128"]
    return f"{share(series[2])} at |Q| = 2, {share(series[3])} at 3, {share(series[4])} at 4, {share(series[10])} at 10"


def _best_at_all_key_sizes(lake: LakeResults, reading: str) -> Finding:
    own = xash(128, reading)
    seconds, tables = _by_key_size(lake, own, "seconds")
    precision, _ = _by_key_size(lake, own, "precision")
    cases = []
    for rival in ("bf 128", "ht 128", "scr"):
        slower = _by_key_size(lake, rival, "seconds")[0] / seconds
        cases += [factor(f"|Q| = {size}, {rival}, runtime", float(ratio)) for size, ratio in slower.items()]
        gap = precision - _by_key_size(lake, rival, "precision")[0]
        cases += [difference(f"|Q| = {size}, {rival}, precision", float(value)) for size, value in gap.items()]
    return _two_kinds(cases, tables)


def _two_kinds(cases: list[Case], queries: int) -> Finding:
    """Judge runtimes and precisions together; their numbers cannot be put on one scale."""
    found = by_cases(cases, queries)
    told = []
    for kind in ("runtime", "precision"):
        own = [case for case in cases if case.name.endswith(kind)]
        favour, _, opposed = tally(own)
        told.append(f"{kind}: {favour} of {len(own)} for, {opposed} against")
    return Finding(found.verdict, "; ".join(told), queries, tuple(cases))


def _published_key_sizes() -> str:
    texts = []
    seconds, precision = paper.key_size("runtime_seconds"), paper.key_size("precision")
    for rival in ("bf 128", "ht 128", "scr"):
        ratio, gap = seconds[rival] / seconds["xash 128"], precision["xash 128"] - precision[rival]
        texts.append(f"{rival} {times(ratio.min())} to {times(ratio.max())}, {gap.min():+.2f} to {gap.max():+.2f}")
    return "runtime relative to XASH, precision behind XASH: " + "; ".join(texts)


MATE, ORDER, LONGEST = "minimum cardinality (MATE)", "column order", "longest string (TLS)"
WORST, BEST = "worst case", "best case (ground truth)"


def _postings(lake: LakeResults) -> tuple[pd.DataFrame, int]:
    """Return the mean number of posting list items, query sets by strategies."""
    queries = lake.queries("initial-column")
    means = queries.groupby(["query_set", "variant"], sort=False)["postings"].mean().astype(float).unstack("variant")
    if not {MATE, ORDER, LONGEST, WORST, BEST} <= set(means.columns):
        raise Untestable("a strategy is missing")
    means = means.loc[[name for name in sets_in(queries) if means.loc[name, [MATE, BEST]].min() > 0]]
    if means.empty:
        raise Untestable("no query has a posting")
    return means, fewest(queries)


def _best_heuristic(lake: LakeResults, reading: str) -> Finding:
    means, queries = _postings(lake)
    cases = [
        factor(f"{query_set}, {name}", float(row[name] / row[MATE]))
        for query_set, row in means.iterrows()
        for name in (ORDER, LONGEST)
    ]
    return by_cases(cases, queries)


def _column_matters(lake: LakeResults, reading: str) -> Finding:
    means, queries = _postings(lake)
    cases = [factor(str(name), float(row[WORST] / row[BEST])) for name, row in means.iterrows()]
    published = float(paper.initial_columns()[WORST] / paper.initial_columns()[BEST])
    middle = float(pd.Series([case.value for case in cases]).median())
    told = f"worst / best: {times(middle)}" + (f" (median; {span(c.value for c in cases)})" if len(cases) > 1 else "")
    return Finding(
        reached(middle, published, rules.number("the initial column matters", "least")), told, queries, tuple(cases)
    )


def _published_strategies() -> str:
    found = paper.initial_columns()
    return ", ".join(f"{name} {times(found[name] / found[MATE])}" for name in (ORDER, LONGEST, WORST, BEST))


CLAIMS = (
    Claim(
        "runtime falls with the key size",
        "7.5.3",
        '"Increasing the number of columns … the runtime for MATE constantly reduces"',
        _published_fall,
        _runtime_falls,
        ("figure6",),
        True,
        timed=True,
    ),
    Claim(
        "false positives fall with the key size",
        "7.5.3",
        '"… because the FP rate constantly decreases"',
        lambda: "no numbers in the text",
        _false_positives_fall,
        ("figure6",),
        True,
    ),
    Claim(
        "precision rises from four key columns on",
        "7.5.3",
        '"From key size 4 upwards, precision increases again as expected"',
        _published_rise,
        _precision_rises_again,
        ("figure6",),
        True,
    ),
    Claim(
        "XASH is best at all key sizes",
        "7.5.3",
        "XASH is faster and more precise than BF, HT and SCR at every key size (figure 6)",
        _published_key_sizes,
        _best_at_all_key_sizes,
        ("figure6",),
        True,
        timed=True,
    ),
    Claim(
        "least cardinality is the best heuristic",
        "7.5.4",
        '"our cardinality-based heuristic outperformed the other heuristics"',
        _published_strategies,
        _best_heuristic,
        ("initial-column",),
    ),
    Claim(
        "the initial column matters",
        "6.1, 7.5.4",
        '"The initial column can heavily impact the runtime of the system": the worst choice fetches many times what '
        "the best does",
        lambda: f"worst / best: {times(paper.initial_columns()[WORST] / paper.initial_columns()[BEST])}",
        _column_matters,
        ("initial-column",),
    ),
)
