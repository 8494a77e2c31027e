"""Verdicts on the paper's claims, and how they are given. The rules stand in ``experiments/rules.toml``.

A claim is tested on each lake of its own. What it compares are *cases*: usually one query set, or one query set at
one hash size. A case speaks for the claim, against it, or for neither if the difference is within the margin. A case
carries *samples*: the values that it has when the queries are drawn again with replacement (`experiments.reporting.
bootstrap`). A verdict that does not come out in nearly all of these draws is undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from experiments.reporting.numbers import count, times
from experiments.reporting.rules import threshold

MARGIN = threshold("margin")
"""Runtimes that differ by less than this share are equal."""
POINT = threshold("point")
"""Precisions that differ by less than this are equal."""
FEW = int(threshold("few"))
"""A verdict on fewer queries than this in a query set says on how many it stands."""
HALF = threshold("half")
"""A published number is reached if the measured one is at least the published one divided by this."""
STRONG, WEAK = threshold("strong"), threshold("weak")
"""Rank correlations from which on two things go together, and somewhat do."""

MOST = 64
"""So many times as many queries are the most that are thought of to decide what is undecided."""

Samples = npt.NDArray[np.float64]


class Verdict(StrEnum):
    """What is said of a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    UNTESTED = "cannot be tested here"


SIGNS = {
    Verdict.HOLDS: "✓",
    Verdict.IN_PART: "◐",
    Verdict.FAILS: "✗",
    Verdict.UNDECIDED: "?",
    Verdict.UNTESTED: "–",
}
"""Verdicts where there is little room, told apart without colour."""

ORDER = (Verdict.FAILS, Verdict.IN_PART, Verdict.HOLDS)


class Untestable(Exception):  # noqa: N818
    """Raised by a test that lacks what it needs; says what."""


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison: what it is called, the number it came to, and which way it leans: 1 for the claim, -1 against."""

    name: str
    value: float
    text: str
    lean: int
    zone: tuple[float, float] | None = None
    """It leans against from the first number down, for the claim from the second up; none: its lean is certain."""
    samples: Samples | None = field(default=None, compare=False, repr=False)
    """Its values in the draws of queries, the same draws for all cases of a query set."""
    weight: int = 1
    """Queries that it stands on."""

    @property
    def leans(self) -> npt.NDArray[np.int64] | int:
        """Which way it leans in each draw."""
        if self.samples is None or self.zone is None:
            return self.lean
        low, high = self.zone
        return (self.samples >= high).astype(np.int64) - (self.samples <= low)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The range that its value has in nearly all draws."""
        return None if self.samples is None else interval(self.samples)


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

    times: int = 0
    """If it is undecided: how many times as many queries would decide it."""

    @property
    def needs(self) -> str:
        """Say how many queries would decide what is not."""
        if not self.times or not self.queries:
            return ""
        if self.times > MOST:
            return f"even {count(MOST * self.queries, 'query')} in the smallest set would not decide it"
        return f"about {count(self.times * self.queries, 'query')} in the smallest set would decide it"

    @property
    def stands_on(self) -> str:
        """Say it if the verdict stands on few queries."""
        return f"only {count(self.queries, 'query')} in a set" if 0 < self.queries < FEW else ""


def interval(samples: Samples) -> tuple[float, float]:
    """Return the range that holds nearly all draws, as many left out below as above."""
    out = (1 - threshold("confidence")) / 2
    # No interpolation: between two ratios without a bound there is no number.
    low, high = np.quantile(samples, [out, 1 - out], method="nearest")
    return float(low), float(high)


def ranged(samples: Samples | None, written: Callable[[float], str]) -> str:
    """Write an interval behind a number: `` [1.20× to 1.80×]``; nothing where all draws come to the same."""
    if samples is None:
        return ""
    low, high = map(written, interval(samples))
    return "" if low == high else f" [{low} to {high}]"


def factor(name: str, value: float, bound: str = "", samples: Samples | None = None, weight: int = 1) -> Case:
    """Return a case of a ratio that speaks for the claim if it is above 1."""
    zone = 1 / (1 + MARGIN), 1 + MARGIN
    lean = 1 if value >= zone[1] else -1 if value <= zone[0] else 0
    return Case(name, value, bound + times(value) + ranged(samples, times), lean, zone, samples, weight)


