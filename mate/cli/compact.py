"""`mate compact`: fold the changes of an index into its file."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands

EPILOG = """\
examples:
  mate compact --store lake.duckdb

Changes are kept beside the index, in FILE.changes, and every search reads both. From about a tenth of the index on it
pays to fold them in. Searches that are under way go on undisturbed; killed at any moment, the index is as it was or
done. Tables keep their numbers. JOSIE's index, which changes put out of date, is built anew if there was one.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.changes import add_options

    parser = commands.add_parser(
        "compact",
        help="fold the changes of an index into its file",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--josie",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="build JOSIE's index, or leave it out (default: if there was one)",
    )
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compact and say what that did."""
    from mate.cli.changes import updates_of
    from mate.cli.index import Bar
    from mate.cli.stats import megabytes
    from mate.cli.terminal import console
    from mate.store import open_store

    updates = updates_of(options)
    with open_store(options.store) as store:
        before = store.sizes()["file"]
    with Bar("compact") as bar:
        report = replace(updates, told=bar).compact(options.josie)
    with open_store(options.store) as store:
        after = store.sizes()["file"]
    if options.json:
        print(json.dumps({"bytes": {"before": before, "after": after}, "seconds": report.seconds}))  # noqa: T201
        return 0
    told = f"{megabytes(before)} before, {megabytes(after)} now ({report.seconds:.1f} s)"
    done = told if report.seconds else "there are no changes to fold in"
    console().print(f"{options.store}: {done}", markup=False, soft_wrap=True)
    return 0
