"""Try on a real Vertica server what could not be tried when this was written, and write down what held.

Each trial runs what the store itself runs, in a schema of its own that is dropped afterwards, whatever happens.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from mate.build.build import BuildSettings, HashRequest, build
from mate.build.changes.updates import Updates
from mate.errors import MateError, StoreError
from mate.search.settings import FilterSettings, SearchSettings
from mate.search.systems import find_system
from mate.sql import statements as sql
from mate.sql.address import Address
from mate.sql.copy_text import key_array
from mate.sql.dialects import dialect_of
from mate.sql.dialects.base import lock_statement
from mate.sql.failures import BusyError, DuplicateKeyError
from mate.sql.index import DatabaseIndex
from mate.sql.row_keys import form_of
from mate.sql.schema import BUILDS, LAYOUTS, LOAD_LOG, SHARED, Column, Content, Generation, Shape, key_column
from mate.sql.session import Session
from mate.stores import open_index, open_target

QUICK = 5.0
"""Seconds within which a lock that is not waited for has to be refused."""
_TEMPORARY = "mate_check_numbers"
_NUMBER = [Column("id")]
_HASHES = (HashRequest(), HashRequest("wide", 20), HashRequest("fingerprint", 16))
"""One for each form that super keys have."""
_KEYS = (Column(key_column(0), Content.KEY, 16), Column(key_column(1), Content.KEY, 64))
_ALL_KEYS = (*_KEYS, Column(key_column(2), Content.WIDE_KEY), Column(key_column(3), Content.PRINTS))


@dataclass(frozen=True, slots=True)
class Finding:
    """What a trial found."""

    trial: str
    held: bool
    detail: str = ""
    """What was seen instead, or what is worth sending along, such as a plan."""


def check_vertica(address: str) -> Generator[Finding, None, None]:
    """Try on a Vertica server what an index needs of it, and yield what each trial found.

    The schema of the trials is dropped at the end, also if the iterator is closed before.

    >>> import mate
    >>> [finding.trial for finding in mate.check_vertica("vertica://dbadmin@host/VMart") if not finding.held]
    []
    """
    return Trials(address).run()


class Trials:
    """All trials on one server."""

    def __init__(self, address: str) -> None:
        where = Address.parse(address)
        if where.kind != "vertica":
            raise StoreError("this checks a Vertica server: give an address that begins with vertica://")
        self._where = replace(where, schema=f"mate_check_{uuid.uuid4().hex[:12]}")
        self._address, self._password = address, where.password()
        self._generation = Generation(self._where.schema, 1)
        self._dialect = dialect_of("vertica")

    def run(self) -> Generator[Finding, None, None]:
        """Yield what each trial found; the first to fail does not stop the others."""
        try:
            with self._session() as session:
                for trial in self._trials():
                    yield self._tried(trial, session)
        finally:
            self._clean_up()

    def _clean_up(self) -> None:
        """Drop the schema, over a session of its own: that of the trials may be lost, or have been interrupted."""
        with suppress(StoreError), Session(replace(self._where, patience=0), self._password, writes=True) as session:
            session.execute(self._drop_schema)

    @property
    def _drop_schema(self) -> str:
        return f"DROP SCHEMA IF EXISTS {self._where.schema} CASCADE"

    def _session(self) -> Session:
        return Session(self._where, self._password, writes=True)

    def _trials(self) -> list[Callable[[Session], str]]:
        return [
            self.version,
            self.schema_with_inherited_privileges,
            self.tables_and_their_names,
            self.accepted_rows_after_a_copy,
            self.rollback_of_a_copy,
            self.enforced_key,
            self.null_is_no_duplicate_key,
            self.temporary_table_after_rollback,
            self.lock_that_is_not_waited_for,
            self.index_answers_like_a_lake,
            self.plans_of_the_main_queries,
            self.nothing_is_left,
        ]

    @staticmethod
    def _tried(trial: Callable[[Session], str], session: Session) -> Finding:
        name = trial.__name__.replace("_", " ")
        try:
            return Finding(name, True, trial(session))
        except (MateError, AssertionError) as error:
            with suppress(StoreError):
                session.rollback()
            return Finding(name, False, str(error))

    # Trials; each returns what is worth knowing, or fails

    def version(self, session: Session) -> str:
        """Ask for the version."""
        return str(session.execute("SELECT VERSION()")[0][0])

    def schema_with_inherited_privileges(self, session: Session) -> str:
        """Create the schema as a build does."""
        session.execute(self._dialect.create_schema(self._where.schema))
        for table in SHARED:
            session.execute(self._dialect.create_table(f"{self._where.schema}.{table.name}", table))
        session.execute(sql.first_build(self._where.schema))
        session.commit()
        return ""

    def tables_and_their_names(self, session: Session) -> str:
        """Create all tables in both layouts: no name may be a reserved word."""
        for number, layout in enumerate(LAYOUTS, 1):
            shape = Shape(_ALL_KEYS if layout == "per_row" else _KEYS, layout, 1_000, self._dialect.buckets)
            generation = Generation(self._where.schema, number)
            for table in shape.tables():
                session.execute(self._dialect.create_table(generation.table(table.name), table))
        return ""

    def accepted_rows_after_a_copy(self, session: Session) -> str:
        """Load postings with super keys, and ask how many were taken."""
        shape = Shape(_KEYS, LAYOUTS[0], 1_000, self._dialect.buckets)
        keys = [key_array(np.zeros((3, column.size // 8), np.uint64)) for column in shape.keys]
        numbers = [pa.array([1, 2, 3])] * (len(shape.table("postings").columns) - len(keys))
        session.load(self._generation.table("postings"), shape.table("postings").columns, iter([[*numbers, *keys]]))
        return "3 of 3"

    def rollback_of_a_copy(self, session: Session) -> str:
        """Undo it."""
        session.rollback()
        [[left]] = session.execute(sql.count(self._generation.table("postings")))
        assert left == 0, f"{left} records are left after ROLLBACK"
        return ""

    def enforced_key(self, session: Session) -> str:
        """Note a part twice."""
        session.execute(sql.log_part(self._generation), [7, 1])
        session.commit()
        try:
            session.execute(sql.log_part(self._generation), [7, 1])
            session.commit()
        except DuplicateKeyError as error:
            session.rollback()
            return str(error)
        raise AssertionError("a part was noted twice: the primary key is not enforced")

    def null_is_no_duplicate_key(self, session: Session) -> str:
        """Load a null where none may be: the server has to say so, and not that a key is there twice."""
        table, nothing = self._generation.table(LOAD_LOG.name), pa.array([None], pa.int64())
        try:
            session.load(table, LOAD_LOG.columns, iter([[nothing, nothing]]))
        except DuplicateKeyError as error:
            raise AssertionError(f"a null is told as a duplicate key: {error}") from None
        except StoreError as error:
            if "not null" not in str(error).lower():
                raise
            session.rollback()
            return str(error)
        raise AssertionError("a null was taken")

    def temporary_table_after_rollback(self, session: Session) -> str:
        """Fill a temporary table, commit, roll back: it is still there, with its records."""
        session.prepare(_TEMPORARY, _NUMBER)
        session.fill(_TEMPORARY, _NUMBER, [pa.array([1, 2])])
        session.commit()
        session.rollback()
        [[left]] = session.execute(sql.count(_TEMPORARY))
        assert left == 2, f"{left} of 2 records are left"
        return ""

    def lock_that_is_not_waited_for(self, session: Session) -> str:
        """Lock the table of builds from two sessions."""
        session.execute(lock_statement(self._where.schema))
        began = time.monotonic()
        try:
            with self._session() as other:
                other.execute(lock_statement(self._where.schema))
        except BusyError as error:
            waited = time.monotonic() - began
            assert waited < QUICK, f"refused after {waited:.0f} s"
            return str(error)
        finally:
            session.rollback()
        raise AssertionError(f"two sessions hold the lock of {BUILDS}")

    def index_answers_like_a_lake(self, session: Session) -> str:
        """Build, search and change an index, and a lake of the same files."""
        session.execute(self._drop_schema)
        session.commit()
        with TemporaryDirectory() as folder:
            return _compared(self._own_address(), Path(folder))

    def plans_of_the_main_queries(self, session: Session) -> str:
        """Return how the server would run the look-ups of a key tuple that is there, and what running them took."""
        with open_index(self._own_address()) as index:
            assert isinstance(index, DatabaseIndex)
            table_id = index.tables()[0].table_id
            look = self._lookup(session, index, table_id)
        where = f"p.table_id IN ({table_id})"
        statements = look.bounds("", 200), look.mappings(where), look.rows(""), look.cells(where)
        plans = [_profiled(session, f"{self._where.schema}_{n}", text) for n, text in enumerate(statements)]
        used = sorted({projection for projections, _ in plans for projection in projections})
        return "\n\n".join([f"projections used: {', '.join(used)}", *(plan for _, plan in plans)])

    def _lookup(self, session: Session, index: DatabaseIndex, table_id: int) -> sql.Lookup:
        """Return the look-ups of the key tuple that the first two cells of a table make."""
        generation, shape = index.reader.generation, index.reader.shape
        found = session.execute(
            f"SELECT c.token_id, t.token FROM {generation.table('cells')} AS c"
            f" INNER JOIN {generation.table('tokens')} AS t ON t.token_id = c.token_id"
            f" WHERE c.table_id = {table_id} AND c.row_id = 0 AND c.piece = 0 ORDER BY c.column_id LIMIT 2"
        )
        tokens = np.array([[number for number, _ in found]], np.int64)
        form = form_of(index.manifest.hashes[0])
        texts = [text for _, text in found]
        number, keys = form.probes(lambda function: function.hash(texts)[None], lambda: np.array([len(found)]))
        records = [pa.array(number), *map(pa.array, tokens[number].T), *keys]
        relation = sql.constant_probes(self._dialect, sql.probe_columns(len(found), form), records)
        probes = sql.Probes(relation, tokens, 0, 0, form, sql.bucket_of(tokens[:, 0]).tolist())
        return sql.Lookup(self._dialect, generation, shape, probes)

    def nothing_is_left(self, session: Session) -> str:
        """Drop the schema of the trials."""
        session.execute(self._drop_schema)
        session.commit()
        [[left]] = session.execute(self._dialect.schema_exists, [self._where.schema])
        assert not left, f"{self._where.schema} is still there"
        return ""

    def _own_address(self) -> str:
        """Return the address of the schema of the trials."""
        place, _, query = self._address.partition("?")
        kept = [option for option in query.split("&") if option and not option.startswith("schema=")]
        return f"{place}?{'&'.join([*kept, f'schema={self._where.schema}'])}"


def _profiled(session: Session, label: str, statement: str) -> tuple[list[str], str]:
    """Explain and profile a query; return the projections that it used, and what the server tells of both.

    PROFILE returns what the query finds. What it took is in system tables, under the numbers of transaction and
    statement, which are found by a label.
    """
    plan = [f"EXPLAIN {statement}", *(str(line[0]) for line in session.execute(f"EXPLAIN {statement}"))]
    found = session.execute("PROFILE " + statement.replace("SELECT", f"SELECT /*+LABEL({label})*/", 1))
    assert found, f"a key tuple that is in the index was not found by: {statement}"
    profiles = session.execute(
        "SELECT transaction_id, statement_id, projections_used FROM v_monitor.query_profiles WHERE identifier = %s",
        [label],
    )
    assert profiles, f"v_monitor.query_profiles has no query with the label {label}"
    transaction, number, projections = profiles[0]
    where = f"WHERE transaction_id = {transaction} AND statement_id = {number}"
    paths = session.execute(
        "SELECT path_id, path_line_index, running_time, memory_allocated_bytes, read_from_disk_bytes, path_line"
        f" FROM v_monitor.query_plan_profiles {where} ORDER BY path_id, path_line_index"
    )
    counters = session.execute(
        "SELECT operator_name, counter_name, SUM(counter_value) FROM v_monitor.execution_engine_profiles"
        f" {where} GROUP BY operator_name, counter_name HAVING SUM(counter_value) > 0"
        " ORDER BY operator_name, counter_name"
    )
    assert paths, f"v_monitor.query_plan_profiles has nothing of the query with the label {label}"
    assert counters, f"v_monitor.execution_engine_profiles has nothing of the query with the label {label}"
    took = [" | ".join(map(str, record)) for record in (*paths, *counters)]
    used = [name.strip() for name in str(projections or "").split(",") if name.strip()]
    return used, "\n".join([*plan, f"PROFILE: {len(found)} records, projections {', '.join(used)}", *took])


def _compared(address: str, folder: Path) -> str:
    """Build an index of a few made-up tables and a lake, change both, and compare what searches find."""
    made = "synthetic:tables=12,seed=7"
    query = folder / "query.csv"
    found = []
    for place in (address, str(folder / "lake.mate")):
        with open_target(place) as target:
            build([made], target, BuildSettings(_HASHES, master="none"))
        with open_index(place) as index:
            if not query.exists():
                table = index.table(2)
                rows = index.cells(2, np.arange(table.rows))
                names = [f"c{n}" for n in range(len(table.columns))]
                lines = [",".join('"' + (cell or "").replace('"', '""') + '"' for cell in row) for row in rows]
                query.write_text("\n".join([",".join(names), *lines]), encoding="utf-8")
        Updates(place, master="none").remove_tables([0])
        with open_index(place) as index:
            search, key = find_system(), ["c0", "c1"]
            filters = [SearchSettings(k=5, filters=FilterSettings(hash_name=request.name)) for request in _HASHES]
            answers = [search(index, str(query), key, settings=settings) for settings in filters]
            found.append([[(r.table_id, r.joinability) for r in answer] for answer in answers])
    assert found[0] == found[1], f"{found[0]} where a lake has {found[1]}"
    return f"{len(found[0][0])} answers with each of {', '.join(request.name for request in _HASHES)}"
