"""The `mate` command. Each command imports what it needs when it runs, so that help answers at once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from mate import __version__
from mate.cli import (
    add,
    check,
    compact,
    hashes,
    index,
    join,
    remove,
    search,
    stats,
    sync,
    synthetic,
    update,
)
from mate.errors import MateError

DESCRIPTION = """\
Find the tables of a data lake that join with yours on several columns.

MATE keeps an inverted index of every cell of the lake and, beside each entry, a super key: a few bits that tell
whether the row may hold the other values of your key as well. Most rows that match one column only are
dropped without being read; what remains is checked exactly."""

EPILOG = """\
examples:
  mate index tables/ --store lake.mate                              index a folder of CSV files
  mate search people.csv --key "First name,Last name" --store lake.mate
  mate join people.csv --key "First name,Last name" --table 17 --store lake.mate -o enriched.csv
  mate sync tables/ --store lake.mate                               follow the files that came, changed and went

Every command has its own help: mate search --help
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    root = argparse.ArgumentParser(
        prog="mate",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"mate {__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (index, search, join, add, update, remove, sync, compact, stats, check, synthetic, hashes):
        command.add(commands)
    return root


def command() -> int:
    """Run `mate` as a program of its own.

    Arrow loads pandas with its first array wherever it is installed: a third of a second, and no command needs it.
    """
    sys.meta_path.insert(0, _WithoutPandas)
    return main()


class _WithoutPandas:
    """Lets an import of pandas fail as if it were not installed."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Look for a module."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used by this program", name=name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; an error of ours becomes one line on standard error and exit code 2."""
    options = parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except MateError as error:
        print(f"mate: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except KeyboardInterrupt:
        print("mate: interrupted", file=sys.stderr)  # noqa: T201
        return 130
    except BrokenPipeError:  # the reader of our output has gone: `mate ... | head`
        sys.stderr.close()
        return 0
    return code