def difference(name: str, value: float, least: float = POINT, samples: Samples | None = None, weight: int = 1) -> Case:
    """Return a case of a difference, as of precisions, that speaks for the claim if it is above 0."""
    lean = 1 if value >= least else -1 if value <= -least else 0
    text = f"{value:+.2f}" + ranged(samples, "{:+.2f}".format)
    return Case(name, value, text, lean, (-least, least), samples, weight)


def flag(name: str, true: bool, text: str) -> Case:
    """Return a case that is true or not."""
    return Case(name, float(true), text, 1 if true else -1)


def above(name: str, value: float, least: float, text: str, samples: Samples | None = None) -> Case:
    """Return a case that speaks for the claim if a number reaches another, else against it."""
    zone = float(np.nextafter(least, -np.inf)), least
    return Case(name, value, text, 1 if value >= least else -1, zone, samples)


def within(name: str, value: float, low: float, high: float, drawn: tuple[str, Samples | None]) -> Case:
    """Return a case that speaks for the claim if a positive number lies between two others, else against it.

    `drawn` is how it is written, and its samples.
    """
    text, samples = drawn
    inside = None if samples is None else np.minimum(samples / low, high / np.maximum(samples, low * 1e-9))
    return above(name, min(value / low, high / value), 1.0, text, inside)


def tally(cases: Iterable[Case]) -> tuple[int, int, int]:
    """Return how many cases speak for the claim, for neither, and against it."""
    leans = [case.lean for case in cases]
    return leans.count(1), leans.count(0), leans.count(-1)


def settled(verdict: Verdict, draws: npt.NDArray[np.int64] | None) -> Verdict:
    """Return a verdict, undecided if it is not that of nearly all draws, given as places in `ORDER`."""
    if draws is None or np.mean(draws == ORDER.index(verdict)) >= threshold("confidence"):
        return verdict
    return Verdict.UNDECIDED


def judge(cases: Sequence[Case], against: float = 0.0) -> Verdict:
    """Judge by cases, weighted by queries: `against` is the share that may speak against a claim that holds."""
    if not cases:
        raise Untestable("there is no case to look at")
    weights = np.array([case.weight for case in cases], np.float64)
    point = _judged(np.array([[case.lean] for case in cases]), weights, against)
    drawn = [case.leans for case in cases]
    if all(isinstance(leans, int) for leans in drawn):
        return ORDER[int(point[0])]
    return settled(ORDER[int(point[0])], _judged(np.stack(np.broadcast_arrays(*drawn)), weights, against))


def _judged(leans: npt.NDArray[np.int64], weights: Samples, against: float) -> npt.NDArray[np.int64]:
    """Return the verdict of each draw as its place in `ORDER`, given the leans of cases by draw."""
    favour, opposed = (((leans == lean) * weights[:, None]).sum(axis=0) for lean in (1, -1))
    total = weights.sum()
    holds = (opposed <= against * total + 1e-9) & (favour >= total / 2)
    return np.where(holds, 2, np.where((favour > 0) & (favour >= opposed), 1, 0)).astype(np.int64)


def by_cases(cases: Sequence[Case], queries: int, against: float = 0.0) -> Finding:
    """Return what cases come to, the extremes named."""
    verdict = judge(cases, against)
    low, high = (choose(cases, key=lambda case: case.value) for choose in (min, max))
    told = f"{low.text} ({low.name})"
    if low.name != high.name:
        told += f" to {high.text} ({high.name})"
    return Finding(verdict, f"{counted(cases)}: {told}", queries, tuple(cases))


def counted(cases: Sequence[Case]) -> str:
    """Say how many cases lean which way."""
    favour, level, opposed = tally(cases)
    parts = [f"{favour} of {count(len(cases), 'case')} for"]
    parts += [f"{level} level"] if level else []
    parts += [f"{opposed} against"] if opposed else []
    return ", ".join(parts)


