"""Look-ups in the tables of a generation.

A few numbers are looked up as an IN list, many through a temporary table of the session. The option ``in_list`` draws
the line, because the best place depends on the server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from mate.errors import ChangedError
from mate.lake.base import Ids
from mate.sql.dialects.failures import MissingError
from mate.sql.dialects.session import Session
from mate.sql.lookup import among
from mate.sql.schema import MANIFEST, Column, Generation
from mate.sql.session_pool import SessionPool

_IDS = "mate_ids"
"""Temporary table of numbers to look up."""
_Answer = TypeVar("_Answer")


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

    def numbers(self, selected: str, table: str, column: str, ids: Ids, more: str = "") -> list[Ids]:
        """Look whole numbers up by distinct numbers."""
        octets = [8] * (selected.count(",") + 1)
        if not len(ids):
            return [np.empty(0, np.int64) for _ in octets]

        def question(session: Session) -> list[Ids]:
            where = self.among(session, column, ids)
            return session.numbers(f"SELECT {selected} FROM {self.generation.name(table)} WHERE {where}{more}", octets)

        return self.ask(question)

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
