"""`mate add`: more tables, rows or a column for an index."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.build.updates import Report, Updates
    from mate.cli import Commands
    from mate.index.records import TableInfo

EPILOG = """\
examples:
  mate add new/prices.csv new/shops.csv --store lake.mate           the tables of some files
  mate add new/ --store lake.mate                                   the tables of a folder
  mate add --table prices.csv --rows more-prices.csv --store lake.mate
  mate add --table 17 --column region.csv --store lake.mate         one column, one value a row

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
    from mate.cli.changes import format_of, print_report, updates_of
    from mate.cli.index import Bar
    from mate.errors import MateError

    updates = updates_of(options)
    more = options.rows or options.column
    if bool(options.paths) == bool(more) or bool(options.table) != bool(more):
        raise MateError("mate add takes files, or --table T with --rows FILE or with --column FILE")
    if options.paths:
        with Bar("read") as bar:
            report = replace(updates, progress=bar).add_tables(options.paths, format_of(options))
    else:
        report = _to_table(updates, options)
    print_report(report, options)
    return 0


def _to_table(updates: Updates, options: argparse.Namespace) -> Report:
    from mate.build.naming import find_table
    from mate.errors import UpdateError
    from mate.open import open_index
    from mate.search.query import read_query

    with open_index(options.store) as store:
        table = find_table(store, options.table)
    given = read_query(options.rows or options.column)
    columns = {name: given.columns.column(name).to_pylist() for name in given.header}
    if options.rows:
        ordered = [columns.get(name, [None] * given.columns.num_rows) for name in matched(table, given.header)]
        return updates.append_rows(table.table_id, list(zip(*ordered, strict=True)))
    if len(columns) != 1:
        raise UpdateError(f"{options.column} has {len(columns)} columns; --column takes a table with one")
    [(name, values)] = columns.items()
    return updates.add_column(table.table_id, name, values)


def matched(table: TableInfo, header: list[str]) -> list[str]:
    """Return for each column of a table the name of the file's column that fills it; the file need not have it."""
    from mate.errors import UpdateError
    from mate.search.query import unique_names

    names = unique_names(table.columns)
    unknown = [name for name in header if name not in names]
    if not unknown:
        return names
    if len(unknown) == len(header) == len(names):
        return header
    listed = ", ".join(names)
    raise UpdateError(f'{table.name} has no column "{unknown[0]}" as the new rows have; it has: {listed}')
