"""Changing an index in Vertica: deletes and loads in the generation in use, in one transaction.

What goes is named in temporary tables of the session and deleted by a join with them, which the server keeps as delete
vectors; what comes is a segment, streamed by COPY. Until the commit nobody sees anything of it, and each query of
others sees the state of one commit. There is no statement per row.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from mate.build.build import now
from mate.build.change import Change
from mate.build.stored_tables import Columns, StoredTable
from mate.errors import StoreError
from mate.index.base import Ids
from mate.index.counting import ranges
from mate.index.manifest import Counts
from mate.index.records import TableInfo
from mate.index.segment import Segment
from mate.sql import vertica_sql as sql
from mate.sql.vertica import VerticaIndex
from mate.sql.vertica_address import VerticaAddress
from mate.sql.vertica_load import Destination
from mate.sql.vertica_session import BusyError, ConnectionLostError, Session
from mate.sql.vertica_target import NEXT_ROW, check_numbers
from mate.values.arrow import string_array

_POLL = 0.1
_CHUNK_CELLS = 200_000
"""Cells of a table that are read at a time."""


@dataclass(frozen=True, kw_only=True)
class VerticaTable(StoredTable):
    """A table of an index in Vertica, to be read like a file."""

    index: VerticaIndex = field(repr=False)

    def chunks(self) -> Iterator[tuple[int, Columns]]:
        """Yield the cells as they are stored."""
        info = self.info
        step = max(1, _CHUNK_CELLS // len(info.columns))
        for first in range(0, info.rows, step):
            rows = self.index.cells(info.table_id, np.arange(first, min(first + step, info.rows)))
            yield first, [string_array(list(column)) for column in zip(*rows, strict=True)]


class VerticaWriter:
    """Changes an index in Vertica. Holds the lock that builds of the schema take as well."""

    def __init__(self, address: str, wait: float) -> None:
        self._address, self._wait = address, wait
        self._where = VerticaAddress.parse(address)
        self._password = self._where.password()

    def __enter__(self) -> Self:
        VerticaIndex(self._address).close()  # tells if there is none
        self._lock = Session.patient(self._where, self._password)
        try:
            self._take_lock()
            self.index = VerticaIndex(self._address)
            self.directory = Path(tempfile.mkdtemp(prefix="mate-", dir=self._where.workdir or None))
        except OSError as error:
            self._lock.close()
            raise StoreError(f"cannot write to {error.filename}: {error.strerror}") from error
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
        self.index.close()
        self._lock.close()

    def _take_lock(self) -> None:
        deadline = time.monotonic() + self._wait
        while True:
            try:
                self._lock.execute(sql.lock_builds(self._where.schema), [0])
                return
            except BusyError:
                if time.monotonic() >= deadline:
                    waited = f"; waited {self._wait:g} s for it (--wait)" if self._wait else ""
                    raise StoreError(f"another build or change of {self._where} is under way{waited}") from None
            time.sleep(_POLL)

    def stored(self, table: TableInfo) -> VerticaTable:
        """Return a table of the index, to be read again."""
        return VerticaTable(folder="", place=0, info=table, size=0, index=self.index)

    def counts_of(self, tables: list[TableInfo]) -> Counts:
        """Count what tables hold, by their cells."""
        if not tables:
            return Counts()
        more = " AND piece = 0 AND token_id >= 0"
        [cells] = self.index.reader.numbers("COUNT(*)", "cells", "row_id", self._row_ids(tables), more)
        columns = sum(len(table.columns) for table in tables)
        rows = sum(table.rows for table in tables)
        return Counts(len(tables), columns, rows, int(sum(cells)))

    def _row_ids(self, tables: list[TableInfo]) -> Ids:
        first, rows = self.index.first_rows(np.array([table.table_id for table in tables], np.int64))
        return np.sort(ranges(first, first + rows)[0])

    def apply(self, change: Change, counts: Counts) -> None:
        """Delete and load in one transaction."""
        generation, before = self.index.reader.generation, self.index.manifest
        touched = sql.touched(before.cell_characters)
        gone = self._row_ids(change.gone_tables) if change.gone_tables else np.empty(0, np.int64)
        next_row = int(before.notes[NEXT_ROW])
        with Session.patient(self._where, self._password) as session:
            session.prepare(sql.IDS, sql.CHOSEN, sql.NAMES, touched)
            if len(gone):
                session.fill(sql.IDS, [pa.array(gone)])
                session.execute(sql.take_gone(generation, touched))
            self._delete(session, change, len(gone))
            if change.written is not None:
                self._load(session, change.written.folder, next_row, touched)
                next_row += change.written.record.counts.rows
            self._update_tokens(session, touched)
            manifest = replace(before, counts=counts, operations=before.operations + 1, changed=now())
            manifest = replace(manifest, next_table=change.next_table, notes={NEXT_ROW: next_row})
            session.execute(sql.rewrite_manifest(self._where.schema), [manifest.to_json(), generation.number])
            self._commit(session)

    def _delete(self, session: Session, change: Change, rows: int) -> None:
        """Delete what belongs to the tables and sources that go; the numbers of `rows` rows are noted already."""
        generation, manifest = self.index.reader.generation, self.index.manifest
        by_row = [name for name in sql.tables_in_use(manifest.layout, len(manifest.hashes)) if name in sql.ROW_TABLES]
        for name in by_row if rows else ():
            session.execute(sql.delete(generation.table(name), "row_id", sql.IDS))
        if change.gone_tables:
            session.fill(sql.CHOSEN, [pa.array([table.table_id for table in change.gone_tables])])
            for name in ("tables", "columns"):
                session.execute(sql.delete(generation.table(name), "table_id", sql.CHOSEN))
        if change.gone_sources:
            session.fill(sql.NAMES, [pa.array(sorted(set(change.gone_sources)), pa.string())])
            for name in ("sources", "rejects"):
                session.execute(sql.delete(generation.table(name), "source", sql.NAMES, "source"))

    def _load(self, session: Session, folder: str, first_row: int, touched: str) -> None:
        """Stream the segment with what comes, its dictionary into a temporary table."""
        manifest = self.index.manifest
        destination = Destination(self.index.reader.generation, len(manifest.hashes), manifest.layout)
        segment = Segment.open(Path(folder), len(manifest.hashes))
        destination.copy_segment(session, segment, first_row)
        destination.copy_tokens(session, segment, touched)

    def _update_tokens(self, session: Session, touched: str) -> None:
        """Replace the tokens that a change touches by the sums of what they had, lost and won."""
        generation = self.index.reader.generation
        session.execute(sql.take_present(generation, touched))
        session.execute(sql.delete(generation.table("tokens"), "token_id", touched, "token_id"))
        session.execute(generation.merge_tokens(touched))
        check_numbers(session, generation, f" WHERE token_id IN (SELECT token_id FROM {touched})")

    def _commit(self, session: Session) -> None:
        self._lock.execute(sql.lock_builds(self._where.schema), [0])  # fails if the lock went with its session
        try:
            session.commit()
        except ConnectionLostError as error:
            raise StoreError(f"{error} while the change was committed: mate stats tells whether it was") from None
