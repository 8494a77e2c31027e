"""Look-ups in the tables of a generation, over sessions that threads share.

A few numbers are looked up as an IN list, many through a temporary table of the session. The option ``in_list`` draws
the line, because the best place depends on the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import BoundedSemaphore, Lock
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from mate.errors import ChangedError, StoreError
from mate.lake.base import Ids
from mate.sql.address import Address
from mate.sql.dialects import open_session
from mate.sql.dialects.failures import ConnectionLostError, MissingError
from mate.sql.dialects.session import Session
from mate.sql.lookup import among
from mate.sql.schema import MANIFEST, Column, Generation

_IDS = "mate_ids"
"""Temporary table of numbers to look up."""
_Answer = TypeVar("_Answer")


class SessionPool:
    """Reading sessions that threads take and give back, at most so many at a time as the address says."""

    def __init__(self, address: Address) -> None:
        self.address, self._password = address, address.password()
        self._free = BoundedSemaphore(address.connections)
        self._idle: list[Session] = []
        self._mutex = Lock()
        self._is_closed = False

    @contextmanager
    def session(self, *, fresh: bool = False) -> Iterator[Session]:
        """Lend a session; after an error it is not used again."""
        with self._free:
            with self._mutex:
                session = self._idle.pop() if self._idle and not fresh else None
            session = session or open_session(self.address, self._password)
            try:
                yield session
            except BaseException:
                session.close()
                raise
            with self._mutex:
                self._idle.append(session)
            if self._is_closed:
                self._close_idle()

    def ask(self, question: Callable[[Session], _Answer]) -> _Answer:
        """Put a question; if an idle session turns out dead, put it once more over a new one."""
        try:
            with self.session() as session:
                return question(session)
        except ConnectionLostError:
            self._close_idle()
        with self.session(fresh=True) as session:
            return question(session)

    def close(self) -> None:
        """Close idle sessions now, and the others as they are given back."""
        self._is_closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with self._mutex:
            idle, self._idle = self._idle, []
        for session in idle:
            with suppress(StoreError):
                session.close()


@dataclass(frozen=True)
class Reader:
    """Looks things up in the tables of a generation."""

    pool: SessionPool
    generation: Generation

    @property
    def in_list(self) -> int:
        """Up to so many values are listed in a statement."""
        return self.pool.address.in_list

    def ask(self, question: Callable[[Session], _Answer]) -> _Answer:
        """Put a question; tell if its tables are gone because later builds have replaced them."""
        try:
            return self.pool.ask(question)
        except MissingError:
            self.last_change()
            raise

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Sequence[Any]]:
        """Return the records that a statement finds."""
        return self.ask(lambda session: session.execute(statement, values))

    def last_change(self) -> tuple[int, str]:
        """Return the number of the last change of the generation, and its manifest."""
        generation = self.generation
        statement = (
            f"SELECT change_id, manifest FROM {generation.schema}.{MANIFEST} WHERE load_id = {generation.number}"
        )
        for change, manifest in self.pool.ask(lambda session: session.execute(statement)):
            return int(change), str(manifest)
        raise ChangedError(f"{self.pool.address} was built again, twice, since it was opened: open it again")

    def among(self, session: Session, column: str, ids: Ids) -> str:
        """Return the condition that a column is one of these numbers."""
        if len(ids) <= self.in_list:
            return among(column, ids)
        session.fill(_IDS, [Column("id")], [pa.array(ids)])
        return f"{column} IN (SELECT id FROM {_IDS})"

    def records(self, table: str, column: str = "", ids: Ids | None = None, more: str = "") -> list[Sequence[Any]]:
        """Return records of a table, of certain numbers if given; `more` stands behind the condition."""
        return self.select(self._all_columns(table), self.generation.name(table), column, ids, more)

    def select(self, selected: str, tables: str, column: str, ids: Ids | None, more: str = "") -> list[Sequence[Any]]:
        """Return what a query finds, for certain numbers if given; `more` stands behind the condition."""
        if ids is not None and not len(ids):
            return []

        def question(session: Session) -> list[Sequence[Any]]:
            where = "" if ids is None else f" WHERE {self.among(session, column, ids)}"
            return session.execute(f"SELECT {selected} FROM {tables}{where}{more}")

        return self.ask(question)

    def records_of_sources(self, table: str, sources: Sequence[str], more: str = "") -> list[Sequence[Any]]:
        """Return the records of a table that are about certain sources."""
        records: list[Sequence[Any]] = []
        for start in range(0, len(sources), self.in_list):
            part = list(sources[start : start + self.in_list])
            where = f"source IN ({', '.join(['%s'] * len(part))})"
            records += self.query(
                f"SELECT {self._all_columns(table)} FROM {self.generation.name(table)} WHERE {where}{more}", part
            )
        return records

    def _all_columns(self, table: str) -> str:
        return ", ".join(column.name for column in self.generation.columns(table))


def distinct(ids: Sequence[int] | Ids) -> Ids:
    """Return numbers once each, without negative ones: they stand for nothing, and -2^63 is NULL in Vertica."""
    numbers = np.unique(np.asarray(ids, np.int64))
    return numbers[numbers >= 0]
