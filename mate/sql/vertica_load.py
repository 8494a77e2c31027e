"""What a task does with its unit: spool the records as COPY reads them, then load them in one transaction.

**Exactly once.** A transaction holds all records of a unit and one record in the load log, whose primary key the
server enforces. Whoever commits first has loaded the unit; a retry, a speculative twin or a task of a lost executor
then fails on the key, is rolled back as a whole, and counts as done. If the connection breaks while a commit is under
way, nobody knows how it ended: the retry finds out by the same key.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.build.josie import MEMBERS
from mate.errors import StoreError
from mate.hashing import Keys
from mate.sql import vertica_josie_sql
from mate.sql import vertica_sql as sql
from mate.sql.vertica_address import Password, VerticaAddress
from mate.sql.vertica_copy import hexadecimal, lines
from mate.sql.vertica_session import DuplicateKeyError, Session
from mate.sql.vertica_sql import NO_CELL, PIECE, Generation

_CHUNK = 1 << 20
_SLOT_WAIT = 0.05


@dataclass(frozen=True)
class Loader:
    """Loads units into the tables of a generation; travels to the machines where tasks run."""

    address: VerticaAddress
    password: Password
    generation: Generation
    octets: tuple[int, ...]
    layout: str
    log: str = "load_log"

    def __call__(self, batches: Iterable[tuple[str, Any]], _: Mapping[str, Any], unit: int) -> int:
        """Load a unit; return how many records that are."""
        try:
            return self._loaded(batches, unit)
        except StoreError as error:
            raise StoreError(str(error)) from None  # by the name that the driver knows

    def _loaded(self, batches: Iterable[tuple[str, Any]], unit: int) -> int:
        with ExitStack() as stack:
            spools = self._spooled(batches, stack)
            records = sum(spool.records for spool in spools.values())
            stack.enter_context(slot(self.address))
            session = stack.enter_context(Session.patient(self.address, self.password))
            for name, spool in spools.items():
                self._copy(session, name, spool)
            try:
                session.execute(self.generation.log(self.log), [unit, records])
                session.commit()
            except DuplicateKeyError:
                session.rollback()
        return records

    def _spooled(self, batches: Iterable[tuple[str, Any]], stack: ExitStack) -> dict[str, Spool]:
        """Write the records to local files: batches of several tables alternate, a session copies one at a time."""
        spools: dict[str, Spool] = {}
        rows: Any = None
        for name, batch in batches:
            rows = batch if name == "rows" else rows
            for table, columns in tables_of(name, batch, rows, self.octets):
                if table not in spools:
                    spools[table] = Spool(stack.enter_context(tempfile.TemporaryFile()))  # noqa: SIM115
                spools[table].add(columns)
        return spools

    def _copy(self, session: Session, name: str, spool: Spool) -> None:
        josie = name == vertica_josie_sql.STAGE
        names = vertica_josie_sql.columns(name) if josie else sql.columns(name, len(self.octets), self.layout)
        taken = session.copy(self.generation.table(name), names, spool.pieces())
        if taken != spool.records:
            raise StoreError(f"{self.address}: {taken:,} of {spool.records:,} records of {name} were taken")


class Spool:
    """Records of one table in a file."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.records = 0

    def add(self, columns: list[pa.Array]) -> None:
        """Append records."""
        self._stream.writelines(lines(columns))
        self.records += len(columns[0])

    def pieces(self) -> Iterator[bytes]:
        """Yield the file from its beginning."""
        self._stream.seek(0)
        while piece := self._stream.read(_CHUNK):
            yield piece


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


def tables_of(
    name: str, batch: pa.RecordBatch, rows: pa.RecordBatch, octets: tuple[int, ...]
) -> Iterator[tuple[str, list[pa.Array]]]:
    """Yield what a batch of the pipeline means for the tables of the store.

    The pipeline's "rows" (tokens by row) and the "cells" after it (texts of the same rows) are one table here.
    """
    if name == "tables":
        order = ("table_id", "name", "source", "position", "line", "first_row", "rows")
        yield "tables", [batch.column(column) for column in order]
        yield "columns", _header(batch)
    elif name in ("postings", "super_keys"):
        yield name, _with_keys(batch, octets)
    elif name == "cells":
        yield name, _cells(batch, rows.column("tokens"))
    elif name == MEMBERS:
        yield vertica_josie_sql.STAGE, batch.columns


def _header(batch: pa.RecordBatch) -> list[pa.Array]:
    lists = batch.column("columns")
    tables, columns = _places(lists)
    return [batch.column("table_id").take(pa.array(tables)), pa.array(columns), lists.flatten()]


def _places(lists: pa.ListArray) -> tuple[Any, Any]:
    """Return for each value of lists which list it is in, and where."""
    widths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    starts = np.cumsum(widths) - widths
    return np.repeat(np.arange(len(lists)), widths), np.arange(widths.sum()) - np.repeat(starts, widths)


def _with_keys(batch: pa.RecordBatch, octets: tuple[int, ...]) -> list[pa.Array]:
    """Join the words of each super key."""
    plain = [batch.column(name) for name in batch.schema.names if not name.startswith("key")]
    words = [batch.column(name).to_numpy() for name in batch.schema.names if name.startswith("key")]
    keys = []
    for size in octets if words else ():
        taken, words = words[: size // 8], words[size // 8 :]
        key: Keys = np.column_stack(taken)
        keys.append(hexadecimal(key))
    return plain + keys


def _cells(batch: pa.RecordBatch, tokens_of: pa.ListArray) -> list[pa.Array]:
    """Return one record a cell, more for one that is long."""
    rows, columns = _places(batch.column("cells"))
    texts = batch.column("cells").flatten()
    tokens = pc.if_else(texts.is_null(), NO_CELL, tokens_of.flatten())
    records = [batch.column("row_id").take(pa.array(rows)), pa.array(columns), pa.array(np.zeros(len(rows), np.int64))]
    long = pc.greater(pc.binary_length(texts), PIECE).fill_null(False)
    if not pc.any(long).as_py():
        return [*records, tokens, texts]
    return _in_pieces([*records, tokens, texts], np.flatnonzero(long.to_numpy(zero_copy_only=False)))


def _in_pieces(records: list[pa.Array], long: Any) -> list[pa.Array]:
    """Cut long cells between characters."""
    row, column, _, token, text = records
    more: list[tuple[int, int, int, int, str]] = []
    first: dict[int, str] = {}
    for place in long.tolist():
        pieces = list(cut(text[place].as_py()))
        first[place] = pieces[0]
        where = row[place].as_py(), column[place].as_py()
        more += [(*where, n, token[place].as_py(), piece) for n, piece in enumerate(pieces[1:], 1)]
    short = pa.array([first.get(place, value) for place, value in enumerate(text.to_pylist())], pa.string())
    added = [pa.array(values, array.type) for values, array in zip(zip(*more, strict=True), records, strict=True)]
    return [pa.concat_arrays([a, b]) for a, b in zip([*records[:4], short], added, strict=True)]


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
