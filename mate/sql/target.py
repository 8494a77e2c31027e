"""Building into a database: a new generation of tables is filled, checked, and published by one record.

Only one build of a schema runs at a time: its driver holds a lock that ends with it. So what a killed build left behind
can be told from a build that is under way, and is removed.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from mate.build.build import BuildSettings
from mate.build.segments import NewSegment
from mate.errors import StoreError
from mate.hashing import get
from mate.lake.manifest import Manifest
from mate.sql.address import Address
from mate.sql.dialects import dialect_of, open_session, session_class
from mate.sql.dialects.failures import BusyError, ConnectionLostError
from mate.sql.dialects.session import Session, patiently
from mate.sql.index import generation_of
from mate.sql.load import Loader
from mate.sql.schema import LAYOUTS, MANIFEST, SHARED, TOKEN_COUNTS, Column, Generation
from mate.sql.super_keys import MOST_FINGERPRINT_BITS, key_form

_ALL_TABLES = Generation("", 0, (Column("key0"),), LAYOUTS[1], 0).tables()
"""The tables that a generation may have."""
_TABLE = re.compile(rf"({'|'.join(table.name for table in _ALL_TABLES)})_(\d+)")


class DatabaseTarget:
    """A build of one index in a schema of a database."""

    def __init__(self, address: str) -> None:
        self.address = Address.parse(address)
        self.dialect = dialect_of(self.address.kind)
        self._manifests = f"{self.address.schema}.{MANIFEST}"
        self._published = False
        self._resources = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as resources:
            self._create_shared_tables()
            self._verify_lock, self.directory = resources.enter_context(alone(self.address))
            self._number = self._new_number()
            resources.callback(self._remove_unpublished)
            self._resources = resources.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def _session(self) -> Session:
        """Return a session of its own for each step: none is open while tasks load."""
        return open_session(self.address, writes=True)

    def _create_shared_tables(self) -> None:
        schema = self.address.schema
        with self._session() as session:
            if not session.execute(self.dialect.schema_exists, [schema])[0][0]:
                session.execute(self.dialect.create_schema.format(schema=schema))
            present = self._table_names(session)
            for table in SHARED:
                if table.name not in present:
                    session.execute(self.dialect.create_table(f"{schema}.{table.name}", table))
            session.commit()

    def _new_number(self) -> int:
        """Remove what killed builds left, and return the number of a new generation."""
        with self._session() as session:
            published = self._published_numbers(session)
            matches = map(_TABLE.fullmatch, self._table_names(session))
            present = {int(match[2]) for match in matches if match}
            self._drop(session, present - set(published))
            session.commit()
        return max(present.union(published), default=0) + 1

    def _remove_unpublished(self) -> None:
        if self._published:
            return
        try:
            with self._session() as session:
                if self._number not in self._published_numbers(session):  # else only the commit's answer was lost
                    self._drop(session, [self._number])
                    session.commit()
        except StoreError:
            return  # The server is gone. The next build removes what this one left.

    def check(self, settings: BuildSettings) -> None:
        """Refuse, before anything is read, what the database cannot hold."""
        most, most_octets = self.dialect.most_characters, self.dialect.most_octets
        if most is not None and settings.limits.cell_characters > most:
            raise StoreError(f"Vertica compares texts of up to {most:,} characters: lower --max-cell to that")
        for request in settings.hashes:
            function = get(request.name, request.bits, **request.parameters)
            name, columns = f"{function.name}:{function.bits}", settings.limits.columns
            if function.by_column and function.bits > MOST_FINGERPRINT_BITS:
                limit = f"a database has fingerprints of up to {MOST_FINGERPRINT_BITS} bits"
                raise StoreError(f"{name} is for lakes in a folder: {limit}")
            octets = key_form(function).most_octets(columns)
            if most_octets is not None and octets > most_octets:
                raise StoreError(
                    f"the keys of {name} for {columns:,} columns take {octets:,} octets, and a column has "
                    f"{most_octets:,} at most: lower --max-columns"
                )

    def loader(self, manifest: Manifest) -> Loader:
        """Create the tables, and return the function that loads a segment into them."""
        manifest = replace(manifest, layout=self.address.layout)
        self._generation = generation = generation_of(self.address, self._number, manifest)
        with self._session() as session:
            for table in generation.tables():
                session.execute(self.dialect.create_table(generation.name(table.name), table))
            session.commit()
        return Loader(self.address, generation, manifest.hashes)

    def publish(self, manifest: Manifest, new_segments: list[NewSegment]) -> None:
        """Merge the dictionaries, check that nothing was lost, and make the new generation the one in use."""
        manifest, generation = replace(manifest, segments=(), layout=self.address.layout), self._generation
        distinct_share = manifest.distinct_tokens / max(1, manifest.counts.cells)
        with self._session() as session:
            session.execute(merge_tokens(generation, generation.name(TOKEN_COUNTS)))
            session.commit()
            self._verify(session, manifest, generation, len(new_segments))
            session.execute(f"DROP TABLE IF EXISTS {generation.name(TOKEN_COUNTS)} CASCADE")
            self._grant(session, generation)
            session.commit()
            if statements := self.dialect.after_load(generation, distinct_share):
                with open_session(self.address) as outside:
                    for statement in statements:
                        outside.execute(statement)
            self._publish(session, manifest)

    def _verify(self, session: Session, manifest: Manifest, generation: Generation, segments: int) -> None:
        counts = manifest.counts
        expected = {
            ("load_log", ""): segments,
            ("postings", ""): counts.cells,
            ("cells", " WHERE column_id = 0 AND piece = 0"): counts.rows,
            ("tables", ""): counts.tables,
            ("columns", ""): counts.columns,
            ("tokens", ""): manifest.distinct_tokens,
        }
        if generation.has_super_keys:
            expected["super_keys", ""] = counts.rows
        for (table, where), count in expected.items():
            [[found]] = session.execute(f"SELECT COUNT(*) FROM {generation.name(table)}{where}")
            if found != count:
                raise StoreError(f"the table {table} has {found:,} records where {count:,} were staged")
        check_token_ids(session, generation)

    def _grant(self, session: Session, generation: Generation) -> None:
        """Let those read the new tables who may read the index, where tables do not inherit that."""
        question, schema = self.dialect.readers, [self.address.schema]
        readers = [name for (name,) in session.execute(question, schema)] if question else []
        if readers:
            names = [generation.name(table.name) for table in generation.kept_tables()]
            session.execute(f"GRANT SELECT ON {', '.join(names)} TO {', '.join(readers)}")

    def _publish(self, session: Session, manifest: Manifest) -> None:
        """Publish, and remove all older generations but the last: searches may have it open until the next build."""
        self._verify_lock()
        insert = f"INSERT INTO {self._manifests} (load_id, change_id, manifest) VALUES (%s, 0, %s)"
        session.execute(insert, [self._number, manifest.to_json()])
        commit_last(session, "the new index was published: mate stats tells which one is in use")
        self._published = True
        numbers = self._published_numbers(session)
        if len(numbers) > 1:
            session.execute(f"DELETE FROM {self._manifests} WHERE load_id < %s", [numbers[1]])
            session.commit()
            self._drop(session, numbers[2:])
            session.commit()

    def _published_numbers(self, session: Session) -> list[int]:
        """Return the generations that have a manifest, the one in use first."""
        return [number for (number,) in session.execute(f"SELECT load_id FROM {self._manifests} ORDER BY load_id DESC")]

    def _table_names(self, session: Session) -> set[str]:
        return {name.lower() for (name,) in session.execute(self.dialect.table_names, [self.address.schema])}

    def _drop(self, session: Session, numbers: Iterable[int]) -> None:
        for number in sorted(numbers):
            for table in _ALL_TABLES:
                session.execute(f"DROP TABLE IF EXISTS {self.address.schema}.{table.name}_{number} CASCADE")


@contextmanager
def alone(address: Address, wait: float = 0.0) -> Iterator[tuple[Callable[[], None], Path]]:
    """Lock a schema for a build or change; yield a function that fails if the lock was lost, and a folder for files."""
    lock = session_class(address.kind).lock
    with ExitStack() as resources:
        try:
            verify = patiently(lambda: resources.enter_context(lock(address)), BusyError, wait, longest=0.5)
        except BusyError:
            waited = f"; waited {wait:g} s for it (--wait)" if wait else ""
            raise StoreError(f"another build or change of {address} is under way{waited}") from None
        try:
            directory = tempfile.mkdtemp(prefix="mate-", dir=address.workdir or None)
        except OSError as error:
            raise StoreError(f"cannot write to {error.filename}: {error.strerror}") from error
        resources.callback(shutil.rmtree, directory, ignore_errors=True)
        yield verify, Path(directory)


def commit_last(session: Session, doing: str) -> None:
    """Commit; if the connection is lost meanwhile, say how to find out whether it was done."""
    try:
        session.commit()
    except ConnectionLostError as error:
        raise StoreError(f"{error} while {doing}") from None


def merge_tokens(generation: Generation, counts: str) -> str:
    """SQL that adds the sums of the counts of tokens in another table to the dictionary."""
    return (
        f"INSERT INTO {generation.name('tokens')} (token_id, token, posting_count)"
        f" SELECT token_id, token, SUM(posting_count) FROM {counts}"
        " GROUP BY token_id, token HAVING SUM(posting_count) > 0"
    )


def check_token_ids(session: Session, generation: Generation, where: str = "") -> None:
    """Refuse a dictionary in which two texts have the same number: cells are told apart by these alone."""
    shared = f"SELECT token_id FROM {generation.name('tokens')}{where} GROUP BY token_id HAVING COUNT(*) > 1"
    [[count]] = session.execute(f"SELECT COUNT(*) FROM ({shared}) AS shared")
    if count:
        raise StoreError(
            f"{session.address}: {count} numbers stand for two texts each, which a database cannot tell apart; "
            "an index in a folder can"
        )
