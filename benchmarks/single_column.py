"""`python -m benchmarks single-column`: JOSIE's top-k for one column beside a SQL `GROUP BY` over the same postings.

Query columns are sampled from the lake itself; overlaps must agree for every query before any time is shown. A lake is
searched segment by segment, as JOSIE's adaptations do; its columns are ranked over all segments.
"""

from __future__ import annotations

import argparse
import heapq
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
from rich.progress import track

from baselines.systems import josie
from baselines.systems.column_sets import ColumnSets, column_sets
from baselines.systems.merge_list import merge_list
from benchmarks.sql_join import fill
from benchmarks.timing import best_of
from experiments.queries import Shape, sample_queries
from experiments.worker import make_sets
from mate.cli.terminal import console, table
from mate.errors import MateError
from mate.lake.base import Ids
from mate.lake.folder import LakeFolder, open_folder
from mate.search.query import key_tuples
from mate.values.token_ids import token_ids

if TYPE_CHECKING:
    from mate.cli import Commands

Search = Callable[[ColumnSets, Ids, int], josie.Found]


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser(
        "single-column", help="JOSIE's search for one column beside a SQL GROUP BY", description=__doc__
    )
    parser.add_argument("--store", required=True, metavar="LAKE", help="the lake")
    parser.add_argument("--queries", type=int, default=60, help="sampled columns (default: 60)")
    parser.add_argument("-k", type=int, default=10, help="columns asked for (default: 10)")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many (default: 3)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: 1)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Sample, compare, print."""
    with open_folder(options.store) as lake, tempfile.TemporaryDirectory(prefix="mate-single-column-") as folder:
        if not all(segment.live.all() for segment in lake.segments):
            raise MateError(f"{options.store} has superseded tables, which JOSIE counts: mate compact removes them")
        make_sets(lake)
        with fill(lake, Path(folder, "postings.duckdb")) as database:
            columns = track(_columns(lake, options), "searching", console=console(stderr=True), transient=True)
            times = [_timed(lake, database, column, options) for column in columns]
        label = f" [{lake.manifest.label}]" if lake.manifest.label else ""
        cells = lake.manifest.counts.cells
    _print(np.array(times), f"{options.store}{label}: {cells:,} cells, {len(times)} columns, top {options.k}")


def _timed(
    lake: LakeFolder, database: duckdb.DuckDBPyConnection, column: pa.StringArray, options: argparse.Namespace
) -> list[float]:
    """Compare the overlaps of one column, and time the contestants."""
    ids = token_ids(column)
    runs = {
        "sql": lambda: _sql(database, ids, options.k),
        "josie": lambda: _over_segments(lake, josie.top_k, ids, column, options.k),
        "all lists": lambda: _over_segments(lake, merge_list, ids, column, options.k),
    }
    found, plain = runs["josie"](), runs["sql"]()
    if found != plain:
        raise MateError(f"JOSIE found the overlaps {found}, SQL {plain}")
    return list(best_of(runs, options.rounds).values())


def _columns(lake: LakeFolder, options: argparse.Namespace) -> list[pa.StringArray]:
    """Return the distinct tokens of sampled columns."""
    nulls = frozenset(lake.manifest.nulls)
    queries = sample_queries(lake, options.queries, Shape(10, 20_000, 1), options.seed)
    return [key_tuples(query.table, query.key, nulls).tokens for query in queries]


def _over_segments(lake: LakeFolder, search: Search, ids: Ids, texts: pa.StringArray, k: int) -> list[int]:
    """Return the k highest overlaps of columns of a lake."""
    overlaps: list[int] = []
    for segment in lake.segments:
        places = segment.places(ids, texts)
        overlaps += search(column_sets(segment), places[places >= 0], k).overlap.tolist()
    return heapq.nlargest(k, overlaps)


def _sql(database: duckdb.DuckDBPyConnection, tokens: Ids, k: int) -> list[int]:
    found = database.execute(
        "SELECT count(DISTINCT p.token_id) AS overlap FROM (SELECT unnest($1::BIGINT[]) AS token_id) AS q"
        " JOIN postings AS p ON p.token_id = q.token_id GROUP BY p.table_id, p.column_id"
        f" ORDER BY overlap DESC LIMIT {int(k)}",
        [tokens],
    ).fetchall()
    return [overlap for (overlap,) in found]


def _print(times: np.ndarray[tuple[int, int], np.dtype[np.float64]], title: str) -> None:
    rows = [
        (name, f"{np.median(own) * 1e3:.1f}", f"{own.mean() * 1e3:.1f}", f"{np.median(times[:, 0] / own):.2f}",
         int((own > times[:, 0]).sum()))
        for name, own in zip(("SQL GROUP BY", "JOSIE", "reading all lists"), times.T, strict=True)
    ]  # fmt: skip
    header = ("what", "median ms", "mean ms", "SQL's time / its own, median", "queries slower than SQL")
    console().print(table(header, rows, title=title))
