"""`mate search --batch`: many queries at once."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

import mate
from mate.cli.options import add_spark, chosen
from mate.cli.terminal import ProgressBar, say
from mate.display import counted
from mate.errors import MateError

MOST_PRINTED = 10
"""Errors that are printed; all of them are in the file."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a batch."""
    group = parser.add_argument_group("many queries at once")
    group.add_argument(
        "--batch",
        type=Path,
        metavar="QUERIES",
        help="a folder of tables, each with the columns of --key (or all its columns) as key; or a CSV file with "
        "the columns query (a file), key (columns separated by ;) and optionally name (a label for its answers)",
    )
    text = "where the answers go: a Parquet file, one row per answer"
    group.add_argument("-o", "--output", type=Path, metavar="FILE", help=text)
    add_spark(parser, "none")


def run(options: argparse.Namespace) -> int:
    """Answer all queries and print how many; return 1 if one of them failed."""
    if options.query is not None:
        raise MateError("--batch has its own queries: leave the query table out")
    if options.output is None:
        raise MateError("a batch needs -o FILE, the Parquet file for its answers")
    for name in ("json", "explain"):
        if getattr(options, name):
            raise MateError(f"--{name} is for one query; the answers of a batch are in the file of -o")
    started = perf_counter()
    with mate.open(options.store) as lake, ProgressBar("read queries") as bar:
        how = chosen(options, mate.BatchOptions, system=search_system(options), progress=bar)
        found = lake.search_many(options.batch, options.key, options.output, options.k, **how)
    _print(found, options.output, perf_counter() - started)
    return 1 if found.errors else 0


def search_system(options: argparse.Namespace) -> mate.SearchSystem:
    """Return how to search."""
    return mate.SearchSystem(options.system, options.hash, options.initial_column)


def _print(found: mate.BatchAnswers, output: Path, seconds: float) -> None:
    rate = (len(found) - found.resumed) / max(seconds, 1e-3)
    earlier = f" ({found.resumed:,} of them in an earlier run)" if found.resumed else ""
    queries = f"{len(found):,} {'query' if len(found) == 1 else 'queries'}{earlier}"
    answers = counted(found.answers, "answer")
    say(f"{output}: {queries}, {answers} ({seconds:.1f} s, {rate:,.1f} queries per second)")
    for query, error in list(found.errors.items())[:MOST_PRINTED]:
        say(f"failed: {query}: {error}")
    if len(found.errors) > MOST_PRINTED:
        say(f"failed: {len(found.errors) - MOST_PRINTED:,} more; see the column error")
