"""A joined table: to work with, or to write to a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mate.api.outputs import ENDINGS, check_output, write_table
from mate.api.tables import Frame, UserTable, with_columns
from mate.errors import QueryError

if TYPE_CHECKING:
    from mate.search.joins import Enrichment


@dataclass(frozen=True)
class Enriched:
    """The result of a left join.

    >>> joined = lake.match("sensors.csv", ["city", "day"], "weather").enrich()
    >>> joined.rows, joined.matched_rows, joined.added
    (6, 5, ['temperature', 'wind'])
    """

    query: UserTable = field(repr=False)
    join: Enrichment = field(repr=False)
    mapping: dict[str, str]
    """Key column of the query to column of the table."""
    find_sources: Callable[[], Sequence[str]] = field(repr=False)
    """Returns the files of the lake, which are never overwritten."""

    @property
    def rows(self) -> int:
        """Rows of the result; as many as the query has, unless all matches are asked for."""
        return len(self.join.query_rows)

    @property
    def matched_rows(self) -> int:
        """Rows with a partner."""
        return self.join.matched_rows

    @property
    def added(self) -> list[str]:
        """Names of the added columns; a name that the query has too ends with the table's name."""
        return list(self.join.columns.column_names)

    def to_table(self) -> Any:
        """Return the kind of table that the query is; pandas for a file."""
        return self._as(self.query.kind)

    def to_pandas(self) -> Any:
        """Return a DataFrame; columns of a pandas query keep their types and index."""
        return self._as("pandas")

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table; columns of a file or of a pandas DataFrame are text."""
        return self._as("arrow")

    def to_polars(self) -> Any:
        """Return a polars DataFrame."""
        return self._as("polars")

    def _as(self, kind: Frame) -> Any:
        return with_columns(self.query.rows(self.join.query_rows, kind), self.join.columns, kind)

    def write(self, path: str | PathLike[str], *, safe: bool = False) -> None:
        """Write CSV or Parquet, by the ending of the name; query and lake are never overwritten.

        `safe` puts an apostrophe before cells of a CSV file that a spreadsheet may run as formulas.
        """
        target = Path(path)
        if target.suffix.lower() not in ENDINGS:
            ending = f'the ending "{target.suffix}"' if target.suffix else "no ending"
            raise QueryError(f"{fspath(path)} has {ending}; results are written as {', '.join(ENDINGS)}")
        check_output(target, self.find_sources, [self.query.query.source])
        write_table(self.to_arrow(), target, safe=safe)
