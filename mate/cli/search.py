"""`mate search`: the tables that join with yours."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mate.cli import Commands
    from mate.search.discovery import SearchResult, SearchSettings, Statistics
    from mate.search.query import QueryTable
    from mate.store import IndexStore

EPILOG = """\
examples:
  mate search sensors.csv --key timestamp,city --store lake.duckdb
  mate search people.csv --key "First name" --key "Last name" --key Country -k 5 --store lake.duckdb --explain
  mate search movies.parquet --key director,title --store lake.duckdb --json

Joinability is the number of distinct combinations of key values of the query that the table holds, each in one row,
under the best assignment of key columns to table columns. The answer is exact.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "search",
        help="find the tables that join with a table of yours on several columns",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_query(parser)
    parser.add_argument("-k", type=int, default=10, metavar="N", help="how many tables (default: 10)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--explain", action="store_true", help="show the funnel from postings to answers")
    parser.add_argument("--exclude-self", action="store_true", help="leave out the query file's own tables")
    how = parser.add_argument_group("how to search (the scores stay the same)")
    how.add_argument(
        "--system", default="mate", help="mate, or a baseline: scr, mcr, scr-josie, mcr-josie (default: mate)"
    )
    how.add_argument("--hash", metavar="NAME[:BITS]", help="which of the index's hash functions filters rows")
    how.add_argument(
        "--initial-column",
        default="pairs",
        metavar="HOW",
        help="key column that the search begins with: pairs, postings, cardinality (the paper's), order, longest, "
        "or the name of a key column (default: pairs)",
    )
    parser.set_defaults(run=run)


def add_query(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say what is searched for, and where."""
    parser.add_argument("query", metavar="QUERY", help="your table: CSV of any dialect, Parquet or JSON")
    parser.add_argument(
        "--key",
        action="append",
        required=True,
        metavar="A,B",
        help="key columns, separated by commas; may be repeated",
    )
    parser.add_argument("--store", required=True, metavar="FILE", help="the index")


def run(options: argparse.Namespace) -> int:
    """Search and print."""
    from mate.search.query import read_query
    from mate.search.systems import find_system
    from mate.store import open_store

    system = find_system(options.system)
    with open_store(options.store) as store:
        query = read_query(options.query)
        settings = _settings(options, store)
        found = system(store, query, split_key(options.key, query), options.k, settings)
    if options.json:
        print(json.dumps(as_json(found), ensure_ascii=False, indent=1))  # noqa: T201
    else:
        _print(found, query, explain=options.explain)
    return 0


def split_key(given: list[str], query: QueryTable) -> list[str]:
    """Return the key columns; a name that has a comma itself is taken whole."""
    names: list[str] = []
    for text in given:
        names += [text] if text in query.header else [part.strip() for part in text.split(",")]
    return names


def _settings(options: argparse.Namespace, store: IndexStore) -> SearchSettings:
    from mate.errors import QueryError
    from mate.search.discovery import SearchSettings

    name, _, bits = (options.hash or "").partition(":")
    if bits and not bits.isdigit():
        raise QueryError(f"--hash takes NAME or NAME:BITS, not {options.hash!r}")
    exclude = own_tables(store, options.query) if options.exclude_self else frozenset()
    return SearchSettings(
        hash_name=name or None,
        bits=int(bits) if bits else None,
        initial_column=options.initial_column,
        exclude=exclude,
    )


def own_tables(store: IndexStore, path: str) -> frozenset[int]:
    """Return the tables that were read from this very file, or from one with the same content."""
    import hashlib
    from pathlib import Path

    with Path(path).open("rb") as stream:
        checksum = hashlib.file_digest(stream, "sha256").hexdigest()
    own = Path(path).resolve()
    same = [s["source"] for s in store.sources() if s["sha256"] == checksum or Path(s["source"]).resolve() == own]
    return frozenset(store.tables_from(same).tolist())


def as_json(found: SearchResult) -> dict[str, Any]:
    """Return an answer as plain data."""
    statistics = found.statistics
    counts = {name: getattr(statistics, name) for name in statistics.__slots__ if name != "seconds"}
    return {
        "results": [
            {
                "table_id": result.table_id,
                "table": result.table.name,
                "source": result.table.source,
                "joinability": result.joinability,
                "mapping": result.mapping,
            }
            for result in found
        ],
        "stats": {**counts, "precision": statistics.precision, "seconds": statistics.seconds},
    }


def _print(found: SearchResult, query: QueryTable, *, explain: bool) -> None:
    from mate.cli.terminal import console, table

    screen = console()
    total = len(found.key)
    if not found.results:
        screen.print(f"no table of the index joins with {query.name} on {', '.join(found.key.columns)}", markup=False)
    else:
        rows = [
            (
                result.table_id,
                result.joinability,
                f"{result.joinability / total:.0%}",
                result.table.name,
                ", ".join(f"{key} = {column}" for key, column in result.mapping.items()),
                result.table.source,
            )
            for result in found
        ]
        header = ("table", "joinability", "of key", "name", "join on", "source")
        screen.print(table(header, rows))
    if found.key.dropped_rows:
        rows_of = "1 row" if found.key.dropped_rows == 1 else f"{found.key.dropped_rows:,} rows"
        screen.print(f"left out: {rows_of} of the query with an empty cell in the key")
    if explain:
        screen.print(table(("step", "count"), funnel(found.statistics, len(found.results))))
        spent = [(name, f"{seconds * 1e3:.1f}") for name, seconds in found.statistics.seconds.items()]
        screen.print(table(("phase", "ms"), [*spent, ("total", f"{sum(found.statistics.seconds.values()) * 1e3:.1f}")]))


def funnel(statistics: Statistics, answers: int) -> list[tuple[str, str]]:
    """Return the steps from postings to answers, for people."""
    precision = statistics.precision
    return [
        ("distinct key tuples of the query", f"{statistics.key_tuples:,}"),
        ("  whose values all occur in the index", f"{statistics.known_tuples:,}"),
        (f"postings of the initial column, {statistics.initial_column}", f"{statistics.postings:,}"),
        ("pairs of posting and key tuple", f"{statistics.pairs:,}"),
        (f"  that pass the row filter ({statistics.hash})", f"{statistics.candidates:,}"),
        ("tables", f"{statistics.tables:,}"),
        ("  cut by rule 1", f"{statistics.tables_cut_rule_1:,}"),
        ("  cut by rule 2", f"{statistics.tables_cut_rule_2:,}"),
        ("  checked exactly", f"{statistics.tables_checked:,}"),
        ("rows fetched", f"{statistics.rows_fetched:,}"),
        ("candidates checked", f"{statistics.checked:,}"),
        ("  that hold", f"{statistics.true_positives:,}"),
        ("  precision of the filter", "" if precision is None else f"{precision:.1%}"),
        ("answers", f"{answers:,}"),
    ]
