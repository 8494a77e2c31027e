"""Claims on top-k and on XASH's components: sections 7.5.1 and 7.5.2, figure 5."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from experiments.reporting import bootstrap, paper, rules
from experiments.reporting.claims.claim import Claim
from experiments.reporting.comparisons import (
    LakeResults,
    false_positives_by_query,
    fewest,
    over_best,
    pooled_difference,
    precision_differences,
    precisions,
    xash,
)
from experiments.reporting.numbers import number, percent, share
from experiments.reporting.verdicts import (
    Case,
    Finding,
    Untestable,
    above,
    by_cases,
    by_parts,
    ranged,
    reached,
)

TOP_K_RIVALS = ("md5 128", "murmur 128", "city 128", "simhash 128", "ht 128", "bf 128", "lhbf 128")
PARTS = ("length", "rare characters", "char. + loc.", "char. + len. + loc.")
_PAPER = "paper's alpha"


def _by_k(lake: LakeResults, methods: tuple[str, ...]) -> dict[int, pd.DataFrame]:
    """Return the searches by k, the smallest first."""
    queries = lake.queries("top-k", *methods)
    if queries["k"].nunique() < 2:
        raise Untestable("it needs two values of k")
    return {int(k): rows for k, rows in queries.groupby("k", sort=True)}


def _best_for_all_k(lake: LakeResults, reading: str) -> Finding:
    own = xash(128, reading)
    found = _by_k(lake, (*TOP_K_RIVALS, own))
    cases = []
    for k, queries in found.items():
        rival, _, case = over_best(queries, own, TOP_K_RIVALS)
        cases.append(replace(case, name=f"k = {k}, {rival}"))
    return by_cases(cases, min(map(fewest, found.values())))


def _trend_with_k(lake: LakeResults, reading: str) -> Finding:
    own = xash(128, reading)
    methods = (*TOP_K_RIVALS, own)
    found = _by_k(lake, methods)
    first, last = min(found), max(found)
    change = (precisions(found[last], methods) - precisions(found[first], methods)).dropna()
    if change.empty:
        raise Untestable("no query has a precision with every method for the smallest and the largest k")
    rest = change.drop(columns=[own, "bf 128"]).mean(axis=1)
    moved = np.column_stack([change[own], change["bf 128"], rest])
    point, drawn = moved.mean(axis=0), bootstrap.means("all", moved)
    samples = point[:, None] if drawn is None else drawn.T
    texts = [f"{point[n]:+.2f}" + ranged(samples[n], "{:+.2f}".format) for n in range(3)]
    rise, level = (rules.number("precision as k grows", name) for name in ("rise", "level"))
    cases = (
        above("XASH rises", float(point[0]), rise, texts[0], samples[0]),
        above("BF stays", float(level - abs(point[1])), 0.0, texts[1], level - abs(samples[1])),
        above("the others fall", -float(point[2]), float(np.nextafter(0, 1)), texts[2], -samples[2]),
    )
    told = f"from k = {first} to {last}: XASH {texts[0]}, BF {texts[1]}, others {texts[2]}"
    return Finding(by_parts(cases), told, min(map(fewest, found.values())), cases)


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
