"""`mate graph`: which tables of a lake join with each other."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from time import perf_counter

import mate
from mate.cli import Commands
from mate.cli.options import add_shared, add_spark, add_whole, chosen
from mate.cli.terminal import ProgressBar, say

EPILOG = """\
examples:
  mate graph --store lake.mate -o graph         then open graph/graph.html in a browser
  mate graph --store /shared/lake.mate -o graph --master spark://host:7077

DIR gets nodes.parquet (one row per table), edges.parquet (one row per join, with its evidence), graph.graphml, and
graph.html, a page that needs no network: search a table, see its neighbours, filter by evidence.

A join goes from the table whose key is looked up to the table that holds the key. Joins that chance may produce are
left out: keys of several columns by their evidence; single columns that many other tables hold as well, and numbers
that tell little. Tables with the same columns are marked: duplicates
and near-duplicates have the same rows, others could be appended to each other.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "find which tables of the index join with which, and which are copies"
    parser = commands.add_parser("graph", help=text, epilog=EPILOG)
    add_shared(parser, "--store")
    text = "the folder that the graph is written to"
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help=text)
    add_whole(parser, "--most-columns", "most columns of a key, 1 to 4", 3, most=4)
    add_spark(parser, "none")
    parser.set_defaults(run=_run_graph)


def _run_graph(options: argparse.Namespace) -> int:
    started = perf_counter()
    with mate.open(options.store) as lake, ProgressBar() as bar:
        graph = lake.graph(options.most_columns, **chosen(options, mate.WorkOptions, progress=bar))
        files = graph.write(options.output)
    kinds = Counter(graph.edges["kind"].to_pylist())
    groups = len({group for group in graph.nodes["same_columns"].to_pylist() if group is not None})
    say(
        f"{len(graph.nodes):,} tables: {kinds['join']:,} joins, {kinds['duplicate']:,} pairs of duplicates, "
        f"{kinds['near-duplicate']:,} of near-duplicates, {groups:,} groups with the same columns "
        f"({perf_counter() - started:.1f} s)"
    )
    if graph.checked_pairs < graph.sharing_pairs:
        say(
            f"keys of several columns were looked for in {graph.checked_pairs:,} pairs of tables, the least likely "
            f"coincidences of {graph.sharing_pairs:,} that share two columns or more"
        )
    if graph.uncounted:
        say(f"values that more than {graph.uncounted:,} columns hold were too common to be counted")
    say("\n".join(str(path) for path in files))
    return 0
