"""`python -m benchmarks phases`: how far each phase of column-first search is from reading its bytes once.

A phase reads some arrays of the lake: *cover* the directory entries of the key's values, the *check* postings and codes
of rows. As many bytes of the same arrays, from the first on, are added up by NumPy in the same run, on one thread: no
search that reads them can be faster. What the check reads is counted as rows, of two bytes each: a posting, or a code
of one column; it may be up to four bytes for each column of the key.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.queries import Query, Shape, sample_queries
from mate.cli.terminal import console, table
from mate.errors import MateError
from mate.lake.arrays import Array
from mate.lake.folder import LakeFolder, open_folder
from mate.search.column_first import SYSTEM
from mate.search.engine import search_segment
from mate.search.search import Search, SegmentSearch, prepare
from mate.search.settings import FilterSettings, SearchSettings

if TYPE_CHECKING:
    from mate.cli import Commands

PHASES = ("cover", "bound and check")
ROW_BYTES = 2
WORD = 8
HEADER = ("phase", "queries", "median ms", "95 % ms", "median KB", "plain sum, median ms", "times a plain sum", "95 %")


@dataclass(frozen=True)
class Phase:
    """What a phase of one search took and read."""

    query: str
    name: str
    seconds: float
    bytes: int
    plain_seconds: float
    """Seconds that a plain sum of as many bytes of the same arrays takes."""


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser(
        "phases",
        help="how far each phase of a search is from reading its bytes once",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", required=True, metavar="LAKE", help="the lake")
    parser.add_argument("--queries", type=int, default=50, help="(default: 50)")
    parser.add_argument("--key-columns", type=int, default=2, help="columns of the key (default: 2)")
    parser.add_argument("--least", type=int, default=10, help="distinct key tuples, at least (default: 10)")
    parser.add_argument("--below", type=int, default=10_000, help="fewer than so many of them (default: 10000)")
    parser.add_argument("-k", type=int, default=10, help="tables asked for (default: 10)")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many (default: 3)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: 1)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every measurement as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Sample, measure, print, write."""
    with open_folder(options.store) as lake:
        shape = Shape(options.least, options.below, options.key_columns)
        queries = list(sample_queries(lake, options.queries, shape, options.seed))
        if not queries:
            raise MateError(f"{options.store} has no table that such a query can be taken from: try another --least")
        found = [phase for query in queries for phase in measured(lake, query, options)]
    screen = console()
    screen.print(table(HEADER, summary(found), title=str(options.store)))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps([asdict(phase) for phase in found]) + "\n")
        screen.print(f"results: {options.json}")


def measured(lake: LakeFolder, query: Query, options: argparse.Namespace) -> Iterator[Phase]:
    """Yield the phases of a search: the best of some rounds, after one that does not count."""
    settings = SearchSettings(k=options.k, filters=FilterSettings(row_filter=False))
    rounds = [_search(lake, query, settings) for _ in range(options.rounds + 1)][1:]
    search, visited = rounds[0]
    for name in PHASES:
        reads = _cover_reads(visited) if name == "cover" else _check_reads(search, visited)
        yield Phase(
            query.name,
            name,
            min(done.statistics.seconds.get(name, 0.0) for done, _ in rounds),
            sum(size for size, _ in reads),
            sum(_least(plain_sum, options.rounds) for _, plain_sum in reads),
        )


def _search(lake: LakeFolder, query: Query, settings: SearchSettings) -> tuple[Search, list[SegmentSearch]]:
    """Search segment after segment; return which ones, too."""
    search = prepare(SYSTEM.name, lake, query.table, query.key, settings, column_first=True)
    visited = []
    for part in chain.from_iterable(search.segment_groups()):
        if part.is_promising and len(part.tuples):
            search_segment(part, SYSTEM)
            visited.append(part)
    return search, visited


Read = tuple[int, Callable[[], object]]
"""Bytes, and what adds them up."""


def _cover_reads(visited: Sequence[SegmentSearch]) -> list[Read]:
    """Directory entries of each key column's values; their postings are counted for values of several key tuples."""
    reads: list[Read] = []
    for part in visited:
        arrays = part.segment.arrays
        for column in part.tuples.T:
            token, tuples = np.unique(column, return_counts=True)
            for numbers, chosen in ((arrays.entry_column, token), (arrays.posting_first, token[tuples > 1])):
                start, stop = (arrays.entry_first[chosen + end].astype(np.int64) for end in (0, 1))
                size = int((stop - start).sum()) * numbers.itemsize
                reads.append((size, partial(add_up, numbers, size)))
    return reads


def _check_reads(search: Search, visited: Sequence[SegmentSearch]) -> list[Read]:
    """As many postings as rows were read, of the largest segment visited."""
    if not visited:
        return []
    rows = search.statistics.rows_read
    postings = max((part.segment.arrays.postings for part in visited), key=len)
    return [(rows * ROW_BYTES, partial(add_up, postings, rows * ROW_BYTES))]


def add_up(numbers: Array, size: int) -> int:
    """Add up so many bytes of an array as whole words, from the first on, again from the first behind the last."""
    words = numbers[: len(numbers) // WORD * WORD].view(np.uint64)
    rounds, rest = divmod(size // WORD, max(len(words), 1))
    total = sum(int(words.sum()) for _ in range(rounds)) if len(words) else 0
    return total + int(words[:rest].sum())


def _least(plain_sum: Callable[[], object], rounds: int) -> float:
    """Return the least seconds of some rounds, after one that does not count."""
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        plain_sum()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def summary(found: Sequence[Phase]) -> list[list[Any]]:
    """Return a row for every phase."""
    rows = []
    for name in PHASES:
        own = [phase for phase in found if phase.name == name]
        if own:
            seconds, plain = (np.array([getattr(p, field) for p in own]) for field in ("seconds", "plain_seconds"))
            ratios = seconds[plain > 0] / plain[plain > 0]
            figures = [np.median(seconds) * 1e3, np.percentile(seconds, 95) * 1e3]
            figures += [np.median([p.bytes for p in own]) / 1e3, np.median(plain) * 1e3]
            figures += [np.median(ratios), np.percentile(ratios, 95)] if len(ratios) else []
            rows.append([name, len(own), *(f"{figure:,.2f}" for figure in figures), *([""] * (6 - len(figures)))])
    return rows
