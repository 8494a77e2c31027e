"""What a claim is, and how one is tested."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from experiments.reporting.comparisons import READINGS, Lake
from experiments.reporting.results import Results
from experiments.reporting.verdicts import Finding, Untestable, Verdict, together

NO_LAKE = ""
"""The lake of what is not measured on a single one."""
COMPUTED, EVERYWHERE = "no lake: computed", "all lakes together"

Test = Callable[[Lake, str], Finding]
"""Given a lake and a reading of XASH's alpha; raises `Untestable` for want of records."""


@dataclass(frozen=True)
class Claim:
    """Something that the paper says and that can be measured."""

    name: str
    section: str
    said: str
    """The claim, in quotation marks where the words are the paper's."""
    published: Callable[[], str]
    """The paper's numbers, computed from ``experiments/paper``."""
    rule: str
    """When it holds, holds in part, does not hold."""
    test: Test
    experiments: tuple[str, ...]
    readings: bool = False
    """Whether it is tested with both alphas of XASH."""
    lakes: tuple[str, ...] = ()
    """The only lakes that it speaks of, if any."""
    place: str = COMPUTED
    """What stands for the lake where it is tested on none."""


@dataclass(frozen=True)
class Judgement:
    """A claim tested on a lake."""

    claim: Claim
    lake: str
    title: str
    """The lake for people."""
    finding: Finding
    command: str
    synthetic: bool = False
    """Whether the lake is made up."""

    @property
    def verdict(self) -> Verdict:
        """What came out."""
        return self.finding.verdict

    @property
    def verdict_text(self) -> str:
        """The verdict, with the number of queries if they are few."""
        few = self.finding.stands_on
        return f"{self.verdict} ({few})" if few else str(self.verdict)


def judged(claim: Claim, results: Results) -> list[Judgement]:
    """Test a claim on every lake that it speaks of."""
    lakes = [lake for lake in claim.lakes if lake in results.lakes or lake == NO_LAKE] or (
        [] if claim.lakes else list(results.lakes)
    )
    if not any(results.has(name) for name in claim.experiments):
        command = f"python -m experiments run {' '.join(claim.experiments)} --results {results.root}"
        return [Judgement(claim, NO_LAKE, "", Finding(Verdict.UNTESTED, "not measured yet"), command)]
    if not lakes:
        wanted = " or ".join(claim.lakes)
        return [Judgement(claim, NO_LAKE, "", Finding(Verdict.UNTESTED, f"it speaks of {wanted}: no such lake"), "")]
    return [_judgement(claim, Lake(results, lake)) for lake in lakes]


def _judgement(claim: Claim, lake: Lake) -> Judgement:
    results = lake.results
    title = results.title(lake.name) if lake.name else claim.place
    named = [lake.name] if lake.name else list(results.lakes)
    commands = (results.commands.get((name, place), "") for name in claim.experiments for place in named)
    synthetic = title != COMPUTED and all(results.lakes.get(place) for place in named)
    return Judgement(claim, lake.name, title, _found(claim, lake), next(filter(None, commands), ""), synthetic)


def _found(claim: Claim, lake: Lake) -> Finding:
    """Test a claim on a lake, with both alphas of XASH if it is about XASH."""
    found: list[tuple[str, Finding]] = []
    reasons: dict[str, None] = {}
    for reading in READINGS if claim.readings else [""]:
        try:
            found.append((READINGS[reading], claim.test(lake, reading)))
        except Untestable as untestable:
            reasons[str(untestable)] = None
    if not found:
        return Finding(Verdict.UNTESTED, "; ".join(reasons))
    return together(found)


def about(claims: Iterable[Claim], names: Iterable[str]) -> list[Claim]:
    """Return the claims that some experiments test."""
    wanted = set(names)
    return [claim for claim in claims if wanted & set(claim.experiments)]
