"""Segments into a database: each streamed into its tables in one transaction.

**Exactly once.** A transaction holds all records of a segment and one record in the load log, whose primary key the
database enforces. Whoever commits first has loaded the segment; a retry, a speculative twin or a task of a lost
executor then fails on the key, is rolled back as a whole, and counts as done. If the connection breaks during a commit,
nobody knows how it ended: the retry finds out by the same key.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mate.build.segments import NewSegment
from mate.errors import StoreError
from mate.lake.manifest import HashSpec
from mate.lake.segment import Segment
from mate.sql.address import Address
from mate.sql.dialects import open_session
from mate.sql.dialects.failures import BusyError, DuplicateKeyError
from mate.sql.dialects.session import Session, patiently
from mate.sql.export import segment_records
from mate.sql.schema import TOKEN_COUNTS, Generation
from mate.sql.super_keys import key_form

_POLL = 0.05


@dataclass(frozen=True)
class Loader:
    """Loads the segments that tasks have written; travels to the machines where they run."""

    address: Address
    generation: Generation
    hashes: tuple[HashSpec, ...]

    def __call__(self, written: NewSegment) -> int:
        """Load a segment, again after ever longer pauses if the server asks for these; return how many records."""
        try:
            seconds = self.address.patience
            return patiently(lambda: self._load(written), BusyError, seconds, first=1.0, longest=seconds)
        except StoreError as error:
            raise StoreError(str(error)) from None  # the driver knows this class without a database's client

    def _load(self, written: NewSegment) -> int:
        with loading_permit(self.address), open_session(self.address, writes=True) as session:
            records = load_segment(session, written, self.generation, self.hashes, self.generation.name(TOKEN_COUNTS))
            try:
                log = f"INSERT INTO {self.generation.name('load_log')} (part_id, record_count) VALUES (%s, %s)"
                session.execute(log, [written.number, records])
                session.commit()
            except DuplicateKeyError:
                session.rollback()
        return records


def load_segment(
    session: Session, written: NewSegment, generation: Generation, hashes: tuple[HashSpec, ...], tokens: str
) -> int:
    """Stream a segment into the tables of a generation, and its dictionary into one that is named; count records."""
    segment = Segment.open(Path(written.folder), len(hashes))
    forms, count = [key_form(spec.function()) for spec in hashes], 0
    for table, batches in segment_records(segment, generation, forms):
        name = tokens if table == "tokens" else generation.name(table)
        count += session.load(name, generation.columns(table), batches)
    return count


@contextmanager
def loading_permit(address: Address) -> Iterator[None]:
    """Wait until this machine may have one more loading session; for a file, one is the most.

    Tasks run in processes of their own, so that permits are locked files; the lock of a killed task is gone with it.
    """
    is_file = address.kind == "duckdb"
    place = str(Path(address.database).resolve()) if is_file else f"{address.host}:{address.port}"
    server = hashlib.sha256(f"{address.kind} {place}".encode()).hexdigest()[:12]
    permits = 1 if is_file else address.connections
    folder = Path(tempfile.gettempdir(), f"mate-load-{os.getuid()}-{server}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise StoreError(f"{folder} belongs to somebody else: remove it, or set TMPDIR to a folder of your own")
    folder.chmod(0o700)
    with ExitStack() as stack:
        files = [stack.enter_context((folder / f"{n}").open("a")) for n in range(permits)]
        while not any(_locked(file) for file in files):
            time.sleep(_POLL)
        yield


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
