"""Building into a database: a new generation of tables is filled, checked, and published by one record.

Only one build of a schema runs at a time: its driver holds a lock that ends with it, so that what an earlier build left
behind when it was killed can be told from one that is under way, and is removed.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from mate.build.build import BuildSettings
from mate.build.segments import Written
from mate.errors import StoreError
from mate.hashing import get
from mate.lake.manifest import Manifest
from mate.sql import statements as sql
from mate.sql.address import Address
from mate.sql.dialects import LoadCounts, dialect_of
from mate.sql.failures import BusyError, ConnectionLostError
from mate.sql.load import Destination, Loader
from mate.sql.row_keys import check_form, key_columns
from mate.sql.schema import NAMES, SHARED, TOKEN_COUNTS, Generation, Shape
from mate.sql.session import Session

_TABLE = re.compile(rf"({'|'.join(NAMES)})_(\d+)")


class DatabaseTarget:
    """A build of one index in a schema of a database."""

    def __init__(self, address: str) -> None:
        self.address = Address.parse(address)
        self.dialect = dialect_of(self.address.kind)
        self._password = self.address.password()
        self._published = False
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as held:
            self._create_shared()
            try:
                self._lock = held.enter_context(self.dialect.lock(self.address, self._password))
            except BusyError:
                raise StoreError(f"another build or change of {self.address} is under way") from None
            self._choose_number()
            self.directory = work_directory(self.address)
            self._held = held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
        with self._held:
            if not self._published:
                self._clean_up()

    def _session(self) -> Session:
        """Return a session of its own for each step: none is open while tasks load."""
        return Session(self.address, self._password, writes=True)

    def _create_shared(self) -> None:
        schema = self.address.schema
        with self._session() as session:
            if not session.execute(self.dialect.schema_exists, [schema])[0][0]:
                session.execute(self.dialect.create_schema(schema))
            present = _names(session)
            for table in SHARED:
                if table.name not in present:
                    session.execute(self.dialect.create_table(f"{schema}.{table.name}", table, unless_there=True))
            if not session.execute(sql.any_build(schema))[0][0]:
                session.execute(sql.first_build(schema))
            session.commit()

    def _choose_number(self) -> None:
        """Remove what killed builds left, and choose a number that none had."""
        with self._session() as session:
            published = _published(session)
            found = (_TABLE.fullmatch(name) for name in _names(session))
            present = {int(match[2]) for match in found if match}
            _drop(session, present - set(published))
            session.commit()
        self._generation = Generation(self.address.schema, max(present.union(published), default=0) + 1)

    def _clean_up(self) -> None:
        """Remove what was not published."""
        try:
            with self._session() as session:
                if self._generation.number not in _published(session):  # else only the commit's answer was lost
                    _drop(session, [self._generation.number])
                    session.commit()
        except StoreError:
            return  # The server is gone. The next build removes what this one left.

    def check(self, settings: BuildSettings) -> None:
        """Refuse, before anything is read, what the database cannot hold."""
        most = self.dialect.most_characters
        if most is not None and settings.limits.cell_characters > most:
            raise StoreError(f"Vertica compares texts of up to {most:,} characters: lower --max-cell to that")
        for request in settings.hashes:
            check_form(get(request.name, request.bits, **request.parameters), settings.limits.columns, self.dialect)

    def task(self, manifest: Manifest) -> Loader:
        """Create the tables, and return the function that loads a segment into them."""
        shape = self._shape(manifest)
        with self._session() as session:
            for table in shape.tables():
                session.execute(self.dialect.create_table(self._generation.table(table.name), table))
            session.commit()
        return Loader(self.address, self._password, Destination(self._generation, shape, manifest.hashes))

    def _shape(self, manifest: Manifest) -> Shape:
        layout = self.address.layout
        return Shape(key_columns(manifest.hashes), layout, manifest.cell_characters, self.dialect.buckets)

    def publish(self, manifest: Manifest, written: list[Written], stored: list[Any]) -> None:
        """Merge the dictionaries, check that nothing was lost, and make the new generation the one in use."""
        manifest = replace(manifest, segments=(), layout=self.address.layout)
        generation, shape = self._generation, self._shape(manifest)
        counts = LoadCounts(manifest.counts.cells, manifest.distinct_tokens)
        with self._session() as session:
            session.execute(sql.merge_tokens(generation, generation.table(TOKEN_COUNTS)))
            session.commit()
            self._verify(session, manifest, len(written))
            for statement in generation.drop([TOKEN_COUNTS]):
                session.execute(statement)
            session.commit()
            for statement in self.dialect.after_load(generation, shape, counts):
                session.execute(statement)
            self._let_read(session, shape)
            session.commit()
            self._settle(shape)
            self._publish(session, manifest)

    def _settle(self, shape: Shape) -> None:
        """Do what a database does not do in a transaction."""
        statements = self.dialect.after_commit(self._generation, shape)
        if statements:
            with Session(self.address, self._password) as session:
                for statement in statements:
                    session.execute(statement)

    def _verify(self, session: Session, manifest: Manifest, segments: int) -> None:
        counts = manifest.counts
        expected = {
            ("load_log", ""): segments,
            ("postings", ""): counts.cells,
            ("cells", " WHERE column_id = 0 AND piece = 0"): counts.rows,
            ("tables", ""): counts.tables,
            ("columns", ""): counts.columns,
            ("tokens", ""): manifest.distinct_tokens,
        }
        if self._shape(manifest).has_super_keys:
            expected["super_keys", ""] = counts.rows
        for (name, where), count in expected.items():
            [[found]] = session.execute(sql.count(self._generation.table(name), where))
            if found != count:
                raise StoreError(f"the table {name} has {found:,} records where {count:,} were staged")
        check_numbers(session, self._generation)

    def _let_read(self, session: Session, shape: Shape) -> None:
        """Let those read the new tables who may read the index, where tables do not inherit that."""
        question = self.dialect.readers(self.address.schema)
        readers = [name for (name,) in session.execute(question)] if question else []
        if readers:
            names = [self._generation.table(table.name) for table in shape.kept_tables()]
            session.execute(self.dialect.grant(names, readers))

    def _publish(self, session: Session, manifest: Manifest) -> None:
        """Publish, and remove all older generations but the last: searches may have it open until the next build."""
        schema, number = self.address.schema, self._generation.number
        self._lock.verify()
        session.execute(sql.publish(schema), [number, manifest.to_json()])
        try:
            session.commit()
        except ConnectionLostError as error:
            raise StoreError(
                f"{error} while the new index was published: mate stats tells which one is in use"
            ) from None
        self._published = True
        numbers = _published(session)
        if len(numbers) > 1:
            session.execute(sql.retire(schema), [numbers[1]])
            session.commit()
            _drop(session, numbers[2:])
            session.commit()


def work_directory(address: Address) -> Path:
    """Return a new folder for the files of a build or change."""
    try:
        return Path(tempfile.mkdtemp(prefix="mate-", dir=address.workdir or None))
    except OSError as error:
        raise StoreError(f"cannot write to {error.filename}: {error.strerror}") from error


def check_numbers(session: Session, generation: Generation, where: str = "") -> None:
    """Refuse a dictionary in which two texts have the same number: cells are told apart by these alone."""
    [[shared]] = session.execute(sql.shared_numbers(generation, where))
    if shared:
        raise StoreError(
            f"{session.address}: {shared} numbers stand for two texts each, which a database cannot tell apart; "
            "an index in a folder can"
        )


def _published(session: Session) -> list[int]:
    """Return the generations that have a manifest, the one in use first."""
    return [number for (number,) in session.execute(sql.published_numbers(session.address.schema))]


def _names(session: Session) -> set[str]:
    """Return the names of the schema's tables."""
    return {name.lower() for (name,) in session.execute(session.dialect.table_names, [session.address.schema])}


def _drop(session: Session, numbers: Iterable[int]) -> None:
    for number in sorted(numbers):
        for statement in Generation(session.address.schema, number).drop():
            session.execute(statement)
