"""Building into Vertica: a new generation of tables is filled, checked, and published by one record.

Only one build of a schema runs at a time: its driver holds a lock that ends with its session, so that what an earlier
build left behind when it was killed can be told from one that is under way, and is removed.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from mate.build.josie import MEMBERS
from mate.build.stage import Staged
from mate.errors import StoreError
from mate.sql import vertica_josie_sql as josie_sql
from mate.sql import vertica_sql as sql
from mate.sql.vertica_address import VerticaAddress
from mate.sql.vertica_copy import lines
from mate.sql.vertica_josie_load import make_index, member_loader
from mate.sql.vertica_load import Loader
from mate.sql.vertica_session import BusyError, ConnectionLostError, Session
from mate.store.base import Manifest

_TABLE = re.compile(rf"({'|'.join((*sql.TABLES, *josie_sql.TABLES, *josie_sql.WORK))})_(\d+)")


class VerticaTarget:
    """A build of one index in a schema of a Vertica database."""

    def __init__(self, address: str) -> None:
        self.address = VerticaAddress.parse(address)
        self._password = self.address.password()
        self._published = False

    def __enter__(self) -> Self:
        self._session = Session.patient(self.address, self._password)
        self._lock = self._session
        try:
            self._lock = Session.patient(self.address, self._password)
            self._prepare()
            self.directory = Path(tempfile.mkdtemp(prefix="mate-", dir=self.address.workdir or None))
        except OSError as error:
            self._close()
            raise StoreError(f"cannot write to {error.filename}: {error.strerror}") from error
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
        try:
            if not self._published:
                self._clean_up()
        finally:
            self._close()

    def _close(self) -> None:
        self._lock.close()
        self._session.close()

    def _clean_up(self) -> None:
        """Remove what was not published, over a new session: the old one may be what failed."""
        try:
            with Session(self.address, self._password) as session:
                published = {number for number, _ in session.execute(sql.published(self.address.schema))}
                if self._generation.number in published:
                    return  # The commit got through, only its answer did not.
                for statement in _removal(self._generation):
                    session.execute(statement)
        except StoreError:
            return  # The server is gone. The next build removes what this one left.

    def _prepare(self) -> None:
        """Create what all builds share, lock out others, remove remains, and choose a number."""
        schema = self.address.schema
        if not self._session.execute(sql.SCHEMA_EXISTS, [schema])[0][0]:
            self._session.execute(sql.create_schema(schema))
        for statement in sql.create_shared(schema):
            self._session.execute(statement)
        if not self._session.execute(sql.count_builds(schema))[0][0]:
            self._session.execute(sql.first_build(schema))
        self._session.commit()
        try:
            self._lock.execute(sql.lock_builds(schema), [0])
        except BusyError:
            raise StoreError(f"another build of {self.address} is under way") from None
        published = {number for number, _ in self._session.execute(sql.published(schema))}
        present = self._present()
        self._drop(present - published)
        self._generation = sql.Generation(schema, max(present | published, default=0) + 1)

    def _present(self) -> set[int]:
        names = self._session.execute(sql.TABLE_NAMES, [self.address.schema])
        found = (_TABLE.fullmatch(name.lower()) for (name,) in names)
        return {int(match[2]) for match in found if match}

    def _drop(self, numbers: Iterable[int]) -> None:
        for number in sorted(numbers):
            for statement in _removal(sql.Generation(self.address.schema, number)):
                self._session.execute(statement)

    def task(self, schemas: Mapping[str, Any]) -> Loader:
        """Create the tables, and return the function that loads a unit into them."""
        if MEMBERS in schemas:
            return member_loader(self._session, self.address, self._password, self._generation)
        layout = "per_row" if "super_keys" in schemas else "per_cell"
        named = schemas["super_keys" if layout == "per_row" else "postings"].names
        words = Counter(int(name[3:].split("_")[0]) for name in named if name.startswith("key"))
        octets = tuple(8 * words[number] for number in sorted(words))
        for statement in self._generation.create(octets, layout):
            self._session.execute(statement)
        return Loader(self.address, self._password, self._generation, octets, layout)

    def load(self, stored: list[int], dictionary: str, staged: list[Staged], manifest: Manifest) -> None:
        """Load what the driver has, and check that every unit is there and nothing was lost."""
        for statement in self._generation.create_rest(manifest.cell_characters):
            self._session.execute(statement)
        names = ("token_id", "token", "postings")
        self._copy("tokens", (_batch(b, names) for p in _parts(dictionary) for b in pq.ParquetFile(p).iter_batches()))
        for name in ("sources", "rejects"):
            tables = (pq.read_table(unit.path(name)) for unit in staged)
            self._copy(name, (_batch(b, b.schema.names) for table in tables for b in table.to_batches()))
        self._session.commit()
        self._verify(stored, manifest)
        for name in sql.TABLES:
            if name != "super_keys" or manifest.layout == "per_row":
                self._session.execute(self._generation.analyze(name))
        self._manifest = manifest

    def _copy(self, name: str, batches: Iterable[list[pa.Array]]) -> None:
        sent = 0

        def pieces() -> Iterator[bytes]:
            nonlocal sent
            for columns in batches:
                sent += len(columns[0])
                yield from lines(columns)

        taken = self._session.copy(self._generation.table(name), sql.columns(name, 0, ""), pieces())
        if taken != sent:
            raise StoreError(f"{self.address}: {taken:,} of {sent:,} records of {name} were taken")

    def _verify(self, stored: list[int], manifest: Manifest) -> None:
        expected = {
            ("load_log", ""): len(stored),
            ("tokens", ""): manifest.distinct_tokens,
            ("postings", ""): manifest.cells,
            ("cells", " WHERE column_id = 0 AND piece = 0"): manifest.rows,
            ("tables", ""): manifest.tables,
            ("columns", ""): manifest.columns,
        }
        if manifest.layout == "per_row":
            expected["super_keys", ""] = manifest.rows
        for (name, where), count in expected.items():
            [[found]] = self._session.execute(self._generation.count(name, where))
            if found != count:
                raise StoreError(f"the table {name} has {found:,} records where {count:,} were staged")

    def load_josie(self, stored: list[int]) -> None:
        """Let the server make the JOSIE index of what the tasks loaded."""
        make_index(self._session, self._generation, len(stored))

    def publish(self) -> None:
        """Make the new generation the one in use, and remove all older ones but the last.

        That one stays until the next build, for searches that have it open.
        """
        schema, number = self.address.schema, self._generation.number
        self._lock.execute(sql.lock_builds(schema), [number])  # fails if the lock went with its session
        self._session.execute(sql.publish(schema), [number, self._manifest.to_json()])
        try:
            self._session.commit()
        except ConnectionLostError as error:
            raise StoreError(
                f"{error} while the new index was published: mate stats tells which one is in use"
            ) from None
        self._published = True
        numbers = [number for number, _ in self._session.execute(sql.published(schema))]
        if len(numbers) > 1:
            self._session.execute(sql.retire(schema), [numbers[1]])
            self._session.commit()
            self._drop(numbers[2:])


def _removal(generation: sql.Generation) -> list[str]:
    return [*generation.drop(), *josie_sql.drop(generation)]


def _batch(batch: pa.RecordBatch, names: Iterable[str]) -> list[pa.Array]:
    return [batch.column(name) for name in names]


def _parts(folder: str) -> list[Path]:
    return sorted(Path(folder).glob("*.parquet"))
