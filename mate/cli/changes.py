"""What the commands that change an index have in common: options, and how a change is reported."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mate.display import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mate import ChangeOptions, Report, TableInfo

WAIT = 10.0
MOST_NAMED = 5
"""Tables that a summary names; of more it gives the number."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what every change takes."""
    parser.add_argument(
        "--store", required=True, metavar="LAKE", help="the index: a folder, s3://..., or a database's address"
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=WAIT,
        metavar="SECONDS",
        help=f"how long to wait for another build or change of the index to end (default: {WAIT:g})",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Declare how files are read."""
    parser.add_argument(
        "--format", default="auto", choices=("auto", "dwtc", "csv", "parquet", "json"), help="(default: auto)"
    )
    add_spark(parser)


def add_spark(parser: argparse.ArgumentParser) -> None:
    """Declare where tasks run."""
    from mate.cli.options import add_memory

    spark = parser.add_argument_group("where and how")
    spark.add_argument(
        "--master",
        default="auto",
        help="none: no Spark; local[*] or an address: on Spark; auto: by the size of what is read (default)",
    )
    spark.add_argument("--spark", action="append", default=[], metavar="NAME=VALUE", help="a Spark setting")
    add_memory(spark)
    spark.add_argument("-v", "--verbose", action="store_true", help="show what Spark logs")


def change_options(options: argparse.Namespace) -> ChangeOptions:
    """Return how the change is to be made."""
    from mate.cli.options import settings
    from mate.errors import MateError

    if not options.wait >= 0:
        raise MateError(f"--wait takes a number of seconds from 0 on, not {options.wait:g}")
    if not hasattr(options, "master"):
        return {"wait": options.wait}
    spark = settings("--spark", options.spark, "spark.executor.memory=4g")
    where: ChangeOptions = {"master": options.master, "spark": spark, "memory": options.memory}
    return {"wait": options.wait, **where, "verbose": options.verbose}


def print_report(report: Report, options: argparse.Namespace) -> None:
    """Say what a change did."""
    from mate.cli.terminal import print_json, say

    if options.json:
        print_json(as_json(report))
        return
    say(f"{options.store}: {summary(report)}")
    if report.before and report.after and report.after.counts.rejects > report.before.counts.rejects:
        more = report.after.counts.rejects - report.before.counts.rejects
        say(f"{more:,} rejects more; which, and why: mate stats --rejects --store {options.store}")
    if report.after != report.before:
        say_worth_compacting(report.worth_compacting, options.store)


def say_worth_compacting(segments: int, store: str) -> None:
    """Give a hint where merging so many segments pays."""
    from mate.cli.terminal import say

    if segments:
        say(f"{segments:,} segments are small or hold superseded tables; mate compact --store {store} merges them")


def as_json(report: Report) -> dict[str, Any]:
    """Return a report as plain data."""
    counts = {}
    for name in ("tables", "columns", "rows", "cells", "rejects"):
        if report.before and report.after:
            before, after = report.before.counts, report.after.counts
            counts[name] = {"before": getattr(before, name), "after": getattr(after, name)}
    return {
        **{name: [_table(table) for table in getattr(report, name)] for name in ("added", "changed", "removed")},
        "rows_written": report.rows_added,
        "rows_removed": report.rows_removed,
        "counts": counts,
        "seconds": report.seconds,
    }


def _table(table: TableInfo) -> dict[str, Any]:
    return {"table_id": table.table_id, "name": table.name, "source": table.source, "rows": table.rows}


def summary(report: Report) -> str:
    """Return a report as a sentence."""
    if report.before is None or report.after is None:
        return "nothing to do"
    parts = [
        f"{_named(tables)} {verb}"
        for verb, tables in (("added", report.added), ("changed", report.changed), ("removed", report.removed))
        if tables
    ]
    if not parts:
        return f"nothing changed ({report.seconds:.2f} s)"
    if report.rows_added or report.rows_removed:
        parts.append(f"{counted(report.rows_added, 'row')} written, {report.rows_removed:,} taken out")
    now = report.after.counts.cells
    cells = now - report.before.counts.cells
    return f"{', '.join(parts)}; {cells:+,} cells, now {now:,} ({report.seconds:.2f} s)"


def _named(tables: Sequence[TableInfo]) -> str:
    if len(tables) > MOST_NAMED:
        return f"{len(tables):,} tables"
    named = ", ".join(f"{table.table_id} ({table.name})" for table in tables)
    return f"table {named}" if len(tables) == 1 else f"tables {named}"
