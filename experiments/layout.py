"""`python -m experiments table2` and the like: one table or figure of the paper, its numbers beside ours."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.registry import EXPERIMENTS
from experiments.run import add_results
from mate.cli.terminal import console

if TYPE_CHECKING:
    from mate.cli import Commands

TABLES, FIGURES = ("table1", "table2", "table3"), ("figure4", "figure5", "figure6")
COMMITTEE = "committee"


def add(commands: Commands) -> None:
    """Declare the commands."""
    for name in (*TABLES, *FIGURES):
        ends = "HTML, CSV, Markdown and LaTeX" if name in TABLES else "PDF and PNG"
        told = f"{EXPERIMENTS[name].regenerates} in the paper's layout, ours beside the paper's: {ends}"
        _declare(commands.add_parser(name, help=told, description=told), name)
    told = "one printable page for a reproducibility committee: set-up, corpora, deviations, findings, tables, figures"
    _declare(commands.add_parser(COMMITTEE, help=told, description=told), COMMITTEE)


def _declare(parser: argparse.ArgumentParser, name: str) -> None:
    add_results(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: paper in the results)")
    parser.set_defaults(run=run, name=name)


def run(options: argparse.Namespace) -> int:
    """Write the files and say where they are."""
    from experiments.reporting import committee, page
    from experiments.reporting.figures import figures
    from experiments.reporting.results import read_results
    from experiments.reporting.tables import tables

    folder = options.out or options.results / "paper"
    name: str = options.name
    if name == COMMITTEE:
        written = [committee.write(read_results(options.results), folder)]
    elif name in FIGURES:
        results = read_results(options.results, [name])
        written = [path for drawn in figures(results, name) if drawn.name == name for path in drawn.write(folder)]
    else:
        shown = [table for table in tables(read_results(options.results, [name]), name) if table.in_paper]
        written = [path for table in shown for path in table.write(folder)]
        for table in shown:
            (folder / f"{table.name}.tex").write_text(table.latex(), encoding="utf-8")
        written += [folder / f"{table.name}.tex" for table in shown] + [folder / f"{name}.html"]
        written[-1].write_text(page.whole(name, "".join(table.html() for table in shown)), encoding="utf-8")
    console().print("\n".join(map(str, written)), soft_wrap=True)
    return 0
