"""Your table with the columns of another one: to be worked with, or written to a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from mate.api.given import Frame, GivenTable, beside
from mate.api.outputs import check_output
from mate.errors import QueryError
from mate.files import replacing

if TYPE_CHECKING:
    from mate.search.joins import Enrichment

CSV, PARQUET = (".csv",), (".parquet", ".pq")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How a cell begins that a spreadsheet may run as a formula."""


@dataclass(frozen=True)
class Enriched:
    """The result of a left join.

    >>> import mate
    >>> with mate.open("lake.mate") as lake:
    ...     joined = lake.enrich("sensors.csv", ["city", "day"], "weather")
    >>> joined.rows, joined.matched_rows, joined.added
    (6, 5, ['temperature', 'wind'])
    """

    given: GivenTable = field(repr=False)
    join: Enrichment = field(repr=False)
    mapping: dict[str, str]
    """Key column of the query to column of the table."""
    lake: str
    """Address of the lake that the table is in."""
    find_sources: Callable[[], Sequence[str]] = field(repr=False)
    """Returns the files that the lake was read from: they are not overwritten."""

    @property
    def rows(self) -> int:
        """Rows of the result; as many as the query has unless all matches were asked for."""
        return len(self.join.query_rows)

    @property
    def matched_rows(self) -> int:
        """Rows that have a partner."""
        return self.join.matched_rows

    @property
    def added(self) -> list[str]:
        """Names of the added columns; one that was taken has the table's name behind it."""
        return list(self.join.columns.column_names)

    def to_table(self) -> Any:
        """Return the result as the kind of table that the query was; a DataFrame of pandas for a file."""
        return self._as(self.given.kind)

    def to_pandas(self) -> Any:
        """Return the result as a DataFrame; columns of a DataFrame that was given keep their types and its index."""
        return self._as("pandas")

    def to_arrow(self) -> pa.Table:
        """Return the result as an Arrow table; columns of a file or of a DataFrame of pandas are text."""
        return self._as("arrow")

    def to_polars(self) -> Any:
        """Return the result as a DataFrame of polars."""
        return self._as("polars")

    def _as(self, kind: Frame) -> Any:
        return beside(self.given.rows(self.join.query_rows, kind), self.join.columns, kind)

    def write(self, path: str | PathLike[str], *, safe: bool = False) -> None:
        """Write the result as CSV or Parquet, by the ending of the name; query and lake are never overwritten.

        `safe` keeps spreadsheets from running cells of a CSV file as formulas: those that may be one get an apostrophe
        in front.
        """
        target = Path(path)
        if target.suffix.lower() not in (*CSV, *PARQUET):
            what = f'the ending "{target.suffix}"' if target.suffix else "no ending"
            raise QueryError(f"{fspath(path)} has {what}; results are written as {', '.join((*CSV, *PARQUET))}")
        check_output(target, self.lake, self.find_sources, [self.given.query.source])
        write_table(self.to_arrow(), target, safe=safe)


def write_table(table: pa.Table, target: Path, *, safe: bool = False) -> None:
    """Write a table under its name when it is complete; a failure leaves what was there before."""
    try:
        with replacing(target) as stream:
            if target.suffix.lower() in PARQUET:
                import pyarrow.parquet as pq

                pq.write_table(table, stream)
            else:
                _write_csv(table, stream, safe=safe)
    except OSError as error:
        raise QueryError(f"cannot write {target}: {error.strerror}") from error


def _write_csv(table: pa.Table, binary: BinaryIO, *, safe: bool) -> None:
    import csv

    shown = spreadsheet_safe if safe else list
    stream = TextIOWrapper(binary, encoding="utf-8", newline="")
    writer = csv.writer(stream)
    writer.writerow(shown(table.column_names))
    for batch in table.to_batches():
        columns = [["" if cell is None else str(cell) for cell in column.to_pylist()] for column in batch.columns]
        writer.writerows(zip(*map(shown, columns), strict=True))
    stream.detach()  # flushes; the file is closed by whoever opened it


def spreadsheet_safe(cells: Iterable[str]) -> list[str]:
    """Return cells with an apostrophe before those that a spreadsheet may take for a formula; numbers stay numbers."""
    return [f"'{cell}" if cell.startswith(FORMULA) and not _is_number(cell) else cell for cell in cells]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and text == text.strip()
