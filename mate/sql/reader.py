"""Look-ups in the tables of a generation.

A few numbers are looked up as an IN list, many through a temporary table of the session; where the line is drawn is a
setting (``in_list``), because the best place depends on the server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from mate.errors import ChangedError
from mate.lake.base import Ids
from mate.sql import statements as sql
from mate.sql.failures import MissingError
from mate.sql.schema import Column, Generation, Shape
from mate.sql.session import Session, Sessions

_ID = [Column("id")]
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Reader:
    """Looks things up in the tables of a generation."""

    sessions: Sessions
    generation: Generation
    shape: Shape

    @property
    def in_list(self) -> int:
        """Up to so many values are listed in a statement."""
        return self.sessions.address.in_list

    def table(self, name: str) -> str:
        """Return the full name of a table."""
        return self.generation.table(name)

    def ask(self, question: Callable[[Session], _Answer]) -> _Answer:
        """Put a question; tell if its tables are gone because later builds have replaced them."""
        try:
            return self.sessions.ask(question)
        except MissingError:
            self.change()
            raise

    def change(self, more: str = "") -> Sequence[Any]:
        """Return the number of the last change of the generation, and more of its record if asked for."""
        statement = sql.last_change(self.generation, more)
        for record in self.sessions.ask(lambda session: session.execute(statement)):
            return record
        raise ChangedError(f"{self.sessions.address} was built again, twice, since it was opened: open it again")

    def records_of(self, statement: str, values: Sequence[Any] = ()) -> list[Sequence[Any]]:
        """Return the records that a statement finds."""
        return self.ask(lambda session: session.execute(statement, values))

    def among(self, session: Session, column: str, ids: Ids) -> str:
        """Return the condition that a column is one of these numbers."""
        if len(ids) <= self.in_list:
            return sql.among(column, ids)
        session.fill(sql.IDS, _ID, [pa.array(ids)])
        return sql.among_temporary(column, sql.IDS)

    def numbers(self, selected: str, name: str, column: str, ids: Ids, more: str = "") -> list[Ids]:
        """Look whole numbers up by distinct numbers."""
        octets = [8] * (selected.count(",") + 1)
        if not len(ids):
            return [np.empty(0, np.int64) for _ in octets]

        def question(session: Session) -> list[Ids]:
            where = self.among(session, column, ids)
            return session.numbers(f"SELECT {selected} FROM {self.table(name)} WHERE {where}{more}", octets)

        return self.ask(question)

    def records(self, name: str, column: str = "", ids: Ids | None = None, more: str = "") -> list[Sequence[Any]]:
        """Return records of a table, all columns, of certain numbers if given; `more` stands behind the condition."""
        if ids is not None and not len(ids):
            return []
        names = ", ".join(each.name for each in self.shape.table(name).columns)

        def question(session: Session) -> list[Sequence[Any]]:
            where = "" if ids is None else f" WHERE {self.among(session, column, ids)}"
            return session.execute(f"SELECT {names} FROM {self.table(name)}{where}{more}")

        return self.ask(question)

    def with_columns(self, ids: Ids | None) -> list[Sequence[Any]]:
        """Return a record per column of tables: all of the table, then number and name of the column."""
        if ids is not None and not len(ids):
            return []
        names = ", ".join(f"t.{each.name}" for each in self.shape.table("tables").columns)
        joined = f"{self.table('tables')} AS t LEFT JOIN {self.table('columns')} AS c ON c.table_id = t.table_id"

        def question(session: Session) -> list[Sequence[Any]]:
            where = "" if ids is None else f" WHERE {self.among(session, 't.table_id', ids)}"
            order = " ORDER BY t.table_id, c.column_id"
            return session.execute(f"SELECT {names}, c.column_id, c.column_name FROM {joined}{where}{order}")

        return self.ask(question)

    def by_source(self, name: str, sources: Sequence[str], more: str = "") -> list[Sequence[Any]]:
        """Return the records of a table that are about certain sources."""
        names = ", ".join(each.name for each in self.shape.table(name).columns)
        found: list[Sequence[Any]] = []
        for start in range(0, len(sources), self.in_list):
            part = list(sources[start : start + self.in_list])
            statement = f"SELECT {names} FROM {self.table(name)} WHERE {sql.among_bound('source', len(part))}{more}"
            found += self.records_of(statement, part)
        return found


def distinct(ids: Sequence[int] | Ids) -> Ids:
    """Return numbers once each, without negative ones: they stand for nothing, and -2^63 is NULL in Vertica."""
    found = np.unique(np.asarray(ids, np.int64))
    return found[found >= 0]
