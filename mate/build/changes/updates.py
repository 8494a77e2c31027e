"""The operations on an index: tables, rows, columns and cells come, change and go, and files are followed.

Every method of `Updates` is one change: all or nothing, on disk when the method returns, and unseen by searches that
are under way. The tables that a change touches are written again, so its cost grows with them, never with the lake.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from mate.build.build import MEMORY, check_memory
from mate.build.changes.change import Change, Report, worth_merging
from mate.build.changes.naming import check_column, check_rows, spellings, tables_of
from mate.build.changes.sync import Difference, compare
from mate.build.engine import AUTO, NO_SPARK, NoProgress, Progress, choose_master, failure_explained, start_engine
from mate.build.sources import FileSource, Source, find_sources
from mate.build.stored_tables import CELL_BYTES, set_cells
from mate.errors import StoreError, UpdateError
from mate.lake.base import Index
from mate.lake.records import TableInfo
from mate.lake.remote import published_manifest
from mate.stores import is_database, open_index, open_writer
from mate.values.arrow import string_array

Row: TypeAlias = Sequence[str | None]

WAIT = 10.0
"""Seconds that a change waits for another one to end."""


@dataclass(frozen=True)
class Updates:
    """The operations on the index at an address. Rows and columns are counted from 0 within their table."""

    address: str
    wait: float = WAIT
    master: str = AUTO
    """Where Spark runs: as for a build, or "auto", which starts it for large changes only."""
    spark: Mapping[str, str] = field(default_factory=dict)
    memory: int = MEMORY
    """Bytes that a task may use to write a segment; a table that needs more makes a segment of its own."""
    verbose: bool = False
    progress: Progress = field(default_factory=NoProgress)

    def __post_init__(self) -> None:
        check_memory(self.memory)

    # Tables

    def add_tables(self, paths: Iterable[str], format: str | None = None) -> Report:
        """Add the tables of files, folders or synthetic lakes that the index does not have yet."""
        return self.add_sources(find_sources(paths, format))

    def add_sources(self, sources: list[Source]) -> Report:
        """Add the tables of sources."""
        with self._change(sum(source.size for source in sources)) as change:
            _check_new(change.index, sources)
            added = change.add_sources(sources, {})
            if not added:
                raise UpdateError("no table could be read; nothing was changed (mate index --strict tells why)")
            change.report = Report(added=added, rows_added=_rows(added))
        return change.report

    def remove_tables(self, table_ids: Iterable[int]) -> Report:
        """Remove tables."""
        with self._change() as change:
            tables = tables_of(change.index, table_ids)
            change.gone_tables += tables
            change.update_sources(Counter(table.source for table in tables), [])
            change.report = Report(removed=tables, rows_removed=_rows(tables))
        return change.report

    def compare(self, paths: Sequence[str], format: str | None = None) -> Difference:
        """Return which files are new, which differ from what was read, and which are gone."""
        with open_index(self.address) as index:
            return compare(index, paths, format)

    def apply(self, difference: Difference) -> Report:
        """Add, read again and remove what a comparison found.

        A table that was changed in the index and not in its file becomes the file's again.
        """
        if not difference:
            return Report()
        sources: list[Source] = [*difference.changed, *difference.new]
        with self._change(sum(source.size for source in sources)) as change:
            difference.check(change.index)
            gone = [*(source.name for source in difference.changed), *difference.gone]
            old = change.index.tables(change.index.tables_from(gone))
            change.gone_tables += old
            change.gone_sources += gone
            new = change.add_sources(sources, {(table.source, table.position): table.table_id for table in old})
            before, after = ({table.table_id for table in tables} for tables in (old, new))
            change.report = Report(
                added=[table for table in new if table.table_id not in before],
                changed=[table for table in new if table.table_id in before],
                removed=[table for table in old if table.table_id not in after],
                rows_added=_rows(new),
                rows_removed=_rows(old),
            )
        return change.report

    # Rows and cells

    def append_rows(self, table_id: int, rows: Sequence[Row]) -> Report:
        """Add rows at the end of a table."""
        if not rows:
            return Report()
        with self._change() as change:
            [table] = tables_of(change.index, [table_id])
            width = len(table.columns)
            for number, row in enumerate(rows, start=1):
                if len(row) != width:
                    raise UpdateError(f"row {number} of the new rows has {len(row)} cells; {table.name} has {width}")
            columns = [string_array(list(column)) for column in zip(*rows, strict=True)]
            values = [(table.rows + place, value) for place, row in enumerate(rows) for value in row]

            def edit(cells: pa.Table) -> pa.Table:
                return pa.concat_tables([cells, pa.Table.from_arrays(columns, schema=cells.schema)])

            change.edit_table(table, edit, (len(rows), 0), values)
        return change.report

    def update_cells(self, table_id: int, cells: Iterable[tuple[int, int, str | None]]) -> Report:
        """Set cells of a table, given as row, column and value."""
        with self._change() as change:
            [table] = tables_of(change.index, [table_id])
            given: dict[int, dict[int, str | None]] = {}
            for row, column, value in cells:
                check_column(table, column)
                given.setdefault(row, {})[column] = value
            new = _different(change.index, table, given)
            if new:
                values = [(row, value) for row, columns in new.items() for value in columns.values()]
                change.edit_table(table, lambda cells: set_cells(cells, new), (len(new), len(new)), values)
        return change.report

    def remove_rows(self, table_id: int, rows: Iterable[int]) -> Report:
        """Remove rows of a table; those after them move up."""
        with self._change() as change:
            [table] = tables_of(change.index, [table_id])
            gone = check_rows(table, rows)
            left = np.ones(table.rows, np.bool_)
            left[gone] = False
            change.edit_table(table, lambda cells: cells.filter(pa.array(left)), (0, len(gone)))
        return change.report

    # Columns

    def add_column(self, table_id: int, name: str, values: Sequence[str | None]) -> Report:
        """Add a column at the right of a table, one value per row."""
        with self._change() as change:
            [table] = tables_of(change.index, [table_id])
            if len(values) != table.rows:
                raise UpdateError(f"the new column has {len(values):,} values; {table.name} has {table.rows:,} rows")
            [header], new = string_array([name]).to_pylist(), string_array(list(values))
            rows = (table.rows, table.rows)
            change.edit_table(table, lambda cells: cells.append_column(header, new), rows, list(enumerate(values)))
        return change.report

    def remove_column(self, table_id: int, column: int) -> Report:
        """Remove a column of a table; the columns after it move to the left."""
        with self._change() as change:
            [table] = tables_of(change.index, [table_id])
            check_column(table, column)
            if len(table.columns) == 1:
                raise UpdateError(f"{table.name} has no other column: remove the table")
            change.edit_table(table, lambda cells: cells.remove_column(column), (table.rows, table.rows))
        return change.report

    # The whole index

    def compact(self) -> Report:
        """Merge small segments and those that hold superseded tables into new ones."""
        if is_database(self.address):
            raise StoreError("only a lake is compacted: a database looks after its own storage")
        cells = sum(record.counts.cells for record in worth_merging(published_manifest(self.address), self.memory))
        with self._change(cells * CELL_BYTES) as change:
            change.compact()
        return change.report

    # What all changes have in common

    @contextmanager
    def _change(self, size: int = 0) -> Iterator[Change]:
        """Publish what is collected in a block that reads so many bytes, as one change."""
        start = time.perf_counter()
        master = choose_master(self.master, size)[0] if size else NO_SPARK
        with (
            open_writer(self.address, self.wait) as writer,
            start_engine(master, self.spark, verbose=self.verbose) as engine,
            failure_explained("change"),
        ):
            change = Change(writer, engine, self.progress, self.memory)
            before = after = writer.index.manifest
            yield change
            change.write_segments()
            if change:
                after = writer.apply(change, change.manifest())
            change.report = replace(change.report, before=before, after=after, seconds=time.perf_counter() - start)


def _rows(tables: list[TableInfo]) -> int:
    return sum(table.rows for table in tables)


def _different(
    index: Index, table: TableInfo, values: dict[int, dict[int, str | None]]
) -> dict[int, dict[int, str | None]]:
    """Return those of new values, by row and column, that are not there already."""
    rows = check_rows(table, values)
    old = index.cells(table.table_id, np.array(rows, np.int64))
    different = {}
    for row, cells in zip(rows, old, strict=True):
        new = {column: value for column, value in values[row].items() if cells[column] != value}
        if new:
            different[row] = new
    return different


def _check_new(index: Index, sources: list[Source]) -> None:
    """Refuse files that the index has, however their path is written."""
    spelled = {source.name: source.name for source in sources}
    spelled |= {name: s.name for s in sources if isinstance(s, FileSource) for name in spellings(s.name)}
    for record in index.sources(list(spelled)):
        raise UpdateError(f"the index has {spelled[record['source']]} already; mate sync takes its new content")
    twice = [name for name, count in Counter(source.name for source in sources).items() if count > 1]
    if twice:
        raise UpdateError(f"{twice[0]} is given twice")
