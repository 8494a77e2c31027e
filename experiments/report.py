"""`python -m experiments report`: verdicts, tables, figures and one page from stored results."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.registry import EXPERIMENTS
from experiments.run import add_results
from mate.terminal import console, table

if TYPE_CHECKING:
    from experiments.reporting.claims import Judgement
    from experiments.reporting.results import Results
    from mate.commands import Commands

DESCRIPTION = """\
Compare what was measured with what the paper says. Writes index.html (one page that needs nothing else), tables as
Markdown and CSV, figures as PNG and PDF, and the verdicts; prints the verdicts. Nothing is measured."""

EPILOG = """\
examples:
  python -m experiments report                         everything in results/, to results/report/
  python -m experiments report figure4 --results r     one experiment
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "report",
        help="compare results with the paper: a page, tables, figures, verdicts",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"only these experiments: {', '.join(EXPERIMENTS)} (default: all)"
    )
    add_results(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: report in the results)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, judge, write, and print the verdicts."""
    from experiments.reporting.claims import verdicts
    from experiments.reporting.results import read_results
    from experiments.reporting.writing import write

    results = read_results(options.results, options.names)
    judgements = verdicts(results, results.frames if options.names else ())
    page = write(results, judgements, options.out or options.results / "report")
    _print(results, judgements)
    console().print(f"report: {page}", soft_wrap=True)
    return 0


def _print(results: Results, judgements: list[Judgement]) -> None:
    """Print the verdicts, what is missing, and the count."""
    from experiments.reporting.summary import counts

    screen = console()
    rows = []
    for place, j in enumerate(judgements):
        new = place == 0 or judgements[place - 1].claim is not j.claim
        found = j.finding.readings
        lines = "\n".join(f"{name}: {told}" for name, told, _ in found) if found else j.finding.measured
        rows.append((*((j.claim.name, j.claim.published()) if new else ("", "")), j.title, lines, j.verdict_text))
    screen.print(table(("claim", "paper", "lake", "measured here", "verdict"), rows))
    tally = counts(judgements)
    screen.print(table([name for _, name in tally.header], tally.rows))
    for gap in results.gaps:
        made = f"; make it with: {gap.command}" if gap.command else ""
        screen.print(f"missing: {gap.experiment}: {gap.what}{made}", soft_wrap=True)
    for note in results.notes:
        screen.print(note, soft_wrap=True)
