"""Claims on the key size and on the initial column: sections 7.5.3 and 7.5.4, figure 6."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.reporting import bootstrap, paper, rules
from experiments.reporting.claims.claim import Claim
from experiments.reporting.comparisons import (
    LakeResults,
    fewest,
    middle,
    sets_in,
    xash,
)
from experiments.reporting.numbers import number, share, span, times
from experiments.reporting.verdicts import (
    MARGIN,
    ORDER,
    STRONG,
    WEAK,
    Case,
    Finding,
    Samples,
    Untestable,
    Verdict,
    aligned,
    by_cases,
    difference,
    factor,
    ranged,
    reached,
    settled,
    tally,
)

DRAWN = "key size"
"""What the draws of tables are named after: they are the same wherever a table is searched with keys of all sizes."""
Places = npt.NDArray[np.int64]


def _by_key_size(lake: LakeResults, method: str, value: str) -> pd.DataFrame:
    """Return a value by table and number of key columns, for the tables that have all sizes."""
    queries = lake.queries("figure6", method)
    table = queries["query"].str.partition(":")[0]
    wide = queries.assign(table=table).pivot_table(index="table", columns="key_columns", values=value, aggfunc="mean")
    wide = wide.astype(float).dropna()
    if not len(wide) or wide.shape[1] < 3:
        raise Untestable("no table was searched with all key sizes")
    return wide


def _drawn(wide: pd.DataFrame) -> Samples:
    """Return the means of columns over tables in every draw of tables, after those over all tables."""
    values = wide.to_numpy(np.float64)
    drawn = bootstrap.means(DRAWN, values)
    means = values.mean(axis=0, keepdims=True)
    return means if drawn is None else np.concatenate([means, drawn])


def _trend(wide: pd.DataFrame, means: Samples) -> Samples:
    """Return the rank correlation with the key size in every draw."""
    return bootstrap.rank_correlations(wide.columns.to_numpy(np.float64)[None], means)


def _settled(places: Places) -> Verdict:
    """Return the verdict on all tables, undecided if it is not that of nearly all draws, which come after it."""
    return settled(ORDER[int(places[0])], places[1:] if len(places) > 1 else None)


def _falls(wide: pd.DataFrame, what: str, unit: str) -> Finding:
    """Judge that something falls as the key grows: the last below the first, and a falling trend."""
    means = _drawn(wide)
    rho = -_trend(wide, means)
    first, last = means[:, 0], means[:, -1]
    ratio = np.divide(first, last, out=np.where(first > 0, np.inf, 1.0), where=last > 0)
    lower = ratio >= 1 + MARGIN
    places = np.where(lower & (rho >= STRONG), 2, np.where(lower | (rho >= WEAK), 1, 0))
    names = list(wide.columns)
    cases = tuple(
        Case(f"|Q| = {size}", float(value), f"{number(value)}{unit}", 0)
        for size, value in zip(names, means[0], strict=True)
    )
    told = f"{what} at |Q| = {names[0]}: {times(ratio[0])}{ranged(ratio[1:], times) if len(ratio) > 1 else ''} that at "
    told += f"{names[-1]}; rank correlation with |Q| {-rho[0]:+.2f}"
    return Finding(_settled(places), told, len(wide), cases)


def _runtime_falls(lake: LakeResults, reading: str) -> Finding:
    return _falls(_by_key_size(lake, xash(128, reading), "seconds"), "seconds", " s")


def _false_positives_fall(lake: LakeResults, reading: str) -> Finding:
    wide = _by_key_size(lake, xash(128, reading), "false_positives")
    if not wide.iloc[:, 0].sum():
        raise Untestable("there is no false positive with two key columns")
    return _falls(wide, "false positives", "")


RULE_2 = "rule 2 drops more tables as keys grow"


def _rule_2(lake: LakeResults, reading: str) -> Finding:
    method = xash(128, reading)
    if "tables_cut_rule_2" not in lake.queries("figure6", method):
        raise Untestable("the records do not say what rule 2 dropped")
    tables, cut = (_by_key_size(lake, method, value) for value in ("tables", "tables_cut_rule_2"))
    known = tables.index[(tables > 0).all(axis=1)]
    if known.empty:
        raise Untestable("no table of ten columns has a candidate table at every key size")
    return _falls(1 - cut.loc[known] / tables.loc[known], "candidate tables that rule 2 leaves", "")


def _published_fall() -> str:
    series = paper.key_size("runtime_seconds")["xash 128"]
    return f"{series.iloc[0]} s at |Q| = 2 to {series.iloc[-1]} s at 10: {times(series.iloc[0] / series.iloc[-1])}"


def _precision_rises_again(lake: LakeResults, reading: str) -> Finding:
    wide = _by_key_size(lake, xash(128, reading), "precision")
    wide = wide[[size for size in wide.columns if size >= 4]]
    if wide.shape[1] < 2:
        raise Untestable("it needs keys of four and of more columns")
    means = _drawn(wide)
    rise, rho = means[:, -1] - means[:, 0], _trend(wide, means)
    cases = tuple(Case(f"|Q| = {size}", float(v), share(v), 0) for size, v in zip(wide.columns, means[0], strict=True))
    told = f"from |Q| = 4 to {wide.columns[-1]}: {share(means[0, 0])} to {share(means[0, -1])}"
    rise_least, full = (rules.number("precision rises from four key columns on", n) for n in ("rise", "full"))
    if means[0, 0] >= 1 - full:
        raise Untestable(f"{told}: there is nothing left to gain")
    rises = rise >= rise_least
    places = np.where(rises & (rho >= STRONG), 2, np.where(rises, 1, 0))
    told += f", {rise[0]:+.2f}" + (ranged(rise[1:], "{:+.2f}".format) if len(rise) > 1 else "")
    return Finding(_settled(places), told, len(wide), cases)


def _published_rise() -> str:
    series = paper.key_size("precision")["xash 128"]
    return f"{share(series[2])} at |Q| = 2, {share(series[3])} at 3, {share(series[4])} at 4, {share(series[10])} at 10"


def _best_at_all_key_sizes(lake: LakeResults, reading: str) -> Finding:
    methods = (xash(128, reading), "bf 128", "ht 128", "scr")
    seconds, precision = (
        {method: _by_key_size(lake, method, value) for method in methods} for value in ("seconds", "precision")
    )
    tables = pd.Index([])
    for place, wide in enumerate((*seconds.values(), *precision.values())):
        tables = tables.intersection(wide.index) if place else wide.index
    if tables.empty:
        raise Untestable("no table was searched with all key sizes by every method")
    own, *rivals = methods
    cases = []
    for rival in rivals:
        for size in seconds[own].columns:
            slow, base = (seconds[m].loc[tables, size].to_numpy(np.float64) for m in (rival, own))
            samples, ratio = bootstrap.ratios(DRAWN, slow, base), float(slow.mean() / base.mean())
            cases.append(factor(f"|Q| = {size}, {rival}, runtime", ratio, "", samples, len(tables)))
        for size in precision[own].columns:
            gap = (precision[own].loc[tables, size] - precision[rival].loc[tables, size]).to_numpy(np.float64)
            name, samples = f"|Q| = {size}, {rival}, precision", bootstrap.means(DRAWN, gap)
            cases.append(difference(name, float(gap.mean()), samples=samples, weight=len(tables)))
    return _two_kinds(cases, len(tables))


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


MATE, IN_ORDER, LONGEST = "minimum cardinality (MATE)", "column order", "longest string (TLS)"
WORST, BEST = "worst case", "best case (ground truth)"


def _postings(lake: LakeResults) -> tuple[dict[str, pd.DataFrame], int]:
    """Return the number of posting list items by query and strategy, for each query set that has any."""
    queries = lake.queries("initial-column")
    if not {MATE, IN_ORDER, LONGEST, WORST, BEST} <= set(queries["variant"]):
        raise Untestable("a strategy is missing")
    found = {}
    for name in sets_in(queries):
        own = queries[queries["query_set"] == name]
        wide = own.pivot(index="query", columns="variant", values="postings").astype(float)
        wide = wide.reindex(columns=[MATE, IN_ORDER, LONGEST, WORST, BEST]).dropna()
        if wide[[MATE, BEST]].mean().min() > 0:
            found[name] = wide
    if not found:
        raise Untestable("no query has a posting")
    return found, fewest(queries)


def _items(name: str, wide: pd.DataFrame, strategy: str, base: str) -> Case:
    """Return the posting list items of a strategy relative to those of another."""
    own, other = (wide[column].to_numpy(np.float64) for column in (strategy, base))
    drawn = bootstrap.ratios(name, own, other)
    samples = None if drawn is None else np.nan_to_num(drawn, nan=1.0)
    return factor(name, float(own.mean() / other.mean()), "", samples, len(wide))


def _best_heuristic(lake: LakeResults, reading: str) -> Finding:
    found, queries = _postings(lake)
    cases = [
        replace(_items(name, wide, strategy, MATE), name=f"{name}, {strategy}")
        for name, wide in found.items()
        for strategy in (IN_ORDER, LONGEST)
    ]
    return by_cases(cases, queries)


def _column_matters(lake: LakeResults, reading: str) -> Finding:
    found, queries = _postings(lake)
    cases = [_items(name, wide, WORST, BEST) for name, wide in found.items()]
    published = float(paper.initial_columns()[WORST] / paper.initial_columns()[BEST])
    weights, drawn = [case.weight for case in cases], aligned(cases)
    typical = float(middle(np.array([[case.value] for case in cases]), weights)[0])
    samples = None if drawn is None else middle(drawn, weights)
    told = f"worst / best: {times(typical)}{ranged(samples, times)}"
    told += f" (median; {span(c.value for c in cases)})" if len(cases) > 1 else ""
    least = rules.number("the initial column matters", "least")
    return Finding(reached(typical, published, least, samples), told, queries, tuple(cases))


def _published_strategies() -> str:
    found = paper.initial_columns()
    return ", ".join(f"{name} {times(found[name] / found[MATE])}" for name in (IN_ORDER, LONGEST, WORST, BEST))


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
        RULE_2,
        "7.5.3",
        '"Increasing the size of the composite key leads to fewer joinable table rows. Therefore, it is more likely '
        'that the second table filtering rule drops the candidate tables"',
        lambda: "no numbers",
        _rule_2,
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
