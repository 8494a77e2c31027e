"""`mate add`, `update`, `remove`, `sync` and `compact`: the commands that change an index."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

import mate
from mate.cli import Commands
from mate.cli.options import CHANGE, add_shared, add_spark, chosen, rows, whole
from mate.cli.terminal import ProgressBar, print_json, say
from mate.display import counted, size_text
from mate.errors import MateError

MOST_NAMED = 5
"""Tables that a summary names; for more it prints the number."""

ADD = """\
examples:
  mate add new/prices.csv new/shops.csv --store lake.mate           the tables of some files
  mate add new/ --store lake.mate                                   the tables of a folder
  mate add --table prices.csv --rows more-prices.csv --store lake.mate
  mate add --table 17 --column region.csv --store lake.mate         one column, one value per row

New rows are matched with the table by the names of their columns, or by order if the file has as many columns and none
of the names. A file that the index already has is refused: mate sync reads its new content.
"""

UPDATE = """\
examples:
  mate update --table prices.csv --row 12 --column city --value Berlin --store lake.mate
  mate update --table 17 --cells corrections.csv --store lake.mate

Rows count from 1, the first one below the header, as the table is now. Columns are named, or count from 1. (In Python,
both count from 0.) A file for --cells has the columns row, column and value; all its cells are set in one change.

The file of the table stays as it is. The next mate sync of it restores the content of the file.
"""

REMOVE = """\
examples:
  mate remove --table 17 --table prices.csv --store lake.mate       tables
  mate remove --table 17 --row 3 --row 8-20 --store lake.mate       rows, which count from 1 (in Python from 0)
  mate remove --table 17 --column region --store lake.mate          a column

Files stay as they are. The next mate sync of the file of a table adds the table again.
"""

SYNC = """\
examples:
  mate sync lake/ --store lake.mate
  mate sync lake/ --store lake.mate --dry-run

Files are compared by checksum. New files are added, changed files are read again (their tables keep their numbers),
and missing files are removed; files of the index outside the given paths are left alone. A table that was changed in
the index becomes what its file holds. All of it is one change.
"""

COMPACT = """\
examples:
  mate compact --store lake.mate

