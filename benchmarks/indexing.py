"""`python -m benchmarks indexing`: what building an index costs in seconds, memory and bytes, by number of cells.

Every build runs in a process of its own, as `mate index` does. A straight line through the sizes tells the cost of
starting from the rate at the margin, which is what stands beside the paper's figure. Memory is resident memory, the
most at any of the samples taken from /proc every 0.2 s, so it is measured on Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import machine, memory
from mate.errors import MateError

if TYPE_CHECKING:
    from mate.commands import Commands

PAPER = {"cells": 8_300_000_000, "hours": 35, "cores": 128}
"""Section 7.1, "Index generation": the web tables, on a server with 128 cores."""

SIZES = "1,10,40"
INTERVAL = 0.2
"""Seconds between two samples of memory."""
SAY_AFTER = 5.0
"""Seconds between two progress lines of a phase."""
STOP_AFTER = 10.0
"""Seconds that an interrupted build has for cleaning up."""
FORMATS = (".png", ".pdf", ".svg")
SYNTHETIC = "synthetic"
ROLES = {"driver": "driver Python", "jvm": "JVM", "workers": "Python workers"}

EPILOG = """\
examples:
  python -m benchmarks indexing                                     synthetic lakes of 1, 10 and 40 million cells
  python -m benchmarks indexing --sizes 1,5 --layouts per_cell,per_row --json out.json --figure out.png
  python -m benchmarks indexing --paths lake-a/ lake-b/             each folder is a size of its own
