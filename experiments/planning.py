"""From experiments and lakes to definitions: what there is to do, and what is done already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from experiments.definitions import ARRAYS, CODE, Definition, Method, digest, slug
from experiments.experiment import Experiment, LakeExperiment, Measured, SearchExperiment
from experiments.lakes import MeasuredLake
from experiments.query_sets import SetSpec
from experiments.records import Recorded, read
from experiments.settings import RunSettings, chosen_lakes, set_specs

ON_ARRAYS_ONLY = {
    ("scr-josie", "mcr-josie"): "a database has no column sets for",
    ("mate-length-first",): "a database compares whole keys, not",
}
"""Systems that are not measured in a database, and why."""


@dataclass(frozen=True)
class SetPlan:
    """One query set and the definitions that an experiment has for it."""

    spec: SetSpec
    definitions: tuple[Definition, ...]


@dataclass(frozen=True)
class PartPlan:
    """A file of an experiment of its own kind."""

    part: Measured
    path: Path
    definition: dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """One experiment on one lake."""

    experiment: Experiment
    lake: MeasuredLake
    sets: tuple[SetPlan, ...] = ()
    parts: tuple[PartPlan, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be planned, and why."""

    @property
    def files(self) -> list[Path]:
        """All its files, below the folder of results."""
        return [d.path for entry in self.sets for d in entry.definitions] + [entry.path for entry in self.parts]

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.experiment.name} on {self.lake.name}"


def plans(experiments: Sequence[Experiment], settings: RunSettings) -> list[Plan]:
    """Return everything that was asked for: by lake, and by experiment in the order of the paper."""
    found = chosen_lakes(settings)
    return [_plan(experiment, lake, found, settings) for lake in found for experiment in experiments]


def _plan(experiment: Experiment, lake: MeasuredLake, lakes: list[MeasuredLake], settings: RunSettings) -> Plan:
    if isinstance(experiment, LakeExperiment):
        return _lake_plan(experiment, lake, settings)
    methods, notes = _methods(experiment, lake, settings)
    chosen = experiment.choose(set_specs(lake, lakes, settings)) if methods else []
    sets = tuple(SetPlan(spec, _definitions(experiment, lake, spec, methods, settings)) for spec in chosen)
    if methods and not sets:
        notes.append(f"{experiment.name}: {lake.name} has no query set of the kind that it needs; it is left out there")
    return Plan(experiment, lake, sets, notes=tuple(notes))


def _definitions(
    experiment: SearchExperiment, lake: MeasuredLake, spec: SetSpec, methods: Sequence[Method], settings: RunSettings
) -> tuple[Definition, ...]:
    scale = replace(settings.scale, repetitions=settings.repetitions)
    return tuple(
        Definition(
            group=experiment.group,
            lake=lake.name,
            lake_fingerprint=lake.fingerprint,
            index=lake.index_name,
            query_set=spec.name,
            queries_fingerprint=spec.fingerprint,
            method=replace(method, engine=lake.engine),
            k=k,
            repetitions=experiment.repetitions(scale),
            timeout=settings.timeout,
            action=experiment.action,
        )
        for k in experiment.ks(scale)
        for method in methods
    )


def _methods(experiment: SearchExperiment, lake: MeasuredLake, settings: RunSettings) -> tuple[list[Method], list[str]]:
    """Return the methods that the lake's index can serve, and what is said of the others."""
    methods = list(experiment.methods)
    if experiment.name == "figure4":
        methods += [Method(system) for system in settings.systems]
    present = lake.hashes()
    without = [method for method in methods if method.hash and (method.hash, method.bits) not in present]
    kept = [method for method in methods if method not in without]
    notes = [_left_out(lake, without, "it has no super keys for")] if without else []
    if lake.engine != ARRAYS:
        for systems, reason in ON_ARRAYS_ONLY.items():
            absent = [method for method in kept if method.system in systems]
            kept = [method for method in kept if method not in absent]
            notes += [_left_out(lake, absent, reason)] if absent else []
    return kept, notes


def _left_out(lake: MeasuredLake, methods: Sequence[Method], reason: str) -> str:
    where = lake.given or f"{lake.name} on {lake.engine}"
    return f"{where}: {reason} {', '.join(method.label for method in methods)}; left out"


def _lake_plan(experiment: LakeExperiment, lake: MeasuredLake, settings: RunSettings) -> Plan:
    if lake.engine != ARRAYS:
        return Plan(
            experiment, lake, notes=(f"{experiment.name} is about the arrays; it is left out on {lake.engine}",)
        )
    parts = []
    for part in experiment.parts(lake, lake.address(settings.results), settings.scale):
        where = "" if part.shared else lake.fingerprint
        definition = {"group": experiment.group, "lake": where, "part": part.name, "code": CODE, **part.settings}
        if experiment.searches and not part.shared:
            definition["index"] = lake.index_name
        folder = Path("records", experiment.group) / ("" if part.shared else lake.folder)
        parts.append(PartPlan(part, folder / f"{slug(part.name)}-{digest(definition)}.parquet", definition))
    notes = () if parts else (f"{experiment.name} needs the corpus itself, and {lake.name} is only an index",)
    return Plan(experiment, lake, parts=tuple(parts), notes=notes)


def finished(results: Path, path: Path) -> Recorded | None:
    """Return the records of a definition if they are there; raise RecordError if they are damaged."""
    return read(results / path) if (results / path).exists() else None


def described(definition: Definition) -> dict[str, Any]:
    """Return a definition as plain data."""
    return asdict(definition)
