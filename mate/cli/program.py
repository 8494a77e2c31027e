"""The `mate` command. Each command imports what it needs when it runs, so that help answers at once."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from mate import __version__
from mate.cli import (
    add,
    check,
    compact,
    graph,
    hashes,
    index,
    join,
    mcp,
    remove,
    search,
    serve,
    stats,
    suggest,
    sync,
    synthetic,
    update,
    vertica_check,
)
from mate.display import visible
from mate.errors import MateError
from mate.termination import terminated_like_interrupted

DESCRIPTION = """\
Find the tables of a data lake that join with yours on several columns.

The usual way: index a folder of tables once; search it with a table of yours and its key columns, or let suggest find
the key; join what was found. Answers are exact, and come with evidence: how much of your key a table holds, whether it
is unique there, and whether chance would have given as much. From Python, the same is: import mate."""

EPILOG = """\
examples:
  mate index tables/ --store lake.mate                              index a folder of CSV files
  mate search people.csv --key "First name,Last name" --store lake.mate
  mate suggest people.csv --store lake.mate                         which columns would join with what
  mate join people.csv --key "First name,Last name" --table 17 --store lake.mate -o enriched.csv
  mate serve --store lake.mate                                      the same in a browser
  mate sync tables/ --store lake.mate                               follow the files that came, changed and went

Every command has its own help: mate search --help
"""


TRACEBACK = "MATE_TRACEBACK"
"""Environment variable that lets unforeseen errors through, with their traceback."""
LEAST_MEMORY = 1_000_000_000
"""Bytes of addresses that the libraries take before any work begins."""
_NO_MEMORY = ("Failed to launch worker thread", "failed to map segment", "libllvmlite", "malloc of size")
"""How libraries say that memory is short, where it is no MemoryError."""


class _Parser(argparse.ArgumentParser):
    """Shows what was typed in its messages, and never sends it to the terminal as it is."""

    def error(self, message: str) -> NoReturn:
        """Print usage and message, and exit."""
        super().error(visible(message))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    root = _Parser(
        prog="mate",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"mate {__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    reading, changing = (index, search, suggest, join, graph), (add, update, remove, sync, compact)
    serving = (serve, mcp)
    for command in (*reading, *changing, *serving, stats, check, synthetic, hashes, vertica_check):
        command.add(commands)
    return root


def command() -> int:
    """Run `mate` as a program of its own.

    Arrow loads pandas with its first array wherever it is installed: a third of a second, and no command needs it.
    """
    import resource

    sys.meta_path.insert(0, _WithoutPandas)
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    if allowed != resource.RLIM_INFINITY and allowed < LEAST_MEMORY:
        sys.stderr.write(
            f"mate: this process may use {allowed // 1_000_000:,} MB of memory (ulimit -v); "
            f"mate needs {LEAST_MEMORY // 1_000_000:,} MB\n"
        )
        return 2
    return main()


class _WithoutPandas:
    """Lets an import of pandas fail as if it were not installed."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Look for a module."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used by this program", name=name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; an error becomes one line on standard error and exit code 2."""
    try:
        options = parser().parse_args(arguments)
        with terminated_like_interrupted(), _warnings_shown():
            code: int = options.run(options)
    except MateError as error:
        sys.stderr.write(f"mate: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("mate: interrupted\n")
        return 130
    except BrokenPipeError:  # the reader of our output has gone: `mate ... | head`
        sys.stderr.close()
        return 0
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        sys.stderr.write(f"mate: {visible(_explained(error))}\n")
        return 2
    return code


def _explained(error: Exception) -> str:
    """Return one line for an error that nobody has foreseen."""
    text = str(error)
    if isinstance(error, MemoryError) or any(sign in text for sign in _NO_MEMORY):
        return "there is not enough memory for this"
    if isinstance(error, UnicodeEncodeError):
        return "a name that was given is not valid UTF-8"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error.strerror or text
    first = text.partition("\n")[0]
    return f"this should not have happened ({type(error).__name__}: {first}); {TRACEBACK}=1 shows where"


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """Print the library's warnings as errors are printed, while a command runs."""
    import logging

    from mate.cli.terminal import Complaints

    handler = Complaints(logging.WARNING)
    log = logging.getLogger("mate")
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
