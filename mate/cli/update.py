"""`mate update`: other values for cells of an index."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands

EPILOG = """\
examples:
  mate update --table prices.csv --row 12 --column city --value Berlin --store lake.mate
  mate update --table 17 --cells corrections.csv --store lake.mate

Rows are counted from 1, the first one below the header, as the table is now. Columns are named, or counted from 1.
A file for --cells has the columns row, column and value; all its cells are set in one change.

The table's file is not touched. The next mate sync of it takes the file's content again.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.changes import add_options
    from mate.cli.options import whole

    parser = commands.add_parser(
        "update",
        help="set cells of a table of an index",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--table", required=True, metavar="T", help="number, file or name of the table")
    parser.add_argument("--row", type=whole("--row", 0), metavar="N", help="which row, from 1 on")
    parser.add_argument("--column", metavar="C", help="which column: its name, or its number from 1 on")
    parser.add_argument("--value", metavar="TEXT", help="the new value; an empty one is no value")
    parser.add_argument("--cells", metavar="FILE", help="many cells: a table with the columns row, column, value")
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Set the cells and say what was done."""
    import mate
    from mate.cli.changes import change_options, print_report
    from mate.errors import MateError

    given = sum(part is not None for part in (options.row, options.column, options.value))
    if given != (3 if options.cells is None else 0):
        raise MateError("mate update takes --row, --column and --value, or --cells FILE")
    how = change_options(options)
    with mate.open(options.store) as lake:
        table = lake.find(options.table)
        one = (options.row or 0) - 1, options.column, options.value
        cells = read_cells(options.cells) if options.cells else [one]
        report = lake.update(table, cells, **how)
    print_report(report, options)
    return 0


def read_cells(path: str) -> list[tuple[int, int | str, str | None]]:
    """Read the cells to set from a file."""
    import mate
    from mate.cli.options import whole
    from mate.errors import MateError

    given = mate.read(path).columns
    if sorted(given.column_names) != ["column", "row", "value"]:
        found = ", ".join(given.column_names)
        raise MateError(f"{path} must have the columns row, column and value; it has: {found}")
    row = whole(f"{path}: the column row")
    return [
        (row(record["row"] or "") - 1, record["column"] or "", record["value"])
        for record in given.select(["row", "column", "value"]).to_pylist()
    ]
