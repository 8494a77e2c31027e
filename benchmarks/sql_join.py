"""What a user would do without MATE: one SQL query that joins the postings with themselves, over the same index."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from mate.errors import MateError
from mate.search.discovery import SearchSettings, Statistics, as_query, prepare
from mate.store.duckdb import SETTINGS, DuckDBStore

if TYPE_CHECKING:
    from mate.search.discovery import AnyQuery


class TimedOutError(MateError):
    """The query took longer than it was given."""


class SqlJoin:
    """The n-ary self-join of the postings, on a connection of its own to the store's file."""

    def __init__(self, store: DuckDBStore, timeout: float = 60.0) -> None:
        self._store, self._timeout = store, timeout
        self._database = duckdb.connect(store.address, read_only=True, config=SETTINGS)

    def __call__(self, query: AnyQuery, key: Sequence[str], k: int) -> list[int]:
        """Return the scores of the k best tables."""
        prepared = prepare(self._store, as_query(query), key, SearchSettings(), Statistics())
        timer = threading.Timer(self._timeout, self._database.interrupt)
        timer.start()
        try:
            columns = [np.ascontiguousarray(column) for column in prepared.tuples.T]
            found = self._database.execute(
                statement(prepared.tuples.shape[1], k), [np.arange(len(prepared.known)), *columns]
            ).fetchall()
        except duckdb.InterruptException:
            raise TimedOutError(f"more than {self._timeout:g} s") from None
        finally:
            timer.cancel()
        return [score for _, score in found]


def statement(width: int, k: int) -> str:
    """Return the query for keys of that many columns: every key column joined with the postings, row by row."""
    values = "".join(f", unnest(${2 + i}::BIGINT[]) AS value{i}" for i in range(width))
    joins = " JOIN postings AS p0 ON p0.token_id = q.value0"
    for i in range(1, width):
        apart = "".join(f" AND p{i}.column_id <> p{j}.column_id" for j in range(i))
        joins += f" JOIN postings AS p{i} ON p{i}.token_id = q.value{i} AND p{i}.row_id = p0.row_id{apart}"
    columns = ", ".join(f"p{i}.column_id" for i in range(width))
    scores = (
        f"SELECT p0.table_id AS table_id, count(DISTINCT q.tuple_id) AS score"
        f" FROM (SELECT unnest($1::BIGINT[]) AS tuple_id{values}) AS q{joins} GROUP BY p0.table_id, {columns}"
    )
    return (
        f"SELECT table_id, max(score) AS score FROM ({scores}) AS scores"
        f" GROUP BY table_id ORDER BY score DESC, table_id LIMIT {int(k)}"
    )
