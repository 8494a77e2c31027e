"""`mate check` verifies an index, `mate vertica-check` a Vertica server."""

from __future__ import annotations

import argparse
import json
import os
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import mate
from mate.cli import Commands
from mate.cli.options import CHANGE, add_shared, add_whole, chosen
from mate.cli.terminal import ProgressBar, print_json, say, show, table
from mate.errors import MateError
from mate.files import replacing

EPILOG = """\
examples:
  mate check --store lake.mate
  mate check --store lake.mate --repair

Every file is compared with its checksum. Tokens, directory, postings, codes and super keys are computed again from the
cells and compared with what is stored, tables and sources with the manifest. The exit code is 1 if anything is wrong.

--repair rebuilds what can be computed from the cells. If cells or records are lost, build the index again.
"""


def add(commands: Commands) -> None:
    """Declare the commands."""
    parser = commands.add_parser("check", help="verify that an index is sound, and repair it", epilog=EPILOG)
    parser.add_argument("--repair", action="store_true", help="rebuild what can be computed from the cells")
    add_whole(parser, "--limit", "how many problems to list at most", 50, least=0)
    add_shared(parser, *CHANGE)
    parser.set_defaults(run=run_check)

    parser = commands.add_parser(
        "vertica-check",
        help="try every statement that is in doubt on a Vertica server",
        description="Run on a Vertica server what the index needs of it, in a schema of its own that is dropped;\n"
        "print what held, and write it to a file with the plans of the server, even if interrupted.\n"
        "The file contains no password and no data of yours.",
    )
    parser.add_argument("address", metavar="ADDRESS", help="vertica://user@host:5433/database")
    parser.add_argument("-o", "--output", default="vertica-check.json", metavar="FILE", help="(default: %(default)s)")
    parser.set_defaults(run=run_vertica_check)


def run_check(options: argparse.Namespace) -> int:
    """Check an index, repair it if asked to, and print what was found."""
    with ProgressBar("check") as bar:
        findings = mate.check(options.store, bar)
    repaired = None
    if options.repair and findings.repairable:
        with ProgressBar("repair") as bar:
            repaired = mate.repair(options.store, findings, **chosen(options, mate.ChangeOptions, progress=bar))
    if options.json:
        print_json(findings.as_json() | ({"repaired": repaired.sound} if repaired else {}))
    else:
        _print(findings, options)
        if repaired:
            left = len(repaired.problems)
            say(f"{options.store} {'was repaired and is sound' if repaired.sound else f'still has {left:,} problems'}")
    return 0 if findings.sound or (repaired is not None and repaired.sound) else 1


def _print(findings: mate.Findings, options: argparse.Namespace) -> None:
    if findings.sound:
        say(f"{options.store} is sound: {findings.cells:,} postings checked")
        return
    total = len(findings.problems)
    shown = findings.problems[: options.limit]
    rows = [(p.part, p.segment, "" if p.table_id is None else p.table_id, p.text) for p in shown]
    show(table(("part", "segment", "table", "problem"), rows))
    if total > len(rows):
        by_part = ", ".join(f"{count:,} in {part}" for part, count in findings.counts.items())
        say(f"and {total - len(rows):,} more: {by_part}")
    if not findings.repairable:
        hint = f"replace it with a copy, or build it again: mate index PATH --store {options.store}"
        say(f"{options.store} is damaged and cannot be repaired: {hint}")
    elif not options.repair:
        hint = f"{total:,} problems. To repair it: mate check --repair --store {options.store}"
        say(f"{options.store} is not sound: {hint}")


def run_vertica_check(options: argparse.Namespace) -> int:
    """Try every statement; return 1 if something did not hold."""
    folder = Path(options.output).absolute().parent
    if not os.access(folder, os.W_OK):
        raise MateError(f"cannot write to {folder}: name another file with -o")
    found = []
    try:
        with closing(mate.check_vertica(options.address)) as findings:
            for finding in findings:
                found.append(finding)
                word, line = "held" if finding.held else "FAILED", finding.detail.partition("\n")[0]
                say(f"{word:6}  {finding.trial}  {line}")
    finally:
        if found:
            with replacing(Path(options.output)) as stream:
                stream.write(json.dumps([asdict(finding) for finding in found], indent=1).encode())
            say(f"written to {options.output}: please send it to us")
    return int(not all(finding.held for finding in found))
