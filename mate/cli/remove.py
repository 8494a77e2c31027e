"""`mate remove`: tables, rows or a column out of an index."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands

EPILOG = """\
examples:
  mate remove --table 17 --table prices.csv --store lake.mate       tables
  mate remove --table 17 --row 3 --row 8-20 --store lake.mate       rows, counted from 1
  mate remove --table 17 --column region --store lake.mate          a column

Files are not touched. The next mate sync of a table's file takes it in again.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.changes import add_options

    parser = commands.add_parser(
        "remove",
        help="remove tables from an index, or rows or a column from one of its tables",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--table", action="append", required=True, metavar="T", help="number, file or name of a table; may be repeated"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--row", action="append", metavar="N", help="a row, or several as 8-20; may be repeated")
    what.add_argument("--column", metavar="C", help="a column: its name, or its number from 1 on")
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Remove what was asked for and say what was done."""
    from mate.build.naming import find_column, find_table
    from mate.cli.changes import print_report, updates_of
    from mate.errors import MateError
    from mate.open import open_index

    if (options.row or options.column is not None) and len(options.table) > 1:
        raise MateError("rows and columns are removed from one table at a time")
    updates = updates_of(options)
    with open_index(options.store) as store:
        tables = [find_table(store, given) for given in options.table]
    number = tables[0].table_id
    if options.row:
        report = updates.remove_rows(number, [row for given in options.row for row in _rows(given)])
    elif options.column is not None:
        report = updates.remove_column(number, find_column(tables[0], options.column))
    else:
        report = updates.remove_tables(table.table_id for table in tables)
    print_report(report, options)
    return 0


def _rows(given: str) -> range:
    from mate.errors import MateError

    first, dash, last = given.partition("-")
    if not first.isdigit() or (dash and not last.isdigit()) or int(first) < 1:
        raise MateError(f"--row takes a number from 1 on, or two such as 8-20, not {given!r}")
    return range(int(first) - 1, int(last or first))
