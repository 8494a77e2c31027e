"""Segments into Vertica: each of their tables streamed by COPY, all in one transaction.

**Exactly once.** A transaction holds all records of a segment and one record in the load log, whose primary key the
server enforces. Whoever commits first has loaded the segment; a retry, a speculative twin or a task of a lost executor
then fails on the key, is rolled back as a whole, and counts as done. If the connection breaks while a commit is under
way, nobody knows how it ended: the retry finds out by the same key.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.build.segments import Written
from mate.errors import StoreError
from mate.index.arrays import Array
from mate.index.segment import Segment
from mate.sql import export
from mate.sql import vertica_sql as sql
from mate.sql.vertica_address import Password, VerticaAddress
from mate.sql.vertica_copy import hexadecimal, lines
from mate.sql.vertica_session import DuplicateKeyError, Session
from mate.sql.vertica_sql import NO_CELL, PIECE, Generation

_SLOT_WAIT = 0.05

Columns: TypeAlias = list[pa.Array]
"""Records of a table, an array per column."""


@dataclass(frozen=True)
class Destination:
    """The tables of a generation, as they are loaded."""

    generation: Generation
    hashes: int
    layout: str

    def copy_segment(self, session: Session, segment: Segment, first_row: int) -> int:
        """Stream a segment but for its dictionary, its rows numbered from one on; return how many records that are."""
        sources = _Records(segment, first_row, self.layout == "per_cell")
        tables: Mapping[str, Callable[[], Iterator[Columns]]] = {
            "tables": sources.tables,
            "columns": sources.columns,
            "sources": sources.sources,
            "rejects": sources.rejects,
            "postings": sources.postings,
            "cells": sources.cells,
        }
        if self.layout == "per_row" and self.hashes:
            tables = {**tables, "super_keys": sources.super_keys}
        return sum(self.copy(session, name, batches()) for name, batches in tables.items())

    def copy_tokens(self, session: Session, segment: Segment, table: str) -> int:
        """Stream the dictionary of a segment into a table; return how many tokens that are."""
        batches = (batch.columns for batch in export.token_batches(segment))
        return _copied(session, table, sql.columns("tokens", 0, ""), batches)

    def copy(self, session: Session, name: str, batches: Iterable[Columns]) -> int:
        """Stream records into one of the tables; return how many these are."""
        names = sql.columns(name, self.hashes, self.layout)
        return _copied(session, self.generation.table(name), names, batches)


def _copied(session: Session, table: str, names: list[str], batches: Iterable[Columns]) -> int:
    sent = 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        for columns in batches:
            sent += len(columns[0])
            yield from lines(columns)

    taken = session.copy(table, names, pieces())
    if taken != sent:
        raise StoreError(f"{session.address}: {taken:,} of {sent:,} records of {table} were taken")
    return sent


@dataclass(frozen=True)
class Loader:
    """Loads the segments that tasks have written; travels to the machines where they run."""

    address: VerticaAddress
    password: Password
    destination: Destination

    def __call__(self, written: Written) -> int:
        """Load a segment; return how many records that are."""
        try:
            return self._loaded(written)
        except StoreError as error:
            raise StoreError(str(error)) from None  # by the name that the driver knows

    def _loaded(self, written: Written) -> int:
        segment = Segment.open(Path(written.folder), self.destination.hashes)
        generation = self.destination.generation
        with slot(self.address), Session.patient(self.address, self.password) as session:
            records = self.destination.copy_segment(session, segment, written.first_row)
            records += self.destination.copy_tokens(session, segment, generation.table(sql.TOKEN_COUNTS))
            try:
                session.execute(generation.log(), [written.share, records])
                session.commit()
            except DuplicateKeyError:
                session.rollback()
        return records


@contextmanager
def slot(address: VerticaAddress) -> Iterator[None]:
    """Hold one of the loading sessions that this machine may have at a time.

    Tasks run in processes of their own, so that the slots are locked files; the lock of a killed task is gone with it.
    """
    server = hashlib.sha256(f"{address.host}:{address.port}".encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir(), f"mate-vertica-{os.getuid()}-{server}")
    folder.mkdir(exist_ok=True)
    with ExitStack() as stack:
        files = [stack.enter_context((folder / f"slot-{n}").open("a")) for n in range(address.connections)]
        while not any(_locked(file) for file in files):
            time.sleep(_SLOT_WAIT)
        yield


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@dataclass(frozen=True)
class _Records:
    """The records of a segment, table by table of the database."""

    segment: Segment
    first_row: int
    per_cell: bool

    def tables(self) -> Iterator[Columns]:
        """Yield tables with the numbers of their first rows."""
        for batch in export.table_batches(self.segment):
            table_id = batch.column("table_id").to_numpy()
            first = pa.array(self._row_id(table_id, np.zeros(len(table_id), np.int64)))
            names = ("table_id", "name", "source", "position", "line")
            yield [*(batch.column(name) for name in names), first, batch.column("rows")]

    def columns(self) -> Iterator[Columns]:
        """Yield the names of columns."""
        for batch in export.table_batches(self.segment):
            yield export.column_records(batch).columns

    def sources(self) -> Iterator[Columns]:
        """Yield the files that were read."""
        return (batch.columns for batch in self.segment.folder.sources_table.to_batches())

    def rejects(self) -> Iterator[Columns]:
        """Yield what was not indexed."""
        return (batch.columns for batch in self.segment.folder.rejects_table.to_batches())

    def postings(self) -> Iterator[Columns]:
        """Yield postings, with super keys if these belong there."""
        for batch in export.posting_batches(self.segment):
            token, table, column, row = batch.columns
            place = export.row_places(self.segment.arrays, table.to_numpy(), row.to_numpy())
            keys = [hexadecimal(keys[place]) for keys in self.segment.keys] if self.per_cell else []
            yield [token, table, column, pa.array(place + self.first_row), *keys]

    def super_keys(self) -> Iterator[Columns]:
        """Yield super keys by row."""
        for batch, keys in export.key_batches(self.segment):
            table, row = (column.to_numpy() for column in batch.columns)
            yield [pa.array(self._row_id(table, row)), *map(hexadecimal, keys)]

    def cells(self) -> Iterator[Columns]:
        """Yield one record per cell, more for one that is long."""
        for batch in export.cell_batches(self.segment):
            token, table, column, row, cell = batch.columns
            row_id = pa.array(self._row_id(table.to_numpy(), row.to_numpy()))
            tokens = pc.if_else(cell.is_null(), NO_CELL, token)
            yield in_pieces([row_id, column, pa.array(np.zeros(len(cell), np.int64)), tokens, cell])

    def _row_id(self, table_id: Array, row: Array) -> Array:
        return self.first_row + export.row_places(self.segment.arrays, table_id, row)


def in_pieces(records: Columns) -> Columns:
    """Return records of cells (row, column, piece, token, text) with long texts cut between characters."""
    row, column, _, token, text = records
    long = pc.greater(pc.binary_length(text), PIECE).fill_null(False).to_numpy(zero_copy_only=False)
    if not long.any():
        return records
    places = np.flatnonzero(long).tolist()
    pieces = [(place, n, piece) for place in places for n, piece in enumerate(cut(text[place].as_py()))]
    at = pa.array([place for place, _, _ in pieces])
    number = pa.array([n for _, n, _ in pieces], pa.int64())
    cells = pa.array([piece for _, _, piece in pieces], text.type)
    added = [row.take(at), column.take(at), number, token.take(at), cells]
    kept = pa.array(~long)
    return [pa.concat_arrays([a.filter(kept), b]) for a, b in zip(records, added, strict=True)]


def cut(text: str, octets: int = PIECE) -> Iterator[str]:
    """Yield a text in pieces of at most so many octets of UTF-8."""
    data = text.encode()
    start = 0
    while start < len(data):
        end = min(start + octets, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:  # inside a character
            end -= 1
        yield data[start:end].decode()
        start = end
