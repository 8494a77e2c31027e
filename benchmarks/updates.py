"""`python -m benchmarks updates`: what a change to an index costs as the lake grows, beside building it again.

Every change runs in a process of its own, as `mate add` and the others do, on an index without other changes. The time
of the change is what it takes from the lock to the published file, with everything that it has to load on the way; the
time to start a process and import the package is told apart. A second series repeats one change as changes pile up.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import machine
from mate.errors import MateError

if TYPE_CHECKING:
    from mate.build.updates import Report, Updates
    from mate.cli import Commands
    from mate.store.base import TableInfo

SIZES = "1,10,40"
PILES = "0,10,100,500"
ROWS = 200
"""Rows of the tables that are changed, or the nearest to it that the lake has; a new table has so many."""

EPILOG = """\
examples:
  python -m benchmarks updates
  python -m benchmarks updates --sizes 1,5 --rounds 3 --json out.json --figure out.png
  python -m benchmarks updates --store lake.duckdb                    a copy of an index of yours; no rebuild
"""


@dataclass(frozen=True)
class Cost:
    """What one operation took on one lake."""

    lake: str
    cells: int
    operation: str
    rows: int
    """Rows that it wrote or took out."""
    seconds: list[float]
    start_seconds: list[float]
    """Of the process, until it could begin."""

    @property
    def best(self) -> float:
        """The least of its rounds."""
        return min(self.seconds)


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser(
        "updates",
        help="the cost of changing an index as the lake grows, against building it again",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--sizes", default=SIZES, help=f"million cells of synthetic lakes (default: {SIZES})")
    source.add_argument("--store", type=Path, metavar="FILE", help="an index; a copy of it is changed")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is done, the best counts (default: 3)")
    parser.add_argument("--piles", default=PILES, help=f"changes before the one that is timed (default: {PILES})")
    parser.add_argument("--layout", default="per_cell", help="per_cell or per_row (default: per_cell)")
    parser.add_argument("--master", default="local[*]", help="where the lakes are built (default: local[*])")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the results as JSON")
    parser.add_argument("--figure", type=Path, metavar="OUT", help="draw them (PNG, PDF or SVG)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Measure, print, write."""
    from mate.cli.terminal import console

    sizes, piles = _numbers(options.sizes, "--sizes"), [int(n) for n in _numbers(options.piles, "--piles", least=0)]
    _check(options)
    screen = console()
    costs: list[Cost] = []
    piled: list[Cost] = []
    with tempfile.TemporaryDirectory(prefix="mate-updates-") as folder:
        stores = [_copied(options.store, Path(folder))] if options.store else None
        for number, size in enumerate(sizes if stores is None else [0.0]):
            store = stores[0] if stores else Path(folder, f"lake-{number}.duckdb")
            if not stores:
                costs.append(_rebuilt(size, store, options))
                screen.print(f"{costs[-1].lake}: built in {costs[-1].best:.1f} s", highlight=False)
            lake = options.store.name if options.store else costs[-1].lake
            costs += [measure(lake, store, operation, options.rounds) for operation in OPERATIONS]
            costs.append(measure(lake, store, COMPACT, 1))
            if number + 1 == (len(sizes) if stores is None else 1):
                piled = measure_piles(lake, store, piles, options.rounds)
            for path in Path(folder).glob(f"{store.name}*") if not stores else ():
                path.unlink()
    screen.print(_table(costs))
    screen.print(_pile_table(piled, piles))
    record = {
        "machine": machine.describe(),
        "load": os.getloadavg(),
        "layout": options.layout,
        "costs": [{**asdict(cost), "best": cost.best} for cost in costs],
        "piles": [
            {**asdict(cost), "best": cost.best, "changes_before": n} for cost, n in zip(piled, piles, strict=True)
        ],
    }
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
        screen.print(f"results: {options.json}")
    if options.figure:
        from benchmarks.updates_figure import draw_updates

        draw_updates(record, options.figure)
        screen.print(f"figure:  {options.figure}")


