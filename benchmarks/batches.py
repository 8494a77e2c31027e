"""`python -m benchmarks batches`: many queries in one go against one by one, per second and per core.

Queries are sampled from the lake itself. Every way must give the answers of single searches before any time is shown.
A core's worth is what a way takes of the processors, in all its processes: on a machine with other work, seconds alone
say little. Spark is started, and its workers have answered all queries once, before the clock runs.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.memory import available, roles, snapshot
from experiments.queries import Query, Shape, sample_queries
from mate.api.batch import PlannedQuery, QueryBatch
from mate.build.engine import Engine, LocalEngine, NoProgress, start_engine
from mate.cli.terminal import console, table
from mate.errors import MateError
from mate.lake.base import Index
from mate.lake.remote import open_lake
from mate.search.batches import Answered, BatchQuery, BatchSearch
from mate.search.batches.file import as_table
from mate.search.settings import SearchSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from mate.cli import Commands

SYSTEM = "column-first"
SHAPE = Shape(least=5, below=1_000, key_columns=2)
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measured:
    """One way of answering all queries, the fastest of several rounds."""

    way: str
    seconds: float
    processor_seconds: float
    queries: int

    @property
    def per_second(self) -> float:
        """Queries per second."""
        return self.queries / self.seconds

    @property
    def per_core(self) -> float:
        """Queries per second of one processor."""
        return self.queries / max(self.processor_seconds, 1 / TICKS)


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser("batches", help="many queries in one go against one by one", description=__doc__)
    parser.add_argument("--store", required=True, metavar="LAKE", help="the lake")
    parser.add_argument("--queries", type=int, default=1_000, help="sampled queries (default: 1000)")
    parser.add_argument("-k", type=int, default=10, help="tables asked for (default: 10)")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many (default: 3)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: 1)")
    parser.add_argument(
        "--master",
        action="append",
        default=[],
        help="also on Spark: local[2], local-cluster[2,1,1024], ...; may be repeated (default: local[2]); none: not",
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the results as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Sample, compare, time, print."""
    if not available():
        raise MateError("processor time is read from /proc, which this system does not have")
    with open_lake(options.store) as lake:
        queries = list(sample_queries(lake, options.queries, SHAPE, options.seed))
        if not queries:
            raise MateError(f"{options.store} has no table that makes a query of two key columns")
        search = BatchSearch(SYSTEM, SearchSettings(k=options.k, rank="usefulness"))
        masters = [master for master in options.master or ["local[2]"] if master != "none"]
        found = measure(lake, queries, search, masters, options.rounds)
        label = f" [{lake.manifest.label}]" if lake.manifest.label else ""
        title = f"{options.store}{label}: {lake.manifest.counts.cells:,} cells, {len(queries):,} queries"
        if options.json:
            options.json.write_text(json.dumps(_record(lake, found), indent=1) + "\n", encoding="utf-8")
    _print(found, title)


def measure(
    lake: Index, queries: Sequence[Query], search: BatchSearch, masters: Sequence[str], rounds: int
) -> list[Measured]:
    """Compare the answers of all ways, then time each; raises an error for answers that differ."""
    expected = _one_by_one(lake, queries, search)
    found = []
    for way, start in _ways(lake, queries, search, masters):
        with ExitStack() as stack:
            answer = start(stack)
            if not answer().equals(expected):
                raise MateError(f"{way}: not the answers of single searches")
            found.append(min((_timed(way, answer, len(queries)) for _ in range(rounds)), key=lambda m: m.seconds))
    return found


def _ways(
    lake: Index, queries: Sequence[Query], search: BatchSearch, masters: Sequence[str]
) -> Iterator[tuple[str, Callable[[ExitStack], Callable[[], pa.Table]]]]:
    """Yield the ways to answer all queries, each with what starts it."""
    batch = QueryBatch([PlannedQuery(query.name, query.table, query.key) for query in queries], lake, search)

    def answers(engine: Engine) -> Callable[[], pa.Table]:
        return lambda: batch.run(None, engine, NoProgress()).to_arrow()

    yield "one by one", lambda _: lambda: _one_by_one(lake, queries, search)
    yield "threads", lambda _: answers(LocalEngine())
    for master in masters:
        yield master, lambda stack, m=master: answers(stack.enter_context(start_engine(m, {}, verbose=False)))  # type: ignore[misc]


def _one_by_one(lake: Index, queries: Sequence[Query], search: BatchSearch) -> pa.Table:
    found: list[Answered] = [search.answer(lake, BatchQuery(q.name, q.table, q.key)) for q in queries]
    return as_table(found)


def _timed(way: str, answer: Callable[[], object], queries: int) -> Measured:
    before, start = processor_seconds(), time.perf_counter()
    answer()
    seconds = time.perf_counter() - start
    return Measured(way, seconds, processor_seconds() - before, queries)


def processor_seconds() -> float:
    """Return what this process and all that it has started took of the processors, those that have ended aside."""
    processes = snapshot()
    own = roles(os.getpid(), processes)
    return sum(process.ticks for process in processes if process.pid in own) / TICKS


def _record(lake: Index, found: Sequence[Measured]) -> dict[str, object]:
    counts = lake.manifest.counts
    return {
        "lake": {"label": lake.manifest.label, "tables": counts.tables, "cells": counts.cells},
        "segments": len(lake.manifest.segments),
        "cores": os.cpu_count(),
        "ways": [{**asdict(one), "per_second": one.per_second, "per_core": one.per_core} for one in found],
    }


def _print(found: Sequence[Measured], title: str) -> None:
    first = found[0]
    rows = [
        (
            one.way,
            f"{one.seconds:.2f}",
            f"{one.per_second:,.1f}",
            f"{one.per_second / first.per_second:.2f}",
            f"{one.processor_seconds:.2f}",
            f"{one.per_core:,.1f}",
        )
        for one in found
    ]
    header = ("way", "seconds", "queries/s", "times one by one", "processor s", "queries/s and core")
    console().print(table(header, rows, title=title))
