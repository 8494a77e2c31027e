"""Changing an index (section 5.4): tables, rows, columns and cells come, change and go, and the lake is followed.

Every method of `Updates` is one change: it is there as a whole or not at all, it is on disk when the method returns,
and whoever searches meanwhile goes on seeing the index as it was. Whatever was changed, the index answers as one that
was built from the changed tables. Hash functions and their parameters stay those of the manifest.

    updates = Updates("lake.duckdb")
    updates.add_tables(["new/prices.csv"])
    updates.update_cells(17, [(0, 2, "Berlin")])
    updates.sync(["lake/"])

Tables keep their numbers. Rows and columns are counted from 0 within their table, at the time of the change.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mate.values.arrow import string_array
from mate.errors import StoreError, UpdateError
from mate.build.naming import check_column, row_ids_of, tables_of
from mate.build.change import Change, Writer
from mate.build.draft import CHUNK_ROWS, Draft
from mate.build.engine import NO_SPARK, Engine, LocalEngine, failure, start_engine
from mate.build.progress import Progress, Silent
from mate.build.sources import FileSource, Source, find_sources
from mate.store.base import Ids, IndexStore, Manifest, TableInfo, as_ids, is_vertica
from mate.build.sync import Difference, compare

if TYPE_CHECKING:
    from mate.build.duckdb_changes import DuckDBWriter

WAIT = 10.0
"""Seconds that a change waits for another one to end."""

AUTO = "auto"
LARGE = 64 << 20
"""Bytes of new files from which on Spark is worth its start."""

Row = Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Report:
    """What a change did."""

    added: list[TableInfo] = field(default_factory=list)
    changed: list[TableInfo] = field(default_factory=list)
    removed: list[TableInfo] = field(default_factory=list)
    rows_added: int = 0
    """Rows that are new or were written anew."""
    rows_removed: int = 0
    """Rows that are gone or were written anew."""
    before: Manifest | None = None
    after: Manifest | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Updates:
    """The operations on the index at an address."""

    address: str
    wait: float = WAIT
    master: str = AUTO
    """Where Spark runs: as for a build, or "auto", which starts it for large changes only."""
    spark: Mapping[str, str] = field(default_factory=dict)
    verbose: bool = False
    told: Progress = field(default_factory=Silent)

    # Tables

    def add_tables(self, paths: Iterable[str], format: str | None = None) -> Report:
        """Add the tables of files, folders or synthetic lakes that the index does not have yet."""
        return self.add_sources(find_sources(paths, format, tasks=32))

    def add_sources(self, sources: list[Source]) -> Report:
        """Add the tables of sources."""

        def work(draft: Draft, report: Report) -> Report:
            _check_new(draft.store, sources)
            return replace(report, added=_something(draft.add_sources(sources, {})))

        return self._change(work, sum(source.size for source in sources))

    def remove_tables(self, table_ids: Iterable[int]) -> Report:
        """Remove tables."""

        def work(draft: Draft, report: Report) -> Report:
            tables = tables_of(draft.store, table_ids)
            draft.remove_tables(tables)
            _forget_tables(draft, tables)
            return replace(report, removed=tables)

        return self._change(work)

    def sync(self, paths: Sequence[str], format: str | None = None) -> Report:
        """Make the index follow files and folders: what is new is added, what differs read again, what is gone removed.

        Nothing else is touched. A table that was changed in the index and not in its file becomes the file's again.
        """
        return self.apply(self.compare(paths, format))

    def compare(self, paths: Sequence[str], format: str | None = None) -> Difference:
        """Return what `sync` would do."""
        from mate.store.base import open_store

        with open_store(self.address) as store:
            return compare(store, paths, format)

    def apply(self, difference: Difference) -> Report:
        """Add, read again and remove what a comparison found."""
        if not difference:
            return Report()

        def work(draft: Draft, report: Report) -> Report:
            difference.check(draft.store)
            gone = [*(source.name for source in difference.changed), *difference.gone]
            old = draft.store.tables(draft.store.tables_from(gone))
            draft.remove_tables(old)
            draft.remove_sources(gone)
            known = {(table.source, table.position): table.table_id for table in old}
            new = draft.add_sources([*difference.changed, *difference.new], known)
            before, after = ({table.table_id for table in tables} for tables in (old, new))
            return replace(
                report,
                added=[table for table in new if table.table_id not in before],
                changed=[table for table in new if table.table_id in before],
                removed=[table for table in old if table.table_id not in after],
            )

        return self._change(work, sum(source.size for source in (*difference.changed, *difference.new)))

    # Rows and cells

    def append_rows(self, table_id: int, rows: Sequence[Row]) -> Report:
        """Add rows at the end of a table."""

        def work(draft: Draft, report: Report) -> Report:
            [table] = tables_of(draft.store, [table_id])
            for number, row in enumerate(rows):
                if len(row) != len(table.columns):
                    raise UpdateError(
                        f"row {number + 1} of the new rows has {len(row)} cells; {table.name} has {len(table.columns)}"
                    )
            if draft.contiguous:
                return self._move(draft, report, table, draft.store.row_ids(as_ids([table_id])).row_id, rows)
            numbers = draft.put_rows(table, [list(row) for row in rows])
            first = table.first_row if table.rows else int(numbers[0])
            return self._put(draft, report, table, replace(table, first_row=first, rows=table.rows + len(rows)))

        return self._change(work) if rows else Report()

    def update_cells(self, table_id: int, cells: Iterable[tuple[int, int, str | None]]) -> Report:
        """Set cells of a table, given as row, column and value, and hash their rows anew."""

        def work(draft: Draft, report: Report) -> Report:
            [table] = tables_of(draft.store, [table_id])
            values: dict[int, dict[int, str | None]] = {}
            for row, column, value in cells:
                check_column(table, column)
                values.setdefault(row, {})[column] = value
            numbers = row_ids_of(draft.store, table, values)
            old = draft.store.cells(as_ids(list(numbers.values())))
            new = {
                number: [values[row].get(column, cell) for column, cell in enumerate(old[number])]
                for row, number in numbers.items()
            }
            changed = as_ids(sorted(number for number in new if new[number] != old[number]))
            if not len(changed):
                return report
            draft.remove_rows(changed, as_ids([table_id] * len(changed)))
            draft.put_rows(table, [new[number] for number in changed.tolist()], changed, known=True)
            given = [(row, value) for row, chosen in values.items() for value in chosen.values()]
            draft.report_long(table, *zip(*given, strict=True))
            return self._put(draft, report, table, table)

        return self._change(work)

    def remove_rows(self, table_id: int, rows: Iterable[int]) -> Report:
        """Remove rows of a table; those after them move up."""

        def work(draft: Draft, report: Report) -> Report:
            [table] = tables_of(draft.store, [table_id])
            numbers = as_ids(sorted(row_ids_of(draft.store, table, rows).values()))
            left = np.setdiff1d(draft.store.row_ids(as_ids([table_id])).row_id, numbers)
            if draft.contiguous:
                return self._move(draft, report, table, left, [])
            draft.remove_rows(numbers, as_ids([table_id] * len(numbers)))
            first = int(left[0]) if len(left) else table.first_row
            return self._put(draft, report, table, replace(table, first_row=first, rows=len(left)))

        return self._change(work)

    # Columns

    def add_column(self, table_id: int, name: str, values: Sequence[str | None]) -> Report:
        """Add a column at the right of a table, one value a row; its hashes are ORed into the rows' super keys."""

        def work(draft: Draft, report: Report) -> Report:
            [table] = tables_of(draft.store, [table_id])
            if len(values) != table.rows:
                raise UpdateError(f"the new column has {len(values):,} values; {table.name} has {table.rows:,} rows")
            draft.report_long(table, range(len(values)), values)
            wider = replace(table, columns=(*table.columns, *string_array([name]).to_pylist()))
            return self._rewrite(draft, report, table, wider, lambda place, row: [*row, values[place]])

        return self._change(work)

    def remove_column(self, table_id: int, column: int) -> Report:
        """Remove a column of a table; its rows are hashed anew, and the columns after it move to the left."""

        def work(draft: Draft, report: Report) -> Report:
            [table] = tables_of(draft.store, [table_id])
            check_column(table, column)
            if len(table.columns) == 1:
                raise UpdateError(f"{table.name} has no other column: remove the table")
            narrower = replace(table, columns=table.columns[:column] + table.columns[column + 1 :])
            return self._rewrite(draft, report, table, narrower, lambda _, row: [*row[:column], *row[column + 1 :]])

        return self._change(work)

    def _rewrite(
        self,
        draft: Draft,
        report: Report,
        old: TableInfo,
        new: TableInfo,
        form: Callable[[int, list[str | None]], list[str | None]],
    ) -> Report:
        """Replace all rows of a table under the numbers that they have."""
        places = draft.store.row_ids(as_ids([old.table_id]))
        draft.remove_rows(*places)
        for start in range(0, len(places.row_id), CHUNK_ROWS):
            numbers = places.row_id[start : start + CHUNK_ROWS]
            cells = draft.store.cells(numbers)
            rows = [form(start + place, cells[number]) for place, number in enumerate(numbers.tolist())]
            draft.put_rows(new, rows, numbers, known=True)
        return self._put(draft, report, old, new)

    def _move(self, draft: Draft, report: Report, table: TableInfo, kept: Ids, more: Sequence[Row]) -> Report:
        """Write a table anew where there is room for all its rows in a row: those that are kept, and more."""
        draft.remove_rows(*draft.store.row_ids(as_ids([table.table_id])))
        put: list[Ids] = []
        for start in range(0, len(kept), CHUNK_ROWS):
            numbers = kept[start : start + CHUNK_ROWS]
            cells = draft.store.cells(numbers)
            put.append(draft.put_rows(table, [cells[number] for number in numbers.tolist()], known=True))
        if more:
            put.append(draft.put_rows(table, [list(row) for row in more]))
        first = int(put[0][0]) if put else table.first_row
        return self._put(draft, report, table, replace(table, first_row=first, rows=len(kept) + len(more)))

    # The whole index

    def compact(self, josie: bool | None = None) -> Report:
        """Fold all changes into a new file; JOSIE's index is built anew if there was one, or as asked."""
        from mate.build.duckdb_compact import compact
        from mate.store.layered import LayeredStore

        start = time.perf_counter()
        with embedded_writer(self.address, self.wait) as writer, explained("compact"):
            before = writer.store.manifest
            if not isinstance(writer.store, LayeredStore):
                return Report(before=before, after=before)
            had = writer.store.base.manifest.josie
            after = compact(writer, had if josie is None else josie, self.told)
            return Report(before=before, after=after, seconds=time.perf_counter() - start)

    # What all have in common

    def _put(self, draft: Draft, report: Report, old: TableInfo, new: TableInfo) -> Report:
        """Replace the record of a table, and note that it is no longer what its file holds."""
        draft.put_table(old, new)
        for record in draft.store.sources_named([old.source]):
            draft.put_source({**record, "sha256": ""}, draft.store.rejects_from([old.source]))
        return replace(report, changed=[new])

    def _change(self, work: Callable[[Draft, Report], Report], size: int = 0) -> Report:
        """Do the work of one change and publish it."""
        start = time.perf_counter()
        with writer_of(self.address, self.wait) as writer, self._engine(size) as engine, explained("change"):
            draft = Draft(writer, engine, self.told)
            report = work(draft, Report(before=writer.store.manifest))
            change = draft.finish()
            if not _empty(change):
                writer.apply(change)
            return replace(
                report,
                rows_added=sum(unit.rows for unit in draft.staged),
                rows_removed=len(change.gone_rows),
                after=change.manifest,
                seconds=time.perf_counter() - start,
            )

    @contextmanager
    def _engine(self, size: int) -> Iterator[Engine]:
        master = self.master if self.master != AUTO else NO_SPARK if size < LARGE else "local[*]"
        if not size or master == NO_SPARK:
            yield LocalEngine()
            return
        with start_engine(master, self.spark, verbose=self.verbose) as engine:
            yield engine


