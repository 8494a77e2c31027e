"""`mate search`: the tables that join with yours."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mate.cli import Commands
    from mate.index.base import Index
    from mate.search.engine import SearchSettings
    from mate.search.query import QueryTable
    from mate.search.results import SearchResult
    from mate.search.statistics import Statistics

EPILOG = """\
examples:
  mate search sensors.csv --key timestamp,city --store lake.mate
  mate search people.csv --key "First name" --key "Last name" --key Country -k 5 --store lake.mate --explain
  mate search movies.parquet --key director,title --store lake.mate --json

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
    parser.add_argument("--explain", action="store_true", help="show how the answer came about, step by step")
    parser.add_argument("--exclude-self", action="store_true", help="leave out the query file's own tables")
    how = parser.add_argument_group("how to search (the answers stay the same)")
    how.add_argument(
        "--system",
        default="column-first",
        help="column-first; mate: the paper's Algorithm 1; or a baseline: scr, mcr, scr-josie, mcr-josie "
        "(default: column-first)",
    )
    how.add_argument("--hash", metavar="NAME[:BITS]", help="mate: which of the index's hash functions filters rows")
    how.add_argument(
        "--initial-column",
        default="pairs",
        metavar="HOW",
        help="mate, baselines: key column to begin with: pairs, postings, cardinality (the paper's), order, longest, "
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
    parser.add_argument("--store", required=True, metavar="LAKE", help="the index")


def run(options: argparse.Namespace) -> int:
    """Search and print."""
    from mate.open import open_index
    from mate.search.query import read_query
    from mate.search.systems import find_system

    system = find_system(options.system)
    with open_index(options.store) as index:
        query = read_query(options.query)
        settings = _settings(options, index)
        found = system(index, query, split_key(options.key, query), options.k, settings)
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


def _settings(options: argparse.Namespace, index: Index) -> SearchSettings:
    from mate.errors import QueryError
    from mate.search.engine import SearchSettings

    name, _, bits = (options.hash or "").partition(":")
    if bits and not bits.isdigit():
        raise QueryError(f"--hash takes NAME or NAME:BITS, not {options.hash!r}")
    exclude = own_tables(index, options.query) if options.exclude_self else frozenset()
    return SearchSettings(
        hash_name=name or None,
        bits=int(bits) if bits else None,
        initial_column=options.initial_column,
        exclude=exclude,
    )


def own_tables(index: Index, path: str) -> frozenset[int]:
    """Return the tables that were read from this very file, or from one with the same content."""
    import hashlib
    from pathlib import Path

    with Path(path).open("rb") as stream:
        checksum = hashlib.file_digest(stream, "sha256").hexdigest()
    own = Path(path).resolve()
    same = [s["source"] for s in index.sources() if s["sha256"] == checksum or Path(s["source"]).resolve() == own]
    return frozenset(index.tables_from(same))


def as_json(found: SearchResult) -> dict[str, Any]:
    """Return an answer as plain data."""
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
        "stats": found.statistics.as_json(),
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
    """Return the steps of the strategy that ran, from the query to the answers, for people."""
    steps = [
        ("distinct key tuples of the query", f"{statistics.key_tuples:,}"),
        ("  whose values all occur in the index", f"{statistics.known_tuples:,}"),
        ("segments", f"{statistics.segments:,}"),
        ("  that know too few of the key tuples", f"{statistics.segments_cut:,}"),
    ]
    steps += _by_columns(statistics) if statistics.system == "column-first" else _by_postings(statistics)
    return [*steps, ("answers", f"{answers:,}")]


def _by_columns(statistics: Statistics) -> list[tuple[str, str]]:
    return [
        ("tables with a value of every key column", f"{statistics.tables:,}"),
        ("  that their bound left out", f"{statistics.tables_cut_rule_1:,}"),
        ("  looked at", f"{statistics.tables_checked:,}"),
        ("  of these, counted row by row", f"{statistics.tables_by_row:,}"),
        ("mappings bounded by joint key tuples", f"{statistics.mappings_bounded:,}"),
        ("mappings checked exactly", f"{statistics.mappings_checked:,}"),
        ("  by looking up rows of rare values", f"{statistics.checks_by_look_up:,}"),
        ("  by scanning columns", f"{statistics.checks_by_scan:,}"),
        ("rows read", f"{statistics.rows_read:,}"),
    ]


def _by_postings(statistics: Statistics) -> list[tuple[str, str]]:
    precision = statistics.precision
    return [
        (f"postings of the initial column, {statistics.initial_column}", f"{statistics.postings:,}"),
        ("pairs of posting and key tuple", f"{statistics.pairs:,}"),
        (f"  that pass the row filter ({statistics.hash})", f"{statistics.candidates:,}"),
        ("tables", f"{statistics.tables:,}"),
        ("  cut by rule 1", f"{statistics.tables_cut_rule_1:,}"),
        ("  cut by rule 2", f"{statistics.tables_cut_rule_2:,}"),
        ("  checked exactly", f"{statistics.tables_checked:,}"),
        ("rows read", f"{statistics.rows_read:,}"),
        ("candidates checked", f"{statistics.checked:,}"),
        ("  that hold", f"{statistics.true_positives:,}"),
        ("  precision of the filter", "" if precision is None else f"{precision:.1%}"),
    ]