def _numbers(text: str, option: str, least: float = 1e-6) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(least <= number < float("inf") for number in numbers):
        raise MateError(f"{option} takes numbers such as {SIZES}, not {text!r}")
    return numbers


def _check(options: argparse.Namespace) -> None:
    """Refuse what would fail only after long work."""
    from mate.store.base import LAYOUTS

    if options.layout not in LAYOUTS:
        raise MateError(f'unknown layout "{options.layout}"; known: {", ".join(LAYOUTS)}')
    if options.rounds < 1:
        raise MateError(f"--rounds takes a whole number from 1 on, not {options.rounds}")
    for out in filter(None, (options.json, options.figure)):
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.is_dir() or not os.access(out.parent, os.W_OK):
            raise MateError(f"cannot write to {out}")
    if options.figure and find_spec("matplotlib") is None:
        raise MateError("--figure needs matplotlib: pip install 'mate-discovery[benchmarks]'")
    if options.store and not options.store.is_file():
        raise MateError(f"there is no index at {options.store}")


def _copied(store: Path, folder: Path) -> Path:
    """Copy an index with the files that belong to it."""
    for path in store.parent.glob(f"{store.name}*"):
        if path.is_file():
            shutil.copy(path, folder / path.name)
    return folder / store.name


# --- what is measured ----------------------------------------------------------------------------------------------


OPERATIONS: dict[str, Callable[[Updates, str, TableInfo], Report]] = {
    "add a table": lambda updates, new, table: updates.add_tables([new]),
    "append 10 rows": lambda updates, new, table: updates.append_rows(
        table.table_id, [[f"new {n}"] * len(table.columns) for n in range(10)]
    ),
    "update a cell": lambda updates, new, table: updates.update_cells(table.table_id, [(0, 0, "another value")]),
    "remove a row": lambda updates, new, table: updates.remove_rows(table.table_id, [0]),
    "add a column": lambda updates, new, table: updates.add_column(
        table.table_id, "new", [f"new {n}" for n in range(table.rows)]
    ),
    "remove a column": lambda updates, new, table: updates.remove_column(table.table_id, 0),
    "remove a table": lambda updates, new, table: updates.remove_tables([table.table_id]),
}
"""By name: what is done, with the file of a new table, or to a table of the lake."""

REBUILD, COMPACT, PILE = "build again", "compact after that", "pile up"
LAST = "remove a table"
"""Its change is what is folded in by compacting."""


def _rebuilt(size: float, store: Path, options: argparse.Namespace) -> Cost:
    """Build a lake of that size."""
    from benchmarks.indexing import lake

    corpus = lake(size)
    order = {"store": str(store), "build": corpus.path, "layout": options.layout, "master": options.master}
    told, started = _child(order)
    return Cost(f"{size:g} M cells", told["cells"], REBUILD, told["rows"], [told["seconds"]], [started])


def measure(lake: str, store: Path, operation: str, rounds: int) -> Cost:
    """Do one operation so often, each time in a process of its own and on the index as it was."""
    from mate.store.changes import changes_path

    changes = changes_path(store)
    before = store.with_name("before")
    if changes.exists():
        shutil.copy(changes, before)
    seconds, starts = [], []
    told: dict[str, Any] = {}
    for number in range(rounds):
        told, started = _child({"store": str(store), "operation": operation})
        seconds.append(told["seconds"])
        starts.append(started)
        if number + 1 < rounds or operation not in (COMPACT, LAST):
            changes.unlink(missing_ok=True)
            if before.exists():
                shutil.copy(before, changes)
    before.unlink(missing_ok=True)
    return Cost(lake, told["cells"], operation, told["rows"], seconds, starts)


def measure_piles(lake: str, store: Path, piles: list[int], rounds: int) -> list[Cost]:
    """Update a cell after more and more changes."""
    found, piled = [], 0
    for pile in piles:
        if pile > piled:
            _child({"store": str(store), "operation": PILE, "more": pile - piled})
            piled = pile
        found.append(measure(lake, store, "update a cell", rounds))
    return found


