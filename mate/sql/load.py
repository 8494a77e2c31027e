"""Segments into a database: each of their tables streamed, all in one transaction.

**Exactly once.** A transaction holds all records of a segment and one record in the load log, whose primary key the
database enforces. Whoever commits first has loaded the segment; a retry, a speculative twin or a task of a lost
executor then fails on the key, is rolled back as a whole, and counts as done. If the connection breaks while a commit
is under way, nobody knows how it ended: the retry finds out by the same key.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.build.segments import Written
from mate.errors import StoreError
from mate.lake.base import Ids
from mate.lake.manifest import HashSpec
from mate.lake.segment import Segment
from mate.sql import export
from mate.sql import statements as sql
from mate.sql.address import Address, Password
from mate.sql.dialects import Columns
from mate.sql.failures import BusyError, DuplicateKeyError, PushBackError
from mate.sql.row_keys import KeyForm, form_of
from mate.sql.schema import NO_CELL, PIECE, TOKEN_COUNTS, Generation, Shape
from mate.sql.session import Session

_SLOT_WAIT = 0.05
_FIRST_PAUSE, _PAUSES = 1.0, 8
"""A server that pushes back is given so long at first, then twice as long, and so on, so many times."""


@dataclass(frozen=True)
class Destination:
    """The tables of a generation, as they are loaded."""

    generation: Generation
    shape: Shape
    hashes: tuple[HashSpec, ...]
    """Whose super keys they have."""

    def load_segment(self, session: Session, segment: Segment) -> int:
        """Stream a segment but for its dictionary; return how many records that are."""
        sources = _Records(segment, self.shape, [form_of(spec) for spec in self.hashes])
        tables: Mapping[str, Callable[[], Iterator[Columns]]] = {
            "tables": sources.tables,
            "columns": sources.columns,
            "sources": sources.sources,
            "rejects": sources.rejects,
            "postings": sources.postings,
            "cells": sources.cells,
            **({"super_keys": sources.super_keys} if self.shape.has_super_keys else {}),
        }
        return sum(self._load(session, name, batches()) for name, batches in tables.items())

    def load_tokens(self, session: Session, segment: Segment, table: str) -> int:
        """Stream the dictionary of a segment into a table; return how many tokens that are."""
        columns = self.shape.table("tokens").columns
        return session.load(table, columns, (batch.columns for batch in export.token_batches(segment)))

    def _load(self, session: Session, name: str, batches: Iterator[Columns]) -> int:
        return session.load(self.generation.table(name), self.shape.table(name).columns, batches)


@dataclass(frozen=True)
class Loader:
    """Loads the segments that tasks have written; travels to the machines where they run."""

    address: Address
    password: Password
    destination: Destination

    def __call__(self, written: Written) -> int:
        """Load a segment; return how many records that are."""
        pause = _FIRST_PAUSE
        for attempt in range(_PAUSES + 1):
            try:
                return self._load(written)
            except (PushBackError, BusyError) as error:
                if attempt == _PAUSES:
                    raise StoreError(str(error)) from None
                time.sleep(pause * random.uniform(0.5, 1.0))
                pause *= 2
            except StoreError as error:
                raise StoreError(str(error)) from None  # by the name that the driver knows
        raise AssertionError

    def _load(self, written: Written) -> int:
        segment = Segment.open(Path(written.folder), len(self.destination.hashes))
        generation = self.destination.generation
        with slot(self.address), Session(self.address, self.password, writes=True) as session:
            records = self.destination.load_segment(session, segment)
            records += self.destination.load_tokens(session, segment, generation.table(TOKEN_COUNTS))
            try:
                session.execute(sql.log_part(generation), [written.number, records])
                session.commit()
            except DuplicateKeyError:
                session.rollback()
        return records


@contextmanager
def slot(address: Address) -> Iterator[None]:
    """Hold one of the loading sessions that this machine may have at a time: one only for a file.

    Tasks run in processes of their own, so that the slots are locked files; the lock of a killed task is gone with it.
    """
    is_file = address.kind == "duckdb"
    place = str(Path(address.database).resolve()) if is_file else f"{address.host}:{address.port}"
    server = hashlib.sha256(f"{address.kind} {place}".encode()).hexdigest()[:12]
    slots = 1 if is_file else address.connections
    folder = _own_folder(Path(tempfile.gettempdir(), f"mate-load-{os.getuid()}-{server}"))
    with ExitStack() as stack:
        files = [stack.enter_context((folder / f"slot-{n}").open("a")) for n in range(slots)]
        while not any(_locked(file) for file in files):
            time.sleep(_SLOT_WAIT)
        yield


def _own_folder(path: Path) -> Path:
    """Return a folder that only this user can get into, and refuse one that somebody else has put there."""
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    if status.st_uid != os.getuid() or path.is_symlink():
        raise StoreError(f"{path} belongs to somebody else: remove it, or set TMPDIR to a folder of your own")
    path.chmod(0o700)
    return path


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
    shape: Shape
    forms: Sequence[KeyForm]
    """How its super keys are stored, by hash function."""

    def tables(self) -> Iterator[Columns]:
        """Yield tables."""
        names = ("table_id", "name", "source", "position", "line", "rows")
        for batch in export.table_batches(self.segment):
            yield [batch.column(name) for name in names]

    def columns(self) -> Iterator[Columns]:
        """Yield the names of columns."""
        for batch in export.table_batches(self.segment):
            yield export.column_records(batch).columns

    def sources(self) -> Iterator[Columns]:
        """Yield the files that were read."""
        return (batch.columns for batch in self.segment.folder.sources_file.iter_batches())

    def rejects(self) -> Iterator[Columns]:
        """Yield what was not indexed."""
        return (batch.columns for batch in self.segment.folder.rejects_file.iter_batches())

    def postings(self) -> Iterator[Columns]:
        """Yield postings, with super keys if these belong there."""
        for batch in export.posting_batches(self.segment):
            token, table, column, row = batch.columns
            bucket = [pa.array(sql.bucket_of(token.to_numpy()))] if self.shape.buckets else []
            keys: list[pa.Array] = []
            if self.shape.layout == "per_cell":
                keys = self._keys(export.row_places(self.segment.arrays, table.to_numpy(), row.to_numpy()))
            yield [*bucket, token, table, row, column, *keys]

    def _keys(self, rows: Ids) -> list[pa.Array]:
        """Return the super keys of rows, numbered through the segment, by hash function."""
        own, place = np.unique(rows, return_inverse=True)
        return [form.stored(self.segment, n, own).take(pa.array(place)) for n, form in enumerate(self.forms)]

    def super_keys(self) -> Iterator[Columns]:
        """Yield super keys by row."""
        for batch, rows in export.row_batches(self.segment):
            yield [*batch.columns, *self._keys(rows)]

    def cells(self) -> Iterator[Columns]:
        """Yield one record per cell, more for one that is long."""
        for batch in export.cell_batches(self.segment):
            token, table, column, row, cell = batch.columns
            tokens = pc.if_else(cell.is_null(), NO_CELL, token)
            yield in_pieces([table, row, column, pa.array(np.zeros(len(cell), np.int64)), tokens, cell])


def in_pieces(records: Columns) -> Columns:
    """Return records of cells (table, row, column, piece, token, text) with long texts cut between characters."""
    *place, _, token, text = records
    long = pc.greater(pc.binary_length(text), PIECE).fill_null(False).to_numpy(zero_copy_only=False)
    if not long.any():
        return records
    places = np.flatnonzero(long).tolist()
    pieces = [(place, n, piece) for place in places for n, piece in enumerate(cut(text[place].as_py()))]
    at = pa.array([place for place, _, _ in pieces])
    number = pa.array([n for _, n, _ in pieces], pa.int64())
    cells = pa.array([piece for _, _, piece in pieces], text.type)
    added = [*(column.take(at) for column in place), number, token.take(at), cells]
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
