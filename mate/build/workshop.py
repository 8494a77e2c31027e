"""Where a new file is made before it is published: a folder beside the store, for one process at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from mate.errors import StoreError
from mate.store.duckdb import ROW_GROUP_SIZE

Task = Callable[[Iterable[tuple[str, Any]], Mapping[str, Any], int], dict[str, str]]

MEMORY = "4GB"
_ATTEMPTS = 100
_POLL = 0.02
"""Seconds between two looks at a lock that somebody else holds."""
_DISK_FULL = ("No space left on device", "Disk quota exceeded", "File too large", "max_temp_directory_size")


class Workshop:
    """A folder beside the file of a store, gone when the work ends, and the lock that keeps others from the store.

    A lock on the folder tells work that is under way from the remains of a process that was killed; those are
    removed by the next one.
    """

    work = "build"

    def __init__(self, address: str | Path, memory: str = MEMORY, wait: float = 0.0) -> None:
        self.path = Path(address).absolute()
        self.memory, self.wait = memory, wait
        self._home = self.path.with_name(f".{self.path.name}.build")
        self.directory = self._home / uuid.uuid4().hex[:12]

    def __enter__(self) -> Self:
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a folder; --store takes the path of a file")
        if {"?", "\\"} & set(str(self.path)):
            raise StoreError(f"DuckDB cannot write to a path with a question mark or a backslash: {self.path}")
        self._check_memory()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = self._patiently_locked()
            self._make_room()
        except BlockingIOError:
            waited = f"; waited {self.wait:g} s for it (--wait)" if self.wait else ""
            raise StoreError(f"another {self.work} of {self.path} is under way{waited}") from None
        except OSError as error:
            raise StoreError(f"cannot write to {self.path.parent}: {error.strerror}") from error
        return self

    def _make_room(self) -> None:
        try:
            for left_over in self._home.iterdir():
                if left_over.is_dir():
                    shutil.rmtree(left_over, ignore_errors=True)
            self.directory.mkdir()
        except OSError:
            self.__exit__()
            raise

    def _check_memory(self) -> None:
        try:
            duckdb.connect(config={"memory_limit": self.memory}).close()
        except duckdb.Error as error:
            raise StoreError(f"--memory takes a size such as 4GB, not {self.memory!r}") from error

    def _patiently_locked(self) -> int:
        deadline = time.monotonic() + self.wait
        while True:
            try:
                return self._locked()
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise
            time.sleep(_POLL)

    def _locked(self) -> int:
        """Return the lock of this work; that of a process which is just ending, and removes it, does not count."""
        path = self._home / "lock"
        for _ in range(_ATTEMPTS):
            with suppress(FileNotFoundError):
                self._home.mkdir(exist_ok=True)
                lock = os.open(path, os.O_CREAT | os.O_RDWR)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if os.path.samestat(os.fstat(lock), path.stat()):
                        return lock
                except OSError:
                    os.close(lock)
                    raise
                os.close(lock)
        raise BlockingIOError

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._home, ignore_errors=True)
        os.close(self._lock)

    def task(self, _: Mapping[str, Any]) -> Task:
        """Return the function that writes a unit's batches to Parquet files of its own."""
        return parquet_task(self.directory)

    @contextmanager
    def building(self, new: Path) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection that a new file is attached to and in use."""
        database = duckdb.connect(config={"memory_limit": self.memory, "temp_directory": str(self.directory)})
        try:
            database.execute(f"ATTACH '{quoted(new)}' AS built (ROW_GROUP_SIZE {ROW_GROUP_SIZE})")
            database.execute("USE built")
            yield database
            database.execute("CHECKPOINT built")
            database.execute("USE memory")
            database.execute("DETACH built")
        except duckdb.Error as error:
            message = str(error).splitlines()[0]
            if any(marker in message for marker in _DISK_FULL):
                message = f"the disk is full ({message}); nothing was published, the old index is as it was"
            raise StoreError(f"the index could not be written: {message}") from error
        finally:
            database.close()


def parquet_task(directory: Path) -> Task:
    """Return the function that writes a unit's batches to Parquet files in a folder; it returns their paths by part."""
    folder = str(directory)

    def store(
        batches: Iterable[tuple[str, pa.RecordBatch]], schemas: Mapping[str, pa.Schema], unit: int
    ) -> dict[str, str]:
        prefix = f"{folder}/{unit:06d}-{uuid.uuid4().hex[:8]}"
        options = {"compression": "lz4", "use_dictionary": False, "write_statistics": False}
        paths = {name: f"{prefix}.{name}.parquet" for name in schemas}
        writers = {name: pq.ParquetWriter(paths[name], schema, **options) for name, schema in schemas.items()}
        try:
            for name, batch in batches:
                writers[name].write_batch(batch.cast(schemas[name]))
        finally:
            for writer in writers.values():
                writer.close()
        return paths

    return store


def replace_file(new: Path, path: Path) -> None:
    """Put a finished file into the place of another, in one step that a crash cannot cut in two."""
    with new.open("rb") as stream:
        os.fsync(stream.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def parquet(paths: Iterable[str]) -> str:
    """Return what reads files in a query."""
    return "read_parquet([" + ", ".join(f"'{quoted(escape(path))}'" for path in paths) + "])"


def quoted(path: str | Path) -> str:
    """Return a path as it stands between single quotes."""
    return str(path).replace("'", "''")


def selected(name: str) -> str:
    """Return the columns of a part of the index as they are stored: some numbers are narrower than in the pipeline."""
    narrow = {"postings": ("table_id", "column_id"), "rows": ("table_id",)}.get(name, ())
    return "*" + (f" REPLACE ({', '.join(f'{c}::INTEGER AS {c}' for c in narrow)})" if narrow else "")