def _child(order: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """Run an order in a process of its own; return what it told, and how long it took until it could begin."""
    start = time.time()
    command = [sys.executable, "-m", "benchmarks.updates", json.dumps(order)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MateError(f"{order.get('operation', REBUILD)}: {(done.stderr or 'no message').strip().splitlines()[-1]}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told, told["began"] - start


def main(arguments: Sequence[str]) -> int:
    """Carry out one order, in this process."""
    import mate.build.duckdb_changes  # noqa: F401  (what every change imports)

    order = json.loads(arguments[0])
    try:
        print(json.dumps(_build(order) if "build" in order else _operate(order)))
    except MateError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _build(order: dict[str, Any]) -> dict[str, Any]:
    from mate.build.build import BuildSettings, build
    from mate.build.duckdb_target import DuckDBTarget

    began = time.time()
    with DuckDBTarget(order["store"]) as target:
        settings = BuildSettings(layout=order["layout"], master=order["master"])
        summary = build([order["build"]], target, settings)
    manifest = summary.manifest
    return {"began": began, "seconds": time.time() - began, "cells": manifest.cells, "rows": manifest.rows}


def _operate(order: dict[str, Any]) -> dict[str, Any]:
    from mate.build.updates import Updates
    from mate.store import open_store

    updates = Updates(order["store"])
    with open_store(order["store"]) as index, tempfile.TemporaryDirectory() as folder:
        manifest = index.manifest
        tables = sorted(index.tables(), key=lambda table: (abs(table.rows - ROWS), table.table_id))
        wide = [table for table in tables if len(table.columns) > 1 and table.rows]
        if not wide:
            raise MateError(f"{order['store']} has no table with two columns to change")
        lines = [f"city {n},{1900 + n % 100},{n * 7},word {n % 13}" for n in range(ROWS)]
        new = Path(folder, "new.csv")
        new.write_text("\n".join(["city,year,number,word", *lines, ""]))
        began, start = time.time(), time.perf_counter()
        if order["operation"] == COMPACT:
            updates.compact()
            rows = manifest.rows
        elif order["operation"] == PILE:
            for number in range(order["more"]):
                updates.append_rows(wide[-1].table_id, [[f"pile {number}"] * len(wide[-1].columns)])
            rows = order["more"]
        else:
            report = OPERATIONS[order["operation"]](updates, str(new), wide[0])
            rows = max(report.rows_added, report.rows_removed)
        return {"began": began, "seconds": time.perf_counter() - start, "cells": manifest.cells, "rows": rows}


# --- what comes out ------------------------------------------------------------------------------------------------


def _table(costs: list[Cost]) -> Any:
    from mate.cli.terminal import table

    lakes = list(dict.fromkeys(cost.lake for cost in costs))
    found = {(cost.lake, cost.operation): cost for cost in costs}
    rows = []
    for operation in (REBUILD, *OPERATIONS, COMPACT):
        mine = [found.get((lake, operation)) for lake in lakes]
        if not any(mine):
            continue
        row: list[object] = [operation, max(cost.rows for cost in mine if cost)]
        for lake, cost in zip(lakes, mine, strict=True):
            again = found.get((lake, REBUILD))
            row.append(f"{cost.best:.3f}" if cost else "")
            row.append(f"{again.best / cost.best:,.0f}" if cost and again and operation != REBUILD else "")
        rows.append(row)
    starts = [f"{min(s for c in costs if c.lake == lake for s in c.start_seconds):.2f}" for lake in lakes]
    rows.append(["start of the process", "", *(cell for start in starts for cell in (start, ""))])
    header = ["operation", "rows", *(name for lake in lakes for name in (f"s, {lake}", "times faster"))]
    return table(header, rows)


def _pile_table(piled: list[Cost], piles: list[int]) -> Any:
    from mate.cli.terminal import table

    rows = [(pile, f"{cost.best:.3f}") for pile, cost in zip(piles, piled, strict=True)]
    return table(("changes before", "s to update a cell"), rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
