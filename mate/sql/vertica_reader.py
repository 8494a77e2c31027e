"""How an index in Vertica is asked: sessions that threads share, and look-ups by numbers.

A few numbers are looked up as an IN list of bound values, many through a temporary table of the session that COPY
fills; where the line is drawn is a setting (``in_list``), because the best place depends on the server. Answers come
in binary and are turned into arrays without a Python object per value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import BoundedSemaphore, Lock
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from mate.index.base import Ids
from mate.sql import vertica_sql as sql
from mate.sql.vertica_address import VerticaAddress
from mate.sql.vertica_session import ConnectionLostError, Session

_Answer = TypeVar("_Answer")


class Sessions:
    """Sessions that threads take and give back, at most so many at a time."""

    def __init__(self, address: VerticaAddress) -> None:
        self._address, self._password = address, address.password()
        self._room = BoundedSemaphore(address.connections)
        self._idle: list[Session] = []
        self._lock = Lock()

    @contextmanager
    def one(self, *, fresh: bool = False) -> Iterator[Session]:
        """Lend a session; after an error it is not used again."""
        with self._room:
            with self._lock:
                session = self._idle.pop() if self._idle and not fresh else None
            session = session or Session.patient(self._address, self._password)
            try:
                yield session
                session.rollback()  # ends the transaction and empties temporary tables
            except BaseException:
                session.close()
                raise
            with self._lock:
                self._idle.append(session)

    def ask(self, question: Callable[[Session], _Answer]) -> _Answer:
        """Put a question; if a session that was idle turns out dead, put it once more over a new one."""
        try:
            with self.one() as session:
                return question(session)
        except ConnectionLostError:
            self.close()
        with self.one(fresh=True) as session:
            return question(session)

    def close(self) -> None:
        """Close those that nobody has."""
        with self._lock:
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()


@dataclass(frozen=True)
class Reader:
    """Looks things up in the tables of a generation."""

    sessions: Sessions
    generation: sql.Generation
    in_list: int

    def table(self, name: str) -> str:
        """Return the full name of a table."""
        return self.generation.table(name)

    def among(self, session: Session, column: str, ids: Ids, temporary: str = sql.IDS) -> tuple[str, list[int]]:
        """Return the condition that a column is one of these numbers, and the values to bind."""
        if len(ids) <= self.in_list:
            return sql.among(column, len(ids)), ids.tolist()
        session.fill(temporary, [pa.array(ids)])
        return sql.among_temporary(column, temporary), []

    def numbers(self, selected: str, name: str, column: str, ids: Ids, more: str = "") -> list[Ids]:
        """Look whole numbers up by distinct numbers."""
        width = selected.count(",") + 1
        if not len(ids):
            return [np.empty(0, np.int64) for _ in range(width)]

        def question(session: Session) -> list[Ids]:
            where, values = self.among(session, column, ids)
            return session.numbers(f"SELECT {selected} FROM {self.table(name)} WHERE {where}{more}", width, values)

        return self.sessions.ask(question)

    def records(self, name: str, column: str = "", ids: Ids | None = None, more: str = "") -> list[list[Any]]:
        """Return records of a table, all columns, of certain numbers if given; `more` stands behind the condition."""
        if ids is not None and not len(ids):
            return []
        names = ", ".join(sql.columns(name, 0, ""))

        def question(session: Session) -> list[list[Any]]:
            where, values = "", list[int]()
            if ids is not None:
                condition, values = self.among(session, column, ids)
                where = f" WHERE {condition}"
            return session.execute(f"SELECT {names} FROM {self.table(name)}{where}{more}", values)

        return self.sessions.ask(question)

    def by_source(self, name: str, sources: Sequence[str], more: str = "") -> list[list[Any]]:
        """Return the records of a table that are about certain sources."""
        names, found = ", ".join(sql.columns(name, 0, "")), list[list[Any]]()
        for start in range(0, len(sources), self.in_list):
            part = list(sources[start : start + self.in_list])
            statement = f"SELECT {names} FROM {self.table(name)} WHERE {sql.among('source', len(part))}{more}"
            found += self.sessions.ask(lambda session, q=statement, v=part: session.execute(q, v))  # type: ignore[misc]
        return found


def distinct(ids: Sequence[int] | Ids) -> Ids:
    """Return numbers once each, without negative ones: they stand for nothing, and -2^63 is NULL in Vertica."""
    found = np.unique(np.asarray(ids, np.int64))
    return found[found >= 0]