def by_parts(cases: Sequence[Case]) -> Verdict:
    """Judge a claim of several parts: holds if all do, in part if some do."""
    points = sum(case.lean > 0 for case in cases)
    drawn = [case.leans for case in cases]
    verdict = Verdict.HOLDS if points == len(cases) else Verdict.IN_PART if points else Verdict.FAILS
    if all(isinstance(leans, int) for leans in drawn):
        return verdict
    favour = (np.stack(np.broadcast_arrays(*drawn)) > 0).sum(axis=0)
    return settled(verdict, np.where(favour == len(cases), 2, np.where(favour > 0, 1, 0)))


def aligned(cases: Sequence[Case]) -> Samples | None:
    """Return the samples of cases, one row each; a case without any has its value in all draws. None if none has."""
    if all(case.samples is None for case in cases):
        return None
    rows = [np.array([case.value]) if case.samples is None else case.samples for case in cases]
    return np.stack(np.broadcast_arrays(*rows))


def largest(cases: Sequence[Case]) -> tuple[Case, Samples | None]:
    """Return the case with the largest value, and the largest value of any case in every draw."""
    if not cases:
        raise Untestable("there is no case to look at")
    drawn = aligned(cases)
    return max(cases, key=lambda case: case.value), None if drawn is None else drawn.max(axis=0)


def up_to(cases: Sequence[Case], published: float, queries: int, least: float = 1 + MARGIN) -> Finding:
    """Judge a claim "up to so many times": by the largest ratio, in part from `least` on."""
    best, most = largest(cases)
    verdict = reached(best.value, max(published, HALF * (1 + MARGIN)), least, most)
    rest = "; ".join(f"{case.name} {case.text}" for case in cases if case is not best)
    measured = f"up to {best.text} ({best.name})" + (f"; {rest}" if rest and len(cases) <= 6 else "")
    return Finding(verdict, measured, queries, tuple(cases))


def correlated(
    rho: float, what: str, queries: int, cases: tuple[Case, ...] = (), samples: Samples | None = None
) -> Finding:
    """Judge a claim that two things go together, by their rank correlation."""
    if rho != rho:
        raise Untestable(f"{what}: nothing varies, so there is no correlation")
    verdict = reached(rho, HALF * STRONG, WEAK, samples)
    return Finding(verdict, f"{what}: {rho:+.2f}{ranged(samples, '{:+.2f}'.format)}", queries, cases)


def reached(value: float, published: float, least: float, samples: Samples | None = None) -> Verdict:
    """Judge a number: holds from half the published one, in part from `least`."""
    place = _reached(np.array([value]), published, least)[0]
    return settled(ORDER[int(place)], None if samples is None else _reached(samples, published, least))


def _reached(values: Samples, published: float, least: float) -> npt.NDArray[np.int64]:
    return np.where(values >= published / HALF, 2, np.where(values >= least, 1, 0)).astype(np.int64)


def together(findings: Sequence[tuple[str, Finding]]) -> Finding:
    """Join what was found for several readings of one claim: where they differ, it holds in part."""
    if len(findings) == 1:
        return findings[0][1]
    same = len({finding.measured for _, finding in findings}) == 1
    readings = () if same else tuple((name, found.measured, found.verdict) for name, found in findings)
    measured = " | ".join(f"{name}: {told} ({said})" for name, told, said in readings) or findings[0][1].measured
    cases = tuple(replace(case, name=f"{name}: {case.name}") for name, found in findings for case in found.cases)
    verdict = overall(finding.verdict for _, finding in findings)
    return Finding(verdict, measured, min(finding.queries for _, finding in findings), cases, readings)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return one verdict for several lakes or readings: what all say where it can be tested, else in part.

    Where those that are decided agree and others are not decided, it is undecided.
    """
    tested = {verdict for verdict in verdicts if verdict is not Verdict.UNTESTED}
    if not tested:
        return Verdict.UNTESTED
    if len(tested) > 1 and len(tested - {Verdict.UNDECIDED}) == 1:
        return Verdict.UNDECIDED
    return tested.pop() if len(tested) == 1 else Verdict.IN_PART
