"""Answers of a batch as one Parquet file, written part by part, so that a batch that was stopped goes on.

The parts are files in a folder beside the result. Each names the queries that it answers and the batch that it belongs
to: parts of another batch are removed. Nothing else in that folder is touched.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from mate.errors import QueryError
from mate.files import is_plain_file, private_folder, replacing
from mate.search.batches import Answered

SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("rank", pa.int64()),
        ("table_id", pa.int64()),
        ("table", pa.string()),
        ("source", pa.string()),
        ("mapping", pa.map_(pa.string(), pa.string())),
        ("joinability", pa.int64()),
        ("key_tuples", pa.int64()),
        ("containment", pa.float64()),
        ("uniqueness", pa.float64()),
        ("usefulness", pa.float64()),
        ("fan_out", pa.float64()),
        ("most_fan_out", pa.int64()),
        ("chance", pa.float64()),
        ("is_chance", pa.bool_()),
        ("names", pa.float64()),
        ("error", pa.string()),
    ]
)
"""One row per answer; a query that failed has one row with its error, one that joins with nothing has none."""

BATCH, QUERIES = b"mate.batch", b"mate.queries"
"""What a part notes of itself: the batch's fingerprint, and the queries that it answers."""

_UNFINISHED = re.compile(r"\.\d{6}\.parquet\.\d+\.part")
"""How a part is called while it is written."""


def as_table(answered: Iterable[Answered]) -> pa.Table:
    """Return answers as rows."""
    rows: list[dict[str, object]] = []
    for one in answered:
        if one.error is not None:
            rows.append({"query": one.query, "error": one.error})
        for rank, answer in enumerate(one.answers, start=1):
            known = {name: getattr(answer, name) for name in ("table_id", "table", "source")}
            known |= {name: getattr(answer.evidence, name) for name in SCHEMA.names if hasattr(answer.evidence, name)}
            rows.append({"query": one.query, "rank": rank, **known, "mapping": list(answer.mapping.items())})
    return pa.Table.from_pylist(rows, SCHEMA)


class AnswersFile:
    """A Parquet file of answers in the making, by one run at a time."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        if path.suffix.lower() != ".parquet":
            raise QueryError(f"{path}: answers are written as a Parquet file, whose name ends with .parquet")
        self.path, self._fingerprint = path, fingerprint
        self._folder = path.with_name(f".{path.name}.parts")
        self._parts: list[Path] = []
        self.done: set[str] = set()
        """Queries that an earlier run of the same batch has answered."""

    def __enter__(self) -> Self:
        try:
            self._lock = self._locked()
        except BlockingIOError:
            raise QueryError(f"another run is writing {self.path}: wait for it, or name another file") from None
        except OSError as error:
            raise _unwritable(self._folder, error) from None
        try:
            for part in sorted(self._folder.iterdir()):
                self._take(part)
        except OSError as error:
            os.close(self._lock)
            raise _unwritable(self._folder, error) from None
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)

    def _locked(self) -> int:
        """Lock the folder of the parts; it ends with the process."""
        while True:
            private_folder(self._folder)
            lock = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(lock), self._folder.stat()):
                    return lock
            except FileNotFoundError:  # whoever had it has finished, and removed the folder
                pass
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)

    def _take(self, part: Path) -> None:
        """Use a part of an earlier run, or remove it."""
        if not is_plain_file(part):
            return
        if _UNFINISHED.fullmatch(part.name):  # it was being written when the run was stopped
            part.unlink()
            return
        try:
            notes = pq.read_schema(part).metadata or {}
        except (OSError, pa.ArrowException):
            return
        if notes.get(BATCH) == self._fingerprint.encode() and part.stem.isdecimal():
            self._parts.append(part)
            self.done.update(json.loads(notes[QUERIES]))
        elif BATCH in notes:
            part.unlink()

    def write(self, answered: Sequence[Answered]) -> None:
        """Write the answers of some queries as a part, all or nothing."""
        queries = [one.query for one in answered]
        notes = {BATCH: self._fingerprint, QUERIES: json.dumps(queries)}
        try:
            part = self._new_part()
            _write(as_table(answered).replace_schema_metadata(notes), part)
        except OSError as error:
            raise _unwritable(self._folder, error) from None
        self._parts.append(part)

    def _new_part(self) -> Path:
        """Return a name that nothing in the folder has."""
        used = {entry.name for entry in self._folder.iterdir()}
        number = next(n for n in range(len(used) + 1) if f"{n:06d}.parquet" not in used)
        return self._folder / f"{number:06d}.parquet"

    def finish(self, order: Sequence[str]) -> pa.Table:
        """Publish the file with the queries in this order, and return its rows."""
        place = {query: number for number, query in enumerate(order)}
        rows = pa.concat_tables([SCHEMA.empty_table(), *(pq.read_table(part, schema=SCHEMA) for part in self._parts)])
        # Rows of a query are in one part and stay in their order: sorting is stable.
        ordered = sorted(range(len(rows)), key=[place[query] for query in rows["query"].to_pylist()].__getitem__)
        rows = rows.take(pa.array(ordered, pa.int64()))
        try:
            _write(rows, self.path)
            for part in self._parts:
                part.unlink(missing_ok=True)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        with suppress(OSError):  # somebody keeps files of their own there
            self._folder.rmdir()
        return rows


def _write(rows: pa.Table, path: Path) -> None:
    with replacing(path) as stream:
        pq.write_table(rows, stream, compression="zstd")


def _unwritable(path: Path, error: OSError) -> QueryError:
    return QueryError(f"{path} cannot be written: {error.strerror or error}")
