"""Try on a real Vertica server what could not be tried when this was written, and report what held.

Each trial runs what the store itself runs, in a schema of its own that is dropped afterwards, whatever happens.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from mate.build.build import BuildSettings, HashRequest, build
from mate.build.changes.updates import Updates
from mate.errors import MateError, StoreError
from mate.lake.base import Index
from mate.search.query import QueryTable
from mate.search.search import prepare
from mate.search.settings import FilterSettings, SearchSettings
from mate.search.systems import find_system
from mate.sql.address import Address
from mate.sql.blocks import FEW_PROBES, FIRST_PAGE, Blocks
from mate.sql.dialects import open_session
from mate.sql.dialects.failures import BusyError, DuplicateKeyError
from mate.sql.dialects.session import Session
from mate.sql.index import DatabaseIndex
from mate.sql.schema import BUILDS, LAYOUTS, Column, Generation
from mate.stores import open_index, open_target

QUICK = 5.0
"""Seconds within which a lock that is not waited for has to be refused."""
_TEMPORARY = "mate_check_numbers"
_LAKE, _TABLE, _ROWS = "synthetic:tables=12,seed=7", 2, 200
"""Made-up tables, and how many rows of which one are searched for."""
_KEY = ("c0", "c1")
_HASHES = (HashRequest(), HashRequest("wide", 20), HashRequest("fingerprint", 16))
"""One for each form that super keys have."""


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
    """All trials on one server; each method returns what is worth knowing, or fails."""

    def __init__(self, address: str) -> None:
        where = Address.parse(address)
        if where.kind != "vertica":
            raise StoreError("this checks a Vertica server: give an address that begins with vertica://")
        self.schema = f"mate_check_{uuid.uuid4().hex[:12]}"
        place, _, query = address.partition("?")
        self._address = f"{place}?{query}&schema={self.schema}"  # the last one of an option holds
        self._where = replace(where, schema=self.schema)
        self._drop_schema = f"DROP SCHEMA IF EXISTS {self.schema} CASCADE"

    def run(self) -> Generator[Finding, None, None]:
        """Yield what each trial found; the first to fail does not stop the others."""
        trials = [
            self.version,
            self.index_answers_like_a_lake,
            self.plans_of_the_main_queries,
            self.rollback_of_a_copy,
            self.enforced_key,
            self.temporary_table_after_rollback,
            self.lock_that_is_not_waited_for,
            self.nothing_is_left,
        ]
        try:
            with open_session(self._where, writes=True) as session:
                for trial in trials:
                    yield self._finding(trial, session)
        finally:
            # A session of its own: that of the trials may be lost, or have been interrupted.
            impatient = replace(self._where, patience=0)
            with suppress(StoreError), open_session(impatient, writes=True) as session:
                session.execute(self._drop_schema)

    def _finding(self, trial: Callable[[Session], str], session: Session) -> Finding:
        name = trial.__name__.replace("_", " ")
        try:
            return Finding(name, True, trial(session))
        except (MateError, AssertionError) as error:
            with suppress(StoreError):
                session.rollback()
            return Finding(name, False, str(error))

    def version(self, session: Session) -> str:
        """Ask for the version."""
        return str(session.execute("SELECT VERSION()")[0][0])

    def index_answers_like_a_lake(self, session: Session) -> str:
        """Build, search and change an index in each layout, and a lake of the same files."""
        with TemporaryDirectory() as folder:
            expected = _answers(f"{folder}/lake.mate")
        for layout in LAYOUTS:
            answers = _answers(f"{self._address}&layout={layout}")
            assert answers == expected, f"{layout}: {answers} where a lake has {expected}"
        return f"{len(expected[0])} answers with each of {', '.join(request.name for request in _HASHES)}"

    def plans_of_the_main_queries(self, session: Session) -> str:
        """Return how the server runs the look-ups of a search, and how long they take."""
        with DatabaseIndex(self._address) as index:
            query, settings = _query(index, FEW_PROBES // 2), _settings(_HASHES[0])
            search = prepare("column-first", index, query, _KEY, settings, column_first=True)
            lookup = Blocks(index, search).lookup(session)
        where = f"p.table_id IN ({_TABLE})"
        statements = lookup.bounds("", FIRST_PAGE), lookup.mappings(where), lookup.row_counts(""), lookup.cells(where)
        return "\n\n".join(_plan(session, text) for text in statements)

    def rollback_of_a_copy(self, session: Session) -> str:
        """Load records, which asks how many were taken, and undo it."""
        generation, number = self._generation(), pa.array([-1, -2, -3])
        session.load(generation.name("load_log"), generation.columns("load_log"), [[number, number]])
        session.rollback()
        [[left]] = session.execute(f"SELECT COUNT(*) FROM {generation.name('load_log')} WHERE part_id < 0")
        assert left == 0, f"{left} records are left after ROLLBACK"
        return "3 of 3 were taken"

    def enforced_key(self, session: Session) -> str:
        """Load a segment's number twice."""
        log = f"INSERT INTO {self._generation().name('load_log')} (part_id, record_count) VALUES (-7, 1)"
        try:
            for _ in range(2):
                session.execute(log)
                session.commit()
        except DuplicateKeyError as error:
            session.rollback()
            return str(error)
        raise AssertionError("a part was loaded twice: the primary key is not enforced")

    def _generation(self) -> Generation:
        with DatabaseIndex(self._address) as index:
            return index.generation

    def temporary_table_after_rollback(self, session: Session) -> str:
        """Fill a temporary table, commit, roll back: it is still there, with its records."""
        session.fill(_TEMPORARY, [Column("id")], [pa.array([1, 2])])
        session.commit()
        session.rollback()
        [[left]] = session.execute(f"SELECT COUNT(*) FROM {_TEMPORARY}")
        assert left == 2, f"{left} of 2 records are left"
        return ""

    def lock_that_is_not_waited_for(self, session: Session) -> str:
        """Lock the table of builds from two sessions."""
        session.take_lock()
        began = time.monotonic()
        try:
            with open_session(self._where, writes=True) as other:
                other.take_lock()
        except BusyError as error:
            waited = time.monotonic() - began
            assert waited < QUICK, f"refused after {waited:.0f} s"
            return str(error)
        finally:
            session.rollback()
        raise AssertionError(f"two sessions hold the lock of {BUILDS}")

    def nothing_is_left(self, session: Session) -> str:
        """Drop the schema of the trials."""
        session.execute(self._drop_schema)
        session.commit()
        [[left]] = session.execute(session.dialect.schema_exists, [self.schema])
        assert not left, f"{self.schema} is still there"
        return ""


