"""`python -m benchmarks discovery`: all search systems and a plain SQL self-join in DuckDB, on the same lake.

Queries are sampled from the lake's own tables, in groups by the number of distinct key tuples and of key columns. Every
system answers every query; the scores of all exact systems must agree, or the benchmark says which query differs and
fails. Systems answer a query in an order drawn for it, before the next one comes. Times are the best of some rounds,
compared query by query as ratios to column-first's. Several lakes show how cost grows: the exponent of a power of the
number of cells, fitted to the medians. With --rank, column-first also answers by usefulness: what the better order
costs.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.progress import track

from benchmarks import discovery_report as report
from benchmarks.discovery_report import Group, Measurement
from benchmarks.sql_join import SqlJoin, TimedOutError
from experiments import machine
from experiments.queries import Query, Shape, sample_queries
from experiments.worker import make_sets
from mate.cli.terminal import console, table
from mate.errors import MateError
from mate.lake.folder import LakeFolder, open_folder
from mate.search.engine import SearchSettings
from mate.search.evidence.ranking import JOINABILITY, USEFULNESS
from mate.search.systems import find_system

if TYPE_CHECKING:
    from mate.cli import Commands

SIZES = {"10": (2, 10), "100": (10, 100), "1,000": (100, 1_000), "10,000": (1_000, 10_000)}
"""Groups of queries: distinct key tuples, at least and fewer than."""
TIGHT = "mate-tight"
"""Algorithm 1 with the same super keys, and better than the paper has it at three things: it begins with the key column
of the fewest pairs, bounds tables by their candidates, and drops key tuples that the lake cannot join."""
SYSTEMS = ("column-first", "mate", TIGHT, "scr", "mcr", "scr-josie", "mcr-josie", "sql")
LONG = 3.0
"""Seconds after which a query is not timed again."""

EPILOG = """\
examples:
  python -m benchmarks discovery --store lake.mate
  python -m benchmarks discovery --store lake.mate --queries 40 --systems column-first,mate,sql --key-columns 2,3
  python -m benchmarks discovery --store 1M.mate --store 10M.mate --store 40M.mate --figure growth.png
"""


class Answered(NamedTuple):
    """What a system answered."""

    scores: list[int]
    phases: dict[str, float]
    """Seconds of phases."""
    counts: dict[str, int]
    read: Callable[[], object]
    """Reads the results in order, which a search leaves for later: equal ones are told apart by their evidence."""


Answer = Callable[[Query], Answered]
"""A system."""


@dataclass(frozen=True)
class Asked:
    """A query and the group that it belongs to."""

    group: Group
    query: Query


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser(
        "discovery",
        help="all search systems and a plain SQL self-join",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--store",
        action="append",
        required=True,
        metavar="LAKE",
        help="the lake; several of them, smallest first, show how the cost grows",
    )
    parser.add_argument("--queries", type=int, default=30, help="queries of each group (default: 30)")
    parser.add_argument("--key-columns", default="2", help="columns of the key, such as 2,3,4 (default: 2)")
    parser.add_argument("-k", type=int, default=10, help="tables asked for (default: 10)")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help=f"(default: {','.join(SYSTEMS)})")
    parser.add_argument("--rank", action="store_true", help="time the order by usefulness, too, and say what it costs")
    parser.add_argument(
        "--initial-column", default="cardinality", help="rule for all systems but mate-tight (default: the paper's)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many (default: 3)")
    parser.add_argument("--timeout", type=float, default=20, help="seconds for the SQL join (default: 20)")
    parser.add_argument("--budget", type=float, default=1e9, metavar="S", help="stop after S seconds per lake")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: 1)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every measurement as JSON")
    parser.add_argument("--figure", type=Path, metavar="OUT", help="draw the times (PNG, PDF or SVG)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Sample, measure, compare, print, write."""
    screen = console()
    names = [name for name in str(options.systems).split(",") if name] + [report.USEFUL] * options.rank
    asked = _asked(options)
    records, results = [], []
    for path in options.store:
        with open_folder(path) as lake:
            found = _measured(lake, asked, names, options)
            cells, label = lake.manifest.counts.cells, lake.manifest.label
        facts = {"seed": options.seed, "k": options.k, "machine": machine.describe(), "versions": machine.versions()}
        records.append({"store": path, "label": label, "cells": cells, **facts, **report.recorded(found)})
        results.append((cells, found))
        title = f"{path} {label}: {cells:,} cells"
        screen.print(table(report.HEADER, report.summary(found, names), title=title))
        for part in [*report.winners(found), *report.results_read(found), *report.order(found)]:
            screen.print(part)
    if growth := report.exponents(results, names):
        screen.print(table(report.GROWTH_HEADER, growth, title="growth with the cells of the lake"))
    _write(records, options, screen)


def _write(records: list[dict[str, Any]], options: argparse.Namespace, screen: Any) -> None:
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(records) + "\n")
        screen.print(f"results: {options.json}")
    if options.figure:
        from benchmarks.figures import draw_discovery

        options.figure.parent.mkdir(parents=True, exist_ok=True)
        draw_discovery(records, options.figure)
        screen.print(f"figure:  {options.figure}")