@contextmanager
def explained(work: str) -> Iterator[None]:
    """Turn what the operating system refuses, such as more of the disk, into one line."""
    try:
        yield
    except OSError as error:
        raise failure(f"OSError: {error}", work) from error


def writer_of(address: str, wait: float) -> Writer:
    """Return what changes the index at an address."""
    if is_vertica(address):
        from mate.sql.vertica_changes import VerticaWriter

        return VerticaWriter(address, wait)
    return embedded_writer(address, wait)


def embedded_writer(address: str, wait: float) -> DuckDBWriter:
    """Return what changes an index in a file."""
    from mate.build.duckdb_changes import DuckDBWriter

    if is_vertica(address):
        raise StoreError("this is for an index in a file; a database looks after its own storage")
    return DuckDBWriter(address, wait)


def _check_new(store: IndexStore, sources: list[Source]) -> None:
    """Refuse files that the index has, however their path was written."""
    spelled = {name: source.name for source in sources for name in _spellings(source)}
    for record in store.sources_named(list(spelled)):
        raise UpdateError(f"the index has {spelled[record['source']]} already; mate sync takes its new content")
    twice = [name for name, count in Counter(source.name for source in sources).items() if count > 1]
    if twice:
        raise UpdateError(f"{twice[0]} is given twice")


def _spellings(source: Source) -> set[str]:
    if not isinstance(source, FileSource):
        return {source.name}
    path = Path(source.name)
    return {source.name, str(path.absolute()), str(path.resolve())}


def _something(tables: list[TableInfo]) -> list[TableInfo]:
    if not tables:
        raise UpdateError("no table could be read; nothing was changed (mate index --strict tells why)")
    return tables


def _forget_tables(draft: Draft, tables: list[TableInfo]) -> None:
    """Lower the count of their sources, or forget these if nothing of them is left."""
    removed = Counter(table.source for table in tables)
    for record in draft.store.sources_named(list(removed)):
        name = record["source"]
        left = record["tables"] - removed[name]
        if left:
            draft.put_source({**record, "sha256": "", "tables": left}, draft.store.rejects_from([name]))
        else:
            draft.remove_sources([name])


def _empty(change: Change) -> bool:
    return not (len(change.gone_rows) or change.parts or len(change.gone_tables) or change.gone_sources)
