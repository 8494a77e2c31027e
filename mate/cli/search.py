"""`mate search`: the tables that join with yours."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mate.cli import batch
from mate.cli.queries import EVIDENCE_HELP

if TYPE_CHECKING:
    from mate import Answers
    from mate.cli import Commands

EPILOG = f"""\
examples:
  mate search sensors.csv --key timestamp,city --store lake.mate
  mate search people.csv --key "First name" --key "Last name" --key Country -k 5 --store lake.mate --explain
  mate search movies.parquet --key director,title --store lake.mate --json
  mate search --batch queries.csv --store lake.mate -o answers.parquet

Joinability is the number of distinct combinations of key values of the query that the table holds, each in one row,
under the best assignment of key columns to table columns. The answer is exact. Which columns to take for the key:
mate suggest.

{EVIDENCE_HELP}"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.options import whole
    from mate.cli.queries import add_query

    parser = commands.add_parser(
        "search",
        help="find the tables that join with a table of yours on several columns",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_query(parser, several=True)
    parser.add_argument("-k", type=whole("-k"), default=10, metavar="N", help="how many tables (default: 10)")
    parser.add_argument(
        "--rank",
        default="usefulness",
        choices=("usefulness", "joinability"),
        help="usefulness: of key x unique, then names, then joinability (default); joinability: the count alone, "
        "as in the paper; equal counts stand in the order of unique, but which of them come in at the last place is "
        "decided by their numbers",
    )
    parser.add_argument("--no-names", action="store_true", help="leave the names of columns and tables aside")
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
        metavar="HOW",
        help="mate, baselines: key column to begin with: cardinality (the paper's), order, longest, postings, pairs, "
        "or the name of a key column (default: cardinality)",
    )
    batch.add(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Search and print."""
    if options.batch is not None:
        return batch.run(options)
    import mate
    from mate.cli.queries import check_query, split_key
    from mate.cli.terminal import print_json

    check_query(options)
    system = mate.SearchSystem(options.system, options.hash, options.initial_column)
    with mate.open(options.store) as lake:
        query = mate.read(options.query, encoding=options.encoding)
        found = lake.search(
            query,
            split_key(options.key, query.header),
            options.k,
            rank=options.rank,
            names=not options.no_names,
            exclude="self" if options.exclude_self else (),
            system=system,
        )
        if options.json:
            print_json({"results": found.to_dicts(), "stats": found.statistics})
        else:
            _print(found, query.name, explain=options.explain)
    return 0


def _print(found: Answers, query: str, *, explain: bool) -> None:
    from mate.cli.queries import show_answers, show_explanation
    from mate.cli.terminal import say
    from mate.display import counted

    if not found:
        say(f"no table of the index joins with {query} on {', '.join(found.key)}")
    else:
        show_answers(found)
    if found.rows_left_out:
        say(f"left out: {counted(found.rows_left_out, 'row')} of the query with an empty cell in the key")
    if explain:
        show_explanation(found.explain())
