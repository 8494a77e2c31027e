"""`mate check`: is an index sound?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate import Findings
    from mate.cli import Commands

EPILOG = """\
examples:
  mate check --store lake.mate
  mate check --store lake.mate --repair

Every file is compared with its checksum. Tokens, directory, postings, codes and super keys are computed again from the
cells and compared with what is stored, tables and sources with the manifest. The exit code is 1 if anything is wrong.

--repair rebuilds what follows from the cells. Cells or records that are lost cannot be computed: build the index again.
"""
MOST_LINES = 50


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.changes import add_options
    from mate.cli.options import whole

    parser = commands.add_parser(
        "check",
        help="verify that an index is sound, and repair it",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repair", action="store_true", help="rebuild what follows from the cells")
    parser.add_argument(
        "--limit",
        type=whole("--limit", 0),
        default=MOST_LINES,
        metavar="N",
        help=f"most problems listed (default: {MOST_LINES})",
    )
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check, repair if asked for, and say what was found."""
    import mate
    from mate.cli.bar import Bar
    from mate.cli.changes import change_options
    from mate.cli.terminal import print_json, say

    how = change_options(options)
    with Bar("check") as bar:
        findings = mate.check(options.store, bar)
    left = None
    if options.repair and findings.repairable:
        with Bar("repair") as bar:
            how["progress"] = bar
            left = mate.repair(options.store, findings, **how)
    if options.json:
        print_json(findings.as_json() | ({"repaired": left.sound} if left else {}))
    else:
        _print(findings, options)
        if left:
            state = "was repaired and is sound" if left.sound else f"still has {sum(left.counts.values()):,} problems"
            say(f"{options.store} {state}")
    return 0 if findings.sound or (left is not None and left.sound) else 1


def _print(findings: Findings, options: argparse.Namespace) -> None:
    from mate.cli.terminal import say, show, table

    if findings.sound:
        say(f"{options.store} is sound: {findings.cells:,} postings checked")
        return
    total = sum(findings.counts.values())
    rows = [
        (p.part, p.segment, "" if p.table_id is None else p.table_id, p.text)
        for p in findings.problems[: options.limit]
    ]
    show(table(("part", "segment", "table", "problem"), rows))
    if total > len(rows):
        by_part = ", ".join(f"{count:,} in {part}" for part, count in findings.counts.items())
        say(f"and {total - len(rows):,} more: {by_part}")
    if not findings.repairable:
        hint = f"put a copy in its place, or build it again: mate index PATH --store {options.store}"
        say(f"{options.store} is damaged and cannot be repaired: {hint}")
    elif not options.repair:
        hint = f"{total:,} problems. To repair it: mate check --repair --store {options.store}"
        say(f"{options.store} is not sound: {hint}")
