"""`mate search --batch`: many queries in one go."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from mate.errors import MateError

if TYPE_CHECKING:
    from mate import BatchAnswers, BatchOptions

MOST_SHOWN = 10
"""Errors that are printed; all of them are in the file."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a batch."""
    batch = parser.add_argument_group("many queries at once")
    batch.add_argument(
        "--batch",
        type=Path,
        metavar="QUERIES",
        help="a folder of tables, each with the columns of --key or else all its columns as key; or a CSV file with "
        "the columns query (a file), key (columns separated by ;) and, if wanted, name (what its answers are called)",
    )
    batch.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="where the answers go: a Parquet file, one row per answer"
    )
    batch.add_argument(
        "--master", default="none", help="none: on threads here (default); local[*], spark://host:7077, ...: on Spark"
    )
    batch.add_argument("--spark", action="append", default=[], metavar="NAME=VALUE", help="a Spark setting")
    batch.add_argument("-v", "--verbose", action="store_true", help="show what Spark logs")


def run(options: argparse.Namespace) -> int:
    """Answer all queries, and say how many; 1 if one of them failed."""
    import mate
    from mate.cli.bar import Bar

    _check(options)
    chosen = _batch_options(options)
    began = perf_counter()
    with mate.open(options.store) as lake, Bar("read queries") as bar:
        chosen["progress"] = bar
        found = lake.search_many(options.batch, options.key, options.output, **chosen)
    _print(found, options, perf_counter() - began)
    return 1 if found.errors else 0


def _check(options: argparse.Namespace) -> None:
    if options.query is not None:
        raise MateError("--batch has its own queries: leave the query table out")
    if options.output is None:
        raise MateError("a batch needs -o FILE, the Parquet file for its answers")
    for name in ("json", "explain"):
        if getattr(options, name):
            raise MateError(f"--{name} is for one query; the answers of a batch are in the file of -o")


def _batch_options(options: argparse.Namespace) -> BatchOptions:
    import mate
    from mate.cli.options import settings

    chosen: BatchOptions = {
        "k": options.k,
        "rank": options.rank,
        "names": not options.no_names,
        "exclude": "self" if options.exclude_self else (),
        "system": mate.SearchSystem(options.system, options.hash, options.initial_column),
        "master": options.master,
        "spark": settings("--spark", options.spark, "spark.executor.memory=4g"),
        "verbose": options.verbose,
    }
    if options.encoding is not None:
        chosen["encoding"] = options.encoding
    return chosen


def _print(found: BatchAnswers, options: argparse.Namespace, seconds: float) -> None:
    from mate.cli.terminal import say
    from mate.display import counted

    answered = len(found) - found.resumed
    rate = f"{seconds:.1f} s, {answered / max(seconds, 1e-3):,.1f} queries per second"
    before = f" ({found.resumed:,} of them in an earlier run)" if found.resumed else ""
    queries = f"{len(found):,} {'query' if len(found) == 1 else 'queries'}"
    say(f"{options.output}: {queries}{before}, {counted(found.answers, 'answer')} ({rate})")
    for query, error in list(found.errors.items())[:MOST_SHOWN]:
        say(f"failed: {query}: {error}")
    if len(found.errors) > MOST_SHOWN:
        say(f"failed: {len(found.errors) - MOST_SHOWN:,} more; see the column error")
