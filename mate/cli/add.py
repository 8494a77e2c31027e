"""`mate add`: more tables, rows or a column for an index."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands

EPILOG = """\
examples:
  mate add new/prices.csv new/shops.csv --store lake.mate           the tables of some files
  mate add new/ --store lake.mate                                   the tables of a folder
  mate add --table prices.csv --rows more-prices.csv --store lake.mate
  mate add --table 17 --column region.csv --store lake.mate         one column, one value per row

New rows are matched with the table by the names of their columns, or by their order if the file has as many columns
and none of the names. A file that the index has already is refused: mate sync takes its new content.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.changes import add_options, add_reading

    parser = commands.add_parser(
        "add",
        help="add tables to an index, or rows or a column to one of its tables",
        description="Add tables, rows or a column. The index is not built again: the work is that of the change.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders whose tables are added")
    parser.add_argument("--table", metavar="T", help="the table that gets rows or a column: number, file or name")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--rows", metavar="FILE", help="a table whose rows are added to T")
    what.add_argument("--column", metavar="FILE", help="a table with one column, as many rows as T, and a header")
    add_options(parser)
    add_reading(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Add what was asked for and say what was done."""
    import mate
    from mate.cli.bar import Bar
    from mate.cli.changes import change_options, print_report
    from mate.errors import MateError

    how = change_options(options)
    more = options.rows or options.column
    if bool(options.paths) == bool(more) or bool(options.table) != bool(more):
        raise MateError("mate add takes files, or --table T with --rows FILE or with --column FILE")
    with mate.open(options.store) as lake, Bar("read") as bar:
        how["progress"] = bar
        if options.paths:
            report = lake.add(options.paths, options.format, **how)
        elif options.rows:
            report = lake.add_rows(options.table, options.rows, **how)
        else:
            report = lake.add_column(options.table, options.column, **how)
    print_report(report, options)
    return 0
