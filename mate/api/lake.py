"""`Lake`: an index that is searched and changed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from operator import index as as_index
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
import pyarrow as pa

from mate.api.answers import Answer, Answers, Suggestions
from mate.api.arguments import Key, Paths, TableRef, lake_address, reader_name, text_list, whole_number
from mate.api.options import (
    BatchOptions,
    ChangeOptions,
    SearchOptions,
    SuggestOptions,
    WorkOptions,
    check_options,
    search_settings,
)
from mate.api.outputs import check_output
from mate.api.snapshot import Snapshot
from mate.api.stats import Stats
from mate.api.tables import AnyTable, Frame, as_frame, user_table
from mate.build.changes.naming import find_column
from mate.errors import QueryError, UpdateError
from mate.lake.base import Index
from mate.lake.records import TableInfo
from mate.search.query import unique_names
from mate.stores import open_index

if TYPE_CHECKING:
    from mate.api.batch import BatchAnswers, Queries
    from mate.api.graph import Graph
    from mate.build.build import Summary
    from mate.build.changes.change import Report
    from mate.build.changes.check import Findings
    from mate.build.changes.sync import Difference
    from mate.build.changes.updates import Updates


class Lake:
    """An index: a folder of segments, or tables of a database. `mate.open` opens one, `mate.index` builds one.

    It shows the state in which it was opened, its own changes at once, and those of others after `refresh`. A change
    succeeds or fails as a whole. Several threads may use a lake.

    >>> with mate.open("lake.mate") as lake:
    ...     print([table.name for table in lake.tables()])
    ['events', 'inhabitants', 'traffic', 'weather']
    """

    build_summary: Summary | None = None
    """What the build did, in a lake that `mate.index` returned."""

    def __init__(self, address: str, *, verify: bool | None = None) -> None:
        self.address = address
        """Path of its folder, or address of a store or a database."""
        self._verify = verify
        self._snapshot = Snapshot(self._open())

    def _open(self) -> Index:
        index = open_index(self.address)
        if self._verify:
            index.verify()
        elif self._verify is False:
            index.trust()
        return index

    def search(self, query: AnyTable, key: Key, k: int = 10, **options: Unpack[SearchOptions]) -> Answers:
        """Find the k tables that join best with your table on its key columns.

        >>> for answer in lake.search("sensors.csv", ["city", "day"]):
        ...     print(answer.joinability, answer.table.name, answer.mapping)
        5 weather {'city': 'place', 'day': 'date'}
        3 traffic {'city': 'Stadt', 'day': 'Tag'}
        """
        from mate.search.systems import find_system

        check_options("search", options, SearchOptions)
        columns = text_list(key)
        snapshot, own = self._snapshot, user_table(query, key=columns)
        excluded = snapshot.excluded(options.get("exclude", ()), own.query.source)
        system, settings = search_settings(snapshot.index, k, options, excluded)
        return Answers(own, snapshot, find_system(system)(snapshot.index, own.query, columns, settings=settings))

    def search_many(
        self,
        queries: Queries,
        key: Key | None = None,
        into: str | PathLike[str] | None = None,
        k: int = 10,
        **options: Unpack[BatchOptions],
    ) -> BatchAnswers:
        """Answer many queries, each as `search` would; a query that fails has an error in its place.

        `queries` is a folder of tables, each with this `key` or all its columns; a CSV file with the columns `query` (a
        file, relative to the list's folder), `key` (columns separated by `;`) and optionally `name`; pairs of a table
        and its key; or a mapping of names to such pairs. `into` names a Parquet file for the answers: a batch that was
        stopped continues where it was when it is started again.

        >>> lake.search_many({"mine": ("sensors.csv", ["city", "day"])}, k=1)["mine"][0]["joinability"]
        5
        """
        from mate.api.batch import QueryBatch, plan_queries
        from mate.search.batches import BatchSearch

        check_options("search_many", options, BatchOptions)
        snapshot, exclude = self._snapshot, options.get("exclude", ())
        of_own_file = isinstance(exclude, str) and exclude == "self"
        excluded = snapshot.excluded(() if of_own_file else exclude, None)
        search = BatchSearch(*search_settings(snapshot.index, k, options, excluded))
        planned = plan_queries(queries, key, options.get("encoding"))
        if into is not None:
            check_output(Path(into), snapshot.source_names, [queries, *(query.table for query in planned)])
        own_tables = snapshot.source_tables() if of_own_file else None
        return QueryBatch(planned, snapshot.index, search, own_tables).answer(into, options)

    def suggest(self, table: AnyTable, k: int = 10, **options: Unpack[SuggestOptions]) -> Suggestions:
        """Find keys for a table: which of its columns, alone or together, join with which tables.

        >>> best = lake.suggest("sensors.csv")[0]
        >>> best.key, best.table.name
        (('city',), 'events')
        """
        [found] = self._suggestions(table, k, options, in_steps=False)
        return found

    def suggest_in_steps(
        self, table: AnyTable, k: int = 10, **options: Unpack[SuggestOptions]
    ) -> Generator[Suggestions, None, None]:
        """Yield what `suggest` has found so far: first keys of one column; the last one is complete.

        To cancel the search, ask for no more, or close the generator.

        >>> [found.complete for found in lake.suggest_in_steps("sensors.csv")]
        [False, True]
        """
        return self._suggestions(table, k, options, in_steps=True)

    def _suggestions(
        self, table: AnyTable, k: int, options: SuggestOptions, *, in_steps: bool
    ) -> Generator[Suggestions, None, None]:
        from mate.search.suggest import STEPS, SuggestionSettings, suggest_in_steps
        from mate.search.suggest.keys import LONGEST

        check_options("suggest", options, SuggestOptions)
        columns = None if (given := options.get("columns")) is None else text_list(given)
        snapshot, own = self._snapshot, user_table(table, "the table", columns or ())
        settings = SuggestionSettings(
            whole_number("k", k),
            whole_number("most_columns", options.get("most_columns", LONGEST), 1, LONGEST),
            snapshot.excluded(options.get("exclude", ()), own.query.source),
            columns,
            options.get("names", True),
        )
        steps = suggest_in_steps(snapshot.index, own.query, settings, STEPS if in_steps else frozenset())
        return (Suggestions(own, snapshot, found) for found in steps)

    def graph(self, most_columns: int = 3, **options: Unpack[WorkOptions]) -> Graph:
        """Compare all tables of the lake: which join, on which keys of up to `most_columns` columns.

        Joins that chance may explain are left out; copies, and tables with the same columns, are marked.

        >>> graph = lake.graph()
        >>> graph
        <Graph: 4 tables; 1 join>
        >>> [(edge["child_name"], edge["key"], edge["parent_name"]) for edge in graph.edges.to_pylist()]
        [('inhabitants', ['town'], 'events')]
        """
        from mate.api.graph import compare_tables

        check_options("graph", options, WorkOptions)
        return compare_tables(self._snapshot.index, whole_number("most_columns", most_columns, 1, 4), **options)

    def match(self, query: AnyTable, key: Key, table: TableRef, *, names: bool = True) -> Answer:
        """Return how one table of the lake joins with yours, as the answer of a search that finds it.

        >>> import pyarrow as pa
        >>> mine = pa.table({"town": ["Bonn", "Ulm"], "on": ["2019-01-01", "2019-01-02"]})
        >>> lake.match(mine, ["town", "on"], "weather").join().column("wind").to_pylist()
        ['3', None]
        """
        from mate.search.engine import match_table

        snapshot = self._snapshot
        columns = text_list(key)
        own, info = user_table(query, key=columns), snapshot.find(table)
        found = match_table(snapshot.index, own.query, columns, info.table_id, names=names)
        if not found.results:
            on = ", ".join(found.key.columns)
            raise QueryError(f"table {info.table_id} ({info.name}) does not join with {own.query.name} on {on}")
        return Answer(own, snapshot, found.results[0], found.key.columns, lambda: found.key)

    # What the lake holds

    def find(self, table: TableRef) -> TableInfo:
        """Return a table by its number, file or name.

        >>> lake.find("weather").rows, lake.find("lake/weather.csv").name, lake.find(3).name
        (6, 'weather', 'weather')
        """
        return self._snapshot.find(table)

    def table(self, table: TableRef, into: Frame = "pandas", rows: Sequence[int] | None = None) -> Any:
        """Return the cells of a table as they were read, or of some of its rows, such as `range(10)`.

        >>> lake.table("traffic", into="arrow").column_names
        ['Stadt', 'Tag', 'Autos']
        """
        snapshot = self._snapshot
        info = snapshot.find(table)
        chosen = np.arange(info.rows) if rows is None else np.fromiter(map(as_index, rows), np.int64)
        wrong = chosen[(chosen < 0) | (chosen >= info.rows)]
        if len(wrong):
            raise QueryError(f"table {info.table_id} ({info.name}) has {info.rows:,} rows, and no row {wrong[0]:,}")
        cells = snapshot.index.cells(info.table_id, chosen)
        columns = [pa.array([row[place] for row in cells], pa.string()) for place in range(len(info.columns))]
        return as_frame(pa.table(columns, names=unique_names(info.columns)), into)

    def tables(self) -> list[TableInfo]:
        """Return all tables: number, name, source, columns, rows."""
        return self._snapshot.index.tables()

    def sources(self) -> list[dict[str, Any]]:
        """Return the files that were read: source, format, bytes, sha256, tables."""
        return self._snapshot.index.sources()

    def rejects(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return what was not indexed: source, line, kind, reason, count."""
        return self._snapshot.index.rejects(limit)

    def stats(self) -> Stats:
        """Return counts, settings and sizes."""
        return Stats.of(self._snapshot.index)

    # Tables

    def add(self, paths: Paths, format: str | None = None, **options: Unpack[ChangeOptions]) -> Report:
        """Add the tables of new files and folders.

        >>> [table.name for table in lake.add("sensors.csv").added]
        ['sensors']
        """
        return self._change(lambda updates: updates.add_tables(text_list(paths), reader_name(format)), options)

    def remove(self, tables: TableRef | Iterable[TableRef], **options: Unpack[ChangeOptions]) -> Report:
        """Remove tables; their files stay.

        >>> report = lake.remove(["events", "traffic"])
        >>> [table.name for table in lake.tables()]
        ['inhabitants', 'weather']
        """
        if isinstance(tables, str | TableInfo) or not isinstance(tables, Iterable):
            tables = [tables]
        numbers = [self.find(table).table_id for table in tables]
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

        self._snapshot.require_open()
        return Updates(self.address).compare(text_list(paths), reader_name(format))

    def apply(self, difference: Difference, **options: Unpack[ChangeOptions]) -> Report:
        """Make the changes that `compare` found."""
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
        names = _matched_names(info, new.header)
        cells = [[row.get(name) for name in names] for row in new.columns.to_pylist()]
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

    def update(
        self, table: TableRef, cells: Iterable[tuple[int, int | str, str | None]], **options: Unpack[ChangeOptions]
    ) -> Report:
        """Set cells, given as (row, column, value); rows count from 0, a column is a name or counts from 0.

        >>> report = lake.update("traffic", [(0, "Autos", "4000")])
        >>> report.rows_added, lake.table("traffic", into="arrow").column("Autos")[0].as_py()
        (1, '4000')
        """
        info = self.find(table)
        placed = [(as_index(row), _column_number(info, column), value) for row, column, value in cells]
        return self._change(lambda updates: updates.update_cells(info.table_id, placed), options)

    def remove_rows(self, table: TableRef, rows: Iterable[int], **options: Unpack[ChangeOptions]) -> Report:
        """Remove rows of a table, counted from 0; the rows below move up.

        >>> report = lake.remove_rows("events", range(2))
        >>> lake.table("events", "arrow").column("town").to_pylist()
        ['Kiel', 'Hamm']
        """
        info = self.find(table)
        return self._change(lambda updates: updates.remove_rows(info.table_id, map(as_index, rows)), options)

    def remove_column(self, table: TableRef, column: int | str, **options: Unpack[ChangeOptions]) -> Report:
        """Remove a column of a table, by its name or its place counted from 0."""
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

        self._snapshot.require_open()
        findings = indexing.check(self.address, options.get("progress"))
        if repair and findings.repairable:
            findings = indexing.repair(self.address, findings, **options)
            self.refresh()
        return findings

    def _change(self, change: Callable[[Updates], Report], options: ChangeOptions) -> Report:
        """Make a change and show the new state."""
        from mate.build.changes.updates import Updates

        check_options("a change", options, ChangeOptions)
        self._snapshot.require_open()
        report = change(Updates(self.address, **options))
        self.refresh()
        return report

    # State

    def refresh(self) -> None:
        """See the lake as it is now. Earlier answers keep the state that they came from.

        >>> with mate.open("lake.mate") as other:
        ...     report = other.remove("events")
        >>> before = len(lake.tables())
        >>> lake.refresh()
        >>> before, len(lake.tables())
        (4, 3)
        """
        self._snapshot.require_open()
        self._snapshot = Snapshot(self._open())

    def close(self) -> None:
        """Close the lake; calls in other threads still finish."""
        self._snapshot.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.address}>"


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
    names = unique_names(table.columns)
    unknown = [name for name in header if name not in names]
    if not unknown:
        return names
    if len(unknown) == len(header) == len(names):
        return header
    listed = ", ".join(names)
    raise UpdateError(f'{table.name} has no column "{unknown[0]}" as the new rows have; it has: {listed}')


def _column_number(table: TableInfo, column: int | str) -> int:
    return find_column(table, column) if isinstance(column, str) else as_index(column)
