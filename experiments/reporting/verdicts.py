"""Verdicts on the paper's claims, and the rules by which they are given. The rules know nothing of any result.

A claim is tested on each lake of its own. What it compares are *cases*: usually one query set, or one query set at
one hash size. A case speaks for the claim, against it, or for neither if the difference is within the margin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from experiments.reporting.numbers import count, times

MARGIN = 0.10
"""Runtimes that differ by less than this share are equal."""
POINT = 0.01
"""Precisions that differ by less than this are equal."""
FEW = 5
"""A verdict on fewer queries than this in a query set says on how many it stands."""
FACTOR = 2.0
"""A published factor is reached if the measured one is at least the published one divided by this."""
STRONG, WEAK = 0.5, 0.2
"""Rank correlations from which on two things go together, and somewhat do."""


class Verdict(StrEnum):
    """What is said of a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    UNTESTED = "cannot be tested here"


SIGNS = {Verdict.HOLDS: "✓", Verdict.IN_PART: "◐", Verdict.FAILS: "✗", Verdict.UNTESTED: "–"}
"""Verdicts where there is little room, told apart without colour."""


class Untestable(Exception):  # noqa: N818
    """Raised by a test that lacks what it needs; says what."""


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison: what it is called, the number it came to, and which way it leans: 1 for the claim, -1 against."""

    name: str
    value: float
    text: str
    lean: int


@dataclass(frozen=True, slots=True)
class Finding:
    """What a test found on a lake."""

    verdict: Verdict
    measured: str
    queries: int = 0
    """The fewest queries of any query set that it stands on; 0 where no queries are involved."""
    cases: tuple[Case, ...] = ()
    readings: tuple[tuple[str, str, Verdict], ...] = ()
    """Where readings of the claim were measured differently: what each is called, measured and judged."""

    @property
    def stands_on(self) -> str:
        """Say it if the verdict stands on few queries."""
        return f"only {count(self.queries, 'query')} in a set" if 0 < self.queries < FEW else ""


def factor(name: str, value: float, bound: str = "") -> Case:
    """Return a case of a ratio that speaks for the claim if it is above 1."""
    lean = 1 if value >= 1 + MARGIN else -1 if value <= 1 / (1 + MARGIN) else 0
    return Case(name, value, bound + times(value), lean)


def difference(name: str, value: float, least: float = POINT) -> Case:
    """Return a case of a difference, as of precisions, that speaks for the claim if it is above 0."""
    lean = 1 if value >= least else -1 if value <= -least else 0
    return Case(name, value, f"{value:+.2f}", lean)


def flag(name: str, true: bool, text: str) -> Case:
    """Return a case that is true or not."""
    return Case(name, float(true), text, 1 if true else -1)


def tally(cases: Iterable[Case]) -> tuple[int, int, int]:
    """Return how many cases speak for the claim, for neither, and against it."""
    leans = [case.lean for case in cases]
    return leans.count(1), leans.count(0), leans.count(-1)


ALL = "holds: no case against, and at least half for; in part: at least as many for as against; else it does not hold"
ALMOST_ALL = (
    "holds: at most a tenth of the cases against, and at least half for; in part: at least as many for as "
    "against; else it does not hold"
)
MOST = "holds: at least half of the cases for; in part: at least as many for as against; else it does not hold"


def judge(cases: Sequence[Case], against: float = 0.0) -> Verdict:
    """Judge by cases: `against` is the share of them that may speak against a claim that holds."""
    if not cases:
        raise Untestable("there is no case to look at")
    favour, _, opposed = tally(cases)
    if opposed <= against * len(cases) and favour >= len(cases) / 2:
        return Verdict.HOLDS
    return Verdict.IN_PART if favour and favour >= opposed else Verdict.FAILS


def by_cases(cases: Sequence[Case], queries: int, against: float = 0.0) -> Finding:
    """Return what cases come to, the extremes named."""
    verdict = judge(cases, against)
    favour, level, opposed = tally(cases)
    parts = [f"{favour} of {count(len(cases), 'case')} for"]
    parts += [f"{level} level"] if level else []
    parts += [f"{opposed} against"] if opposed else []
    low, high = (choose(cases, key=lambda case: case.value) for choose in (min, max))
    told = f"{low.text} ({low.name})"
    if low.name != high.name:
        told += f" to {high.text} ({high.name})"
    return Finding(verdict, f"{', '.join(parts)}: {told}", queries, tuple(cases))


UP_TO = (
    "holds: the largest ratio is at least half the paper's largest on the corpus that the lake stands for (on other "
    "lakes, and on all together: on any corpus), and at least 1.1; in part: at least 1.1; else it does not hold"
)


def up_to(cases: Sequence[Case], published: float, queries: int) -> Finding:
    """Judge a claim "up to so many times": by the largest ratio."""
    if not cases:
        raise Untestable("there is no case to look at")
    best = max(cases, key=lambda case: case.value)
    verdict = reached(best.value, max(published, FACTOR * (1 + MARGIN)), 1 + MARGIN)
    rest = "; ".join(f"{case.name} {case.text}" for case in cases if case is not best)
    measured = f"up to {best.text} ({best.name})" + (f"; {rest}" if rest and len(cases) <= 6 else "")
    return Finding(verdict, measured, queries, tuple(cases))


CORRELATED = "holds: rank correlation of 0.5 or more; in part: 0.2 or more; else it does not hold"


def correlated(rho: float, what: str, queries: int, cases: tuple[Case, ...] = ()) -> Finding:
    """Judge a claim that two things go together, by their rank correlation."""
    if rho != rho:
        raise Untestable(f"{what}: nothing varies, so there is no correlation")
    verdict = Verdict.HOLDS if rho >= STRONG else Verdict.IN_PART if rho >= WEAK else Verdict.FAILS
    return Finding(verdict, f"{what}: {rho:+.2f}", queries, cases)


def reached(value: float, published: float, least: float) -> Verdict:
    """Judge a number: holds from half the published one, in part from `least`."""
    return Verdict.HOLDS if value >= published / FACTOR else Verdict.IN_PART if value >= least else Verdict.FAILS


def together(findings: Sequence[tuple[str, Finding]]) -> Finding:
    """Join what was found for several readings of one claim: where they differ, it holds in part."""
    if len(findings) == 1:
        return findings[0][1]
    agreed = len({finding.verdict for _, finding in findings}) == 1
    same = len({finding.measured for _, finding in findings}) == 1
    readings = () if same else tuple((name, found.measured, found.verdict) for name, found in findings)
    measured = " | ".join(f"{name}: {told} ({said})" for name, told, said in readings) or findings[0][1].measured
    cases = tuple(
        Case(f"{name}: {case.name}", case.value, case.text, case.lean) for name, f in findings for case in f.cases
    )
    verdict = findings[0][1].verdict if agreed else Verdict.IN_PART
    return Finding(verdict, measured, min(finding.queries for _, finding in findings), cases, readings)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return one verdict for several lakes: what all say where it can be tested, else in part."""
    tested = {verdict for verdict in verdicts if verdict is not Verdict.UNTESTED}
    if not tested:
        return Verdict.UNTESTED
    return tested.pop() if len(tested) == 1 else Verdict.IN_PART
