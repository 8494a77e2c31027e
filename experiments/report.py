"""`python -m experiments report`: verdicts, tables, figures and one page from stored results."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.registry import EXPERIMENTS
from experiments.run import add_results
from mate.cli.terminal import console, table

if TYPE_CHECKING:
    from experiments.reporting.claims import Judgement
    from experiments.reporting.results import Results
    from mate.cli import Commands

DESCRIPTION = """\
Compare what was measured with what the paper says. Writes index.html (one page that needs nothing else), tables as
Markdown and CSV, figures as PNG and PDF, and the verdicts; prints the verdicts. Nothing is measured."""

EPILOG = """\
examples:
  python -m experiments report                         everything in results/, to results/report/
  python -m experiments report figure4 --results r     one experiment
  python -m experiments report --details               also print the paper's numbers and ours
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
    parser.add_argument("--details", action="store_true", help="print what each verdict rests on, as the page has it")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, judge, write, and print the verdicts."""
    from experiments.reporting.claims import verdicts
    from experiments.reporting.results import read_results
    from experiments.reporting.writing import write

    results = read_results(options.results, options.names)
    judgements = verdicts(results, results.frames if options.names else ())
    page = write(results, judgements, options.out or options.results / "report")
    _print(results, judgements, details=options.details)
    console().print(f"report: {page}", soft_wrap=True)
    return 0


def _print(results: Results, judgements: list[Judgement], *, details: bool) -> None:
    """Print the verdicts, what is missing, and the count."""
    from experiments.reporting.summary import counts, overview

    screen = console()
    if details:
        screen.print(table(("claim", "paper", "lake", "measured here", "verdict"), map(_detailed, judgements)))
    else:
        screen.print(table(*overview(judgements)))
    tally = counts(judgements)
    screen.print(table([name for _, name in tally.header], tally.rows))
    for gap in results.gaps:
        made = f"; make it with: {gap.command}" if gap.command else ""
        screen.print(f"missing: {gap.experiment}: {gap.what}{made}", soft_wrap=True)
    for note in results.notes:
        screen.print(note, soft_wrap=True)


def _detailed(judgement: Judgement) -> tuple[str, ...]:
    """Return a row with the numbers that a verdict rests on."""
    found = judgement.finding.readings
    told = "\n".join(f"{name}: {text}" for name, text, _ in found) if found else judgement.finding.measured
    return judgement.claim.name, judgement.claim.published(), judgement.title, told, judgement.verdict_text
