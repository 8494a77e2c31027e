"""`python -m benchmarks updates`: what a change to an index costs as the lake grows, beside building it again.

Every change runs in a process of its own, as `mate add` and the others do, on a lake without other changes. The time
of the change is what it takes from the lock to the published manifest, with everything that it has to load on the way;
the time to start a process and import the package is told apart. A table of a million rows is added, too, and one cell
of it changed: the cost of a change grows with the table that it touches, not with the lake. A last series repeats one
change as changes pile up.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments import machine
from mate.errors import MateError

if TYPE_CHECKING:
    from mate.build.changes.change import Report
    from mate.build.changes.updates import Updates
    from mate.cli import Commands
    from mate.lake.folder import LakeFolder
    from mate.lake.records import TableInfo

SIZES = "1,10,40"
PILES = "0,10,100,500"
ROWS = 200
"""Rows of the tables that are changed, or the nearest to it that the lake has; a new table has so many."""
LARGE_ROWS = 1_000_000

EPILOG = """\
examples:
  python -m benchmarks updates
  python -m benchmarks updates --sizes 1,5 --rounds 3 --json out.json --figure out.png
  python -m benchmarks updates --store lake.mate                      a copy of a lake of yours; no rebuild
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
    source.add_argument("--store", type=Path, metavar="LAKE", help="a lake; a copy of it is changed")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is done, the best counts (default: 3)")
    parser.add_argument("--piles", default=PILES, help=f"changes before the one that is timed (default: {PILES})")
    parser.add_argument(
        "--large", type=int, default=LARGE_ROWS, metavar="ROWS", help="rows of the large table (default: 1,000,000)"
    )
    parser.add_argument("--master", default="auto", help="where the lakes are built (default: auto)")
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
    with tempfile.TemporaryDirectory(prefix="mate-updates-") as name:
        folder = Path(name)
        files = New(_written(folder / "new.csv", ROWS), _written(folder / "large.csv", options.large))
        for number, size in enumerate([0.0] if options.store else sizes):
            store = folder / f"lake-{number}.mate"
            lake = options.store.name if options.store else f"{size:g} M cells"
            if options.store:
                shutil.copytree(options.store, store)
            else:
                costs.append(_rebuilt(size, store, options.master))
                screen.print(f"{lake}: built in {costs[-1].best:.1f} s", highlight=False)
            changed = ChangedLake(lake, store, files, options.rounds)
            if number + 1 == (1 if options.store else len(sizes)):
                with restored(store):
                    piled = changed.piles(piles)
            costs += changed.operations()
            shutil.rmtree(store)
    screen.print(_table(costs))
    screen.print(_pile_table(piled, piles))
    _write(costs, list(zip(piled, piles, strict=True)), options, screen)


