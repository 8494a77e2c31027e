"""Building into the embedded store: tasks write Parquet, DuckDB sorts it into a new file, a rename publishes it."""

from __future__ import annotations

import fcntl
import os
import shutil
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
from mate.pipeline import duckdb_josie, josie
from mate.pipeline.stage import Staged
from mate.store.base import Manifest
from mate.store.duckdb import ROW_GROUP_SIZE

_MEMORY = "4GB"
_ATTEMPTS = 100
_DISK_FULL = ("No space left on device", "Disk quota exceeded", "File too large", "max_temp_directory_size")


class DuckDBTarget:
    """A build of one DuckDB file. Its folder stands beside the file and is gone when the build ends.

    A lock on the folder tells a build that is under way from the remains of one that was killed; those are
    removed by the next build.
    """

    def __init__(self, address: str | Path, memory: str = _MEMORY) -> None:
        self.path = Path(address).absolute()
        self.memory = memory
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
            self._lock = self._locked()
            self._make_room()
        except BlockingIOError:
            raise StoreError(f"another build of {self.path} is under way") from None
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

    def _locked(self) -> int:
        """Return the lock of this build; that of a build which is just ending, and removes it, does not count."""
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

    def task(
        self, _: Mapping[str, Any]
    ) -> Callable[[Iterable[tuple[str, Any]], Mapping[str, Any], int], dict[str, str]]:
        """Return the function that writes a unit's batches to Parquet files of its own."""
        directory = str(self.directory)

        def store(
            batches: Iterable[tuple[str, pa.RecordBatch]], schemas: Mapping[str, pa.Schema], unit: int
        ) -> dict[str, str]:
            prefix = f"{directory}/{unit:06d}-{uuid.uuid4().hex[:8]}"
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

    def load(self, stored: list[dict[str, str]], dictionary: str, staged: list[Staged], manifest: Manifest) -> None:
        """Sort everything into a new DuckDB file and check that nothing was lost."""
        self._new = self.directory / "index.duckdb"
        with self._building() as database:
            self._create(database, stored, dictionary, staged, manifest)
            self._verify(database, manifest)

    def load_josie(self, stored: list[dict[str, str]]) -> None:
        """Sort the JOSIE index into the same file."""
        with self._building() as database:
            duckdb_josie.create(database, _parquet(part[josie.MEMBERS] for part in stored))
        for part in stored:
            Path(part[josie.MEMBERS]).unlink()

    @contextmanager
    def _building(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection that the new file is attached to."""
        database = duckdb.connect(config={"memory_limit": self.memory, "temp_directory": str(self.directory)})
        try:
            database.execute(f"ATTACH '{_quoted(self._new)}' AS built (ROW_GROUP_SIZE {ROW_GROUP_SIZE})")
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

    def _create(
        self,
        database: duckdb.DuckDBPyConnection,
        stored: list[dict[str, str]],
        dictionary: str,
        staged: list[Staged],
        manifest: Manifest,
    ) -> None:
        database.execute(
            "CREATE TABLE tokens AS SELECT token_id, token, postings"
            f" FROM read_parquet('{_quoted(escape(dictionary))}/*.parquet') ORDER BY token_id"
        )
        # Units follow each other and so do their files: all but the postings come sorted.
        for name in stored[0]:
            order = " ORDER BY token_id, row_id, column_id" if name == "postings" else ""
            narrow = {"postings": ("table_id", "column_id"), "rows": ("table_id",)}.get(name, ())
            columns = "*" + (f" REPLACE ({', '.join(f'{c}::INTEGER AS {c}' for c in narrow)})" if narrow else "")
            database.execute(
                f"CREATE TABLE {name} AS SELECT {columns} FROM {_parquet(part[name] for part in stored)}{order}"
            )
            for part in stored:
                Path(part[name]).unlink()
        for name in ("rejects", "sources"):
            database.execute(f"CREATE TABLE {name} AS SELECT * FROM {_parquet(s.path(name) for s in staged)}")
        database.execute("CREATE TABLE manifest (name VARCHAR, value VARCHAR)")
        database.execute("INSERT INTO manifest VALUES ('manifest', $1)", [manifest.to_json()])

    def _verify(self, database: duckdb.DuckDBPyConnection, manifest: Manifest) -> None:
        expected = {
            "tokens": manifest.distinct_tokens,
            "postings": manifest.cells,
            "rows": manifest.rows,
            "cells": manifest.rows,
            "tables": manifest.tables,
        }
        for name, count in expected.items():
            found = database.execute(f"SELECT count(*) FROM {name}").fetchone()
            if found is None or found[0] != count:
                raise StoreError(f"the table {name} has {found and found[0]:,} records where {count:,} were staged")

    def publish(self) -> None:
        """Replace the old index by the new one, in one step that a crash cannot cut in two."""
        with self._new.open("rb") as stream:
            os.fsync(stream.fileno())
        self._new.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _parquet(paths: Iterable[str]) -> str:
    return "read_parquet([" + ", ".join(f"'{_quoted(escape(path))}'" for path in paths) + "])"


def _quoted(path: str | Path) -> str:
    return str(path).replace("'", "''")