"""


@dataclass(frozen=True)
class Corpus:
    """What is indexed."""

    name: str
    path: str

    @property
    def label(self) -> str:
        """ "synthetic" or nothing."""
        return SYNTHETIC if self.path.startswith(f"{SYNTHETIC}:") else ""


@dataclass(frozen=True)
class Build:
    """One build and what it took."""

    corpus: str
    path: str
    label: str
    layout: str
    hashes: list[str]
    tables: int
    rows: int
    cells: int
    distinct_tokens: int
    seconds: dict[str, float]
    """By phase; "other" is what the phases leave: imports, stopping Spark, removing files."""
    cores: int
    processor_seconds: dict[str, float]
    """By role; empty where it cannot be seen."""
    load: tuple[float, float]
    """Processes that wanted to run in the minute before the build, and in its last minute."""
    peak_bytes: dict[str, int]
    index_bytes: dict[str, int]

    @property
    def total(self) -> float:
        """Seconds from the start of the process to its end."""
        return sum(self.seconds.values())

    @property
    def rate(self) -> float:
        """Cells per second, end to end."""
        return self.cells / self.total

    @property
    def processor_total(self) -> float | None:
        """Seconds that all processors together spent on it, if they were seen."""
        return sum(self.processor_seconds.values()) or None


@dataclass(frozen=True)
class Fit:
    """Seconds as a straight line over cells."""

    series: str
    points: int
    fixed_seconds: float
    cells_per_second_per_core: float | None
    """At the margin: cells more, by seconds more, by cores. None where noise made the larger lake the faster."""
    cells_per_processor_second: float | None
    """The same by processor time: what a core would do that nothing else keeps busy, and that never waits."""

    @property
    def times_paper(self) -> float | None:
        """The rate as a multiple of the paper's."""
        return self.cells_per_second_per_core and self.cells_per_second_per_core / paper_rate()


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser(
        "indexing",
        help="seconds, memory and bytes of building an index",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--paths", nargs="+", metavar="PATH", help="corpora to index, each by itself")
    source.add_argument("--sizes", default=SIZES, help=f"million cells of synthetic lakes (default: {SIZES})")
    parser.add_argument("--layouts", default="per_cell", help="per_cell, per_row or both (default: per_cell)")
    parser.add_argument("--bits", type=int, default=128, help="size of super keys (default: 128)")
    parser.add_argument("--master", default="local[*]", help="local[N], local[*] or none (default: local[*])")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the results as JSON")
    parser.add_argument("--figure", type=Path, metavar="OUT", help="draw them (PNG, PDF or SVG)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the indexes in this folder")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Build, print, write."""
    from mate.terminal import console

    layouts = _layouts(options.layouts)
    _check(options)
    corpora = [given(path) for path in options.paths] if options.paths else [lake(s) for s in _sizes(options.sizes)]
    screen = console()
    builds: list[Build] = []
    with _folder(options.keep) as folder:
        for layout in layouts:
            for corpus in corpora:
                store = folder / f"{re.sub(r'[^0-9A-Za-z.]+', '-', corpus.name)}-{layout}-{len(builds)}.duckdb"
                builds.append(measure(corpus, layout, options.bits, options.master, store))
                if not options.keep:
                    store.unlink()
    fits = fit(builds)
    print_builds(builds, screen)
    print_fits(fits, screen)
    record = {
        "master": options.master,
        "bits": options.bits,
        "machine": machine.describe(),
        "paper": {**PAPER, "cells_per_second_per_core": paper_rate()},
        "builds": [{**asdict(b), "total_seconds": b.total, "cells_per_second": b.rate} for b in builds],
        "fits": [{**asdict(f), "times_paper": f.times_paper} for f in fits],
    }
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
        screen.print(f"results: {options.json}")
    if options.figure:
        from benchmarks.figures import draw_indexing

        draw_indexing(record, options.figure)
        screen.print(f"figure:  {options.figure}")


# --- what is asked for ---------------------------------------------------------------------------------------------


def _sizes(text: str) -> list[float]:
    try:
        sizes = [float(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or not all(0 < size < float("inf") for size in sizes):
        raise MateError(f"--sizes takes millions of cells, such as {SIZES}, not {text!r}")
    return sizes


def _layouts(text: str) -> list[str]:
    from mate.store.base import LAYOUTS

    layouts = text.split(",")
    if unknown := [layout for layout in layouts if layout not in LAYOUTS]:
        raise MateError(f'unknown layout "{unknown[0]}"; known: {", ".join(LAYOUTS)}')
    return layouts


def _check(options: argparse.Namespace) -> None:
    """Refuse what would fail only after the first long build."""
    from mate.pipeline.build import HashRequest

    HashRequest(bits=options.bits).check()
    if not re.fullmatch(r"none|local(\[(\*|[1-9]\d*)\])?", options.master):
        raise MateError(f"--master takes none, local, local[N] or local[*], not {options.master!r}: what runs on other"
                        " machines cannot be measured from here")  # fmt: skip
    for path in options.paths or ():
        if not path.startswith(f"{SYNTHETIC}:") and not Path(path).exists():
            raise MateError(f"there is no {path}")
    for out in filter(None, (options.json, options.figure)):
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.is_dir() or not os.access(out.parent, os.W_OK):
            raise MateError(f"cannot write to {out}")
    if options.figure and find_spec("matplotlib") is None:
        raise MateError("--figure needs matplotlib: pip install 'mate-discovery[benchmarks]'")
    if options.figure and options.figure.suffix.lower() not in FORMATS:
        raise MateError(f"--figure takes a file that ends in {', '.join(FORMATS)}, not {options.figure.name!r}")


def given(path: str) -> Corpus:
    """Return a corpus that the user names."""
    return Corpus(path if path.startswith(f"{SYNTHETIC}:") else Path(path).resolve().name, path)


def lake(million_cells: float) -> Corpus:
    """Return the synthetic lake that comes nearest to a number of cells."""
    from mate.corpus.synthetic import SyntheticLake

    def cells(tables: int) -> int:
        return SyntheticLake(tables=tables).expected_cells

    wanted = million_cells * 1e6
    low, high = 1, 2
    while cells(high) < wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cells(middle) < wanted else (low, middle)
    nearest = min((low, high), key=lambda tables: abs(cells(tables) - wanted))
    return Corpus(f"{SYNTHETIC} {million_cells:g} M", SyntheticLake(tables=nearest).address)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="mate-indexing-") as folder:
        yield Path(folder)


# --- one build -----------------------------------------------------------------------------------------------------


def measure(corpus: Corpus, layout: str, bits: int, master: str, store: Path) -> Build:
    """Build one index in a process of its own, watching its memory."""
    from mate.store import open_store

    title = f"{corpus.name}, {layout}"
    with tempfile.TemporaryDirectory(prefix="mate-indexing-") as folder:
        result = Path(folder, "result.json")
        order = {"path": corpus.path, "layout": layout, "bits": bits, "master": master, "store": str(store)}
        order |= {"title": title, "result": str(result)}
        before = os.getloadavg()[0]
        peaks, elapsed = _watched([sys.executable, "-m", "benchmarks.indexing", json.dumps(order)])
        after = os.getloadavg()[0]
        told: dict[str, Any] = {"error": "the process ended before its time"}
        if result.exists():
            told = json.loads(result.read_text())
    if "error" in told:
        raise MateError(f"{title}: {told['error']}")
    with open_store(str(store)) as index:
        manifest, sizes = index.manifest, index.sizes()
    spent = dict(told["seconds"])
    build = Build(
        corpus=corpus.name,
        path=corpus.path,
        label=manifest.label,
        layout=layout,
        hashes=[str(spec) for spec in manifest.hashes],
        tables=manifest.tables,
        rows=manifest.rows,
        cells=manifest.cells,
        distinct_tokens=manifest.distinct_tokens,
        seconds={**spent, "other": elapsed - sum(spent.values())},
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        processor_seconds=peaks.processor_seconds if peaks else {},
        load=(before, after),
        peak_bytes=peaks.bytes if peaks else {},
        index_bytes=sizes,
    )
    _say(title, f"done: {build.cells:,} cells in {build.total:.1f} s")
    return build


def _watched(command: list[str]) -> tuple[memory.Peaks | None, float]:
    """Run a command to its end; return its memory, where that can be seen, and its seconds."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peaks = memory.Peaks(process.pid) if memory.available() else None
    try:
        while process.poll() is None:
            if peaks:
                peaks.sample()
            try:
                process.wait(INTERVAL)
            except subprocess.TimeoutExpired:
                continue
    except BaseException:
        _stopped(process)
        raise
    return peaks, time.perf_counter() - start


def _stopped(process: subprocess.Popen[bytes]) -> None:
    """Let a build that was interrupted remove its files, but not for long."""
    try:
        process.wait(STOP_AFTER)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main(arguments: Sequence[str]) -> int:
    """Build one index, in this process: the part of `mate index` that is measured."""
    order = json.loads(arguments[0])
    result = Path(order["result"])
    try:
        result.write_text(json.dumps({"seconds": _build(order)}))
    except MateError as error:
        result.write_text(json.dumps({"error": str(error)}))
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _build(order: dict[str, Any]) -> dict[str, float]:
    from mate.pipeline.build import BuildSettings, HashRequest, build
    from mate.pipeline.duckdb_target import DuckDBTarget

    hashes = (HashRequest(bits=order["bits"]),)
    settings = BuildSettings(hashes=hashes, layout=order["layout"], master=order["master"])
    with DuckDBTarget(order["store"]) as target:
        return build([order["path"]], target, settings, Lines(order["title"])).seconds


class Lines:
    """Progress as lines on standard error: one at the start of a phase, then every few seconds."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._begin = time.perf_counter()
        self._say("start")

    def _say(self, text: str) -> None:
        self._said = time.perf_counter()
        _say(self._title, f"{self._said - self._begin:.0f} s: {text}")

    def start(self, phase: str, total: int) -> None:
        """Begin a phase."""
        self._phase, self._total = phase, total
        self._say(phase)

    def update(self, done: int, **counts: int) -> None:
        """Say how far it is, unless that was said just now."""
        if time.perf_counter() - self._said >= SAY_AFTER:
            cells = f", {counts['cells']:,} cells" if counts.get("cells") else ""
            self._say(f"{self._phase} {done} of {self._total}{cells}")


def _say(title: str, text: str) -> None:
    print(f"{title}: {text}", file=sys.stderr, flush=True)


# --- what comes out ------------------------------------------------------------------------------------------------


def paper_rate() -> float:
    """Return the paper's cells per second per core."""
    return PAPER["cells"] / (PAPER["hours"] * 3600) / PAPER["cores"]


def fit(builds: Sequence[Build]) -> list[Fit]:
    """Fit a line to the builds of each layout, and to each two sizes that follow each other."""
    fits = []
    for layout in dict.fromkeys(b.layout for b in builds):
        for label in dict.fromkeys(b.label for b in builds):
            chosen = sorted((b for b in builds if (b.layout, b.label) == (layout, label)), key=lambda b: b.cells)
            kind = label or "given corpora, which differ in more than size"
            groups = [chosen, *(pairwise(chosen) if len(chosen) > 2 else ())]
            for group in groups:
                names = "all" if group is chosen else " to ".join(f"{b.cells / 1e6:.1f} M" for b in group)
                if len({b.cells for b in group}) > 1:
                    fits.append(_fit(f"{kind}, {layout}: {names}", group))
    return fits


def _fit(series: str, builds: Sequence[Build]) -> Fit:
    fixed, slope = _line([(b.cells, b.total) for b in builds])
    worked = [(b.cells, b.processor_total) for b in builds if b.processor_total]
    _, work = _line(worked) if len(worked) == len(builds) else (0, 0)
    cores = builds[0].cores
    return Fit(series, len(builds), fixed, 1 / slope / cores if slope > 0 else None, 1 / work if work > 0 else None)


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return intercept and slope by least squares."""
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    return mean_y - slope * mean_x, slope


def print_builds(builds: Sequence[Build], screen: Any) -> None:
    """Print one table with a column for each build."""
    from mate.terminal import table

    screen.print(f"[bold]{_title(builds)}[/bold]")
    header = ("", *(f"{b.corpus}\n{b.layout}" for b in builds))
    screen.print(table(header, list(_facts(builds))))
    if not memory.available():
        screen.print("Memory and processor time are measured on Linux only: this system has no /proc.")
    if any(b.label for b in builds):
        screen.print("synthetic: tables are made where files would be read; they are no real corpus.")


def _title(builds: Sequence[Build]) -> str:
    hashes = ", ".join(dict.fromkeys(name for b in builds for name in b.hashes))
    kinds = " and ".join(dict.fromkeys(b.label or "given corpora" for b in builds))
    return f"Index builds of {kinds} on {builds[0].cores} cores, {hashes}"


def _facts(builds: Sequence[Build]) -> Iterator[list[str]]:
    """Yield the lines of the table: what it is, then its value for each build."""

    def line(name: str, values: Sequence[float | None], places: int = 0) -> list[str]:
        return [name, *(_number(v, places) for v in values)]

    yield line("tables", [b.tables for b in builds])
    yield line("cells indexed", [b.cells for b in builds])
    yield line("distinct tokens", [b.distinct_tokens for b in builds])
    for phase in dict.fromkeys(phase for b in builds for phase in b.seconds):
        yield line(f"s, {phase}", [b.seconds.get(phase) for b in builds], 1)
    yield line("s, end to end", [b.total for b in builds], 1)
    yield line("load average before", [b.load[0] for b in builds], 1)
    yield line("load average after", [b.load[1] for b in builds], 1)
    yield line("cells/s", [b.rate for b in builds])
    yield line("cells/s/core", [b.rate / b.cores for b in builds])
    yield line(f"times the paper's {paper_rate():.0f}", [b.rate / b.cores / paper_rate() for b in builds], 1)
    for role, name in ROLES.items():
        if any(role in b.processor_seconds for b in builds):
            yield line(f"processor s, {name}", [b.processor_seconds.get(role) for b in builds], 1)
    yield line("processor s, all", [b.processor_total for b in builds], 1)
    yield line("cells/processor s", [b.processor_total and b.cells / b.processor_total for b in builds])
    for role, name in ROLES.items():
        yield line(f"peak MB, {name}", [b.peak_bytes[role] / 1e6 if role in b.peak_bytes else None for b in builds])
    yield line("peak MB, all at one time", [b.peak_bytes.get("together", 0) / 1e6 or None for b in builds])
    yield line("bytes/cell, index", [b.index_bytes["file"] / b.cells for b in builds], 2)
    for part in _parts(builds):
        yield line(f"bytes/cell, {part}", [b.index_bytes.get(part, 0) / b.cells for b in builds], 2)
    rest = [2 * b.index_bytes["file"] - sum(b.index_bytes.values()) for b in builds]
    yield line("bytes/cell, shared or free", [size / b.cells for size, b in zip(rest, builds, strict=True)], 2)


def _number(value: float | None, places: int = 0) -> str:
    """Return a number for people; nothing for what was not measured."""
    return "" if value is None else f"{value:,.{places}f}"


def _parts(builds: Sequence[Build]) -> list[str]:
    """Return the parts of the index that take space, the largest first."""
    most: dict[str, float] = {}
    for b in builds:
        for part, size in b.index_bytes.items():
            most[part] = max(most.get(part, 0), size / b.cells)
    return sorted((part for part, size in most.items() if part != "file" and size >= 0.005), key=lambda p: -most[p])


def print_fits(fits: Sequence[Fit], screen: Any) -> None:
    """Print what starting costs and what the margin yields, beside the paper's figure."""
    from mate.terminal import table

    header = ("seconds as a line over cells", "sizes", "fixed s", "cells/s/core at the margin", "times the paper's",
              "cells/processor s at the margin")  # fmt: skip
    if fits:
        rows = [
            (
                f.series,
                f.points,
                _number(f.fixed_seconds, 1),
                _number(f.cells_per_second_per_core),
                _number(f.times_paper, 1),
                _number(f.cells_per_processor_second),
            )
            for f in fits
        ]
        screen.print(table(header, rows))
    per_second = PAPER["cells"] / PAPER["hours"] / 3600
    screen.print(
        f"paper: {PAPER['hours']} h for {PAPER['cells'] / 1e9:.1f} G cells on {PAPER['cores']} cores, end to end:"
        f" {per_second:,.0f} cells/s, {paper_rate():.0f} cells/s/core if it kept all of them busy"
        " (other data, other machine)"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
