"""`python -m benchmarks load`: threads and processes that search while a writer changes the lake.

Every row of one table says which version it is of, and each change gives all rows the next one. So a searcher knows
what is right: it must find all rows under one version and none under another, whenever it opens the lake. Memory and
open files of the searchers are compared between the first third of their time and its end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from mate.build.build import BuildSettings, build_sources
from mate.build.changes.updates import Updates
from mate.build.lake_target import LakeTarget
from mate.build.sources import Item, Provenance
from mate.corpus import Chunk, Limits, Table
from mate.lake.folder import LakeFolder, open_folder
from mate.search.systems import find_system

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 50
OTHERS = 20
MOST_GROWTH = 48 << 20
MOST_FILES = 16


@dataclass(frozen=True, slots=True)
class Searched:
    """What a process with its threads did."""

    searches: int
    changes_seen: int
    wrong: list[str]
    memory_growth: int
    """Bytes resident at the end beyond those after the first third."""
    file_growth: int


@dataclass(frozen=True, slots=True)
class _Versions:
    """A table in memory: the one that changes, or one that never does."""

    name: str
    version: str
    size: int = 1

    def read(self, limits: Limits) -> Iterator[Item]:
        cells = [cell for row in range(ROWS) for cell in (self.version, f"row {row}")]
        yield Chunk(Table(self.name, 0, 1, self.name, ("version", "row")), 0, pa.array(cells, pa.string()))
        yield Provenance("made", self.size, self.name)


def make_lake(store: Path) -> None:
    """Build the lake: the table that changes has the number 0."""
    sources = [_Versions("changing", "version 0"), *(_Versions(f"other {n}", f"fixed {n}") for n in range(OTHERS))]
    with LakeTarget(store) as target:
        build_sources(list(sources), target, BuildSettings(master="none"))


def change(store: Path, number: int) -> None:
    """Give all rows the next version; merge segments now and then."""
    updates = Updates(str(store), wait=60)
    updates.update_cells(0, [(row, 0, f"version {number}") for row in range(ROWS)])
    if number % 7 == 0:
        updates.compact()


def look(lake: LakeFolder) -> tuple[int, str]:
    """Return the version of an opened lake, and what is wrong with what it says."""
    seen = {row[0] for row in lake.cells(0, np.arange(ROWS))}
    if len(seen) != 1:
        return -1, f"cells of several versions: {sorted(map(str, seen))}"
    version = int(str(seen.pop()).removeprefix("version "))
    for number, right in ((version, ROWS), (version + 1, 0), (max(0, version - 1), ROWS if version == 0 else 0)):
        found = {result.table_id: result.joinability for result in _search(lake, f"version {number}")}
        if found.get(0, 0) != right:
            return version, f"version {number} has {found.get(0, 0)} rows in a lake of version {version}"
    fixed = version % OTHERS
    if [(r.table_id, r.joinability) for r in _search(lake, f"fixed {fixed}")] != [(fixed + 1, ROWS)]:
        return version, f"the table of fixed {fixed} is not found"
    return version, ""


def _search(lake: LakeFolder, version: str) -> Any:
    query = pa.table({"version": [version] * ROWS, "row": [f"row {row}" for row in range(ROWS)]})
    return find_system()(lake, query, ["version", "row"], 5)


def search_for(store: Path, seconds: float, threads: int) -> Searched:
    """Search in threads, each opening the lake again and again; half of the searches keep a lake that is open."""
    start = time.monotonic()
    marks: dict[str, tuple[int, int]] = {}

    def work(_: int) -> tuple[int, set[int], list[str]]:
        count, versions, wrong = 0, set(), []
        while (spent := time.monotonic() - start) < seconds:
            with open_folder(store) as lake:
                for _ in range(2):
                    version, problem = look(lake)
                    versions.add(version)
                    wrong += [problem] if problem else []
                    count += 1
            if spent > seconds / 3:
                marks.setdefault("third", resources())
        return count, versions, wrong

    with ThreadPoolExecutor(threads) as pool:
        done = list(pool.map(work, range(threads)))
    memory, files = resources()
    early = marks.get("third", (memory, files))
    versions = set().union(*(versions for _, versions, _ in done))
    wrong = [problem for _, _, problems in done for problem in problems]
    return Searched(sum(n for n, _, _ in done), len(versions), wrong[:5], memory - early[0], files - early[1])


def resources() -> tuple[int, int]:
    """Return the resident bytes and the open files of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(list(Path("/proc/self/fd").iterdir()))


def load(store: Path, seconds: float, processes: int, threads: int) -> tuple[int, list[Searched]]:
    """Change the lake while processes search it; return how many changes there were, and what each process saw."""
    program = [sys.executable, "-m", "benchmarks.load", str(store), str(seconds), str(threads)]
    running = [subprocess.Popen(program, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    number = 0
    try:
        while any(process.poll() is None for process in running):
            number += 1
            change(store, number)
        found = [Searched(**json.loads(process.communicate()[0])) for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()
    return number, found


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("load", help="search while a lake changes", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default: 60)")
    parser.add_argument("--processes", type=int, default=8, help="(default: 8)")
    parser.add_argument("--threads", type=int, default=8, help="of each process (default: 8)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run and print; anything wrong is an error."""
    with tempfile.TemporaryDirectory(prefix="mate-load-") as folder:
        store = Path(folder, "lake.mate")
        make_lake(store)
        changes, found = load(store, options.seconds, options.processes, options.threads)
    for process in found:
        print(asdict(process))
    print(f"{changes} changes, {sum(process.searches for process in found):,} looks in {len(found)} processes")
    if problems := complaints(found):
        raise SystemExit("\n".join(problems))


def complaints(found: Sequence[Searched]) -> list[str]:
    """Return what no searcher should have seen."""
    rules: tuple[tuple[str, Callable[[Searched], bool]], ...] = (
        ("a wrong answer", lambda process: bool(process.wrong)),
        ("memory grows", lambda process: process.memory_growth > MOST_GROWTH),
        ("files stay open", lambda process: process.file_growth > MOST_FILES),
        ("nothing was searched", lambda process: not process.searches),
    )
    return [f"{text}: {process}" for process in found for text, broken in rules if broken(process)]


if __name__ == "__main__":
    print(json.dumps(asdict(search_for(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))))
