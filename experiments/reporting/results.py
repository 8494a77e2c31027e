"""Stored results as a report sees them: whole query sets only, and a list of what is missing and how to get it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from experiments import records
from experiments.definitions import ARRAYS, slug
from experiments.definitions import titled as on_engine
from experiments.errors import RecordError
from experiments.experiment import LakeExperiment
from experiments.metrics import METHOD, by_query, without_fetching
from experiments.registry import EXPERIMENTS, find
from experiments.reporting.paper import RELEASED, at_home

Made = TypeVar("Made")
Entries = Mapping[tuple[str, str], Mapping[str, Any]]
"""What is noted of an experiment, by lake and engine."""

WHOLE, PART = "", "without fetching"
"""What a runtime is of: the whole search, or what the paper depicts (`experiments.metrics.without_fetching`)."""

BY = (*METHOD, "k")
"""One method on one query set for one k on one engine."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A part of the results that is not there."""

    experiment: str
    what: str
    command: str = ""
    """What makes it, if that is known."""


@dataclass(frozen=True)
class Results:
    """Everything that a report is made of."""

    root: Path
    frames: Mapping[str, pd.DataFrame]
    """Records by experiment; of a query set or lake that is not finished there are none."""
    lakes: Mapping[str, str]
    """Lakes in the order they were measured, each with its label: ``synthetic`` or nothing."""
    commands: Mapping[tuple[str, str, str], str]
    """What made the records, by experiment, lake and engine."""
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader should know of the query sets."""
    facts: tuple[Mapping[str, Any], ...] = ()
    """The metadata of the files: machine, versions, scale, seed, times."""
    released: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """Records of the query files that the authors released, which hardly join with other corpora than theirs: they are
    shown apart, and count in no verdict and no average."""
    _made: dict[tuple[str, str], Any] = field(default_factory=dict)

    def has(self, experiment: str) -> bool:
        """Tell whether anything of an experiment is finished."""
        return experiment in self.frames

    def once(self, kind: str, experiment: str, make: Callable[[], Made]) -> Made:
        """Return what was made of an experiment before, else make it now."""
        if (kind, experiment) not in self._made:
            self._made[kind, experiment] = make()
        made: Made = self._made[kind, experiment]
        return made

    def queries(self, experiment: str, engine: str = ARRAYS, measure: str = WHOLE) -> pd.DataFrame:
        """Return one row per query and method of a search experiment; see `experiments.metrics.by_query`.

        Methods are compared on one engine at a time: tables and figures on arrays, claims on each.
        """
        frame = self.frames[experiment]
        made: pd.DataFrame = self.once("queries", experiment, lambda: _with_limits(by_query(frame, BY)))
        if measure == PART:
            taken = made.assign(seconds=without_fetching(made))
            made = self.once(PART, experiment, lambda: _with_limits(taken))
        return made[made["engine"] == engine]

    def measures(self, experiment: str, engine: str = ARRAYS) -> list[str]:
        """Return what runtimes of an experiment can be of, the paper's measure first."""
        queries = self.queries(experiment, engine)
        return [PART, WHOLE] if without_fetching(queries).notna().any() else [WHOLE]

    def on_arrays(self, experiment: str) -> bool:
        """Tell whether arrays were searched or looked at, which tables and figures of one engine show."""
        frame = self.frames[experiment]
        return "query_set" not in frame or bool((frame["engine"] == ARRAYS).any())

    def title(self, lake: str) -> str:
        """Return a lake for people, one of made-up tables never without saying so."""
        return titled(lake, self.lakes.get(lake, ""))

    def engines(self, experiments: Iterable[str]) -> list[str]:
        """Return the engines that searched in some experiments, arrays first."""
        frames = [self.frames[name] for name in experiments if self.has(name)]
        found = {str(engine) for frame in frames if "query_set" in frame for engine in frame["engine"].unique()}
        return sorted(found or {ARRAYS}, key=lambda engine: (engine != ARRAYS, engine))

    def lakes_on(self, engine: str, experiments: Iterable[str]) -> list[str]:
        """Return the lakes that an engine searched in some experiments."""
        frames = [self.frames[name] for name in experiments if self.has(name)]
        found = {lake for frame in frames if "engine" in frame for lake in frame["lake"][frame["engine"] == engine]}
        return [lake for lake in self.lakes if lake in found]

    def lakes_of(self, experiment: str) -> list[str]:
        """Return the lakes with finished records of an experiment."""
        present = set(self.frames[experiment]["lake"]) if self.has(experiment) else set()
        return [lake for lake in self.lakes if lake in present]


