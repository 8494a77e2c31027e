"""`mate join`: your table, enriched with the columns of one that was found."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands

EPILOG = """\
examples:
  mate join people.csv --key "First name,Last name" --table 17 --store lake.mate -o enriched.csv
  mate join people.csv --key "First name,Last name" --table 17 --store lake.mate -o all.csv --all-matches

Every row of your table is kept, in its order (a left join). Where several rows of the other table match, the first of
them is taken, so that the result has exactly as many rows as your table; --all-matches repeats a row for each match.
A column whose name is taken gets the other table's name behind it.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.search import add_query

    parser = commands.add_parser(
        "join",
        help="write a table of yours with the columns of a table that was found",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_query(parser)
    parser.add_argument("--table", type=int, required=True, metavar="ID", help="number of the table, from mate search")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where the result goes: .csv or .parquet")
    parser.add_argument("--all-matches", action="store_true", help="repeat a row for each match")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Join and write."""
    from mate.cli.search import split_key
    from mate.cli.terminal import console
    from mate.open import open_index
    from mate.search.joins import enrich, write
    from mate.search.query import read_query

    with open_index(options.store) as index:
        query = read_query(options.query)
        joined = enrich(index, query, split_key(options.key, query), options.table, all_matches=options.all_matches)
    write(joined.table, options.output)
    mapping = ", ".join(f"{key} = {column}" for key, column in joined.mapping.items())
    console().print(
        f"{options.output}: {joined.table.num_rows:,} rows, {joined.matched_rows:,} of them matched on {mapping}; "
        f"{len(joined.added)} columns added: {', '.join(joined.added) or 'none'}",
        markup=False,
        soft_wrap=True,
    )
    return 0
