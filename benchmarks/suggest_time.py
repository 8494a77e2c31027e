"""`python -m benchmarks suggest`: how long it takes to find keys for tables of a lake.

Tables of up to 20 columns and 10,000 rows are drawn from the lake by a seed, the first rows of longer ones; a table's
own is left out of its answers. The first call, which loads what the others find in memory, is told apart.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import mate
from mate.cli.options import whole
from mate.cli.terminal import console, table
from mate.errors import MateError

if TYPE_CHECKING:
    from mate.cli import Commands

MOST_COLUMNS, MOST_ROWS = 20, 10_000
LEAST_ROWS = 10
"""Shorter tables are not drawn."""


class Suggested(NamedTuple):
    """One call."""

    name: str
    columns: int
    rows: int
    seconds: float
    suggestions: int


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser("suggest", help="time to find keys for tables of a lake", description=__doc__)
    parser.add_argument("--store", required=True, metavar="LAKE", help="the lake: a folder")
    parser.add_argument(
        "--tables", type=whole("--tables", 2), default=20, metavar="N", help="tables drawn (default: 20)"
    )
    parser.add_argument("--seed", type=whole("--seed", 0), default=1, metavar="N", help="seed (default: 1)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Draw, suggest, print."""
    with mate.open(options.store) as lake:
        calls = measure(lake, options.tables, options.seed)
        cells = lake.stats().cells
    first, *others = calls
    spent = [call.seconds for call in others]
    rows = [(call.name, call.columns, call.rows, call.suggestions, f"{call.seconds:.3f}") for call in calls]
    screen = console()
    screen.print(table(("table", "columns", "rows", "suggestions", "seconds"), rows))
    header = ("cells of the lake", "calls", "first (s)", "median (s)", "95% (s)", "most (s)")
    times = (first.seconds, *np.quantile(spent, (0.5, 0.95, 1)))
    row = (cells, len(spent), *(f"{seconds:.3f}" for seconds in times))
    screen.print(table(header, [row], title="suggest, after the first call"))


def measure(lake: mate.Lake, tables: int, seed: int) -> list[Suggested]:
    """Suggest keys for tables drawn from a lake, and time each call."""
    fitting = [t for t in lake.tables() if len(t.columns) <= MOST_COLUMNS and t.rows >= LEAST_ROWS]
    if len(fitting) < 2:
        raise MateError(f"{lake.address} has fewer than 2 tables of up to {MOST_COLUMNS} columns and {LEAST_ROWS} rows")
    calls = []
    for drawn in random.Random(seed).sample(fitting, min(tables, len(fitting))):
        query = lake.table(drawn, "arrow", range(min(drawn.rows, MOST_ROWS)))
        start = time.perf_counter()
        found = lake.suggest(query, exclude=[drawn])
        seconds = time.perf_counter() - start
        calls.append(Suggested(drawn.name, len(drawn.columns), query.num_rows, seconds, len(found)))
    return calls
