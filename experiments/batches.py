"""A batch: all methods of an experiment on one query set, query by query, so that noise hits all of them alike."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments import agreement
from experiments.definitions import Definition, digest, slug
from experiments.journal import Journal
from experiments.queries import Query
from experiments.query_sets import QuerySet
from experiments.records import SEARCHES, Recorded, write
from experiments.worker import Outcome, Task, Worker

LONG = 2.0
"""Seconds that the runs of a search may take together before it is not repeated any more; if the first run takes that
long, it counts."""

COMPILING = 900.0
"""Seconds that compiling the loops of a system of ours may take, once on a machine: the time limit is for searches."""

Advance = Callable[[str, int], None]
"""Called with the method and how many runs more are done."""


@dataclass(frozen=True)
class Batch:
    """Definitions on one query set that are measured together."""

    definitions: tuple[Definition, ...]
    queries: QuerySet
    index: str
    """The address of the index."""
    label: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the files say besides their definition: versions, machine, command, scale, seed, index."""

    @property
    def name(self) -> str:
        """For people."""
        first = self.definitions[0]
        return f"{first.group}: {first.query_set}"

    @property
    def runs(self) -> int:
        """Searches to run, the uncounted and the repeated ones included."""
        return sum(1 + definition.repetitions for definition in self.definitions) * len(self.queries.queries)

    def journal(self, results: Path) -> Path:
        """Return where unfinished measurements are kept."""
        first = self.definitions[0]
        key = digest([first.group, first.lake_fingerprint, first.index, first.queries_fingerprint])
        return results / "records" / first.group / f".{slug(first.query_set)}-{key}.journal"


def measure(batch: Batch, results: Path, finished: Sequence[Recorded], worker: Worker, advance: Advance) -> None:
    """Measure what is left of a batch, compare the answers, and write one file per definition."""
    journal = Journal(batch.journal(results))
    began = time.time()
    if any(journal.get(d.fingerprint, q.name) is None for d in batch.definitions for q in batch.queries.queries):
        _warm_up(batch, worker, batch.definitions)
    earlier = [record for file in finished for record in file.table.to_pylist()]
    for number, query in enumerate(batch.queries.queries):
        todo = [d for d in batch.definitions if journal.get(d.fingerprint, query.name) is None]
        for definition in batch.definitions:
            if definition not in todo:
                advance(definition.method.label, 1 + definition.repetitions)
        if not todo:
            continue
        measured = _measured(batch, todo, number, query, worker, advance)
        known = [r for d in batch.definitions for r in journal.get(d.fingerprint, query.name) or ()]
        known += [record for record in earlier if record["query"] == query.name]
        agreement.check([*known, *(record for rows in measured.values() for record in rows)])
        journal.add(query.name, measured)
    for definition in batch.definitions:
        rows = [row for q in batch.queries.queries for row in journal.get(definition.fingerprint, q.name) or ()]
        facts = {"definition": asdict(definition), "began": began, "ended": time.time(), **batch.facts}
        write(results / definition.path, rows, SEARCHES, facts)
    journal.remove()


def _measured(
    batch: Batch, todo: Sequence[Definition], number: int, query: Query, worker: Worker, advance: Advance
) -> dict[str, list[dict[str, Any]]]:
    """Let every method answer a query, once uncounted and then repeated, each time in another order.

    Who comes after a method like it finds its data in the caches, so that no one may always have the same neighbours.
    """
    found: dict[str, list[dict[str, Any]]] = {definition.fingerprint: [] for definition in todo}
    for repetition in range(1 + max(definition.repetitions for definition in todo)):
        for definition in random.Random(f"{number} {repetition}").sample(todo, len(todo)):
            rows = found[definition.fingerprint]
            if repetition > definition.repetitions or not _worth_repeating(rows):
                continue
            if (
                not worker.is_running
            ):  # the last search was stopped: its limit is no reason to time the start of the next
                _warm_up(batch, worker, [definition])
            outcome = worker.run(_task(batch, definition, number), definition.timeout)
            rows.append(record(batch, definition, query, repetition, outcome))
            advance(definition.method.label, 1)
    for definition in todo:
        advance(definition.method.label, 1 + definition.repetitions - len(found[definition.fingerprint]))
    return found


def _warm_up(batch: Batch, worker: Worker, definitions: Sequence[Definition]) -> None:
    """Let every system answer the smallest query, unrecorded: modules are loaded and the index is opened."""
    queries = batch.queries.queries
    smallest = min(range(len(queries)), key=lambda number: queries[number].cardinality)
    for definition in {definition.method.system: definition for definition in definitions}.values():
        is_ours = ":" not in definition.method.system
        task = replace(_task(batch, definition, smallest), action="warm up")
        worker.run(task, max(COMPILING if is_ours else 0, definition.timeout))


def _task(batch: Batch, definition: Definition, number: int) -> Task:
    return Task(batch.index, str(batch.queries.path), number, definition.method, definition.k, definition.action)


def _worth_repeating(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether another run pays: the earlier ones were finished, and fast."""
    return all(row["finished"] for row in rows) and sum(row["seconds"] for row in rows) <= LONG


def record(batch: Batch, definition: Definition, query: Query, repetition: int, outcome: Outcome) -> dict[str, Any]:
    """Return one search as a record."""
    method = definition.method
    alone = definition.repetitions == 0 or not outcome.finished or (outcome.seconds or 0) > LONG
    row: dict[str, Any] = dict.fromkeys(SEARCHES.names)
    row |= {
        "lake": definition.lake,
        "label": batch.label,
        "query_set": definition.query_set,
        "query": query.name,
        "origin": query.origin,
        "key_columns": len(query.key),
        "cardinality": query.cardinality,
        "engine": method.engine,
        "system": method.system,
        "hash": method.family,
        "bits": method.bits or None,
        "variant": method.variants,
        "method": method.label,
        "k": definition.k,
        "own_table": method.own_table,
        "repetition": repetition,
        "counted": repetition > 0 or alone,
        "seconds": outcome.seconds,
        "phases": outcome.phases,
        "exact": method.exact,
        "finished": outcome.finished,
        "error": outcome.error,
        "checksum": outcome.checksum,
        **outcome.counts,
    }
    if outcome.scores is not None and outcome.tables is not None:
        row |= {"answers": len(outcome.scores), "answer_tables": outcome.tables, "answer_scores": outcome.scores}
        row["best"] = next(iter(outcome.scores), 0)
        row["best_other"] = next(_others(query, outcome), 0)
    return row


def _others(query: Query, outcome: Outcome) -> Iterator[int]:
    """Yield the scores of all tables but the query's own."""
    pairs = zip(outcome.tables or (), outcome.scores or (), strict=True)
    return (score for table, score in pairs if table != query.origin)
