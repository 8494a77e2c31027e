"""`mate graph`: the lake against itself."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate import GraphOptions
    from mate.cli import Commands

EPILOG = """\
examples:
  mate graph --store lake.mate -o graph         then open graph/graph.html in a browser
  mate graph --store /shared/lake.mate -o graph --master spark://host:7077

DIR gets nodes.parquet (one row per table), edges.parquet (one row per join, with its evidence), graph.graphml, and
graph.html, a page that needs nothing else: search a table, see its neighbours, filter by evidence.

A join goes from the table whose key is looked for to the one that holds it. Left out is what chance may give: keys of
several columns by their evidence; single columns that as many tables hold as well, and columns of numbers unless the
names of column and table say what they stand for. Tables with the same columns are marked: duplicates and
near-duplicates have the same rows, others could be put under each other.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.options import whole
    from mate.cli.queries import add_store

    parser = commands.add_parser(
        "graph",
        help="find which tables of the index join with which, and which are copies",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_store(parser)
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="DIR", help="where the graph goes: a folder"
    )
    parser.add_argument(
        "--most-columns",
        type=whole("--most-columns", 1, 4),
        default=3,
        metavar="N",
        help="columns that a key may have (default: 3)",
    )
    parser.add_argument(
        "--master", default="none", help="none: in this process (default); local[*], spark://host:7077, ...: on Spark"
    )
    parser.add_argument("--spark", action="append", default=[], metavar="NAME=VALUE", help="a Spark setting")
    parser.add_argument(
        "--work",
        type=Path,
        metavar="DIR",
        help="a folder that all workers see, for the merged directory (default: the one that the lake is in)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show what Spark logs")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare all tables, write the graph, and say what is in it."""
    from collections import Counter

    import mate
    from mate.cli.bar import Bar
    from mate.cli.options import settings
    from mate.cli.terminal import say

    chosen: GraphOptions = {
        "master": options.master,
        "spark": settings("--spark", options.spark, "spark.executor.memory=4g"),
        "verbose": options.verbose,
    }
    if options.work is not None:
        chosen["work"] = options.work
    began = perf_counter()
    with mate.open(options.store) as lake, Bar() as bar:
        chosen["progress"] = bar
        graph = lake.graph(options.most_columns, **chosen)
        files = graph.write(options.output)
    kinds = Counter(graph.edges["kind"].to_pylist())
    groups = len({group for group in graph.nodes["same_columns"].to_pylist() if group is not None})
    say(
        f"{len(graph.nodes):,} tables: {kinds['join']:,} joins, {kinds['duplicate']:,} pairs of duplicates, "
        f"{kinds['near-duplicate']:,} of near-duplicates, {groups:,} groups with the same columns "
        f"({perf_counter() - began:.1f} s)"
    )
    if graph.pairs.checked < graph.pairs.sharing:
        say(
            f"keys of several columns were looked for in {graph.pairs.checked:,} pairs of tables, the least likely "
            f"coincidences of {graph.pairs.sharing:,} that share two columns or more"
        )
    if graph.uncounted:
        say(f"values that more than {graph.uncounted:,} columns hold were too common to be counted")
    say("\n".join(str(path) for path in files))
    return 0
