"""`python -m benchmarks discovery`: MATE beside SCR, MCR and a plain SQL self-join, on the same index.

Queries are sampled from the index's own tables, in groups by the number of distinct key tuples. Every system answers
every query; the scores of all exact systems must agree, or the benchmark says which query differs and fails. Times are
the best of some rounds, compared query by query as ratios to MATE's.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.progress import track

from benchmarks import machine
from benchmarks.sql_join import SqlJoin, TimedOutError
from experiments.queries import Query, sample_queries
from mate.cli.terminal import console, table
from mate.errors import MateError
from mate.search.discovery import SearchSettings
from mate.search.systems import find_system
from mate.store.duckdb import DuckDBStore

if TYPE_CHECKING:
    from mate.cli import Commands

GROUPS = (("10", 2, 10), ("100", 10, 100), ("1,000", 100, 1_000), ("10,000", 1_000, 10_000))
SYSTEMS = ("mate", "scr", "mcr", "sql")
JOSIE_SYSTEMS = ("scr-josie", "mcr-josie")
"""Also measured where the index has what JOSIE needs."""
LOOSE = "mate-loose"
"""MATE with tables bounded by their postings, as in the paper: beside "mate", what the tighter bound saves."""
INEXACT = ("mcr-josie",)
"""May miss tables by design: not compared, its recall is shown instead."""
LONG = 3.0
"""Seconds after which a query is not timed again."""

EPILOG = """\
examples:
  python -m benchmarks discovery --store lake.duckdb
  python -m benchmarks discovery --store lake.duckdb --queries 40 --systems mate,sql --key-columns 3
  python -m benchmarks discovery --store lake.duckdb --systems mate,mate-loose    what the tighter bound on tables saves
  python -m benchmarks discovery --store 1M.duckdb --store 10M.duckdb --store 40M.duckdb --figure growth.png
"""

Run = Callable[[Query], tuple[list[int], dict[str, float]]]


@dataclass(frozen=True)
class Measurement:
    """One system's answer to one query."""

    group: str
    query: str
    cardinality: int
    system: str
    seconds: float | None
    """None if it did not finish in time."""
    scores: list[int]
    phases: dict[str, float]


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser(
        "discovery",
        help="MATE beside SCR, MCR and a plain SQL self-join",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--store",
        action="append",
        required=True,
        metavar="FILE",
        help="the index; several of them, smallest first, show how the cost grows with the lake",
    )
    parser.add_argument("--queries", type=int, default=30, help="queries of each group (default: 30)")
    parser.add_argument("--key-columns", type=int, default=2, help="columns of the key (default: 2)")
    parser.add_argument("-k", type=int, default=10, help="tables asked for (default: 10)")
    parser.add_argument(
        "--systems",
        help=f"(default: {','.join(SYSTEMS)}; with an index built with --josie, {','.join(JOSIE_SYSTEMS)} too)",
    )
    parser.add_argument("--initial-column", default="pairs", help="strategy for all systems (default: pairs)")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many (default: 3)")
    parser.add_argument("--timeout", type=float, default=20, help="seconds for the SQL join (default: 20)")
    parser.add_argument("--budget", type=float, default=1e9, metavar="S", help="stop after S seconds an index")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: 1)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every measurement as JSON")
    parser.add_argument("--figure", type=Path, metavar="OUT", help="draw the times (PNG, PDF or SVG)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Sample, measure, compare, print, write."""
    screen = console()
    queries = _queries(options)
    names = _names(options)
    records = []
    for path in options.store:
        with DuckDBStore(path) as store:
            records.append(_measured(store, queries, names, options))
        found = records[-1].pop("found")
        title = f"{path} {records[-1]['label']}: {records[-1]['cells']:,} cells"
        screen.print(table(("group", "queries", "system", *STATISTICS), summary(found, names), title=title))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(records) + "\n")
        screen.print(f"results: {options.json}")
    if options.figure:
        from benchmarks.figures import draw_discovery

        options.figure.parent.mkdir(parents=True, exist_ok=True)
        draw_discovery(records, options.figure)
        screen.print(f"figure:  {options.figure}")


def _names(options: argparse.Namespace) -> list[str]:
    if options.systems:
        return str(options.systems).split(",")
    with DuckDBStore(options.store[0]) as store:
        return [*SYSTEMS, *(JOSIE_SYSTEMS if store.manifest.josie else ())]


def _queries(options: argparse.Namespace) -> list[tuple[str, Query]]:
    """Sample the queries from the first index; all indexes answer the same ones."""
    with DuckDBStore(options.store[0]) as store:
        width, seed = options.key_columns, options.seed
        groups = [
            [(group, query) for query in sample_queries(store, options.queries, least, below, width, seed)]
            for group, least, below in GROUPS
        ]
    # In turn, so that a run that is cut short has seen all sizes.
    return [entry for entries in zip_longest(*groups) for entry in entries if entry is not None]


