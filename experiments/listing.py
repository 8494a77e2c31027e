"""`python -m experiments list`: what there is, and what of it is in the results."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.definitions import titled
from experiments.records import missing, plan
from experiments.registry import EXPERIMENTS
from experiments.run import add_results
from mate.cli.terminal import console, table

if TYPE_CHECKING:
    from mate.cli import Commands


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("list", help="show the experiments, and what the results have of them")
    add_results(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print a table."""
    rows = [
        (name, experiment.regenerates, experiment.what, state(options.results, name))
        for name, experiment in EXPERIMENTS.items()
    ]
    console().print(table(("experiment", "in the paper", "what", f"in {options.results}"), rows))
    return 0


def state(results: Path, name: str) -> str:
    """Say what the results have of an experiment."""
    if not (results / "experiments" / f"{name}.json").exists():
        return "nothing"
    lakes = plan(results, name)["lakes"]
    left = len(missing(results, name))
    scales = ", ".join(
        f"{titled(lake, engine)} ({entry['scale']})"
        for lake, engines in lakes.items()
        for engine, entry in engines.items()
    )
    return scales + (f"; {left} files missing" if left else "")
