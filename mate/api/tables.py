"""Tables of the user, of any library, and tables returned to them of the same kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from mate.errors import QueryError
from mate.extras import require
from mate.lake.base import Ids
from mate.search.query import QueryTable, from_arrow, from_pandas, read_query

Frame: TypeAlias = Literal["pandas", "arrow", "polars"]
AnyTable: TypeAlias = "str | PathLike[str] | pa.Table | pa.RecordBatch | QueryTable | Any"
"""A path, a pandas or polars DataFrame, an Arrow table, or anything with the Arrow stream interface."""


@dataclass(frozen=True)
class UserTable:
    """A table of the user: its cells as text for the search, and the table itself for the join."""

    query: QueryTable
    original: Any
    kind: Frame
    """Kind of table that a join returns."""

    def rows(self, rows: Ids, kind: Frame) -> Any:
        """Return rows of the table as a table of a kind."""
        if self.kind == kind == "pandas" and self.original is not self.query:
            return self.original.iloc[rows]
        table = self.original if isinstance(self.original, pa.Table) else self.query.columns
        return as_frame(table.take(pa.array(rows)), kind)


def user_table(table: AnyTable, name: str = "the query", key: Sequence[str] = ()) -> UserTable:
    """Return a table of any kind as one for searches and joins, with the columns of a key if its file has them."""
    if isinstance(table, str | PathLike):
        table = read_query(table)
    if isinstance(table, QueryTable):
        table = table.for_key(key)
        found = UserTable(table, table, "pandas")
    elif hasattr(table, "iloc") and hasattr(table, "columns"):
        _check_names(table.columns, name)
        found = UserTable(from_pandas(table), table, "pandas")
    else:
        arrow = _arrow_table(table, name)
        _check_names(arrow.column_names, name)
        is_polars = type(table).__module__.startswith("polars")
        found = UserTable(from_arrow(arrow), arrow, "polars" if is_polars else "arrow")
    if not found.query.columns.num_columns:
        raise QueryError(f"{name} has no columns")
    if not found.query.columns.num_rows:
        raise QueryError(f"{name} has no rows")
    return found


def _arrow_table(table: Any, name: str) -> pa.Table:
    """Return the Arrow table that any library hands over."""
    arrow: object = table
    if hasattr(table, "to_arrow"):  # polars: its stream has views of texts, of which Arrow cannot take rows
        arrow = table.to_arrow()
    elif hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        with suppress(pa.ArrowInvalid, TypeError):
            arrow = pa.table(table)
    if not isinstance(arrow, pa.Table):
        kinds = "a path, a pandas or polars DataFrame, or an Arrow table"
        raise QueryError(f"{name} must be {kinds}, not {type(table).__name__}")
    return arrow


def _check_names(names: Iterable[object], name: str) -> None:
    for column, count in Counter(map(str, names)).items():
        if count > 1:
            raise QueryError(f'{name} has several columns "{column}"; give each column a name of its own')


def as_frame(table: pa.Table, kind: Frame) -> Any:
    """Return an Arrow table as a table of a kind."""
    if kind == "arrow":
        return table
    if kind == "polars":
        return require("polars", "polars", "a polars DataFrame").from_arrow(table)
    if kind == "pandas":
        require("pandas", "pandas", "a DataFrame")
        return table.to_pandas()
    raise QueryError(f'a table can be given as pandas, arrow, polars, not "{kind}"')


def with_columns(left: Any, right: pa.Table, kind: Frame) -> Any:
    """Return a table of a kind with the columns of an Arrow table at its right."""
    if kind == "arrow":
        for name, column in zip(right.column_names, right.columns, strict=True):
            left = left.append_column(name, column)  # keeps the metadata of the table
        return left
    added = as_frame(right, kind)
    if kind == "polars":
        return left.hstack(added)
    added.index = left.index
    return require("pandas", "pandas", "a DataFrame").concat([left, added], axis=1)


def read(path: str | PathLike[str], encoding: str | None = None, *, most_bytes: int | None = None) -> QueryTable:
    """Read one table from a file, all cells as text: CSV of any dialect, Parquet or JSON.

    The encoding is detected by default. A table with more text than `most_bytes`, or 2 GB, is an error.

    >>> mate.read("sensors.csv").header
    ['city', 'day', 'PM10']
    """
    return read_query(path, encoding, most_bytes)
