"""`mate index`: from files to an index, in this process or on Spark."""

from __future__ import annotations

import argparse

import mate
from mate.cli import Commands
from mate.cli.options import add_format, add_memory, add_spark, add_store, add_whole, whole
from mate.cli.terminal import ProgressBar, say, show, table
from mate.display import size_text

EPILOG = """\
examples:
  mate index tables/ --store lake.mate
  mate index dwtc-000.json.gz dwtc-001.json.gz --store web.mate --bits 512
  mate index lake/ --store lake.mate --hash xash --hash bf:128:hashes=6
  mate index synthetic:tables=1000,seed=7 --store synthetic.mate
  mate index s3://bucket/tables --store s3://bucket/lake.mate     keys: AWS_ACCESS_KEY_ID, or a role
  mate index s/ --store 'vertica://dbadmin@host:5433/VMart?schema=mate'   password: VERTICA_PASSWORD
  mate index s/ --store lake.mate --master spark://host:7077 --spark spark.executor.memory=4g

An index is a folder of segments. They are built inside it and published at the end in one step: an index that already
exists is used until then, and stays as it is if the build fails or is stopped.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "index",
        help="build an index from folders of web tables, CSV, JSON or Parquet files",
        description="Read every table under the given paths, and build an index that can be searched. Encoding,\n"
        "delimiter, header and format of each file are detected. What cannot be read is counted and listed with its\n"
        "reason (mate stats --rejects). It never stops the build unless you give --strict.",
        epilog=EPILOG,
    )
    text = "files, folders, s3://..., or synthetic:tables=N,seed=S"
    parser.add_argument("paths", nargs="+", metavar="PATH", help=text)
    add_store(parser, "where the index goes")
    add_format(parser)
    parser.add_argument(
        "--hash",
        action="append",
        default=[],
        metavar="NAME[:BITS[:PARAMETER=N]]",
        help="hash function of the super keys (default: xash; PostgreSQL and DuckDB: fingerprint:16); may be repeated, "
        "see: mate hashes",
    )
    parser.add_argument("--bits", type=whole("--bits"), help="size of super keys (default: 128)")
    text = "encoding of all delimited files, such as cp1251 (default: detected for each)"
    parser.add_argument("--encoding", metavar="NAME", help=text)
    parser.add_argument("--strict", action="store_true", help="publish nothing if anything at all was rejected")
    text = "a text that counts as no value, besides the usual ones; may be repeated"
    parser.add_argument("--null", action="append", metavar="TEXT", help=text)
    text = "include web tables that only lay out a page (DWTC: LAYOUT)"
    parser.add_argument("--layout-tables", action="store_true", help=text)
    limits = mate.Limits()
    group = parser.add_argument_group("limits")
    text = "characters of a cell; a longer one is kept but not indexed"
    add_whole(group, "--max-cell", text, limits.cell_characters)
    add_whole(group, "--max-columns", "a wider table is rejected", limits.columns)
    add_whole(group, "--max-rows", "rows of a table beyond this are rejected", limits.rows, most=2**31 - 1)
    group = add_spark(parser, "auto")
    add_memory(group)
    text = "how many segments (default: as few as memory and cores allow)"
    group.add_argument("--segments", type=whole("--segments"), metavar="N", help=text)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Build the index, publish it, and print a summary."""
    chosen: mate.IndexOptions = {
        "format": options.format,
        "nulls": options.null or (),
        "limits": mate.Limits(
            cell_characters=options.max_cell,
            columns=options.max_columns,
            rows=options.max_rows,
            layout_tables=options.layout_tables,
            encoding=options.encoding,
        ),
        "strict": options.strict,
        "memory": options.memory,
        "master": options.master,
        "spark": dict(options.spark),
        "verbose": options.verbose,
    }
    if options.hash:
        chosen["hashes"] = options.hash
    if options.bits is not None:
        chosen["bits"] = options.bits
    if options.segments is not None:
        chosen["segments"] = options.segments
    with ProgressBar() as bar:
        chosen["progress"] = bar
        lake = mate.index(options.paths, options.store, **chosen)
    with lake:
        _print(lake)
    return 0


def _print(lake: mate.Lake) -> None:
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
