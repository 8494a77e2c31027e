"""Tables as people give them, and the same kind of table back with columns added."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa

from mate.errors import QueryError
from mate.extras import require
from mate.search.query import QueryTable, from_arrow, from_pandas, read_query

if TYPE_CHECKING:
    from mate.lake.base import Ids

Frame: TypeAlias = Literal["pandas", "arrow", "polars"]
KINDS: tuple[Frame, ...] = ("pandas", "arrow", "polars")
AnyTable: TypeAlias = "str | PathLike[str] | pa.Table | pa.RecordBatch | QueryTable | Any"
"""A path, a pandas or polars DataFrame, an Arrow table, or anything with the Arrow stream interface."""


@dataclass(frozen=True)
class GivenTable:
    """A table of the user's: its cells as text for the search, and itself to be given back."""

    query: QueryTable
    original: Any
    kind: Frame
    """What a join is given back as."""

    def rows(self, rows: Ids, kind: Frame) -> Any:
        """Return rows of the table as the user gave them, as a table of a kind."""
        if self.kind == kind == "pandas" and self.original is not self.query:
            return self.original.iloc[rows]
        return as_kind(self._arrow().take(pa.array(rows)), kind)

    def _arrow(self) -> pa.Table:
        """The table as Arrow: itself, or its cells as text where it is a file or a DataFrame of pandas."""
        return self.original if isinstance(self.original, pa.Table) else self.query.columns


def given_table(given: AnyTable, name: str = "the query") -> GivenTable:
    """Return whatever stands for a table as one, or say what is wrong with it."""
    if isinstance(given, QueryTable):
        return _checked(GivenTable(given, given, "pandas"), name)
    if isinstance(given, str | PathLike):
        query = read_query(given)
        return _checked(GivenTable(query, query, "pandas"), name)
    if isinstance(given, pa.RecordBatch):
        given = pa.Table.from_batches([given])
    if isinstance(given, pa.Table):
        _check_names([str(column) for column in given.column_names], name)
        return _checked(GivenTable(from_arrow(given), given, "arrow"), name)
    if hasattr(given, "iloc") and hasattr(given, "columns"):
        _check_names([str(column) for column in given.columns], name)
        return _checked(GivenTable(from_pandas(given), given, "pandas"), name)
    return _checked(_from_stream(given, name), name)


def _from_stream(given: Any, name: str) -> GivenTable:
    """Return what another library calls a table: whatever hands over Arrow data, such as a DataFrame of polars."""
    library = type(given).__module__.partition(".")[0]
    if library == "polars" and not hasattr(given, "to_arrow"):
        hint = "collect it first" if hasattr(given, "collect") else "give a DataFrame"
        raise QueryError(f"{name} is a {type(given).__name__} of polars: {hint}")
    try:
        table = given.to_arrow() if library == "polars" else pa.table(given) if _streams(given) else None
    except (pa.ArrowInvalid, TypeError) as error:
        raise QueryError(f"{name} is a {type(given).__name__} that is no table: {error}") from None
    if not isinstance(table, pa.Table):
        what = "a path, a pandas or polars DataFrame, or an Arrow table"
        raise QueryError(f"{name} must be {what}, not {type(given).__name__}")
    _check_names(table.column_names, name)
    return GivenTable(from_arrow(table), table, "polars" if library == "polars" else "arrow")


def _streams(given: Any) -> bool:
    return hasattr(given, "__arrow_c_stream__")


def _check_names(names: list[str], name: str) -> None:
    seen: set[str] = set()
    for column in names:
        if column in seen:
            raise QueryError(f'{name} has several columns "{column}"; give each column a name of its own')
        seen.add(column)


def _checked(given: GivenTable, name: str) -> GivenTable:
    if not given.query.columns.num_columns:
        raise QueryError(f"{name} has no columns")
    if not given.query.columns.num_rows:
        raise QueryError(f"{name} has no rows")
    return given


def as_kind(table: pa.Table, kind: Frame) -> Any:
    """Return an Arrow table as a table of a kind."""
    if kind == "arrow":
        return table
    if kind == "polars":
        return require("polars", "polars", "a polars DataFrame").from_arrow(table)
    if kind == "pandas":
        require("pandas", "pandas", "a DataFrame")
        return table.to_pandas()
    raise QueryError(f'a table can be given as {", ".join(KINDS)}, not "{kind}"')


def beside(left: Any, right: pa.Table, kind: Frame) -> Any:
    """Return a table of a kind with the columns of an Arrow table at its right."""
    if kind == "arrow":
        for name, column in zip(right.column_names, right.columns, strict=True):
            left = left.append_column(name, column)
        return left
    if kind == "polars":
        return left.hstack(as_kind(right, kind))
    added = as_kind(right, kind)
    added.index = left.index
    return require("pandas", "pandas", "a DataFrame").concat([left, added], axis=1)


def read(path: str | PathLike[str], encoding: str | None = None, *, most_bytes: int | None = None) -> QueryTable:
    """Read one table from a file as MATE reads it: CSV of any dialect, Parquet or JSON, all cells as text.

    The encoding is found unless it is given. A table with more text than ``most_bytes``, or 2 GB, is an error.

    >>> import mate
    >>> mate.read("sensors.csv").header
    ['city', 'day', 'PM10']
    """
    if not isinstance(path, str | PathLike):
        raise QueryError(f"a file is named by its path, not by {type(path).__name__}")
    return read_query(path, encoding, most_bytes)