Every change adds a segment. Small segments and those with superseded tables are merged into new ones; large segments
that are fully in use stay as they are. mate stats says when it is worth it. Searches that are running are not
disturbed. If it is killed, the index is as it was before or as it is after. Tables keep their numbers.
"""


def add(commands: Commands) -> None:
    """Declare the commands."""
    parser = commands.add_parser(
        "add",
        help="add tables to an index, or rows or a column to one of its tables",
        description="Add tables, rows or a column. The index is not built again: the work is that of the change.",
        epilog=ADD,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders whose tables are added")
    parser.add_argument("--table", metavar="T", help="the table that gets rows or a column: number, file or name")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--rows", metavar="FILE", help="a table whose rows are added to T")
    what.add_argument("--column", metavar="FILE", help="a table with one column, as many rows as T, and a header")
    add_shared(parser, *CHANGE, "--format")
    add_spark(parser, "auto", "--memory")
    parser.set_defaults(run=_run_add)

    parser = commands.add_parser("update", help="set cells of a table of an index", epilog=UPDATE)
    parser.add_argument("--table", required=True, metavar="T", help="number, file or name of the table")
    parser.add_argument("--row", type=whole("--row", 0), metavar="N", help="which row, from 1 on")
    parser.add_argument("--column", metavar="C", help="which column: its name, or its number from 1 on")
    parser.add_argument("--value", metavar="TEXT", help="the new value; an empty one is no value")
    parser.add_argument("--cells", metavar="FILE", help="many cells: a table with the columns row, column, value")
    add_shared(parser, *CHANGE)
    parser.set_defaults(run=_run_update)

    text = "remove tables from an index, or rows or a column from one of its tables"
    parser = commands.add_parser("remove", help=text, epilog=REMOVE)
    text = "number, file or name of a table; may be repeated"
    parser.add_argument("--table", action="append", required=True, metavar="T", help=text)
    what = parser.add_mutually_exclusive_group()
    text = "a row, or several as 8-20; may be repeated"
    what.add_argument("--row", action="append", type=rows, default=[], metavar="N", help=text)
    what.add_argument("--column", metavar="C", help="a column: its name, or its number from 1 on")
    add_shared(parser, *CHANGE)
    parser.set_defaults(run=_run_remove)

    parser = commands.add_parser("sync", help="make an index follow the files that it was built from", epilog=SYNC)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")
    add_shared(parser, *CHANGE, "--format")
    add_spark(parser, "auto", "--memory")
    parser.set_defaults(run=_run_sync)

    parser = commands.add_parser("compact", help="merge the segments that changes left behind", epilog=COMPACT)
    add_shared(parser, *CHANGE)
    add_spark(parser, "auto", "--memory")
    parser.set_defaults(run=_run_compact)


def _run_add(options: argparse.Namespace) -> int:
    more = options.rows or options.column
    if bool(options.paths) == bool(more) or bool(options.table) != bool(more):
        raise MateError("mate add takes files, or --table T with --rows FILE or with --column FILE")
    with mate.open(options.store) as lake, ProgressBar("read") as bar:
        how = chosen(options, mate.ChangeOptions, progress=bar)
        if options.paths:
            report = lake.add(options.paths, options.format, **how)
        elif options.rows:
            report = lake.add_rows(options.table, options.rows, **how)
        else:
            report = lake.add_column(options.table, options.column, **how)
    return _print_report(report, options)


def _run_update(options: argparse.Namespace) -> int:
    cell = (options.row, options.column, options.value)
    if sum(part is not None for part in cell) != (0 if options.cells else 3):
        raise MateError("mate update takes --row, --column and --value, or --cells FILE")
    with mate.open(options.store) as lake:
        cells = _read_cells(options.cells) if options.cells else [(options.row - 1, options.column, options.value)]
        report = lake.update(options.table, cells, **chosen(options, mate.ChangeOptions))
    return _print_report(report, options)


def _read_cells(path: str) -> list[tuple[int, str, str | None]]:
    """Read the cells to set from a file."""
    cells = mate.read(path).columns
    if sorted(cells.column_names) != ["column", "row", "value"]:
        names = ", ".join(cells.column_names)
        raise MateError(f"{path} must have the columns row, column and value; it has: {names}")
    row = whole(f"{path}: the column row")
    return [(row(cell["row"] or "") - 1, cell["column"] or "", cell["value"]) for cell in cells.to_pylist()]


def _run_remove(options: argparse.Namespace) -> int:
    if (options.row or options.column is not None) and len(options.table) > 1:
        raise MateError("rows and columns are removed from one table at a time")
    how = chosen(options, mate.ChangeOptions)
    with mate.open(options.store) as lake:
        if options.row:
            report = lake.remove_rows(options.table[0], chain.from_iterable(options.row), **how)
        elif options.column is not None:
            report = lake.remove_column(options.table[0], options.column, **how)
        else:
            report = lake.remove(options.table, **how)
    return _print_report(report, options)


def _run_sync(options: argparse.Namespace) -> int:
    with mate.open(options.store) as lake:
        difference = lake.compare(options.paths, options.format)
        if options.dry_run:
            _print_difference(difference, options)
            return 0
        with ProgressBar("read") as bar:
            report = lake.apply(difference, **chosen(options, mate.ChangeOptions, progress=bar))
    return _print_report(report, options)


def _print_difference(difference: mate.Difference, options: argparse.Namespace) -> None:
    names = {"new": [source.name for source in difference.new], "changed": [s.name for s in difference.changed]}
    names["gone"] = difference.gone
    if options.json:
        print_json({**names, "same": difference.same})
        return
    for sign, listed in zip("+~-", names.values(), strict=True):
        for name in sorted(listed):
            say(f"{sign} {name}")
    new, changed, gone = map(len, names.values())
    say(f"{counted(new, 'file')} new, {changed:,} changed, {gone:,} gone, {difference.same:,} as before")


def _run_compact(options: argparse.Namespace) -> int:
    with mate.open(options.store) as lake, ProgressBar("compact") as bar:
        report = lake.compact(**chosen(options, mate.ChangeOptions, progress=bar))
    before, after = (
        {"segments": len(manifest.segments), "bytes": sum(segment.bytes for segment in manifest.segments)}
        for manifest in (report.before, report.after)
        if manifest
    )
    if options.json:
        print_json({"before": before, "after": after, "seconds": report.seconds})
    elif report.before == report.after:
        say(f"{options.store}: there is nothing to merge")
    else:
        old, new = (f"{state['segments']:,} segments, {size_text(state['bytes'])}" for state in (before, after))
        say(f"{options.store}: {old} before; {new} now ({report.seconds:.1f} s)")
    return 0


def _print_report(report: mate.Report, options: argparse.Namespace) -> int:
    """Print what a change did."""
    tables = {"added": report.added, "changed": report.changed, "removed": report.removed}
    before, after = (manifest and manifest.counts for manifest in (report.before, report.after))
    if options.json:
        counts = {}
        if before and after:
            counts = {name: {"before": old, "after": getattr(after, name)} for name, old in asdict(before).items()}
        record: dict[str, Any] = {verb: [table.record() for table in listed] for verb, listed in tables.items()}
        record |= {"rows_written": report.rows_added, "rows_removed": report.rows_removed}
        print_json({**record, "counts": counts, "seconds": report.seconds})
        return 0
    if not before or not after:
        say(f"{options.store}: nothing to do")
        return 0
    done = ", ".join(f"{_named(listed)} {verb}" for verb, listed in tables.items() if listed)
    if done and (report.rows_added or report.rows_removed):
        done += f", {counted(report.rows_added, 'row')} written, {report.rows_removed:,} taken out"
    cells = f"; {after.cells - before.cells:+,} cells, now {after.cells:,}"
    say(f"{options.store}: {done + cells if done else 'nothing changed'} ({report.seconds:.2f} s)")
    if after.rejects > before.rejects:
        more = after.rejects - before.rejects
        say(f"{more:,} more rejects; which, and why: mate stats --rejects --store {options.store}")
    if report.after != report.before:
        say_worth_compacting(report.worth_compacting, options.store)
    return 0


def say_worth_compacting(segments: int, store: str) -> None:
    """Print a hint if it is worth merging so many segments."""
    if segments:
        say(f"{segments:,} segments are small or hold superseded tables; mate compact --store {store} merges them")


def _named(tables: Sequence[mate.TableInfo]) -> str:
    if len(tables) > MOST_NAMED:
        return f"{len(tables):,} tables"
    named = ", ".join(f"{table.table_id} ({table.name})" for table in tables)
    return f"table {named}" if len(tables) == 1 else f"tables {named}"