def titled(lake: str, label: str) -> str:
    """Return the name of a lake with its label: ``synthetic lake``, ``mine (synthetic)``, ``webtables``."""
    if not label:
        return lake
    return f"{lake} lake" if lake == label else f"{lake} ({label})"


def read_results(root: Path | str, names: Iterable[str] = ()) -> Results:
    """Read what is finished of some experiments, or of all; named ones must be there."""
    root = Path(root)
    named = [experiment.name for experiment in find(names)]
    frames: dict[str, pd.DataFrame] = {}
    released: dict[str, pd.DataFrame] = {}
    plans: dict[str, Entries] = {}
    gaps: list[Gap] = []
    facts: list[Mapping[str, Any]] = []
    for name in named or EXPERIMENTS:
        if not named and not (root / "experiments" / f"{name}.json").exists():
            gaps.append(Gap(name, "not run yet", f"python -m experiments run {name} --results {root}"))
            continue
        noted = records.plan(root, name)["lakes"].items()
        plans[name] = {(lake, engine): entry for lake, engines in noted for engine, entry in engines.items()}
        read = _whole(root, name, plans[name], gaps)
        if read is not None:
            own, apart = _apart(read[0])
            frames |= {name: own} if len(own) else {}
            released |= {name: apart} if len(apart) else {}
            facts += read[1]
    lakes = {lake: str(e.get("label", "")) for entries in plans.values() for (lake, _), e in entries.items()}
    gaps += _not_measured(frames, plans, lakes, gaps)
    if not frames:
        raise RecordError(_nothing(root, named, gaps))
    return Results(
        root,
        frames,
        lakes,
        {(name, *place): str(e.get("command", "")) for name, entries in plans.items() for place, e in entries.items()},
        tuple(gaps),
        (*_small_sets(plans), *_elsewhere(plans)),
        tuple(facts),
        released,
    )


def _nothing(root: Path, named: list[str], gaps: list[Gap]) -> str:
    begun = [gap for gap in gaps if gap.what != "not run yet"]
    if begun:
        return f"nothing is finished in {root} yet: {begun[0].what}; go on with: {begun[0].command}"
    return f"there are no results in {root}; make them with: python -m experiments run --all --results {root}"


def _whole(
    root: Path, name: str, entries: Entries, gaps: list[Gap]
) -> tuple[pd.DataFrame, list[Mapping[str, Any]]] | None:
    """Return the records of all query sets that are finished, with their files' metadata; note the others as gaps."""
    left_out: set[tuple[str, str, str]] = set()
    for (lake, engine), entry in entries.items():
        absent = [Path(file) for file in entry["files"] if not (root / file).exists()]
        parts = {path.parent.name for path in absent}
        for part in sorted(parts):
            number = sum(path.parent.name == part for path in absent)
            whole = sum(Path(file).parent.name == part for file in entry["files"])
            where = next((s for s in entry.get("query_sets", {}) if slug(s) == part), "")
            told = on_engine(lake, engine) + (f", {where}" if where else "")
            what = f"{told}: {number} of {whole} files are missing, so it is left out"
            gaps.append(Gap(name, what, str(entry.get("command", ""))))
            left_out.add((lake, engine, part if where else ""))
    if len(left_out) and not any((root / file).exists() for entry in entries.values() for file in entry["files"]):
        return None
    frame = records.load(root, name)
    facts = frame.attrs.pop("files")
    frame.attrs = {}
    frame = frame[_kept(frame, left_out, isinstance(EXPERIMENTS[name], LakeExperiment))].reset_index(drop=True)
    if not len(frame):
        return None
    if "query_set" in frame:
        frame["limit"] = _limits(frame, facts)
    return frame, facts


