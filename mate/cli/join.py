"""`mate join`: your table, enriched with the columns of one that was found."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands

EPILOG = """\
examples:
  mate join people.csv --key "First name,Last name" --table 17 --store lake.mate -o enriched.csv
  mate join people.csv --key "First name,Last name" --table wages.csv --store lake.mate -o all.parquet --matches all

Every row of your table is kept, in its order (a left join). Where several rows of the other table match:
  --matches first       the first of them is taken: the result has as many rows as your table (default)
  --matches all         your row is repeated for each of them
  --matches aggregate   they become one: the mean of a column of numbers, the distinct values of any other, and a
                        column "matching rows" that counts them
A column whose name is taken gets the other table's name behind it.

A CSV file is written as the cells are. A spreadsheet program may run a cell that begins with =, +, - or @ as a formula;
for files that are opened in one, --safe-csv puts an apostrophe before such cells. Plain numbers stay as they are.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.queries import add_query

    parser = commands.add_parser(
        "join",
        help="write a table of yours with the columns of a table that was found",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_query(parser)
    parser.add_argument(
        "--table", required=True, metavar="T", help="number (from mate search), file or name of a table"
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where the result goes: .csv or .parquet")
    parser.add_argument(
        "--matches", default="first", choices=("first", "all", "aggregate"), help="what several matches become"
    )
    parser.add_argument("--safe-csv", action="store_true", help="keep spreadsheets from running cells as formulas")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Join and write."""
    import mate
    from mate.cli.queries import split_key
    from mate.cli.terminal import say

    with mate.open(options.store) as lake:
        query = mate.read(options.query, encoding=options.encoding)
        joined = lake.enrich(query, split_key(options.key, query.header), options.table, options.matches)
    joined.write(options.output, safe=options.safe_csv)
    mapping = ", ".join(f"{key} = {column}" for key, column in joined.mapping.items())
    say(
        f"{options.output}: {joined.rows:,} rows, {joined.matched_rows:,} of them matched on {mapping}; "
        f"{len(joined.added)} columns added: {', '.join(joined.added) or 'none'}"
    )
    return 0
