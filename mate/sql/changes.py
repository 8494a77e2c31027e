"""Changing an index in a database: deletes and loads in the generation in use, in one transaction.

A table that a change touches goes as a whole, and comes again as a whole in a segment. Until the commit nobody sees
anything of it. There is no statement per row.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from mate.build.build import now
from mate.build.changes.change import Change
from mate.build.stored_tables import Columns, StoredTable
from mate.errors import StoreError
from mate.lake.base import Ids
from mate.lake.manifest import Counts, Manifest
from mate.lake.records import TableInfo
from mate.lake.segment import Segment
from mate.sql import statements as sql
from mate.sql.address import Address
from mate.sql.dialects import Lock, dialect_of
from mate.sql.failures import BusyError, ConnectionLostError
from mate.sql.index import DatabaseIndex
from mate.sql.load import Destination
from mate.sql.schema import Column, Content, token_columns
from mate.sql.session import Session
from mate.sql.target import check_numbers, work_directory
from mate.values.arrow import string_array

_POLL = 0.1
_CHUNK_CELLS = 200_000
"""Cells of a table that are read at a time."""
_NAME = [Column("source", Content.PATH)]


@dataclass(frozen=True, kw_only=True)
class DatabaseTable(StoredTable):
    """A table of an index in a database, to be read like a file."""

    index: DatabaseIndex = field(repr=False)

    def chunks(self) -> Iterator[tuple[int, Columns]]:
        """Yield the cells as they are stored."""
        info = self.info
        step = max(1, _CHUNK_CELLS // len(info.columns))
        for first in range(0, info.rows, step):
            rows = self.index.cells(info.table_id, np.arange(first, min(first + step, info.rows)))
            yield first, [string_array(list(column)) for column in zip(*rows, strict=True)]


class DatabaseWriter:
    """Changes an index in a database. Holds the lock that builds of the schema take as well."""

    def __init__(self, address: str, wait: float) -> None:
        self._address, self._wait = address, wait
        self._where = Address.parse(address)
        self._password = self._where.password()
        self._held = ExitStack()

    def __enter__(self) -> Self:
        DatabaseIndex(self._address).close()  # tells if there is none
        with ExitStack() as held:
            self._lock = self._take_lock(held)
            self.index = held.enter_context(DatabaseIndex(self._address))
            self.directory: Path = work_directory(self._where)
            self._held = held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
        self._held.close()

    def _take_lock(self, held: ExitStack) -> Lock:
        deadline = time.monotonic() + self._wait
        while True:
            try:
                return held.enter_context(dialect_of(self._where.kind).lock(self._where, self._password))
            except BusyError:
                if time.monotonic() >= deadline:
                    waited = f"; waited {self._wait:g} s for it (--wait)" if self._wait else ""
                    raise StoreError(f"another build or change of {self._where} is under way{waited}") from None
            time.sleep(_POLL)

    def stored(self, table: TableInfo) -> DatabaseTable:
        """Return a table of the index, to be read again."""
        return DatabaseTable(folder="", place=0, info=table, size=0, index=self.index)

    def counts_of(self, tables: list[TableInfo]) -> Counts:
        """Count what tables hold, by their cells."""
        if not tables:
            return Counts()
        more = " AND piece = 0 AND token_id >= 0"
        [cells] = self.index.reader.numbers("COUNT(*)", "cells", "table_id", _ids(tables), more)
        columns = sum(len(table.columns) for table in tables)
        rows = sum(table.rows for table in tables)
        return Counts(len(tables), columns, rows, int(sum(cells)))

    def apply(self, change: Change, counts: Counts) -> Manifest:
        """Delete and load in one transaction; return the new manifest."""
        reader, before = self.index.reader, self.index.manifest
        with Session(self._where, self._password, writes=True) as session:
            session.prepare(sql.TOUCHED, token_columns(before.cell_characters))
            self._delete(session, change)
            for written in change.written:
                destination = Destination(reader.generation, reader.shape, before.hashes)
                segment = Segment.open(Path(written.folder), len(before.hashes))
                destination.load_segment(session, segment)
                destination.load_tokens(session, segment, sql.TOUCHED)
            self._update_tokens(session)
            manifest = replace(before, counts=counts, operations=before.operations + 1, changed=now())
            manifest = replace(manifest, next_table=change.next_table)
            values = [manifest.to_json(), reader.generation.number]
            session.execute(sql.rewrite_manifest(self._where.schema), values)
            self._commit(session)
            return manifest

    def _delete(self, session: Session, change: Change) -> None:
        """Delete what belongs to the tables and sources that go; their tokens are noted first."""
        reader = self.index.reader
        if change.gone_sources:
            session.prepare(sql.NAMES, _NAME)
        if change.gone_tables:
            tables = reader.among(session, "table_id", _ids(change.gone_tables))
            session.execute(sql.take_gone(reader.generation, sql.TOUCHED, tables))
            # Postings are sorted by token: a condition on the table alone would go through all of them.
            tokens = sql.among_temporary("token_id", sql.TOUCHED, "token_id")
            session.execute(sql.delete(reader.table("postings"), f"{self._buckets(session)}{tokens} AND {tables}"))
            super_keys = ["super_keys"] if reader.shape.has_super_keys else []
            for name in ("cells", *super_keys, "tables", "columns"):
                session.execute(sql.delete(reader.table(name), tables))
        if change.gone_sources:
            session.fill(sql.NAMES, _NAME, [pa.array(sorted(set(change.gone_sources)), pa.string())])
            for name in ("sources", "rejects"):
                gone = sql.among_temporary("source", sql.NAMES, "source")
                session.execute(sql.delete(reader.table(name), gone))

    def _buckets(self, session: Session) -> str:
        """Return the condition on the buckets of the noted tokens, if postings are sorted by these and they are few."""
        reader = self.index.reader
        if not reader.shape.buckets:
            return ""
        [tokens] = session.numbers(f"SELECT token_id FROM {sql.TOUCHED}", [8])
        buckets = np.unique(sql.bucket_of(tokens))
        return f"{sql.among('bucket', buckets)} AND " if 0 < len(buckets) <= reader.in_list else ""

    def _update_tokens(self, session: Session) -> None:
        """Replace the tokens that a change touches by the sums of what they had, lost and won."""
        generation = self.index.reader.generation
        touched = sql.among_temporary("token_id", sql.TOUCHED, "token_id")
        session.execute(sql.take_present(generation, sql.TOUCHED))
        session.execute(sql.delete(generation.table("tokens"), touched))
        session.execute(sql.merge_tokens(generation, sql.TOUCHED))
        check_numbers(session, generation, f" WHERE {touched}")

    def _commit(self, session: Session) -> None:
        self._lock.verify()
        try:
            session.commit()
        except ConnectionLostError as error:
            raise StoreError(f"{error} while the change was committed: mate stats tells whether it was") from None


def _ids(tables: list[TableInfo]) -> Ids:
    return np.unique(np.array([table.table_id for table in tables], np.int64))