def _asked(options: argparse.Namespace) -> list[Asked]:
    """Sample the queries from the first lake; all lakes answer the same ones."""
    with open_folder(options.store[0]) as lake:
        groups = [
            [
                Asked(Group(size, width), query)
                for query in sample_queries(lake, options.queries, Shape(least, below, width), options.seed)
            ]
            for width in _widths(options.key_columns)
            for size, (least, below) in SIZES.items()
        ]
    # In turn, so that a run that is cut short has seen all sizes.
    return [entry for entries in zip_longest(*groups) for entry in entries if entry is not None]


def _widths(text: str) -> list[int]:
    if not all(part.isdigit() and int(part) for part in text.split(",")):
        raise MateError(f"--key-columns takes whole numbers such as 2 or 2,3,4, not {text!r}")
    return [int(part) for part in text.split(",")]


def _measured(lake: LakeFolder, asked: list[Asked], names: list[str], options: argparse.Namespace) -> list[Measurement]:
    """Let all systems answer all queries, and compare the answers."""
    found: list[Measurement] = []
    with ExitStack() as stack:
        systems = {name: _system(name, lake, options, stack) for name in names}
        _warm_up(asked, systems)
        start = time.monotonic()
        for number, entry in enumerate(track(asked, "searching", console=console(stderr=True), transient=True)):
            if time.monotonic() - start > options.budget:
                console(stderr=True).print(f"stopped after {options.budget:g} s, with some queries left over")
                break
            found += measure(entry, _shuffled(systems, options.seed + number), options.rounds)
    agree(found)
    return found


def _warm_up(asked: Sequence[Asked], systems: Mapping[str, Answer]) -> None:
    """Let every system answer a query of each group, so that modules are loaded and files mapped."""
    for entry in {entry.group: entry for entry in reversed(asked)}.values():
        for system in systems.values():
            try:
                system(entry.query)
            except TimedOutError:
                continue


def _shuffled(systems: Mapping[str, Answer], seed: int) -> dict[str, Answer]:
    """Give each query an order of its own: who comes after a like one finds its data in the caches."""
    names = list(systems)
    return {name: systems[name] for name in random.Random(seed).sample(names, len(names))}


def _system(name: str, lake: LakeFolder, options: argparse.Namespace, stack: ExitStack) -> Answer:
    """Return a system by name, made ready: what it makes once per lake is no part of a search."""
    if name == "sql":
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mate-discovery-"))
        join = stack.enter_context(SqlJoin(lake, Path(folder, "postings.duckdb"), options.timeout))
        return lambda query: Answered(join(query.table, query.key, options.k), {}, {}, list)
    search = find_system({TIGHT: "mate", report.USEFUL: report.BASE}.get(name, name))
    settings = SearchSettings(
        initial_column=options.initial_column, rank=USEFULNESS if name == report.USEFUL else JOINABILITY
    )
    if name == TIGHT:
        settings = replace(settings, initial_column="pairs", tight_bound=True, semi_join=True)
    if name.endswith("-josie"):
        make_sets(lake)

    def answer(query: Query) -> Answered:
        found = search(lake, query.table, query.key, options.k, settings)
        told = found.statistics
        counts = {"rounds": told.rounds, "tables_measured": told.tables_measured}
        scores = [result.joinability for result in found.found]
        return Answered(scores, dict(told.seconds), counts, lambda: found.results)

    return answer


def measure(asked: Asked, systems: Mapping[str, Answer], rounds: int) -> list[Measurement]:
    """Let every system answer a query, in turn, the given number of times after one that does not count."""
    best: dict[str, Measurement] = {}
    for round_ in range(rounds + 1):
        for name, system in systems.items():
            if name in best and (best[name].seconds or LONG) >= LONG:
                continue
            answered, seconds, read = _timed(system, asked.query)
            before = best[name].seconds if name in best and round_ > 1 else None
            if before is None or (seconds is not None and seconds < before):
                query, phases = asked.query, answered.phases | {report.READ: read}
                best[name] = Measurement(
                    asked.group, query.name, query.cardinality, name, seconds, answered.scores, phases, answered.counts
                )
    return list(best.values())


def _timed(system: Answer, query: Query) -> tuple[Answered, float | None, float]:
    """Return the answer, the seconds it took, None if it was not found in time, and those to read the results then."""
    start = time.perf_counter()
    try:
        answered = system(query)
    except TimedOutError:
        return Answered([], {}, {}, list), None, 0.0
    found = time.perf_counter()
    answered.read()
    return answered, found - start, time.perf_counter() - found


def agree(found: Sequence[Measurement]) -> None:
    """Raise MateError if two systems gave a query different scores."""
    by_query: dict[tuple[Group, str], Measurement] = {}
    for result in _exact(found):
        first = by_query.setdefault((result.group, result.query), result)
        if first.scores != result.scores:
            raise MateError(
                f"query {result.query}: {first.system} found {first.scores}, {result.system} found {result.scores}"
            )


def _exact(found: Sequence[Measurement]) -> Iterator[Measurement]:
    return (result for result in found if result.seconds is not None and result.system not in report.NOT_COMPARED)
