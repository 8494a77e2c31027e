"""Claims on false positives: the abstract, section 6.3, section 7.4, table 3."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from experiments.reporting import bootstrap, paper, rules
from experiments.reporting.claims.claim import Claim, Scope
from experiments.reporting.claims.hashes import SIZED, SIZES, named, others
from experiments.reporting.comparisons import (
    LakeResults,
    by_set,
    fewest,
    measured,
    middle,
    over_best,
    precision_differences,
    rank_correlation,
    xash,
)
from experiments.reporting.numbers import number, share, times
from experiments.reporting.rules import threshold
from experiments.reporting.verdicts import (
    FEW,
    Case,
    Finding,
    Untestable,
    Verdict,
    above,
    aligned,
    by_cases,
    by_parts,
    correlated,
    ranged,
    up_to,
)

BOTH = (128, 512)
"""The sizes of table 3."""
_AVERAGE = "Average"
_RANKED = 5
"""Methods without which their order says nothing."""
_SAME = 1e-9
"""Deviations that differ by less are the same: those of equal precisions are 0 but for rounding."""


def _no_false_negatives(lake: LakeResults, reading: str) -> Finding:
    """Look for values that the super key of their own row misses, and for exact methods whose scores differ."""
    try:
        kept = lake.records("row-filter")
        kept = kept[kept["kind"] == "kept"]
    except Untestable:
        kept = pd.DataFrame({"checked": [], "missed": []})
    rows = []
    for experiment in ("table2", "figure4", "figure6"):
        try:
            queries = lake.queries(experiment)
        except Untestable:
            continue
        exact = queries[queries["exact"] & queries["finished"]]
        groups = exact.groupby(["query_set", "query"], sort=False)["checksum"].agg(["nunique", "size"])
        rows.append((experiment, groups))
    answers = sum(int(groups["size"].sum()) for _, groups in rows)
    different = sum(int((groups["nunique"] > 1).sum()) for _, groups in rows)
    queries_asked = sum(len(groups) for _, groups in rows)
    if kept.empty and not different:
        raise Untestable("rows were not compared with their super keys: equal scores alone do not show it")
    checked, missed = int(kept["checked"].sum()), int(kept["missed"].sum())
    verdict = Verdict.FAILS if different or missed else Verdict.HOLDS
    told = f"{answers:,} searches of {queries_asked:,} queries: {different} queries with different scores"
    told += f"; {checked:,} values of rows with {len(kept)} hash functions: {missed} missed"
    return Finding(verdict, told, queries_asked)


def _thousand_times(lake: LakeResults, reading: str) -> Finding:
    cases = []
    queries = lake.queries("table2")
    for bits in BOTH:
        method = xash(bits, reading)
        if not measured(queries, "scr", method):
            continue
        for name, wide in by_set(queries, ("scr", method), "false_positives").items():
            without, own = (wide[column].to_numpy(np.float64) for column in ("scr", method))
            if without.sum() and len(wide) >= FEW:
                samples = bootstrap.ratios(name, without, own)
                ratio = float(without.sum() / own.sum()) if own.sum() else float("inf")
                told = times(ratio) + ranged(samples, times)
                told += f" ({number(without.sum())} to {number(own.sum())})"
                cases.append(Case(f"{name}, {bits} bits", ratio, told, 0, samples=samples, weight=len(wide)))
    if not cases:
        raise Untestable("SCR or XASH is missing, or SCR has no false positive, or few queries")
    published, least = (rules.number("1000 times fewer false positives", name) for name in ("factor", "least"))
    return up_to(cases, published, fewest(queries), least)


def _present(lake: LakeResults, bits: int, reading: str) -> list[str]:
    """Return XASH and the others of a size that were measured; both there must be."""
    measured = set(lake.queries("table3")["method"])
    own = xash(bits, reading)
    rivals = [method for method in others(bits) if method in measured]
    if not rivals or own not in measured:
        raise Untestable(f"table3 has no records of {own} or of any other hash function of its size here")
    return [*rivals, own]


def _highest_on_average(lake: LakeResults, reading: str) -> Finding:
    queries = lake.queries("table3")
    cases = []
    for bits in BOTH:
        *rivals, own = _present(lake, bits, reading)
        rival, best, case = over_best(queries, own, rivals)
        told = f"{bits} bits: {share(best + case.value)} against {rival} {share(best)}"
        cases.append(replace(case, name=told))
    told = "; ".join(f"{case.name}, {case.text}" for case in cases)
    return Finding(by_parts(cases), told, fewest(queries), tuple(cases))


def _published_average() -> str:
    row = paper.precision().loc[_AVERAGE]
    texts = []
    for bits in BOTH:
        rivals = row[[name for name in others(bits) if name in row]]
        texts.append(f"{bits} bits: {share(row[f'xash {bits}'])} against {rivals.idxmax()} {share(rivals.max())}")
    return "; ".join(texts)


def _larger_is_more_precise(lake: LakeResults, reading: str) -> Finding:
    queries = lake.queries("table3")
    cases = []
    for name in (*SIZED, "xash"):
        small, large = (xash(b, reading) if name == "xash" else f"{name} {b}" for b in BOTH)
        cases += named(name, precision_differences(queries, large, small))
    return by_cases(cases, fewest(queries), against=threshold("most"))


def _published_larger() -> str:
    wide = paper.precision().drop(index=_AVERAGE)
    gaps = [gap for name in (*SIZED, "xash") for gap in wide[f"{name} 512"] - wide[f"{name} 128"]]
    return f"512 against 128 bits: higher in {sum(gap > 0 for gap in gaps)} of {len(gaps)} cases"


def _smallest_deviation(lake: LakeResults, reading: str) -> Finding:
    queries = lake.queries("table3")
    cases = []
    for bits in BOTH:
        methods = _present(lake, bits, reading)
        *rivals, own = deviations = _deviations(queries, methods)
        least = int(np.argmin([case.value for case in rivals]))
        drawn = aligned(deviations)
        gap = None if drawn is None else drawn[:-1].min(axis=0) - drawn[-1]
        told = f"{bits} bits: {own.text}, least other {rivals[least].text} ({methods[least]})"
        cases.append(above(told, rivals[least].value - own.value, -_SAME, own.text, gap))
    return Finding(by_parts(cases), "; ".join(case.name for case in cases), fewest(queries), tuple(cases))


def _deviations(queries: pd.DataFrame, methods: list[str]) -> list[Case]:
    """Return the deviation of the precision of each method: the mean over query sets, which weigh by their queries."""
    sets = by_set(queries, methods, "precision")
    asked = sum(len(rows) for rows in sets.values())
    value = sum(rows.std(ddof=0).to_numpy(np.float64) * len(rows) for rows in sets.values()) / asked
    drawn = sum(bootstrap.deviations(name, rows.to_numpy(np.float64)) * len(rows) for name, rows in sets.items())
    samples = np.asarray(drawn) / asked
    return [
        Case(name, float(value[n]), share(value[n]) + ranged(samples[:, n], share), 0, samples=samples[:, n])
        for n, name in enumerate(methods)
    ]


def _published_deviation() -> str:
    row = paper.deviation().loc[_AVERAGE]
    texts = []
    for bits in BOTH:
        rivals = row[[name for name in others(bits) if name in row]]
        texts.append(
            f"{bits} bits: {share(row[f'xash {bits}'])}, least other {share(rivals.min())} ({rivals.idxmin()})"
        )
    return "; ".join(texts)


def _precision_and_runtime(lake: LakeResults, reading: str) -> Finding:
    queries = lake.queries("table3")
    sizes = [bits for bits in SIZES if measured(queries, xash(bits, reading))]
    methods = [method for bits in sizes for method in _present(lake, bits, reading)]
    if len(methods) < _RANKED:
        raise Untestable(f"{len(methods)} methods are too few for a correlation")
    precision, seconds = (by_set(queries, methods, value) for value in ("precision", "bounded"))
    cases = []
    for name in (name for name in precision if name in seconds):
        common = precision[name].index.intersection(seconds[name].index)
        exact, slow = (frame[name].loc[common] for frame in (precision, seconds))
        rho = -rank_correlation(exact.mean(), slow.mean()) if len(common) else float("nan")
        if rho != rho:
            continue
        drawn = [bootstrap.means(name, frame.to_numpy(np.float64)) for frame in (exact, slow)]
        samples = None if drawn[0] is None or drawn[1] is None else -bootstrap.rank_correlations(drawn[0], drawn[1])
        text = f"{rho:+.2f}" + ranged(samples, "{:+.2f}".format)
        cases.append(Case(name, rho, text, 0, samples=samples, weight=len(common)))
    if not cases:
        raise Untestable("nothing varies, so there is no correlation")
    weights, together = [case.weight for case in cases], aligned(cases)
    point = float(middle(np.array([[case.value] for case in cases]), weights)[0])
    told = f"median over {len(cases)} query sets of the rank correlation of precision and speed"
    samples = None if together is None else middle(together, weights)
    return correlated(point, told, fewest(queries), tuple(cases), samples)


def _published_correlation() -> str:
    seconds, precision = paper.hash_seconds(), paper.precision().drop(index=_AVERAGE)
    methods = [name for name in precision.columns if name in seconds.columns]
    found = [-rank_correlation(precision.loc[name, methods], seconds.loc[name, methods]) for name in precision.index]
    return f"tables 2 and 3: {min(found):+.2f} to {max(found):+.2f} within the query sets"


CLAIMS = (
    Claim(
        "no false negatives",
        "1, 6.3",
        '"The super key will never miss a joinable row"; "the filter does not result in any false negatives"',
        lambda: "proved in section 6.3",
        _no_false_negatives,
        ("row-filter", "table2", "figure4", "figure6"),
    ),
    Claim(
        "1000 times fewer false positives",
        "abstract, 1",
        '"able to prune up to 1000x more false positives"; "users might encounter over 1000 times more irrelevant '
        'table rows"',
        lambda: f"up to {number(1000)}×",
        _thousand_times,
        ("table2",),
        True,
        scope=Scope.BOTH,
    ),
    Claim(
        "XASH has the highest precision on average",
        "7.4",
        '"On average, MATE + XASH achieves the highest precision compared to all the other approaches both in 128- and '
        '512-bit hash spaces"',
        _published_average,
        _highest_on_average,
        ("table3",),
        True,
        scope=Scope.BOTH,
    ),
    Claim(
        "larger hashes are more precise",
        "7.4",
        '"precision increases with larger hash sizes in most of the cases"',
        _published_larger,
        _larger_is_more_precise,
        ("table3",),
        True,
        scope=Scope.BOTH,
    ),
    Claim(
        "XASH has the smallest deviation",
        "7.4",
        '"XASH displays the smallest standard deviation showing its robustness"',
        _published_deviation,
        _smallest_deviation,
        ("table3",),
        True,
        scope=Scope.BOTH,
    ),
    Claim(
        "precision goes with runtime",
        "7.4",
        '"The precision of an approach correlates with its runtime"',
        _published_correlation,
        _precision_and_runtime,
        ("table3",),
        True,
        scope=Scope.BOTH,
        timed=True,
    ),
)
