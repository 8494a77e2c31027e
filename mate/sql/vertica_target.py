"""Building into Vertica: a new generation of tables is filled, checked, and published by one record.

Only one build of a schema runs at a time: its driver holds a lock that ends with its session, so that what an earlier
build left behind when it was killed can be told from one that is under way, and is removed.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from mate.build.segments import Written
from mate.errors import StoreError
from mate.index.manifest import Manifest
from mate.sql import vertica_sql as sql
from mate.sql.vertica_address import VerticaAddress
from mate.sql.vertica_load import Destination, Loader
from mate.sql.vertica_session import BusyError, ConnectionLostError, Session

_TABLE = re.compile(rf"({'|'.join(sql.TABLES)})_(\d+)")


NEXT_ROW = "next_row"
"""Note of the manifest: the first number that no row ever had."""


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
                for statement in self._generation.drop():
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
            for statement in sql.Generation(self.address.schema, number).drop():
                self._session.execute(statement)

    def task(self, manifest: Manifest) -> Loader:
        """Create the tables, and return the function that loads a segment into them."""
        most = sql.MOST_CHARACTERS
        if manifest.cell_characters > most:
            raise StoreError(f"Vertica compares texts of up to {most:,} characters: lower --max-cell to that")
        octets, layout = sql.octets_of(manifest.hashes), self.address.layout
        for statement in self._generation.create(octets, layout, manifest.cell_characters):
            self._session.execute(statement)
        return Loader(self.address, self._password, Destination(self._generation, len(octets), layout))

    def publish(self, manifest: Manifest, written: list[Written], stored: list[Any]) -> None:
        """Merge the dictionaries, check that nothing was lost, and make the new generation the one in use."""
        notes = {NEXT_ROW: manifest.counts.rows}
        manifest = replace(manifest, segments=(), layout=self.address.layout, notes=notes)
        self._session.execute(self._generation.merge_tokens(self._generation.table(sql.TOKEN_COUNTS)))
        self._session.commit()
        self._verify(manifest, len(written))
        for statement in self._generation.drop([sql.TOKEN_COUNTS]):
            self._session.execute(statement)
        for name in sql.tables_in_use(manifest.layout, len(manifest.hashes)):
            self._session.execute(self._generation.analyze(name))
        self._publish(manifest)

    def _verify(self, manifest: Manifest, segments: int) -> None:
        counts = manifest.counts
        expected = {
            ("load_log", ""): segments,
            ("postings", ""): counts.cells,
            ("cells", " WHERE column_id = 0 AND piece = 0"): counts.rows,
            ("tables", ""): counts.tables,
            ("columns", ""): counts.columns,
        }
        if manifest.layout == "per_row" and manifest.hashes:
            expected["super_keys", ""] = counts.rows
        for (name, where), count in expected.items():
            [[found]] = self._session.execute(self._generation.count(name, where))
            if found != count:
                raise StoreError(f"the table {name} has {found:,} records where {count:,} were staged")
        check_numbers(self._session, self._generation)
        [[found]] = self._session.execute(self._generation.count("tokens"))
        if found != manifest.distinct_tokens:
            raise StoreError(f"the dictionary has {found:,} tokens where {manifest.distinct_tokens:,} were counted")

    def _publish(self, manifest: Manifest) -> None:
        """Publish, and remove all older generations but the last: searches may have it open until the next build."""
        schema, number = self.address.schema, self._generation.number
        self._lock.execute(sql.lock_builds(schema), [number])  # fails if the lock went with its session
        self._session.execute(sql.publish(schema), [number, manifest.to_json()])
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


def check_numbers(session: Session, generation: sql.Generation, where: str = "") -> None:
    """Refuse a dictionary in which two texts have the same number: cells are told apart by these alone."""
    [[shared]] = session.execute(generation.shared_numbers(where))
    if shared:
        raise StoreError(
            f"{session.address}: {shared} numbers stand for two texts each, which a database cannot tell apart; "
            "an index in a folder can"
        )
