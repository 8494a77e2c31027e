"""`mate check`: is an index sound?"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.build.repair import Repaired
    from mate.cli import Commands
    from mate.integrity import Findings

EPILOG = """\
examples:
  mate check --store lake.duckdb
  mate check --store lake.duckdb --repair

Every block of the files is read and compared with its checksum. Tokens, super keys and postings are computed anew from
the cells and compared with what is stored, the dictionary, the tables and the manifest with both. The exit code is 1 if
anything is wrong.

--repair makes the index anew from its own cells and puts it in the place of the old one, changes included. Cells that
are lost cannot be computed: their rows are restored from their tokens, or left out, and the next mate sync reads their
files again. An index with damaged blocks cannot be repaired: build it again, or put a copy in its place.
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
    parser.add_argument("--repair", action="store_true", help="make anew what can be computed")
    parser.add_argument("--limit", type=int, default=MOST_LINES, help=f"most problems listed (default: {MOST_LINES})")
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check, repair if asked for, and say what was found."""
    from mate.cli.index import Bar
    from mate.integrity import FLAT, as_json, check
    from mate.store.base import is_vertica

    if is_vertica(options.store):
        from mate.errors import StoreError

        raise StoreError("mate check is for an index in a file; a database checks its own storage")
    with Bar("check") as bar:
        findings = check(options.store, bar)
    repaired = None
    if options.repair and not findings.sound and not findings.damaged:
        from mate.build.repair import Repaired, repair, rewrite_flat

        with Bar("repair") as bar:
            if set(findings.counts) == {FLAT}:
                repaired = Repaired()
                rewrite_flat(options.store, options.wait)
            else:
                repaired = repair(options.store, options.wait, bar)
            left = check(options.store, bar)
    if options.json:
        record = as_json(findings) | ({"repaired": left.sound, "lost": repaired.lost} if repaired else {})
        print(json.dumps(record, ensure_ascii=False, indent=1))  # noqa: T201
    else:
        _print(findings, options)
        if repaired:
            _print_repaired(repaired, left, options.store)
    return 0 if findings.sound or (repaired is not None and left.sound) else 1


def _print(findings: Findings, options: argparse.Namespace) -> None:
    from mate.cli.terminal import console, table

    screen = console()
    if findings.sound:
        screen.print(f"{options.store} is sound: {findings.cells:,} postings checked", markup=False, soft_wrap=True)
        return
    total = sum(findings.counts.values())
    rows = [
        (p.part, "" if p.table_id is None else p.table_id, "" if p.row is None else p.row, p.text)
        for p in findings.problems[: options.limit]
    ]
    screen.print(table(("part", "table", "row", "problem"), rows))
    if total > len(rows):
        by_part = ", ".join(f"{count:,} in {part}" for part, count in findings.counts.items())
        screen.print(f"and {total - len(rows):,} more: {by_part}", markup=False, soft_wrap=True)
    if findings.damaged:
        hint = "put a copy in its place, or build it again: mate index PATH --store"
        screen.print(
            f"{options.store} is damaged and cannot be repaired: {hint} {options.store}", markup=False, soft_wrap=True
        )
    elif not options.repair:
        hint = f"mate check --repair --store {options.store}"
        screen.print(
            f"{options.store} is not sound: {total:,} problems. To repair it: {hint}", markup=False, soft_wrap=True
        )


def _print_repaired(repaired: Repaired, left: Findings, store: str) -> None:
    from mate.cli.changes import counted
    from mate.cli.terminal import console

    screen = console()
    for what, rows in (("restored from their tokens", repaired.restored), ("lost", repaired.lost)):
        for table, number in list(rows.items())[:MOST_LINES]:
            screen.print(
                f"table {table}: {counted(number, 'row')} {what}; mate sync reads its file again", markup=False
            )
    state = "was repaired and is sound" if left.sound else f"still has {sum(left.counts.values()):,} problems"
    screen.print(f"{store} {state}", markup=False, soft_wrap=True)
