"""Changing an index in Vertica: staged loads and deletes of the generation in use, in one transaction.

What goes is named in temporary tables of the session and deleted by a join with them, which the server keeps as delete
vectors; what comes is streamed by COPY. Until the commit nobody sees anything of it, and each query of others sees the
state of one commit. There is no statement a row.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mate.build.change import Change, now
from mate.build.stage import REJECTS_SCHEMA, SOURCES_SCHEMA
from mate.build.workshop import Task, parquet_task
from mate.errors import StoreError
from mate.sql import vertica_sql as sql
from mate.sql.vertica import VerticaStore
from mate.sql.vertica_address import VerticaAddress
from mate.sql.vertica_copy import lines
from mate.sql.vertica_load import tables_of
from mate.sql.vertica_session import BusyError, ConnectionLostError, Session

_POLL = 0.1
_TEMPORARY = (sql.IDS, sql.CHOSEN, sql.TOUCHED, sql.NAMES)


class VerticaWriter:
    """Changes an index in Vertica. Holds the lock that builds of the schema take as well."""

    contiguous = True

    def __init__(self, address: str, wait: float) -> None:
        self._address, self._wait = address, wait
        self._where = VerticaAddress.parse(address)
        self._password = self._where.password()

    def __enter__(self) -> Self:
        VerticaStore(self._address).close()  # tells if there is none
        self._lock = Session.patient(self._where, self._password)
        try:
            self._take_lock()
            self.store = VerticaStore(self._address)
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
        self.store.close()
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

    @property
    def next_table(self) -> int:
        """The first number that no table ever had."""
        return self._next("next_table", "tables", "table_id")

    @property
    def next_row(self) -> int:
        """The first number that no row ever had."""
        return self._next("next_row", "cells", "row_id")

    def _next(self, note: str, table: str, column: str) -> int:
        noted = self.store.manifest.notes.get(note)
        if noted is not None:
            return int(noted)
        with Session.patient(self._where, self._password) as session:
            return int(session.execute(sql.highest(self.store.generation.table(table), column))[0][0]) + 1

    def task(self, _: Mapping[str, Any]) -> Task:
        """Return the function that writes a unit's batches to files, which are loaded later, all in one transaction."""
        return parquet_task(self.directory)

    def apply(self, change: Change) -> None:
        """Delete and load in one transaction."""
        with Session.patient(self._where, self._password) as session:
            session.prepare(*_TEMPORARY)
            self._delete(session, change)
            self._load(session, change)
            notes = {"next_table": change.next_table, "next_row": change.next_row, "last": now()}
            notes["operations"] = self.store.manifest.notes.get("operations", 0) + 1
            text = replace(change.manifest, notes=notes).to_json()
            session.execute(sql.rewrite_manifest(self._where.schema), [text, self.store.generation.number])
            self._lock.execute(sql.lock_builds(self._where.schema), [0])  # fails if the lock went with its session
            try:
                session.commit()
            except ConnectionLostError as error:
                raise StoreError(f"{error} while the change was committed: mate stats tells whether it was") from None

    def _table(self, name: str) -> str:
        return self.store.generation.table(name)

    def _delete(self, session: Session, change: Change) -> None:
        per_row = change.manifest.layout == "per_row" and bool(change.manifest.hashes)
        wanted: tuple[tuple[str, Any, tuple[str, ...], str, str], ...] = (
            (sql.IDS, change.gone_rows, ("postings", "cells", *(["super_keys"] if per_row else [])), "row_id", "id"),
            (sql.CHOSEN, change.gone_tables, ("tables", "columns"), "table_id", "id"),
            (sql.TOUCHED, change.dictionary.column("token_id").to_numpy(), ("tokens",), "token_id", "id"),
            (sql.NAMES, pa.array(change.gone_sources, pa.string()), ("sources", "rejects"), "source", "source"),
        )
        for temporary, values, tables, column, key in wanted:
            if len(values):
                session.fill(temporary, [values if isinstance(values, pa.Array) else pa.array(values)])
                for name in tables:
                    session.execute(sql.delete(self._table(name), column, temporary, key))

    def _load(self, session: Session, change: Change) -> None:
        left = change.dictionary.filter(pc.greater(change.dictionary.column("postings"), 0))
        records = (
            ("tokens", left),
            ("sources", pa.Table.from_pylist(change.sources, SOURCES_SCHEMA)),
            ("rejects", pa.Table.from_pylist(change.rejects, REJECTS_SCHEMA)),
        )
        for name, table in records:
            self._copy(session, name, (batch.columns for batch in table.to_batches()), change)
        octets = tuple(sql.octets_of(change.manifest.hashes))
        for batch in change.tables.to_batches():
            for name, arrays in tables_of("tables", batch, batch, octets):
                self._copy(session, name, [arrays], change)
        for name in ("postings", "cells", *(["super_keys"] if change.manifest.layout == "per_row" else [])):
            self._copy(session, name, _batches(change.parts, name, octets), change)

    def _copy(self, session: Session, name: str, batches: Iterable[list[pa.Array]], change: Change) -> None:
        sent = 0

        def pieces() -> Iterator[bytes]:
            nonlocal sent
            for columns in batches:
                sent += len(columns[0])
                yield from lines(columns)

        names = sql.columns(name, len(change.manifest.hashes), change.manifest.layout)
        taken = session.copy(self._table(name), names, pieces())
        if taken != sent:
            raise StoreError(f"{self._where}: {taken:,} of {sent:,} records of {name} were taken")


def _batches(parts: list[dict[str, str]], name: str, octets: tuple[int, ...]) -> Iterator[list[pa.Array]]:
    """Yield the records of a table from the files that the tasks wrote; cells have their tokens in another file."""
    for part in parts:
        own, rows = pq.ParquetFile(part[name]), pq.ParquetFile(part["rows"])
        for batch, tokens in zip(own.iter_batches(), rows.iter_batches(), strict=False):
            for _, columns in tables_of(name, batch, tokens, octets):
                yield columns
