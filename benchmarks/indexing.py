"""`python -m benchmarks indexing`: what building an index costs in seconds, memory and bytes, by number of cells.

Every build runs in a process of its own, as `mate index` does. A straight line through the sizes tells the cost of
starting from the rate at the margin, which is what stands beside the paper's figure; the exponent of a power of the
number of cells tells how seconds and memory grow. Memory is resident memory, the most at any of the samples taken from
/proc every 0.2 s, so it is measured on Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.indexing_build import SYNTHETIC, Build, Corpus, Order, measure
from benchmarks.indexing_report import PAPER, fit, paper_rate, print_builds, print_fits
from experiments import machine
from mate.cli.options import size
from mate.errors import MateError

if TYPE_CHECKING:
    from mate.cli import Commands

SIZES = "1,10,40"
FORMATS = (".png", ".pdf", ".svg")
MASTERS = "local[N], local[*], local-cluster[N,CORES,MB], none or auto"
_MASTER = re.compile(r"none|auto|local(\[(\*|[1-9]\d*)\])?|local-cluster\[[1-9]\d*,[1-9]\d*,[1-9]\d*\]")

EPILOG = """\
examples:
  python -m benchmarks indexing                                     synthetic lakes of 1, 10 and 40 million cells
  python -m benchmarks indexing --sizes 1,5 --segments 4 --json out.json --figure out.png
  python -m benchmarks indexing --memory 512MB --master local-cluster[2,1,2048]
  python -m benchmarks indexing --paths lake-a/ lake-b/             each folder is a size of its own
"""


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
    parser.add_argument("--segments", type=int, metavar="N", help="how many segments (default: by size and memory)")
    parser.add_argument("--memory", type=size("--memory"), metavar="SIZE", help="memory of a task (default: 2GB)")
    parser.add_argument("--bits", type=int, default=128, help="size of super keys (default: 128)")
    parser.add_argument("--master", default="local[*]", help=f"{MASTERS} (default: local[*])")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the results as JSON")
    parser.add_argument("--figure", type=Path, metavar="OUT", help="draw them (PNG, PDF or SVG)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the indexes in this folder")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Build, print, write."""
    from mate.cli.terminal import console

    _check(options)
    corpora = [given(path) for path in options.paths] if options.paths else [lake(s) for s in _sizes(options.sizes)]
    screen = console()
    builds: list[Build] = []
    with _folder(options.keep) as folder:
        for corpus in corpora:
            store = folder / f"{re.sub(r'[^0-9A-Za-z.]+', '-', corpus.name)}-{len(builds)}.mate"
            order = Order(str(store), options.bits, options.master, options.segments, options.memory)
            builds.append(measure(corpus, order))
            if not options.keep:
                shutil.rmtree(store)
    fits = fit(builds)
    print_builds(builds, screen)
    print_fits(fits, screen)
    record = {
        "master": options.master,
        "bits": options.bits,
        "segments": options.segments,
        "memory": options.memory,
        "machine": machine.describe(),
        "versions": machine.versions(),
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


def _sizes(text: str) -> list[float]:
    try:
        sizes = [float(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or not all(0 < size < float("inf") for size in sizes):
        raise MateError(f"--sizes takes millions of cells, such as {SIZES}, not {text!r}")
    return sizes


def _check(options: argparse.Namespace) -> None:
    """Refuse what would fail only after the first long build."""
    from mate.build.build import MEMORY, BuildSettings, HashRequest

    BuildSettings(
        hashes=(HashRequest(bits=options.bits),), segments=options.segments, memory=options.memory or MEMORY
    ).check()
    if not _MASTER.fullmatch(options.master):
        raise MateError(
            f"--master takes {MASTERS}, not {options.master!r}: "
            "what runs on other machines cannot be measured from here"
        )
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
