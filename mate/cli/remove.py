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
    from itertools import chain

    import mate
    from mate.cli.changes import change_options, print_report
    from mate.cli.options import rows
    from mate.errors import MateError

    if (options.row or options.column is not None) and len(options.table) > 1:
        raise MateError("rows and columns are removed from one table at a time")
    how = change_options(options)
    chosen = [rows(text) for text in options.row or ()]
    with mate.open(options.store) as lake:
        tables = [lake.find(given) for given in options.table]
        if chosen:
            report = lake.remove_rows(tables[0], chain.from_iterable(chosen), **how)
        elif options.column is not None:
            report = lake.remove_column(tables[0], options.column, **how)
        else:
            report = lake.remove(tables, **how)
    print_report(report, options)
    return 0
