"""Carries plans out: indexes, query sets, measurements; what is finished already is left alone."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments import agreement, machine
from experiments.batches import Batch, measure
from experiments.definitions import ARRAYS
from experiments.errors import ExperimentError
from experiments.experiment import LakeExperiment, SearchExperiment
from experiments.lakes import MeasuredLake, build_index
from experiments.planning import Plan, SetPlan, finished
from experiments.progress import RunProgress, duration
from experiments.query_sets import QuerySet, obtain, path_of
from experiments.query_sets import read as read_queries
from experiments.records import Recorded, note_plan, read, write
from experiments.settings import RunSettings
from experiments.worker import Worker
from mate.stores import open_index

Sets = dict[tuple[str, str], QuerySet]
"""Query sets by lake and name."""


@dataclass(frozen=True)
class Run:
    """What a run works with."""

    settings: RunSettings
    command: str
    progress: RunProgress
    jobs: int = 1

    @property
    def results(self) -> Path:
        """The folder of results."""
        return self.settings.results

    def facts(self, lake: MeasuredLake) -> dict[str, Any]:
        """Return what every file says besides its definition."""
        database = {} if lake.engine == ARRAYS else {"server": machine.server(lake.address(self.results))}
        return database | {
            "command": self.command,
            "scale": self.settings.scale.name,
            "seed": self.settings.seed,
            "versions": machine.versions(),
            "machine": machine.describe(),
            "jobs": self.jobs,
            "label": lake.label,
        }


def carry_out(plans: Sequence[Plan], run: Run) -> list[Plan]:
    """Do everything that is left to do; return the plans with the sets that turned out to have queries."""
    began = time.monotonic()
    for plan in plans:
        for note in plan.notes:
            run.progress.say(note)
    stored = _stored_sets(plans, run)
    plans = [_with_queries(plan, stored, run) for plan in plans]
    todo = [plan for plan in plans if any(not (run.results / path).exists() for path in plan.files)]
    _check_finished(plans, run)
    for lake in dict.fromkeys(plan.lake for plan in todo if plan.experiment.searches):
        _build(lake, run)
    sets = stored | _new_sets(todo, run)
    kept = [_with_queries(plan, sets, run) for plan in plans]
    for plan in kept:
        if plan.files:
            note_plan(run.results, plan.experiment.name, plan.lake.name, plan.lake.where, _entry(plan, sets, run))
    _measure(kept, sets, run)
    _agree(kept, run)
    run.progress.say(f"done in {duration(time.monotonic() - began)}; records in {run.results}")
    return kept


def _check_finished(plans: Sequence[Plan], run: Run) -> None:
    """Read what is there before anything is measured, so that a damaged file is found at once."""
    for path in {path for plan in plans for path in plan.files}:
        finished(run.results, path)


def _build(lake: MeasuredLake, run: Run) -> None:
    if lake.has_index(run.results):
        return
    start = time.monotonic()
    run.progress.say(f"building the index of {lake.name}")
    summary = build_index(lake, run.results, run.settings.master, run.progress)
    if summary is not None:
        counts, hashes = summary.manifest.counts, summary.manifest.hashes
        run.progress.say(
            f"  {counts.tables:,} tables, {counts.cells:,} cells, {len(hashes)} hash functions"
            f" in {duration(time.monotonic() - start)}"
        )


def _stored_sets(plans: Sequence[Plan], run: Run) -> Sets:
    """Return the query sets that are stored already."""
    found: Sets = {}
    for plan in plans:
        for entry in plan.sets:
            path = path_of(run.results, plan.lake.folder, entry.spec)
            if path.exists() and (plan.lake.name, entry.spec.name) not in found:
                found[plan.lake.name, entry.spec.name] = made = QuerySet(entry.spec, path, read_queries(path))
                _say_how_many(plan.lake, made, run)
    return found


def _new_sets(todo: Sequence[Plan], run: Run) -> Sets:
    """Make and store the query sets that are not there yet."""
    found: Sets = {}
    for lake in {plan.lake for plan in todo}:
        specs = {entry.spec for plan in todo if plan.lake == lake for entry in plan.sets}
        new = [spec for spec in specs if not path_of(run.results, lake.folder, spec).exists()]
        if not new:
            continue
        with open_index(lake.address(run.results)) as index:
            for spec in sorted(new, key=lambda spec: spec.name):
                found[lake.name, spec.name] = made = obtain(run.results, lake.folder, spec, index)
                _say_how_many(lake, made, run)
    return found


def _say_how_many(lake: MeasuredLake, made: QuerySet, run: Run) -> None:
    """Say where a corpus has too few tables for a set; School and files are what they are."""
    tables = len({query.origin for query in made.queries})
    if not made.queries:
        run.progress.say(f"{made.name}: {lake.name} has no table for it ({_wanted(made)}); the set is left out")
    elif made.spec.role in ("sampled", "key size") and tables < made.spec.count:
        run.progress.say(
            f"{made.name}: {lake.name} has only {tables} of {made.spec.count} tables for it ({_wanted(made)})"
        )


def _wanted(made: QuerySet) -> str:
    spec = made.spec
    if spec.role == "sampled":
        return f"{spec.least} to {spec.below - 1} distinct key tuples in two columns that vary"
    if spec.role == "key size":
        return f"ten columns that vary and {spec.least} to {spec.below - 1} rows"
    return (
        "a column School Name and another that varies"
        if spec.role == "school"
        else "query files with their key columns"
    )


def _with_queries(plan: Plan, sets: Sets, run: Run) -> Plan:
    """Return a plan without the sets that have no queries."""
    kept = []
    for entry in plan.sets:
        made = sets.get((plan.lake.name, entry.spec.name))
        if made is None or made.queries:
            kept.append(entry)
    if plan.sets and not kept:
        run.progress.say(f"{plan.experiment.name}: {plan.lake.name} has no queries for it; nothing is measured")
    empty = (f"{e.spec.name}: {plan.lake.name} has no table for it" for e in plan.sets if e not in kept)
    return replace(plan, sets=tuple(kept), notes=(*plan.notes, *empty))


def _entry(plan: Plan, sets: Sets, run: Run) -> dict[str, Any]:
    """Return what is noted of an experiment on a lake."""
    counts = {}
    for entry in plan.sets:
        made = sets.get((plan.lake.name, entry.spec.name))
        found = len(made.queries) if made else None
        counts[entry.spec.name] = {"role": entry.spec.role, "wanted": entry.spec.count, "queries": found}
    return {
        "scale": run.settings.scale.name,
        "seed": run.settings.seed,
        "label": plan.lake.label,
        "command": run.command,
        "query_sets": counts,
        "notes": list(plan.notes),
        "files": [path.as_posix() for path in plan.files],
    }


def _measure(plans: Sequence[Plan], sets: Sets, run: Run) -> None:
    """Measure batch by batch; what is measured on its own comes last, where nothing else runs."""
    batches = _batches(plans, sets, run)
    if batches:
        run.progress.begin("searching", sum(batch.runs for batch, _ in batches))
        if run.jobs == 1:
            with Worker() as worker:
                for batch, done in batches:
                    _measure_batch(batch, done, worker, run)
        else:
            _in_parallel(batches, run)
    parts = [(plan, entry) for plan in plans for entry in plan.parts if not (run.results / entry.path).exists()]
    if parts:
        run.progress.begin("measuring", len(parts))
    for plan, entry in parts:
        if not (run.results / entry.path).exists():  # one that lakes share is made once
            _measure_part(plan, entry, run)
        run.progress.advance(plan.name, entry.part.name)


def _batches(plans: Sequence[Plan], sets: Sets, run: Run) -> list[tuple[Batch, list[Recorded]]]:
    """Return what is left to search, each definition once, with the finished records to compare with."""
    batches: dict[tuple[str, str, str], tuple[Batch, list[Recorded]]] = {}
    for plan in plans:
        for entry in plan.sets:
            batch = _batch(plan, entry, sets, run)
            if batch is None:
                continue
            key = plan.lake.name, batch.definitions[0].group, entry.spec.name
            if key in batches:
                before = batches[key][0].definitions
                more = tuple(d for d in batch.definitions if d not in before)
                batch = replace(batch, definitions=(*before, *more))
            there = [finished(run.results, d.path) for d in entry.definitions]
            batches[key] = batch, [file for file in there if file is not None]
    return list(batches.values())


def _batch(plan: Plan, entry: SetPlan, sets: Sets, run: Run) -> Batch | None:
    left = tuple(d for d in entry.definitions if not (run.results / d.path).exists())
    if not left or not isinstance(plan.experiment, SearchExperiment):
        return None
    queries = sets[plan.lake.name, entry.spec.name]
    return Batch(left, queries, plan.lake.address(run.results), plan.lake.label, run.facts(plan.lake))


def _measure_batch(batch: Batch, done: Sequence[Recorded], worker: Worker, run: Run) -> None:
    measure(batch, run.results, done, worker, lambda method, runs: run.progress.advance(batch.name, method, runs))


def _in_parallel(batches: Sequence[tuple[Batch, list[Recorded]]], run: Run) -> None:
    """Measure several batches at a time, each with a process of its own; the first failure ends all of them."""
    workers = [Worker() for _ in batches]

    def one(batch: Batch, done: list[Recorded], worker: Worker) -> None:
        with worker:
            _measure_batch(batch, done, worker, run)

    with ThreadPoolExecutor(run.jobs) as pool:
        futures = [pool.submit(one, *entry, worker) for entry, worker in zip(batches, workers, strict=True)]
        try:
            ended, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in ended:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.stop()
            raise


def _measure_part(plan: Plan, entry: Any, run: Run) -> None:
    assert isinstance(plan.experiment, LakeExperiment)
    parent = run.results / "lakes"
    parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".scratch-", dir=parent))
    try:
        began = time.time()
        rows = entry.part.run(scratch)
        facts = {"definition": entry.definition, "began": began, "ended": time.time(), **run.facts(plan.lake)}
        write(run.results / entry.path, rows, plan.experiment.schema, facts)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _agree(plans: Sequence[Plan], run: Run) -> None:
    """Compare the answers once more, over all experiments that asked the same queries."""
    columns = ["lake", "query_set", "query", "k", "own_table", "method"]
    columns += ["exact", "finished", "checksum", "answer_scores"]
    paths = {d.path for plan in plans for entry in plan.sets for d in entry.definitions}
    records: list[dict[str, Any]] = []
    for path in sorted(paths):
        if (run.results / path).exists():
            records += read(run.results / path).table.select(columns).to_pylist()
    agreement.check(records)
    if plans and not any(plan.files for plan in plans):
        raise ExperimentError("nothing could be measured: see the messages above")
