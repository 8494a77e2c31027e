"""The `mate` command. The library and Rich are loaded when a command runs, so that help answers at once."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from mate import __version__
from mate.cli import changes, index, search, serve, stats
from mate.display import visible
from mate.errors import MateError
from mate.termination import terminated_like_interrupted

DESCRIPTION = """\
Find the tables of a data lake that join with yours on several columns.

Index a folder of tables once. Search it with a table of yours and its key columns, or let suggest find the key. Then
join what was found. Answers are exact, and come with evidence: how much of your key a table holds, whether the key is
unique there, and whether chance would give as much. The same from Python: import mate."""

EPILOG = """\
examples:
  mate index tables/ --store lake.mate                              index a folder of CSV files
  mate search people.csv --key "First name,Last name" --store lake.mate
  mate suggest people.csv --store lake.mate                         which columns would join with what
  mate join people.csv --key "First name,Last name" --table 17 --store lake.mate -o enriched.csv
  mate serve --store lake.mate                                      the same in a browser
  mate sync tables/ --store lake.mate                               follow new, changed and deleted files

Every command has its own help: mate search --help
Rows and columns count from 1 on the command line, and from 0 in Python.
"""

TRACEBACK = "MATE_TRACEBACK"
"""Environment variable that shows unexpected errors with their traceback."""
LEAST_MEMORY = 1_000_000_000
"""Bytes of address space that the libraries take before any work starts."""
_NO_MEMORY = ("Failed to launch worker thread", "failed to map segment", "malloc of size")
"""How libraries say that memory is short without a MemoryError."""


class _Parser(argparse.ArgumentParser):
    """Keeps the lines of help texts, and shows control characters that were typed instead of obeying them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def error(self, message: str) -> NoReturn:
        """Print usage and message, and exit."""
        super().error(visible(message))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    root = _Parser(prog="mate", description=DESCRIPTION, epilog=EPILOG)
    root.add_argument("--version", action="version", version=f"mate {__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (index, search, changes, serve, stats):
        module.add(commands)
    return root


def command() -> int:
    """Run `mate` as a program of its own, without pandas: Arrow would load it, which takes a third of a second."""
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
    """Makes an import of pandas fail as if it were not installed."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used by this program", name=name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; an error becomes one line on standard error and exit code 2."""
    try:
        options = parser().parse_args(arguments)
        with terminated_like_interrupted(), _PrintedWarnings(logging.WARNING):
            code: int = options.run(options)
    except MateError as error:
        sys.stderr.write(f"mate: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("mate: interrupted\n")
        return 130
    except BrokenPipeError:  # the reader of the output is gone: `mate ... | head`
        sys.stderr.close()
        return 0
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        sys.stderr.write(f"mate: {visible(_explained(error))}\n")
        return 2
    return code


def _explained(error: Exception) -> str:
    """Return one line for an unexpected error."""
    text = str(error)
    if isinstance(error, MemoryError) or any(sign in text for sign in _NO_MEMORY):
        return "there is not enough memory for this"
    if isinstance(error, UnicodeEncodeError):
        return "a name that was given is not valid UTF-8"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error.strerror or text
    first = text.partition("\n")[0]
    return f"this should not have happened ({type(error).__name__}: {first}); {TRACEBACK}=1 shows where"


class _PrintedWarnings(logging.Handler):
    """Prints warnings of the library as errors are printed, within a block."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(f"mate: {visible(record.getMessage())}\n")

    def __enter__(self) -> None:
        logging.getLogger("mate").addHandler(self)

    def __exit__(self, *_: object) -> None:
        logging.getLogger("mate").removeHandler(self)
