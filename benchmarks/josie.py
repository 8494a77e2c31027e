"""`python -m benchmarks josie`: JOSIE's unary top-k beside a plain SQL `GROUP BY` over the postings of the same index.

Query columns are sampled from the index itself; overlaps must agree for every query before any time is shown.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import duckdb
import numpy as np
from rich.progress import track

from baselines.systems import josie, josie_relatives
from baselines.systems.josie_costs import costs_of
from benchmarks.timing import best_of
from mate.cli.terminal import console, table
from mate.errors import MateError
from mate.search.query import key_tuples
from mate.store.base import Ids
from mate.store.duckdb import SETTINGS, DuckDBStore

if TYPE_CHECKING:
    from mate.cli import Commands


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser("josie", help="JOSIE's unary search beside a SQL GROUP BY", description=__doc__)
    parser.add_argument("--store", required=True, metavar="FILE", help="an index built with --josie")
    parser.add_argument("--queries", type=int, default=60, help="sampled columns (default: 60)")
    parser.add_argument("-k", type=int, default=10, help="columns asked for (default: 10)")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many (default: 3)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: 1)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Sample, compare, print."""
    with DuckDBStore(options.store) as store:
        index = store.josie()
        costs_of(index)
        database = duckdb.connect(config=SETTINGS)
        database.execute(f"ATTACH '{store.address.replace(chr(39), chr(39) * 2)}' AS lake (READ_ONLY)")
        database.execute("USE lake")
        times = []
        for tokens in track(_columns(store, options), "searching", console=console(stderr=True), transient=True):
            found = josie.top_k(index, tokens, options.k).overlap.tolist()
            plain = _sql(database, tokens, options.k)
            if found != plain:
                raise MateError(f"JOSIE found the overlaps {found}, SQL {plain}")
            runs = {
                "sql": lambda tokens=tokens: _sql(database, tokens, options.k),
                "josie": lambda tokens=tokens: josie.top_k(index, tokens, options.k),
                "all lists": lambda tokens=tokens: josie_relatives.merge_list(index, tokens, options.k),
            }
            times.append(list(best_of(runs, options.rounds).values()))
        label = f" [{store.manifest.label}]" if store.manifest.label else ""
        title = f"{options.store}{label}: {store.manifest.cells:,} cells, {len(times)} columns, top {options.k}"
    _print(np.array(times), title)


def _columns(store: DuckDBStore, options: argparse.Namespace) -> list[Ids]:
    """Return the distinct tokens of sampled columns."""
    from experiments.queries import sample_queries

    found = []
    for query in sample_queries(store, options.queries, 10, 20_000, 1, options.seed):
        tuples = key_tuples(query.table, query.key, frozenset(store.manifest.nulls))
        found.append(np.unique(store.tokens(tuples.tokens).token_id))
    return found


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
