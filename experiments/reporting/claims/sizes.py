"""Claims on the size of hash values: section 7.3, table 2."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from experiments.reporting import bootstrap, paper, rules
from experiments.reporting.claims.claim import Claim, Scope
from experiments.reporting.claims.hashes import SIZED, named
from experiments.reporting.comparisons import (
    LakeResults,
    false_positives_by_query,
    fewest,
    mean_precision,
    measured,
    sets_in,
    xash,
)
from experiments.reporting.numbers import number, percent, span, times
from experiments.reporting.rules import threshold
from experiments.reporting.timings import time_ratios, timings
from experiments.reporting.verdicts import HALF, MARGIN, Finding, Untestable, above, by_cases, by_parts, ranged

_NOT_FASTER = 1 / (1 + MARGIN), float(np.nextafter(1 / (1 + MARGIN), 2))


def _similar() -> float:
    """Return by how much precisions may differ that are similar."""
    return rules.number("larger hashes cost more", "similar")


def _larger_is_faster(lake: LakeResults, reading: str) -> Finding:
    queries = lake.queries("table2")
    names = [*SIZED, "xash"]
    cases = [
        c
        for name in names
        for c in named(
            name,
            time_ratios(
                lake.timings("table2"),
                xash(128, reading) if name == "xash" else f"{name} 128",
                xash(512, reading) if name == "xash" else f"{name} 512",
            ),
        )
    ]
    return by_cases(cases, fewest(queries), against=threshold("most"))


def _published_larger() -> str:
    wide = paper.hash_seconds()
    found = [ratio for name in (*SIZED, "xash") for ratio in paper.ratios(wide, f"{name} 128", f"{name} 512")]
    return f"128 / 512 bits: above 1 in {sum(ratio > 1 for ratio in found)} of {len(found)} cases, {span(found)}"


def _larger_costs_more(lake: LakeResults, reading: str) -> Finding:
    queries = lake.queries("table2")
    cases = []
    for name in (*SIZED, "xash"):
        small, large = (xash(b, reading) if name == "xash" else f"{name} {b}" for b in (128, 512))
        if not measured(queries, small, large):
            continue
        means = mean_precision(queries, (small, large))
        similar = set(means.index[(means[large] - means[small]).abs() <= _similar()])
        # "similar or higher": only a faster large hash speaks against it.
        cases += [
            replace(case, name=f"{case.name}, {name}", lean=1 if case.lean >= 0 else -1, zone=_NOT_FASTER)
            for case in time_ratios(lake.timings("table2"), large, small)
            if case.name in similar
        ]
    if not cases:
        raise Untestable("in no case have 128 and 512 bits a similar precision")
    return by_cases(cases, fewest(queries))


def _published_costs() -> str:
    seconds, precision = paper.hash_seconds(), paper.precision()
    found = {}
    for name in (*SIZED, "xash"):
        gap = (precision[f"{name} 512"] - precision[f"{name} 128"]).abs()
        for query_set in gap.index[gap <= _similar()].intersection(seconds.index):
            found[f"{query_set}, {name}"] = float(
                seconds.loc[query_set, f"{name} 512"] / seconds.loc[query_set, f"{name} 128"]
            )
    return "512 / 128 bits: " + "; ".join(f"{case} {times(ratio)}" for case, ratio in found.items())


def _hundred(lake: LakeResults, reading: str) -> Finding:
    small, large = xash(128, reading), xash(512, reading)
    queries = lake.queries("table2", small, large)
    names = [name for name in sets_in(queries) if name.endswith("(100)")]
    if not names:
        raise Untestable("the lake has no query set of under 100 key tuples")
    one = queries[queries["query_set"] == names[0]]
    wrong = false_positives_by_query(one, (small, large))
    ratio = next(iter(time_ratios(timings(one), large, small)), None)
    if not wrong[small].sum() or ratio is None:
        raise Untestable("no false positive with 128 bits, or no query finished")
    fewer, faster = 1 - wrong[large].sum() / wrong[small].sum(), 1 - ratio.value
    drawn = bootstrap.ratios(names[0], wrong[large].to_numpy(np.float64), wrong[small].to_numpy(np.float64))
    wanted = {name: rules.number("what 512 bits save", name) / HALF for name in ("false_positives", "seconds")}
    saved = None if drawn is None else 1 - np.nan_to_num(drawn, nan=1.0)
    quicker = None if ratio.samples is None else 1 - ratio.samples
    cases = (
        above("false positives saved", fewer, wanted["false_positives"], percent(fewer), saved),
        above("seconds saved", faster, wanted["seconds"], percent(faster), quicker),
    )
    told = (
        f"{names[0]}: {percent(fewer)}{ranged(saved, percent)} of {number(wrong[small].sum())} false positives and "
        f"{percent(faster)}{ranged(quicker, percent)} of the time saved"
    )
    return Finding(by_parts(cases), told, fewest(one), cases)


def _published_hundred() -> str:
    row = paper.hash_seconds().loc["OD (100)"]
    return f"OD (100): 85 % fewer FPs, 48 % speed-up (table 2: {percent(1 - row['xash 512'] / row['xash 128'])})"


CLAIMS = (
    Claim(
        "larger hashes are faster",
        "7.3",
        '"in most of the cases, a larger hash size (512 bits) leads to a faster join discovery"',
        _published_larger,
        _larger_is_faster,
        ("table2",),
        True,
        scope=Scope.BOTH,
        timed=True,
    ),
    Claim(
        "larger hashes cost more",
        "7.3",
        '"When the FP rate is similar for two hash sizes, the … larger hash size will result in similar or higher '
        'runtime"',
        _published_costs,
        _larger_costs_more,
        ("table2",),
        True,
        scope=Scope.BOTH,
        timed=True,
    ),
    Claim(
        "what 512 bits save",
        "7.3",
        '"for the OD (100) datasets, the larger hash size for XASH results in 85% fewer FPs on average, leading to 48% '
        'speed-up"',
        _published_hundred,
        _hundred,
        ("table2",),
        True,
        timed=True,
    ),
)
