"""What a user would do without MATE: one SQL query that joins the postings with themselves, in DuckDB.

The postings of a lake are copied into a DuckDB file of their own, in the order of their tokens.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import duckdb
import numpy as np
import pyarrow as pa

from mate.errors import MateError
from mate.search.search import prepare
from mate.search.settings import FilterSettings, SearchSettings
from mate.sql.export import postings

if TYPE_CHECKING:
    from mate.lake.folder import LakeFolder
    from mate.search.search import AnyQuery

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    # Up to this many values a join skips row groups by their exact values; the default is 50.
    "dynamic_or_filter_threshold": 500,
}
SCHEMA = pa.schema([(name, pa.int64()) for name in ("token_id", "table_id", "column_id", "row")])


class TimedOutError(MateError):
    """The query took longer than it was given."""


def fill(lake: LakeFolder, path: Path) -> duckdb.DuckDBPyConnection:
    """Copy the postings of a lake into a DuckDB file, and open it."""

    def batches() -> Iterator[pa.RecordBatch]:
        for segment in lake.segments:
            for batch in postings(segment):
                yield pa.record_batch([pa.array(values) for values in batch], schema=SCHEMA)

    database = duckdb.connect(str(path), config=SETTINGS)
    reader = pa.RecordBatchReader.from_batches(SCHEMA, batches())
    database.register("postings_of_lake", reader)
    database.execute(
        "CREATE TABLE postings AS SELECT token_id, table_id::INTEGER AS table_id, column_id::INTEGER AS column_id,"
        " row::INTEGER AS row FROM postings_of_lake"
    )
    database.unregister("postings_of_lake")
    database.execute("CHECKPOINT")
    return database


class SqlJoin:
    """The n-ary self-join of the postings of a lake."""

    def __init__(self, lake: LakeFolder, path: Path, timeout: float = 60.0) -> None:
        self._lake, self._timeout = lake, timeout
        self._database = fill(lake, path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def __call__(self, query: AnyQuery, key: Sequence[str], k: int) -> list[int]:
        """Return the scores of the k best tables."""
        search = prepare("sql", self._lake, query, key, SearchSettings(k=k, filters=FilterSettings(semi_join=True)))
        timer = threading.Timer(self._timeout, self._database.interrupt)
        timer.start()
        try:
            tuples = search.token_ids
            columns = [np.ascontiguousarray(column) for column in tuples.T]
            found = self._database.execute(statement(tuples.shape[1], k), [np.arange(len(tuples)), *columns]).fetchall()
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
        same = f"p{i}.table_id = p0.table_id AND p{i}.row = p0.row"
        joins += f" JOIN postings AS p{i} ON p{i}.token_id = q.value{i} AND {same}{apart}"
    columns = ", ".join(f"p{i}.column_id" for i in range(width))
    scores = (
        f"SELECT p0.table_id AS table_id, count(DISTINCT q.tuple_id) AS score"
        f" FROM (SELECT unnest($1::BIGINT[]) AS tuple_id{values}) AS q{joins} GROUP BY p0.table_id, {columns}"
    )
    return (
        f"SELECT table_id, max(score) AS score FROM ({scores}) AS scores"
        f" GROUP BY table_id ORDER BY score DESC, table_id LIMIT {int(k)}"
    )
