"""What a claim is, and how one is tested."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum

from experiments.definitions import ARRAYS, titled
from experiments.reporting import bootstrap, rules
from experiments.reporting.comparisons import READINGS, LakeResults
from experiments.reporting.results import WHOLE, Results
from experiments.reporting.verdicts import MOST, Finding, Untestable, Verdict, together

NO_LAKE = ""
"""The lake of what is computed, not measured."""
TOGETHER = "all lakes together"

Test = Callable[[LakeResults, str], Finding]
"""Given a lake and a reading of XASH; raises `Untestable` for want of records."""


class Scope(Enum):
    """What a claim is tested on."""

    EACH = "each lake"
    """It is about a corpus."""
    BOTH = "each lake, and all together"
    """It is about all query sets of the paper, of whatever corpus: what they come to together decides."""
    ALL = "all lakes together"


@dataclass(frozen=True)
class Claim:
    """Something that the paper says and that can be measured."""

    name: str
    section: str
    said: str
    """The claim, in quotation marks where the words are the paper's."""
    published: Callable[[], str]
    """The paper's numbers, computed from ``experiments/paper``."""
    test: Test
    experiments: tuple[str, ...]
    readings: bool = False
    """Whether it is tested with every reading of XASH."""
    lakes: tuple[str, ...] = ()
    """The only lakes that it speaks of, if any."""
    scope: Scope = Scope.EACH
    timed: bool = False
    """Whether it is about runtime, and so may come out otherwise on another engine, or without fetching, as the paper
    has it (section 7.2): it is tested on each engine, and in both measures where the records have phases."""

    @property
    def rule(self) -> str:
        """When it holds, holds in part, does not hold: from the file of rules."""
        return rules.text(self.name)

    @property
    def related(self) -> list[str]:
        """Claims that are tested on the same measurements."""
        return rules.related(self.name)


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
    engine: str = ARRAYS
    measure: str = WHOLE

    @property
    def place(self) -> str:
        """The engine, and what runtimes are of unless that is the whole search."""
        return titled(self.engine, self.measure or ARRAYS)

    @property
    def verdict(self) -> Verdict:
        """What came out."""
        return self.finding.verdict

    @property
    def verdict_text(self) -> str:
        """The verdict, with the number of queries if they are few."""
        told = ", ".join(filter(None, (self.finding.stands_on, self.finding.needs)))
        return f"{self.verdict} ({told})" if told else str(self.verdict)


def judged(claim: Claim, results: Results) -> list[Judgement]:
    """Test a claim on every lake that it speaks of, and on all together if it speaks of all."""
    if not any(results.has(name) for name in claim.experiments):
        command = f"python -m experiments run {' '.join(claim.experiments)} --results {results.root}"
        return [Judgement(claim, NO_LAKE, "", Finding(Verdict.UNTESTED, "not measured yet"), command)]
    places = _places(claim, results)
    if not places:
        told = f"it speaks of {' or '.join(claim.lakes)}: no such lake"
        return [Judgement(claim, NO_LAKE, "", Finding(Verdict.UNTESTED, told), "")]
    return [_judgement(claim, place) for place in places]


def _places(claim: Claim, results: Results) -> list[LakeResults]:
    """Return the lakes that a claim is tested on; made-up ones are taken together only if there are no others."""
    engines = results.engines(claim.experiments) if claim.timed else [ARRAYS]
    places = [place for engine in engines for place in _on(engine, claim, results)]
    if not claim.timed:
        return places
    known = [name for name in claim.experiments if results.has(name)]
    measures = {engine: results.measures(known[0], engine) for engine in engines}
    both = [replace(place, measure=measure) for place in places for measure in measures[place.engine]]
    return sorted(both, key=lambda place: (engines.index(place.engine), place.measure == WHOLE))


def _on(engine: str, claim: Claim, results: Results) -> list[LakeResults]:
    """Return the lakes that a claim is tested on with one engine; one that a database does not have is not named."""
    known = list(results.lakes) if engine == ARRAYS else results.lakes_on(engine, claim.experiments)
    if claim.lakes:
        named = [lake for lake in claim.lakes if lake in known or lake == NO_LAKE]
        return [LakeResults(results, lake, engine=engine) for lake in named]
    each = [LakeResults(results, lake, engine=engine) for lake in known]
    measured = [lake for lake in known if any(lake in results.lakes_of(e) for e in claim.experiments)]
    pool = tuple(lake for lake in measured if not results.lakes[lake]) or tuple(measured)
    together = [LakeResults(results, TOGETHER, pool, engine)]
    if claim.scope is Scope.ALL:
        return together
    return each + (together if claim.scope is Scope.BOTH and len(pool) > 1 else [])


def _judgement(claim: Claim, lake: LakeResults) -> Judgement:
    results, named = lake.results, lake.among or (lake.name,)
    title = TOGETHER if lake.among else results.title(lake.name) if lake.name else "no lake: computed"
    commands = (
        results.commands.get((name, place, lake.engine), "")
        for name in claim.experiments
        for place in (*named, *results.lakes)
    )
    synthetic = all(results.lakes.get(place) for place in named)
    command = next(filter(None, commands), "")
    title = titled(titled(title, lake.engine), lake.measure or ARRAYS)
    return Judgement(claim, lake.name, title, _found(claim, lake), command, synthetic, lake.engine, lake.measure)


def _found(claim: Claim, lake: LakeResults) -> Finding:
    """Test a claim on a lake; of an undecided one say how many queries would decide it, if they are like these."""
    found = _tested(claim, lake)
    if found.verdict is not Verdict.UNDECIDED:
        return found
    times = 2
    while times <= MOST:
        with bootstrap.with_times_as_many(times):
            if _tested(claim, lake).verdict is not Verdict.UNDECIDED:
                break
        times *= 2
    return replace(found, times=times)


def _tested(claim: Claim, lake: LakeResults) -> Finding:
    """Test a claim on a lake, with every reading of XASH if it is about XASH."""
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
