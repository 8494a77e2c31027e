"""What the commands that change an index have in common: options, and how a change is reported."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mate.build.updates import Report, Updates
    from mate.index.records import TableInfo

WAIT = 10.0
MOST_NAMED = 5
"""Tables that a summary names; of more it gives the number."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what every change takes."""
    parser.add_argument("--store", required=True, metavar="LAKE", help="the index")
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
    spark = parser.add_argument_group("Spark")
    spark.add_argument(
        "--master",
        default="auto",
        help="none: no Spark; local[*] or an address: on Spark; auto: by the size of what is read (default)",
    )
    spark.add_argument("--spark", action="append", default=[], metavar="NAME=VALUE", help="a Spark setting")
    spark.add_argument("-v", "--verbose", action="store_true", help="show what Spark logs")


def updates_of(options: argparse.Namespace) -> Updates:
    """Return the operations on the index that was named."""
    from mate.build.updates import Updates
    from mate.errors import MateError

    if not options.wait >= 0:
        raise MateError(f"--wait takes a number of seconds from 0 on, not {options.wait:g}")
    if not hasattr(options, "master"):
        return Updates(options.store, options.wait)
    spark = dict(setting.partition("=")[::2] for setting in options.spark)
    if any("=" not in setting or setting.startswith("=") for setting in options.spark):
        raise MateError("--spark takes NAME=VALUE, such as spark.executor.memory=4g")
    return Updates(options.store, options.wait, options.master, spark, options.verbose)


def format_of(options: argparse.Namespace) -> str | None:
    """Return the format that files are to be read in, None to find it for each."""
    names: dict[str, str | None] = {"auto": None, "csv": "delimited"}
    return names.get(options.format, options.format)


def print_report(report: Report, options: argparse.Namespace) -> None:
    """Say what a change did."""
    if options.json:
        print(json.dumps(as_json(report), ensure_ascii=False, indent=1))  # noqa: T201
        return
    from mate.cli.terminal import console

    screen = console()
    screen.print(f"{options.store}: {summary(report)}", markup=False, soft_wrap=True)
    if report.before and report.after and report.after.counts.rejects > report.before.counts.rejects:
        more = report.after.counts.rejects - report.before.counts.rejects
        hint = f"{more:,} rejects more; which, and why: mate stats --rejects --store {options.store}"
        screen.print(hint, markup=False, soft_wrap=True)


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


def counted(number: int, what: str) -> str:
    """Return a number of things, in the singular or plural."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")
