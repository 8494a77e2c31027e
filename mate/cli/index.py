"""`mate index`: from files to an index, in this process or on Spark."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mate.limits import Limits

if TYPE_CHECKING:
    from mate import IndexOptions, Lake
    from mate.cli import Commands

EPILOG = """\
examples:
  mate index tables/ --store lake.mate
  mate index dwtc-000.json.gz dwtc-001.json.gz --store web.mate --bits 512
  mate index lake/ --store lake.mate --hash xash --hash bf:128:hashes=6
  mate index synthetic:tables=1000,seed=7 --store synthetic.mate
  mate index s3://bucket/tables --store s3://bucket/lake.mate     keys: AWS_ACCESS_KEY_ID, or a role
  mate index s/ --store 'vertica://dbadmin@host:5433/VMart?schema=mate'   password: VERTICA_PASSWORD
  mate index s/ --store lake.mate --master spark://host:7077 --spark spark.executor.memory=4g

An index is a folder of segments. They are built inside it and published at the end in one step: an index that is
already there stays in use until then, and stays as it is if the build fails or is stopped.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.options import whole

    parser = commands.add_parser(
        "index",
        help="build an index from folders of web tables, CSV, JSON or Parquet files",
        description="Read every table under the given paths, and build an index that can be searched. Encoding,\n"
        "delimiter, header and format are found for each file. What cannot be read is counted and listed with its\n"
        "reason (mate stats --rejects), and never stops the build unless --strict is given.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="files, folders, s3://..., or synthetic:tables=N,seed=S"
    )
    parser.add_argument(
        "--store", required=True, metavar="LAKE", help="where it goes: a folder, s3://..., or a database's address"
    )
    parser.add_argument(
        "--format", default="auto", choices=("auto", "dwtc", "csv", "parquet", "json"), help="(default: auto)"
    )
    parser.add_argument(
        "--hash",
        action="append",
        default=[],
        metavar="NAME[:BITS[:PARAMETER=N]]",
        help="hash function of the super keys (default: xash; PostgreSQL and DuckDB: fingerprint:16); may be repeated, "
        "see: mate hashes",
    )
    parser.add_argument("--bits", type=whole("--bits"), help="size of super keys (default: 128)")
    parser.add_argument(
        "--encoding", metavar="NAME", help="encoding of all delimited files, such as cp1251 (default: found for each)"
    )
    parser.add_argument("--strict", action="store_true", help="publish nothing if anything at all was rejected")
    parser.add_argument("--null", action="append", metavar="TEXT", help="count TEXT as no value, besides the usual")
    parser.add_argument(
        "--layout-tables", action="store_true", help="take in web tables that only lay out a page (DWTC: LAYOUT)"
    )
    _add_limits(parser)
    _add_where(parser)
    parser.set_defaults(run=run)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    from mate.cli.options import MOST, whole

    limits = Limits()
    most = parser.add_argument_group("limits")
    for option, default, highest, text in (
        ("--max-cell", limits.cell_characters, MOST, "characters of a cell; a longer one is kept but not indexed"),
        ("--max-columns", limits.columns, MOST, "a wider table is rejected"),
        ("--max-rows", limits.rows, 2**31 - 1, "rows of a table beyond this are rejected"),
    ):
        read = whole(option, most=highest)
        most.add_argument(option, type=read, default=default, metavar="N", help=f"{text} (default: {default:,})")


def _add_where(parser: argparse.ArgumentParser) -> None:
    from mate.cli.options import add_memory, whole

    spark = parser.add_argument_group("where and how")
    spark.add_argument(
        "--master",
        default="auto",
        help="local[*], spark://host:7077, ...: on Spark; none: in this process; auto: by size (default)",
    )
    spark.add_argument("--spark", action="append", default=[], metavar="NAME=VALUE", help="a Spark setting")
    add_memory(spark)
    spark.add_argument(
        "--segments",
        type=whole("--segments"),
        metavar="N",
        help="how many segments (default: as few as memory and cores allow)",
    )
    spark.add_argument("-v", "--verbose", action="store_true", help="show what Spark logs")


def run(options: argparse.Namespace) -> int:
    """Build, publish, and say what was done."""
    import mate
    from mate.cli.bar import Bar

    chosen = _index_options(options)
    with Bar() as bar:
        chosen["progress"] = bar
        lake = mate.index(options.paths, options.store, **chosen)
    with lake:
        _print(lake)
    return 0


def _index_options(options: argparse.Namespace) -> IndexOptions:
    from mate.cli.options import settings

    chosen: IndexOptions = {
        "format": options.format,
        "nulls": options.null or (),
        "limits": Limits(
            cell_characters=options.max_cell,
            columns=options.max_columns,
            rows=options.max_rows,
            layout_tables=options.layout_tables,
            encoding=options.encoding,
        ),
        "strict": options.strict,
        "master": options.master,
        "spark": settings("--spark", options.spark, "spark.executor.memory=4g"),
        "memory": options.memory,
        "verbose": options.verbose,
    }
    if options.hash:
        chosen["hashes"] = options.hash
    if options.bits is not None:
        chosen["bits"] = options.bits
    if options.segments is not None:
        chosen["segments"] = options.segments
    return chosen


def _print(lake: Lake) -> None:
    from mate.cli.terminal import say, show, table
    from mate.display import size_text

    stats, summary = lake.stats(), lake.build_summary
    assert summary is not None
    seconds, size = sum(summary.seconds.values()), stats.total_bytes
    rows = [
        ("tables", f"{stats.tables:,}"),
        ("rows", f"{stats.rows:,}"),
        ("cells indexed", f"{stats.cells:,}"),
        ("distinct tokens", f"{stats.distinct_tokens:,}"),
        ("super keys", ", ".join(stats.hashes) or "none"),
        ("segments", f"{stats.segments:,}"),
        ("size", f"{size_text(size)} ({size / max(1, stats.cells):.1f} bytes per cell)"),
        ("rejects", f"{stats.rejects:,} in all, {summary.rejected_tables:,} whole files or tables"),
        ("time", f"{seconds:.1f} s ({stats.cells / seconds / 1e3:,.0f} k cells/s)"),
        *((f"  {phase}", f"{spent:.1f} s") for phase, spent in summary.seconds.items()),
        ("ran on", summary.engine),
    ]
    say(f"{lake.address}{f' [{stats.label}]' if stats.label else ''}")
    show(table(("", ""), rows))
    if stats.rejects:
        say(f"What was not indexed, and why: mate stats --rejects --store {lake.address}")