def _write(costs: list[Cost], piled: list[tuple[Cost, int]], options: argparse.Namespace, screen: Any) -> None:
    record = {
        "machine": machine.describe(),
        "versions": machine.versions(),
        "load": os.getloadavg(),
        "costs": [{**asdict(cost), "best": cost.best} for cost in costs],
        "piles": [{**asdict(cost), "best": cost.best, "changes_before": n} for cost, n in piled],
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
    from mate.lake.folder import read_manifest

    for name in ("rounds", "large"):
        if getattr(options, name) < 1:
            raise MateError(f"--{name} takes a whole number from 1 on, not {getattr(options, name)}")
    for out in filter(None, (options.json, options.figure)):
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.is_dir() or not os.access(out.parent, os.W_OK):
            raise MateError(f"cannot write to {out}")
    if options.figure and find_spec("matplotlib") is None:
        raise MateError("--figure needs matplotlib: pip install 'mate-discovery[benchmarks]'")
    if options.store:
        read_manifest(options.store)


def _written(path: Path, rows: int) -> str:
    """Write a table of so many rows, and return its path."""
    with path.open("w", encoding="utf-8") as stream:
        stream.write("city,year,number,word\n")
        stream.writelines(f"city {n},{1900 + n % 100},{n * 7},word {n % 13}\n" for n in range(rows))
    return str(path)


# --- what is measured ----------------------------------------------------------------------------------------------


class New(NamedTuple):
    """Files of tables that are added."""

    small: str
    large: str


class Subject(NamedTuple):
    """What an operation works with: the files of new tables, two usual tables of the lake, and its tallest one."""

    files: New
    table: TableInfo
    other: TableInfo
    tallest: TableInfo


ADD_LARGE, UPDATE_LARGE = "add a large table", "update a cell of it"
OPERATIONS: dict[str, Callable[[Updates, Subject], Report]] = {
    "add a table": lambda updates, on: updates.add_tables([on.files.small]),
    "append 10 rows": lambda updates, on: updates.append_rows(
        on.table.table_id, [[f"new {n}"] * len(on.table.columns) for n in range(10)]
    ),
    "update a cell": lambda updates, on: updates.update_cells(on.table.table_id, [(0, 0, "another value")]),
    "remove a row": lambda updates, on: updates.remove_rows(on.table.table_id, [0]),
    "add a column": lambda updates, on: updates.add_column(
        on.table.table_id, "new", [f"new {n}" for n in range(on.table.rows)]
    ),
    "remove a column": lambda updates, on: updates.remove_column(on.table.table_id, 0),
    ADD_LARGE: lambda updates, on: updates.add_tables([on.files.large]),
    UPDATE_LARGE: lambda updates, on: updates.update_cells(on.tallest.table_id, [(0, 0, "another value")]),
    "remove a table": lambda updates, on: updates.remove_tables([on.table.table_id]),
}
"""By name: what is done."""

REBUILD, COMPACT, PILE = "build again", "compact after that", "pile up"
AFTER = {UPDATE_LARGE: ADD_LARGE, COMPACT: "remove a table"}
"""What is done before an operation, and not timed with it."""


def _rebuilt(size: float, store: Path, master: str) -> Cost:
    """Build a lake of that size."""
    from benchmarks.indexing import lake

    told, started = _child({"store": str(store), "build": lake(size).path, "master": master})
    return Cost(f"{size:g} M cells", told["cells"], REBUILD, told["rows"], [told["seconds"]], [started])


@contextmanager
def restored(store: Path) -> Iterator[None]:
    """Put a lake back into the state that it had; its segments never change, so that links keep them."""
    with tempfile.TemporaryDirectory(dir=store.parent) as kept:
        before = Path(kept, store.name)
        shutil.copytree(store, before, copy_function=os.link)
        try:
            yield
        finally:
            shutil.rmtree(store)
            before.rename(store)


class ChangedLake(NamedTuple):
    """A lake that is changed, with what, and how often."""

    lake: str
    store: Path
    files: New
    rounds: int

    def operations(self) -> list[Cost]:
        """Do every operation, each time on the lake as it was."""
        return [self.measured(operation, 1 if operation == COMPACT else self.rounds) for operation in ALL]

    def measured(self, operation: str, rounds: int) -> Cost:
        """Do one operation so often, each time in a process of its own."""
        with restored(self.store):
            if operation in AFTER:
                self._told(AFTER[operation])
            found = [self._restored(operation) for _ in range(rounds)]
        told = found[-1][0]
        seconds = [answer["seconds"] for answer, _ in found]
        return Cost(self.lake, told["cells"], operation, told["rows"], seconds, [started for _, started in found])

    def piles(self, piles: list[int]) -> list[Cost]:
        """Update a cell after more and more changes."""
        found, piled = [], 0
        for pile in piles:
            if pile > piled:
                self._told(PILE, more=pile - piled)
                piled = pile
            found.append(self.measured("update a cell", self.rounds))
        return found

    def _restored(self, operation: str) -> tuple[dict[str, Any], float]:
        with restored(self.store):
            return self._told(operation)

    def _told(self, operation: str, **more: int) -> tuple[dict[str, Any], float]:
        return _child({"store": str(self.store), "operation": operation, "files": self.files, **more})


ALL = (*OPERATIONS, COMPACT)


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
    import mate.build.lake_target  # noqa: F401  (what every change imports)

    order = json.loads(arguments[0])
    try:
        print(json.dumps(_build(order) if "build" in order else _operate(order)))
    except MateError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _build(order: dict[str, Any]) -> dict[str, Any]:
    from mate.build.build import BuildSettings, build
    from mate.build.lake_target import LakeTarget

    began = time.time()
    with LakeTarget(order["store"]) as target:
        counts = build([order["build"]], target, BuildSettings(master=order["master"])).manifest.counts
    return {"began": began, "seconds": time.time() - began, "cells": counts.cells, "rows": counts.rows}


def _operate(order: dict[str, Any]) -> dict[str, Any]:
    from mate.build.changes.updates import Updates
    from mate.lake.folder import open_folder

    updates = Updates(order["store"])
    with open_folder(order["store"]) as index:
        counts = index.manifest.counts
        subject = _subject(index, New(*order["files"]))
    began, start = time.time(), time.perf_counter()
    if order["operation"] == COMPACT:
        updates.compact()
        rows = counts.rows
    elif order["operation"] == PILE:
        table = subject.other
        for number in range(order["more"]):
            updates.append_rows(table.table_id, [[f"pile {number}"] * len(table.columns)])
        rows = order["more"]
    else:
        report = OPERATIONS[order["operation"]](updates, subject)
        rows = max(report.rows_added, report.rows_removed)
    return {"began": began, "seconds": time.perf_counter() - start, "cells": counts.cells, "rows": rows}


def _subject(index: LakeFolder, files: New) -> Subject:
    """Choose the tables of a lake that are changed."""
    wide = [table for table in index.tables() if len(table.columns) > 1 and table.rows]
    if not wide:
        raise MateError(f"{index.address} has no table with two columns to change")
    usual = sorted(wide, key=lambda table: (abs(table.rows - ROWS), table.table_id))[:2]
    return Subject(files, usual[0], usual[-1], max(wide, key=lambda table: (table.rows, table.table_id)))


# --- what comes out ------------------------------------------------------------------------------------------------


def _table(costs: list[Cost]) -> Any:
    from mate.cli.terminal import table

    lakes = list(dict.fromkeys(cost.lake for cost in costs))
    found = {(cost.lake, cost.operation): cost for cost in costs}
    rows = []
    for operation in (REBUILD, *ALL):
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
