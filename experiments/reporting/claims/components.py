"""Claims on top-k and on XASH's components: sections 7.5.1 and 7.5.2, figure 5."""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments.reporting import bootstrap, paper, rules
from experiments.reporting.claims.claim import Claim
from experiments.reporting.comparisons import (
    LakeResults,
    false_positives_by_query,
    fewest,
    pooled_difference,
    pooled_precision,
    precision_differences,
    xash,
)
from experiments.reporting.numbers import number, percent, share
from experiments.reporting.verdicts import (
    Case,
    Finding,
    Untestable,
    by_cases,
    by_parts,
    difference,
    flag,
    ranged,
    reached,
)

TOP_K_RIVALS = ("md5 128", "murmur 128", "city 128", "simhash 128", "ht 128", "bf 128", "lhbf 128")
PARTS = ("length", "rare characters", "char. + loc.", "char. + len. + loc.")
_PAPER = "paper's alpha"


def _by_k(lake: LakeResults, methods: tuple[str, ...]) -> tuple[pd.DataFrame, int]:
    """Return mean precision by k and method, and the number of queries."""
    queries = lake.queries("top-k", *methods)
    if queries["k"].nunique() < 2:
        raise Untestable("it needs two values of k")
    means = {k: pooled_precision(rows, methods) for k, rows in queries.groupby("k", sort=True)}
    return pd.DataFrame(means).T, fewest(queries)


def _best_for_all_k(lake: LakeResults, reading: str) -> Finding:
    own = xash(128, reading)
    means, queries = _by_k(lake, (*TOP_K_RIVALS, own))
    rivals = means.drop(columns=own)
    cases = [
        difference(f"k = {k}, {rivals.loc[k].idxmax()}", float(means.loc[k, own] - rivals.loc[k].max()))
        for k in means.index
    ]
    return by_cases(cases, queries)


def _trend_with_k(lake: LakeResults, reading: str) -> Finding:
    own = xash(128, reading)
    means, queries = _by_k(lake, (*TOP_K_RIVALS, own))
    change = means.iloc[-1] - means.iloc[0]
    rest = change.drop(index=[own, "bf 128"])
    rise, level = (rules.number("precision as k grows", name) for name in ("rise", "level"))
    cases = [
        flag("XASH rises", change[own] >= rise, f"{change[own]:+.2f}"),
        flag("BF stays", abs(change["bf 128"]) <= level, f"{change['bf 128']:+.2f}"),
        flag("the others fall", rest.mean() < 0, f"{rest.mean():+.2f}"),
    ]
    told = f"from k = {means.index[0]} to {means.index[-1]}: "
    told += f"XASH {cases[0].text}, BF {cases[1].text}, others {cases[2].text}"
    return Finding(by_parts(cases), told, queries, tuple(cases))


def _part(name: str, bits: int = 128) -> str:
    return f"xash {bits} ({name})"


def _components_add(lake: LakeResults, reading: str) -> Finding:
    whole = xash(128, _PAPER)
    methods = ["scr", *(_part(name) for name in PARTS), whole]
    queries = lake.queries("figure5", *methods)
    steps = [
        ("scr", methods[1], "length"),
        ("scr", methods[2], "rare characters"),
        (methods[2], methods[3], "location"),
    ]
    steps += [(methods[3], methods[4], "length beside the rest"), (methods[4], whole, "rotation")]
    least = rules.number("every component adds precision", "step")
    cases = [pooled_difference(queries, after, before, name, least) for before, after, name in steps]
    return by_cases(cases, fewest(queries))


def _published_components() -> str:
    return ", ".join(f"{name} {share(value)}" for name, value in paper.components().items() if name != "Ideal system")


def _characters_over_length(lake: LakeResults, reading: str) -> Finding:
    queries = lake.queries("figure5", _part("char. + loc."), _part("length"))
    return by_cases(precision_differences(queries, _part("char. + loc."), _part("length")), fewest(queries))


def _rotation(lake: LakeResults, reading: str) -> Finding:
    without, whole = _part("char. + len. + loc."), xash(128, _PAPER)
    queries = lake.queries("figure5", without, whole)
    wrong = false_positives_by_query(queries, (without, whole))
    before, after = (wrong[name].to_numpy(np.float64) for name in (without, whole))
    if not before.sum():
        raise Untestable("there is no false positive left for the rotation")
    saved = float(1 - after.sum() / before.sum())
    drawn = bootstrap.ratios("all", after, before)
    samples = None if drawn is None else 1 - np.nan_to_num(drawn, nan=1.0)
    case = Case("false positives", saved, percent(saved), 0, samples=samples)
    told = f"{percent(saved)}{ranged(samples, percent)} of {number(before.sum())} false positives"
    published, least = (rules.number("rotation", name) for name in ("saved", "least"))
    return Finding(reached(saved, published, least, samples), told, fewest(queries), (case,))


def _published_rotation() -> str:
    found = paper.components()
    odds = [(1 - found[name]) / found[name] for name in ("Char. + len. + loc.", "XASH (128 bit)")]
    return f"20 % of the remaining FPs (the precisions of figure 5 give {percent(1 - odds[1] / odds[0])})"


CLAIMS = (
    Claim(
        "XASH is best for all k",
        "7.5.1",
        '"MATE + XASH achieves the highest precision in comparison to other approaches for all k values"',
        lambda: "k from 2 to 20; no numbers",
        _best_for_all_k,
        ("top-k",),
        True,
    ),
    Claim(
        "precision as k grows",
        "7.5.1",
        '"Increasing k, the precision for XASH increases 4%, while the precision remains the same for BF. The other '
        'hash functions lead to a slight precision cut"',
        lambda: "XASH +0.04, BF 0, the others below 0",
        _trend_with_k,
        ("top-k",),
        True,
    ),
    Claim(
        "every component adds precision",
        "7.5.2",
        "Length, rare characters, their location and the rotation each add precision (figure 5)",
        _published_components,
        _components_add,
        ("figure5",),
    ),
    Claim(
        "characters outdo length",
        "7.5.2",
        '"encoding the character and its location has higher filtering power than the length feature"',
        lambda: f"{share(paper.components()['Char. + loc.'])} against {share(paper.components()['Length'])}",
        _characters_over_length,
        ("figure5",),
    ),
    Claim(
        "rotation",
        "7.5.2",
        '"the rotation filters 20% of the remaining FPs undiscovered in character + length + location"',
        _published_rotation,
        _rotation,
        ("figure5",),
    ),
)
