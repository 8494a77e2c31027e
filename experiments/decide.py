"""`python -m experiments decide`: draw further queries for what is undecided, until it is decided or the time is up."""

from __future__ import annotations

import argparse
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.run import add_results
from experiments.scales import SCALES
from mate.cli.terminal import console, table

if TYPE_CHECKING:
    from experiments.reporting.claims import Judgement
    from mate.cli import Commands

DESCRIPTION = """\
A verdict is undecided where it does not come out in nearly all draws of the queries. Each such claim says how many
queries would decide it, if they are like those that there are. This repeats the commands that measured them with so
many times as many of each set, the smallest number first, until the time is up. A larger set is measured as a whole,
and takes the place of the smaller one. What is left says how many queries would decide it; School has no more, and
figure 6 has the tables of its scale."""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("decide", help="draw further queries for undecided claims", description=DESCRIPTION)
    add_results(parser)
    parser.add_argument("--minutes", type=float, default=60, metavar="M", help="stop after so long (default: 60)")
    parser.add_argument("--most", type=int, default=1000, metavar="N", help="queries of a set at most (default: 1000)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be measured")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measure round by round; print what is left."""
    from experiments.reporting.claims import verdicts
    from experiments.reporting.results import read_results
    from experiments.reporting.verdicts import Verdict

    end, tried = time.monotonic() + 60 * options.minutes, set[str]()
    while True:
        judged = verdicts(read_results(options.results))
        left = [judgement for judgement in judged if judgement.verdict is Verdict.UNDECIDED]
        todo = [
            command
            for queries, command in orders(left, options.results)
            if queries <= options.most and command not in tried
        ]
        if options.dry_run or not todo or time.monotonic() >= end:
            break
        tried.add(todo[0])
        console().print(todo[0], soft_wrap=True)
        process = subprocess.Popen(_words(todo[0]))
        try:
            process.wait(max(1.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # as a person would: what is measured is kept
            process.wait()
            break
    rows = [(j.claim.name, j.title, j.finding.needs or "no number of queries would") for j in left]
    console().print(table(("undecided", "where", "what would decide it"), rows))
    if options.dry_run:
        console().print("\n".join(todo), soft_wrap=True)
    return 0


def orders(left: Iterable[Judgement], results: Path) -> list[tuple[int, str]]:
    """Return the commands that would decide claims, each with its number of queries, the smallest first."""
    from experiments.reporting.verdicts import MOST

    found: dict[str, int] = {}
    for judgement in left:
        times, words = judgement.finding.times, shlex.split(judgement.command)
        fixed = judgement.lake == "school" or judgement.claim.experiments == ("figure6",)
        if not 0 < times <= MOST or "run" not in words or fixed:
            continue
        first = words.index("run") + 1
        given = list(dropwhile(lambda word: not word.startswith("-"), words[first:]))
        counts = [SCALES[given[given.index("--scale") + 1] if "--scale" in given else "small"].queries]
        if "--queries" in given:
            counts = list(map(int, given[given.index("--queries") + 1].split(",")))
        for option in {"--queries", "--results"} & set(given):
            place = given.index(option)
            del given[place : place + 2]
        given = [word for word in given if word not in ("--all", "--redo")]
        queries = times * max(counts)
        command = [
            *words[:first],
            *judgement.claim.experiments,
            *given,
            "--queries",
            str(queries),
            "--results",
            str(results),
        ]
        found[shlex.join(command)] = queries
    return sorted((queries, command) for command, queries in found.items())


def _words(command: str) -> list[str]:
    words = shlex.split(command)
    return [sys.executable, *words[1:]] if words[0].startswith("python") else words
