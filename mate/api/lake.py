"""`Lake`: an index that is searched and changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index
from os import PathLike, fspath
from typing import TYPE_CHECKING, SupportsIndex, Unpack

from mate.api import checking
from mate.api.addresses import address_of
from mate.api.arguments import instance, seconds
from mate.api.given import AnyTable, given_table
from mate.api.options import ChangeOptions, check_options
from mate.api.reader import Reader
from mate.errors import CorpusError, MateError, UpdateError, did_you_mean

if TYPE_CHECKING:
    from mate.build.build import Summary
    from mate.build.changes.check import Findings
    from mate.build.changes.sync import Difference
    from mate.build.changes.updates import Report, Updates
    from mate.lake.records import TableInfo

    Paths = str | PathLike[str] | Iterable[str | PathLike[str]]
    Which = int | str | TableInfo


class Lake(Reader):
    """An index: a folder of segments, or tables of a database. `mate.open` opens one, `mate.index` builds one.

    It is the state of the lake when it was opened. Changes made through it are seen by it at once; those that others
    make are seen after `refresh`. Every change is there as a whole or not at all. It may be used from several threads,
    and as a context manager.

    >>> import mate
    >>> with mate.open("lake.mate") as lake:
    ...     print([table.name for table in lake.tables()])
    ['events', 'inhabitants', 'traffic', 'weather']
    """

    build_summary: Summary | None = None
    """What the build did, in a lake that `mate.index` returned."""

    # Tables

    def add(self, paths: Paths, format: str | None = None, **options: Unpack[ChangeOptions]) -> Report:
        """Add the tables of files and folders that the lake does not have yet.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     [table.name for table in lake.add("sensors.csv").added]
        ['sensors']
        """
        return self._change(lambda updates: updates.add_tables(path_list(paths), reader_name(format)), options)

    def remove(self, tables: Which | Iterable[Which], **options: Unpack[ChangeOptions]) -> Report:
        """Remove tables, by number, file or name. Their files are not touched.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     report = lake.remove(["events", "traffic"])
        ...     [table.name for table in lake.tables()]
        ['inhabitants', 'weather']
        """
        several = isinstance(tables, Iterable) and not isinstance(tables, str) and not hasattr(tables, "table_id")
        chosen: Iterable[Which] = tables if several else [tables]  # type: ignore[assignment, list-item]
        numbers = [self.find(table).table_id for table in chosen]
        return self._change(lambda updates: updates.remove_tables(numbers), options)

    def sync(self, paths: Paths, format: str | None = None, **options: Unpack[ChangeOptions]) -> Report:
        """Follow files and folders: what is new is added, what differs is read again, what is gone is removed.

        >>> import mate, pathlib
        >>> _ = pathlib.Path("lake", "parks.csv").write_text("town,park\\nBonn,Rheinaue\\n")
        >>> with mate.open("lake.mate") as lake:
        ...     [table.name for table in lake.sync("lake").added]
        ['parks']
        """
        return self.apply(self.compare(paths, format), **options)

    def compare(self, paths: Paths, format: str | None = None) -> Difference:
        """Return what `sync` would do: files that are new, that differ, and that are gone.

        >>> import mate, pathlib
        >>> pathlib.Path("lake", "events.csv").unlink()
        >>> with mate.open("lake.mate") as lake:
        ...     lake.compare("lake").gone
        ['lake/events.csv']
        """
        from mate.build.changes.updates import Updates

        with self._snapshot.use():
            return Updates(self.address).compare(path_list(paths), reader_name(format))

    def apply(self, difference: Difference, **options: Unpack[ChangeOptions]) -> Report:
        """Do what `compare` found.

        >>> import mate, pathlib
        >>> pathlib.Path("lake", "events.csv").unlink()
        >>> with mate.open("lake.mate") as lake:
        ...     report = lake.apply(lake.compare("lake"))
        ...     len(lake.tables())
        3
        """
        return self._change(lambda updates: updates.apply(difference), options)

    # Rows, columns and cells

    def add_rows(self, table: Which, rows: AnyTable, **options: Unpack[ChangeOptions]) -> Report:
        """Add rows at the end of a table.

        They are matched with it by the names of their columns, or by order if they have as many and none of the names.

        >>> import mate
        >>> import pyarrow as pa
        >>> with mate.open("lake.mate") as lake:
        ...     report = lake.add_rows("events", pa.table({"town": ["Bonn"], "event": ["concert"]}))
        ...     lake.table("events", "arrow", [4]).to_pylist()
        [{'event': 'concert', 'town': 'Bonn'}]
        """
        info, given = self.find(table), given_table(rows, "the table of new rows").query
        columns = {name: given.columns.column(name).to_pylist() for name in given.header}
        none = [None] * given.columns.num_rows
        ordered = [columns.get(name, none) for name in _filling(info, given.header)]
        cells = list(zip(*ordered, strict=True))
        return self._change(lambda updates: updates.append_rows(info.table_id, cells), options)

    def add_column(self, table: Which, column: AnyTable, **options: Unpack[ChangeOptions]) -> Report:
        """Add a column at the right of a table: a table with one column, one value per row.

        >>> import mate
        >>> import pyarrow as pa
        >>> with mate.open("lake.mate") as lake:
        ...     report = lake.add_column("inhabitants", pa.table({"river": ["Rhein", "Donau", None]}))
        ...     lake.find("inhabitants").columns
        ('town', 'inhabitants', 'river')
        """
        info, given = self.find(table), given_table(column, "the table of the new column").query
        if len(given.header) != 1:
            raise UpdateError(f"a new column is a table with one column; this one has {len(given.header)}")
        [name], values = given.header, given.columns.column(0).to_pylist()
        return self._change(lambda updates: updates.add_column(info.table_id, name, values), options)

    def update(
        self, table: Which, cells: Iterable[tuple[int, int | str, str | None]], **options: Unpack[ChangeOptions]
    ) -> Report:
        """Set cells of a table, given as row, column and value; rows count from 0, a column is a name or counts from 0.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     report = lake.update("traffic", [(0, "Autos", "4000")])
        ...     print(report.rows_added, lake.table("traffic", into="arrow").column("Autos")[0])
        1 4000
        """
        info = self.find(table)
        placed = [(_row(row), _column_place(info, column), value) for row, column, value in _cells(cells)]
        return self._change(lambda updates: updates.update_cells(info.table_id, placed), options)

    def remove_rows(self, table: Which, rows: Iterable[int], **options: Unpack[ChangeOptions]) -> Report:
        """Remove rows of a table, counted from 0; those after them move up.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     report = lake.remove_rows("events", range(2))
        ...     lake.table("events", "arrow").column("town").to_pylist()
        ['Kiel', 'Hamm']
        """
        info = self.find(table)
        chosen = list(_inside(info, rows))
        return self._change(lambda updates: updates.remove_rows(info.table_id, chosen), options)

    def remove_column(self, table: Which, column: int | str, **options: Unpack[ChangeOptions]) -> Report:
        """Remove a column of a table, by its name or its place counted from 0.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     report = lake.remove_column("weather", "wind")
        ...     lake.find("weather").columns
        ('date', 'place', 'temperature')
        """
        info = self.find(table)
        place = _column_place(info, column)
        return self._change(lambda updates: updates.remove_column(info.table_id, place), options)

    # The whole lake

    def compact(self, **options: Unpack[ChangeOptions]) -> Report:
        """Merge small segments and those that hold superseded tables.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     report = lake.add("sensors.csv")
        ...     before = len(lake.stats().manifest["segments"])
        ...     report = lake.compact()
        ...     before, len(lake.stats().manifest["segments"])
        (2, 1)
        """
        return self._change(lambda updates: updates.compact(), options)

    def check(self, *, repair: bool = False, **options: Unpack[ChangeOptions]) -> Findings:
        """Compute the index again from its cells, and return what differs; with `repair`, what then still does.

        >>> import mate
        >>> with mate.open("lake.mate") as lake:
        ...     lake.check().sound
        True
        """
        with self._snapshot.use():
            findings = checking.check(self.address, options.get("progress"))
            if repair and findings.repairable:
                findings = checking.repair(self.address, findings, **options)
                self.refresh()
        return findings

    def _change(self, work: Callable[[Updates], Report], options: ChangeOptions) -> Report:
        """Make a change and see it."""
        from mate.build.changes.updates import Updates

        check_options("a change", options, ChangeOptions.__annotations__)
        seconds("wait", options.get("wait", 0))
        instance("master", options.get("master", ""), str, 'a text such as "none", "auto" or "local[*]"')
        with self._snapshot.use():
            report = work(Updates(self.address, **options))
            self.refresh()
        return report


def open(address: str | PathLike[str], *, verify: bool | None = None) -> Lake:
    """Open an index: the folder of a lake, one in a store (s3://bucket/lake.mate), or the address of a database.

    A segment is verified when it is used first on this machine, so that damage is an error and no wrong answer. With
    `verify=True` all segments are verified now, whatever was done before; with `verify=False` none is.

    >>> import mate
    >>> lake = mate.open("lake.mate")
    >>> lake.stats().rows
    17
    >>> lake.close()
    >>> lake.tables()
    Traceback (most recent call last):
    ...
    mate.errors.StoreError: lake.mate is closed; open it again with mate.open(...)
    """
    return Lake(address_of(address), verify=verify)


def path_list(paths: Paths) -> list[str]:
    """Return one or several paths as texts."""
    if isinstance(paths, str | PathLike):
        return [fspath(paths)]
    given = list(paths) if isinstance(paths, Iterable) else [None]
    if not all(isinstance(path, str | PathLike) for path in given):
        raise CorpusError("paths are given as one path, or as a list of them")
    return [fspath(path) for path in given if path is not None]


FORMATS = {"auto": None, "csv": "delimited", "parquet": "parquet", "json": "json", "dwtc": "dwtc"}
"""Formats by the names that people use."""


def reader_name(format: str | None) -> str | None:
    """Return the format that files are to be read in, None to find it for each."""
    if format is None:
        return None
    if not isinstance(format, str) or format not in FORMATS:
        raise MateError(f'there is no format "{format}"; {did_you_mean(format, FORMATS)}')
    return FORMATS[format]


def _filling(table: TableInfo, header: Sequence[str]) -> Sequence[str]:
    """Return for each column of a table the name of the new column that fills it; it need not be there."""
    from mate.search.query import unique_names

    names = unique_names(table.columns)
    unknown = [name for name in header if name not in names]
    if not unknown:
        return names
    if len(unknown) == len(header) == len(names):
        return header
    listed = ", ".join(names)
    raise UpdateError(f'{table.name} has no column "{unknown[0]}" as the new rows have; it has: {listed}')


def _column_place(table: TableInfo, column: int | str) -> int:
    from mate.build.changes.naming import check_column, find_column

    if isinstance(column, str):
        return find_column(table, column)
    try:
        place = index(column)
    except TypeError:
        raise UpdateError(f"a column is named by its name or its place, not by {column!r}") from None
    check_column(table, place)
    return place


def _cells(
    given: Iterable[tuple[int, int | str, str | None]],
) -> Iterator[tuple[int, int | str, str | None]]:
    """Yield cells, each as row, column and value."""
    how = 'cells are given as a list of row, column and value, such as [(0, "wind", "5")]'
    if not isinstance(given, Iterable):
        raise UpdateError(f"{how}, not as {given!r}")
    for cell in given:
        if isinstance(cell, str) or not isinstance(cell, Sequence) or len(cell) != 3:
            raise UpdateError(f"{how}; this is none: {cell!r}")
        row, column, value = cell
        yield row, column, value


def _inside(table: TableInfo, rows: Iterable[int]) -> Iterator[int]:
    """Yield rows while they are rows of the table, so that an endless range is refused and not built."""
    from mate.build.changes.naming import check_rows

    if not isinstance(rows, Iterable):
        raise UpdateError(f"rows are given as a list of whole numbers, counted from 0, not as {rows!r}")
    for row in rows:
        yield from check_rows(table, [_row(row)])


def _row(given: SupportsIndex) -> int:
    try:
        return index(given)
    except TypeError:
        raise UpdateError(f"a row is a whole number from 0 on, not {given!r}") from None
