"""`Lake`: an index that is searched and changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index
from os import PathLike
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias, Unpack

from mate.api.arguments import Paths, TableRef, lake_address, path_list, reader_name, require_type, seconds
from mate.api.options import ChangeOptions, check_options
from mate.api.reader import Reader
from mate.api.tables import AnyTable, user_table
from mate.errors import UpdateError

if TYPE_CHECKING:
    from mate.build.build import Summary
    from mate.build.changes.check import Findings
    from mate.build.changes.sync import Difference
    from mate.build.changes.updates import Report, Updates
    from mate.lake.records import TableInfo

Cells: TypeAlias = Iterable[tuple[int, int | str, str | None]]
CELLS = 'cells are given as a list of row, column and value, such as [(0, "wind", "5")]'


class Lake(Reader):
    """An index: a folder of segments, or tables of a database. `mate.open` opens one, `mate.index` builds one.

    It shows the state in which it was opened, its own changes at once, and those of others after `refresh`. A change
    succeeds or fails as a whole. Several threads may use a lake.

    >>> with mate.open("lake.mate") as lake:
    ...     print([table.name for table in lake.tables()])
    ['events', 'inhabitants', 'traffic', 'weather']
    """

    build_summary: Summary | None = None
    """What the build did, in a lake that `mate.index` returned."""

    # Tables

    def add(self, paths: Paths, format: str | None = None, **options: Unpack[ChangeOptions]) -> Report:
        """Add the tables of new files and folders.

        >>> [table.name for table in lake.add("sensors.csv").added]
        ['sensors']
        """
        return self._change(lambda updates: updates.add_tables(path_list(paths), reader_name(format)), options)

    def remove(self, tables: TableRef | Iterable[TableRef], **options: Unpack[ChangeOptions]) -> Report:
        """Remove tables; their files stay.

        >>> report = lake.remove(["events", "traffic"])
        >>> [table.name for table in lake.tables()]
        ['inhabitants', 'weather']
        """
        several = isinstance(tables, Iterable) and not isinstance(tables, str) and not hasattr(tables, "table_id")
        chosen: Iterable[TableRef] = tables if several else [tables]  # type: ignore[assignment, list-item]
        numbers = [self.find(table).table_id for table in chosen]
        return self._change(lambda updates: updates.remove_tables(numbers), options)

    def sync(self, paths: Paths, format: str | None = None, **options: Unpack[ChangeOptions]) -> Report:
        """Follow files and folders: add new files, read changed ones again, remove the tables of deleted ones.

        >>> import pathlib
        >>> _ = pathlib.Path("lake", "parks.csv").write_text("town,park\\nBonn,Rheinaue\\n")
        >>> [table.name for table in lake.sync("lake").added]
        ['parks']
        """
        return self.apply(self.compare(paths, format), **options)

    def compare(self, paths: Paths, format: str | None = None) -> Difference:
        """Return what `sync` would do: the files that are new, changed, or gone.

        >>> import pathlib
        >>> pathlib.Path("lake", "events.csv").unlink()
        >>> lake.compare("lake").gone
        ['lake/events.csv']
        """
        from mate.build.changes.updates import Updates

        with self._snapshot.use():
            return Updates(self.address).compare(path_list(paths), reader_name(format))

    def apply(self, difference: Difference, **options: Unpack[ChangeOptions]) -> Report:
        """Make the changes that `compare` found.

        >>> import pathlib
        >>> pathlib.Path("lake", "events.csv").unlink()
        >>> [table.name for table in lake.apply(lake.compare("lake")).removed]
        ['events']
        """
        return self._change(lambda updates: updates.apply(difference), options)

    # Rows, columns and cells

    def add_rows(self, table: TableRef, rows: AnyTable, **options: Unpack[ChangeOptions]) -> Report:
        """Add rows at the end of a table.

        Columns are matched by name, or by order if there are as many and none has a known name.

        >>> import pyarrow as pa
        >>> report = lake.add_rows("events", pa.table({"town": ["Bonn"], "event": ["concert"]}))
        >>> lake.table("events", "arrow", [4]).to_pylist()
        [{'event': 'concert', 'town': 'Bonn'}]
        """
        info, new = self.find(table), user_table(rows, "the table of new rows").query
        columns = {name: new.columns.column(name).to_pylist() for name in new.header}
        empty = [None] * new.columns.num_rows
        cells = list(zip(*(columns.get(name, empty) for name in _matched_names(info, new.header)), strict=True))
        return self._change(lambda updates: updates.append_rows(info.table_id, cells), options)

    def add_column(self, table: TableRef, column: AnyTable, **options: Unpack[ChangeOptions]) -> Report:
        """Add a column at the right of a table: a table with one column, one value per row.

        >>> import pyarrow as pa
        >>> report = lake.add_column("inhabitants", pa.table({"river": ["Rhein", "Donau", None]}))
        >>> lake.find("inhabitants").columns
        ('town', 'inhabitants', 'river')
        """
        info, new = self.find(table), user_table(column, "the table of the new column").query
        if len(new.header) != 1:
            raise UpdateError(f"a new column is a table with one column; this one has {len(new.header)}")
        [name], values = new.header, new.columns.column(0).to_pylist()
        return self._change(lambda updates: updates.add_column(info.table_id, name, values), options)

    def update(self, table: TableRef, cells: Cells, **options: Unpack[ChangeOptions]) -> Report:
        """Set cells, given as (row, column, value); rows count from 0, a column is a name or counts from 0.

        >>> report = lake.update("traffic", [(0, "Autos", "4000")])
        >>> report.rows_added, lake.table("traffic", into="arrow").column("Autos")[0].as_py()
        (1, '4000')
        """
        info = self.find(table)
        placed = [(_row_number(row), _column_number(info, column), value) for row, column, value in _checked(cells)]
        return self._change(lambda updates: updates.update_cells(info.table_id, placed), options)

    def remove_rows(self, table: TableRef, rows: Iterable[int], **options: Unpack[ChangeOptions]) -> Report:
        """Remove rows of a table, counted from 0; the rows below move up.

        >>> report = lake.remove_rows("events", range(2))
        >>> lake.table("events", "arrow").column("town").to_pylist()
        ['Kiel', 'Hamm']
        """
        info = self.find(table)
        chosen = list(_rows_of(info, rows))
        return self._change(lambda updates: updates.remove_rows(info.table_id, chosen), options)

    def remove_column(self, table: TableRef, column: int | str, **options: Unpack[ChangeOptions]) -> Report:
        """Remove a column of a table, by its name or its place counted from 0.

        >>> report = lake.remove_column("weather", "wind")
        >>> lake.find("weather").columns
        ('date', 'place', 'temperature')
        """
        info = self.find(table)
        place = _column_number(info, column)
        return self._change(lambda updates: updates.remove_column(info.table_id, place), options)

    # The whole lake

    def compact(self, **options: Unpack[ChangeOptions]) -> Report:
        """Merge small segments and segments with superseded tables.

        >>> report = lake.add("sensors.csv")
        >>> before = lake.stats().segments
        >>> report = lake.compact()
        >>> before, lake.stats().segments
        (2, 1)
        """
        return self._change(lambda updates: updates.compact(), options)

    def check(self, *, repair: bool = False, **options: Unpack[ChangeOptions]) -> Findings:
        """Compute the index again from its cells and return the differences; with `repair`, those that remain.

        >>> lake.check().sound
        True
        """
        from mate.api import indexing

        with self._snapshot.use():
            findings = indexing.check(self.address, options.get("progress"))
            if repair and findings.repairable:
                findings = indexing.repair(self.address, findings, **options)
                self.refresh()
        return findings

    def _change(self, change: Callable[[Updates], Report], options: ChangeOptions) -> Report:
        """Make a change and show the new state."""
        from mate.build.changes.updates import Updates

        check_options("a change", options, ChangeOptions)
        seconds("wait", options.get("wait", 0))
        require_type("master", options.get("master", ""), str, 'a text such as "none", "auto" or "local[*]"')
        with self._snapshot.use():
            report = change(Updates(self.address, **options))
            self.refresh()
        return report


def open(address: str | PathLike[str], *, verify: bool | None = None) -> Lake:
    """Open an index: the folder of a lake, one in a store (s3://bucket/lake.mate), or the address of a database.

    A segment that was not written here is verified when it is first used: damage is an error, never a wrong answer.
    `verify=True` verifies all segments now, even those verified before; `verify=False` none.

    >>> lake = mate.open("lake.mate")
    >>> lake.stats().rows
    17
    >>> lake.close()
    >>> lake.tables()
    Traceback (most recent call last):
    ...
    mate.errors.StoreError: lake.mate is closed; open it again with mate.open(...)
    """
    return Lake(lake_address(address), verify=verify)


def _matched_names(table: TableInfo, header: Sequence[str]) -> Sequence[str]:
    """Return for each column of a table the name of the new column that belongs to it."""
    from mate.search.query import unique_names

    names = unique_names(table.columns)
    unknown = [name for name in header if name not in names]
    if not unknown:
        return names
    if len(unknown) == len(header) == len(names):
        return header
    listed = ", ".join(names)
    raise UpdateError(f'{table.name} has no column "{unknown[0]}" as the new rows have; it has: {listed}')


def _column_number(table: TableInfo, column: int | str) -> int:
    from mate.build.changes.naming import check_column, find_column

    if isinstance(column, str):
        return find_column(table, column)
    try:
        place = index(column)
    except TypeError:
        raise UpdateError(f"a column is named by its name or its place, not by {column!r}") from None
    check_column(table, place)
    return place


def _checked(cells: Cells) -> Iterator[tuple[int, int | str, str | None]]:
    if not isinstance(cells, Iterable):
        raise UpdateError(f"{CELLS}, not as {cells!r}")
    for cell in cells:
        if isinstance(cell, str) or not isinstance(cell, Sequence) or len(cell) != 3:
            raise UpdateError(f"{CELLS}; this is none: {cell!r}")
        yield cell


def _rows_of(table: TableInfo, rows: Iterable[int]) -> Iterator[int]:
    """Yield rows one by one, so that an endless range is refused at the first row that the table does not have."""
    from mate.build.changes.naming import check_rows

    if not isinstance(rows, Iterable):
        raise UpdateError(f"rows are given as a list of whole numbers, counted from 0, not as {rows!r}")
    for row in rows:
        yield from check_rows(table, [_row_number(row)])


def _row_number(row: SupportsIndex) -> int:
    try:
        return index(row)
    except TypeError:
        raise UpdateError(f"a row is a whole number from 0 on, not {row!r}") from None