def _answers(place: str) -> list[list[tuple[int, int]]]:
    """Build an index of a few made-up tables, change it, and return what searches find: tables and joinability."""
    with open_target(place) as target:
        build([_LAKE], target, BuildSettings(_HASHES, master="none"))
    Updates(place, master="none").remove_tables([0])
    with open_index(place) as index:
        searches = [find_system()(index, _query(index, _ROWS), _KEY, settings=_settings(asked)) for asked in _HASHES]
        return [[(found.table_id, found.joinability) for found in search] for search in searches]


def _query(index: Index, rows: int) -> QueryTable:
    """Return the first rows of a table that is in the index."""
    cells = [[cell or "" for cell in row] for row in index.cells(_TABLE, np.arange(rows))]
    return QueryTable("query", pa.table({f"c{n}": column for n, column in enumerate(zip(*cells, strict=True))}))


def _settings(request: HashRequest) -> SearchSettings:
    return SearchSettings(k=5, filters=FilterSettings(hash_name=request.name))


def _plan(session: Session, statement: str) -> str:
    """Explain and run a query; return its plan, and how long it took."""
    plan = [f"EXPLAIN {statement}", *(str(line[0]) for line in session.execute(f"EXPLAIN {statement}"))]
    began = time.monotonic()
    records = session.execute(statement)
    assert records, f"a key tuple that is in the index was not found by: {statement}"
    return "\n".join([*plan, f"{len(records)} records in {1_000 * (time.monotonic() - began):.0f} ms"])
