"""`mate vertica-check`: try on a Vertica server what could only be read about."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "vertica-check",
        help="try on a Vertica server every statement that is in doubt",
        description="Run on a Vertica server what the index needs of it, in a schema of its own that is dropped;\n"
        "say what held, and write it down with the server's plans, also if interrupted.\n"
        "The file holds no password and no data of yours.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("address", metavar="ADDRESS", help="vertica://user@host:5433/database")
    parser.add_argument("-o", "--output", default="vertica-check.json", metavar="FILE", help="(default: %(default)s)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Try everything; 1 if something did not hold."""
    import json
    import os
    from contextlib import closing
    from dataclasses import asdict
    from pathlib import Path

    import mate
    from mate.cli.terminal import console
    from mate.errors import MateError
    from mate.files import replacing

    folder = Path(options.output).absolute().parent
    if not os.access(folder, os.W_OK):
        raise MateError(f"cannot write to {folder}: name another file with -o")
    screen, found = console(), []
    try:
        with closing(mate.check_vertica(options.address)) as findings:
            for finding in findings:
                found.append(finding)
                word, line = "held" if finding.held else "FAILED", finding.detail.partition("\n")[0]
                screen.print(f"{word:6}  {finding.trial}  {line}", markup=False, soft_wrap=True)
    finally:
        if found:
            with replacing(Path(options.output)) as stream:
                stream.write(json.dumps([asdict(finding) for finding in found], indent=1).encode())
            screen.print(f"written to {options.output}: please send it to us", markup=False, soft_wrap=True)
    return int(not all(finding.held for finding in found))
