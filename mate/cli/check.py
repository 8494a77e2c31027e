"""`mate check`: is an index sound?"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.build.check import Findings
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

    parser = commands.add_parser(
        "check",
        help="verify that an index is sound, and repair it",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repair", action="store_true", help="rebuild what follows from the cells")
    parser.add_argument("--limit", type=int, default=MOST_LINES, help=f"most problems listed (default: {MOST_LINES})")
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check, repair if asked for, and say what was found."""
    from mate.build.check import as_json, check
    from mate.build.repair import repair
    from mate.cli.index import Bar
    from mate.errors import StoreError
    from mate.open import is_database

    if is_database(options.store):
        raise StoreError("mate check is for a lake; a database checks its own storage")
    with Bar("check") as bar:
        findings = check(options.store, bar)
    left = None
    if options.repair and findings.repairable:
        with Bar("repair") as bar:
            left = repair(options.store, findings, options.wait, bar)
    if options.json:
        record = as_json(findings) | ({"repaired": left.sound} if left else {})
        print(json.dumps(record, ensure_ascii=False, indent=1))  # noqa: T201
    else:
        _print(findings, options)
        if left:
            _print_repaired(left, options.store)
    return 0 if findings.sound or (left is not None and left.sound) else 1


def _print(findings: Findings, options: argparse.Namespace) -> None:
    from mate.cli.terminal import console, table

    screen = console()
    if findings.sound:
        screen.print(f"{options.store} is sound: {findings.cells:,} postings checked", markup=False, soft_wrap=True)
        return
    total = sum(findings.counts.values())
    rows = [
        (p.part, p.segment, "" if p.table_id is None else p.table_id, p.text)
        for p in findings.problems[: options.limit]
    ]
    screen.print(table(("part", "segment", "table", "problem"), rows))
    if total > len(rows):
        by_part = ", ".join(f"{count:,} in {part}" for part, count in findings.counts.items())
        screen.print(f"and {total - len(rows):,} more: {by_part}", markup=False, soft_wrap=True)
    if not findings.repairable:
        hint = f"put a copy in its place, or build it again: mate index PATH --store {options.store}"
        screen.print(f"{options.store} is damaged and cannot be repaired: {hint}", markup=False, soft_wrap=True)
    elif not options.repair:
        hint = f"{total:,} problems. To repair it: mate check --repair --store {options.store}"
        screen.print(f"{options.store} is not sound: {hint}", markup=False, soft_wrap=True)


def _print_repaired(left: Findings, store: str) -> None:
    from mate.cli.terminal import console

    state = "was repaired and is sound" if left.sound else f"still has {sum(left.counts.values()):,} problems"
    console().print(f"{store} {state}", markup=False, soft_wrap=True)