def _apart(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the records that count, and those of the authors' queries on the corpus that they were sampled from."""
    if "query_set" not in frame:
        return frame, frame[:0]
    theirs = frame["query_set"].str.startswith(RELEASED)
    home = pd.Series(list(map(at_home, frame["lake"], frame["query_set"])), dtype=bool)
    return frame[~theirs].reset_index(drop=True), frame[theirs & home.to_numpy()].reset_index(drop=True)


def _kept(frame: pd.DataFrame, left_out: set[tuple[str, str, str]], by_lake: bool) -> list[bool]:
    lakes = {lake for lake, _, _ in left_out}
    if by_lake:
        return [lake not in lakes for lake in frame["lake"]]
    places = zip(frame["lake"], frame["engine"], frame["query_set"], strict=True)
    return [(lake, engine, slug(query_set)) not in left_out for lake, engine, query_set in places]


def _limits(frame: pd.DataFrame, facts: Iterable[Mapping[str, Any]]) -> list[float]:
    """Return the time limit of each search."""
    known = {}
    for definition in (fact["definition"] for fact in facts):
        place = definition["lake"], definition["query_set"], definition["method"]["engine"]
        known[place] = float(definition["timeout"])
    places = zip(frame["lake"], frame["query_set"], frame["engine"], strict=True)
    return [known.get(place, float("nan")) for place in places]


def _with_limits(queries: pd.DataFrame) -> pd.DataFrame:
    """Add ``bounded``, the seconds of a query, or the time limit of one that was stopped there."""
    stopped = ~queries["finished"] & queries["error"].fillna("").str.startswith("stopped after")
    queries["stopped"] = stopped
    queries["bounded"] = queries["seconds"].where(~stopped, queries["limit"])
    return queries


def _not_measured(
    frames: Mapping[str, pd.DataFrame],
    plans: Mapping[str, Entries],
    lakes: Iterable[str],
    gaps: Iterable[Gap],
) -> list[Gap]:
    """Return the lakes that an experiment has nothing of, though others have."""
    known = {(gap.experiment, gap.what.partition(":")[0]) for gap in gaps}
    return [
        Gap(name, f"{lake}: nothing was measured; it was not asked for, or the lake has no queries for it")
        for name in plans
        for lake in lakes
        if lake not in {place[0] for place in plans[name]} and (name, lake) not in known
    ]


def _elsewhere(plans: Mapping[str, Entries]) -> list[str]:
    """Say which of the authors' queries were put to a corpus that they were not sampled from."""
    sets = {
        (lake, name): facts.get("queries") or 0
        for entries in plans.values()
        for (lake, _), entry in entries.items()
        for name, facts in entry.get("query_sets", {}).items()
        if name.startswith(RELEASED) and not at_home(lake, name)
    }
    told = ", ".join(f"{name} ({number})" for (_, name), number in sets.items())
    lakes = ", ".join(dict.fromkeys(lake for lake, _ in sets))
    return [f"put to {lakes}, from which they were not sampled, so that they count nowhere: {told}"] if sets else []


def _small_sets(plans: Mapping[str, Entries]) -> list[str]:
    """Say which query sets have fewer tables than were asked for, or none."""
    told: dict[str, None] = {}
    for entries in plans.values():
        for (lake, _), entry in entries.items():
            told |= dict.fromkeys(entry.get("notes", ()))
            for name, facts in entry.get("query_sets", {}).items():
                wanted, found, role = facts.get("wanted"), facts.get("queries"), facts.get("role")
                if role == "sampled" and found is not None and found < wanted:
                    told[f"{name}: {lake} has only {found} of {wanted} tables for it"] = None
    return list(told)
