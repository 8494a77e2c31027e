"""`mate update`: other values for cells of an index."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands
    from mate.index.records import TableInfo

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

    parser = commands.add_parser(
        "update",
        help="set cells of a table of an index",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--table", required=True, metavar="T", help="number, file or name of the table")
    parser.add_argument("--row", type=int, metavar="N", help="which row, from 1 on")
    parser.add_argument("--column", metavar="C", help="which column: its name, or its number from 1 on")
    parser.add_argument("--value", metavar="TEXT", help="the new value; an empty one is no value")
    parser.add_argument("--cells", metavar="FILE", help="many cells: a table with the columns row, column, value")
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Set the cells and say what was done."""
    from mate.build.naming import find_column, find_table
    from mate.cli.changes import print_report, updates_of
    from mate.errors import MateError
    from mate.open import open_index

    given = sum(part is not None for part in (options.row, options.column, options.value))
    if given != (3 if options.cells is None else 0):
        raise MateError("mate update takes --row, --column and --value, or --cells FILE")
    updates = updates_of(options)
    with open_index(options.store) as store:
        table = find_table(store, options.table)
    if options.cells:
        cells = read_cells(options.cells, table)
    else:
        cells = [(options.row - 1, find_column(table, options.column), options.value)]
    print_report(updates.update_cells(table.table_id, cells), options)
    return 0


def read_cells(path: str, table: TableInfo) -> list[tuple[int, int, str | None]]:
    """Read the cells to set from a file."""
    from mate.build.naming import find_column
    from mate.errors import UpdateError
    from mate.search.query import read_query

    given = read_query(path)
    if sorted(given.header) != ["column", "row", "value"]:
        raise UpdateError(f"{path} must have the columns row, column and value; it has: {', '.join(given.header)}")
    cells = []
    for record in given.columns.select(["row", "column", "value"]).to_pylist():
        if not (record["row"] or "").strip().isdigit():
            raise UpdateError(f"{path}: a row is a number from 1 on, not {record['row']!r}")
        cells.append((int(record["row"]) - 1, find_column(table, record["column"] or ""), record["value"]))
    return cells