def _measured(
    store: DuckDBStore, queries: list[tuple[str, Query]], names: list[str], options: argparse.Namespace
) -> dict[str, Any]:
    systems = {name: _system(name, store, options) for name in names}
    found: list[Measurement] = []
    start = time.monotonic()
    for number, (group, query) in enumerate(track(queries, "searching", console=console(stderr=True), transient=True)):
        if time.monotonic() - start > options.budget:
            console(stderr=True).print(f"stopped after {options.budget:g} s, with some queries left over")
            break
        found += measure(group, query, _shuffled(systems, options.seed + number), options.rounds)
    agree(found)
    record: dict[str, Any] = {"store": store.address, "label": store.manifest.label, "cells": store.manifest.cells}
    record |= {"seed": options.seed, "k": options.k, "machine": machine.describe(), "found": found}
    return {**record, "measurements": [asdict(result) for result in found]}


def _shuffled(systems: dict[str, Run], seed: int) -> dict[str, Run]:
    """Give each query an order of its own: who comes after a like one finds its data in the caches."""
    names = list(systems)
    return {name: systems[name] for name in random.Random(seed).sample(names, len(names))}


def _system(name: str, store: DuckDBStore, options: argparse.Namespace) -> Run:
    if name == "sql":
        join = SqlJoin(store, options.timeout)
        return lambda query: (join(query.table, query.key, options.k), {})
    search = find_system("mate" if name == LOOSE else name)
    settings = SearchSettings(initial_column=options.initial_column, tight_bound=name != LOOSE)

    def answer(query: Query) -> tuple[list[int], dict[str, float]]:
        found = search(store, query.table, query.key, options.k, settings)
        return [result.joinability for result in found], found.statistics.seconds

    return answer


def measure(group: str, query: Query, systems: dict[str, Run], rounds: int) -> list[Measurement]:
    """Let every system answer a query, in turn, the given number of times after one that does not count."""
    best: dict[str, Measurement] = {}
    for round_ in range(rounds + 1):
        for name, system in systems.items():
            if name in best and (best[name].seconds or LONG) >= LONG:
                continue
            start = time.perf_counter()
            try:
                scores, phases = system(query)
                seconds: float | None = time.perf_counter() - start
            except TimedOutError:
                scores, phases, seconds = [], {}, None
            before = best[name].seconds if name in best and round_ > 1 else None
            if before is None or (seconds is not None and seconds < before):
                best[name] = Measurement(group, query.name, query.cardinality, name, seconds, scores, phases)
    return list(best.values())


def agree(found: Sequence[Measurement]) -> None:
    """Raise MateError if two systems gave a query different scores."""
    by_query: dict[tuple[str, str], Measurement] = {}
    for result in found:
        if result.seconds is None or result.system in INEXACT:
            continue
        first = by_query.setdefault((result.group, result.query), result)
        if first.scores != result.scores:
            raise MateError(
                f"query {result.query}: {first.system} found {first.scores}, {result.system} found {result.scores}"
            )


STATISTICS = ("median ms", "95 % ms", "times MATE: median", "95 %", "most", "least", "unfinished", "recall")


def recall(found: Sequence[Measurement], exact: dict[tuple[str, str], list[int]]) -> str:
    """Return the share of the exact answers that were found; those as good as its last are as good an answer."""
    wanted = reached = 0
    for result in found:
        best = exact.get((result.group, result.query), [])
        wanted += len(best)
        reached += min(len(best), sum(own >= best[-1] for own in result.scores)) if best else 0
    return f"{reached / wanted:.3f}" if wanted else ""


def summary(found: Sequence[Measurement], names: Sequence[str]) -> list[list[Any]]:
    """Return a row for every group and system, and for all queries together."""
    rows = []
    groups = [*(group for group, _, _ in GROUPS if any(result.group == group for result in found)), "all"]
    for group in groups:
        of_group = [result for result in found if group in ("all", result.group)]
        mate = {(r.group, r.query): r.seconds for r in of_group if r.system == "mate" and r.seconds}
        for name in names:
            mine = [r for r in of_group if r.system == name]
            done = [r for r in mine if r.seconds is not None]
            if not done:
                continue
            times = np.array([r.seconds for r in done]) * 1e3
            pairs = [(r.seconds, mate.get((r.group, r.query))) for r in done]
            ratios = np.array([own / other for own, other in pairs if own and other])
            figures = [np.median(times), np.percentile(times, 95)]
            if len(ratios):
                figures += [np.median(ratios), np.percentile(ratios, 95), ratios.max(), ratios.min()]
            cells = [f"{figure:,.2f}" for figure in figures] + [""] * (6 - len(figures))
            exact = {(r.group, r.query): r.scores for r in of_group if r.system == "mate"}
            missed = recall(done, exact) if name in INEXACT else ""
            label = f"under {group}" if group != "all" else group
            rows.append([label, len(mine), name, *cells, len(mine) - len(done), missed])
    return rows
