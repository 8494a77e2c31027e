"""What is written: joined tables, and never over a query, a file of the lake, or into a lake."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from io import TextIOWrapper
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from mate.api.tables import Frame, UserTable, with_columns
from mate.errors import QueryError
from mate.files import replacing
from mate.search.joins import Enrichment

ENDINGS = (".csv", ".parquet", ".pq")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How a cell begins that a spreadsheet may run as a formula."""


@dataclass(frozen=True)
class Enriched:
    """The result of a left join.

    >>> joined = lake.match("sensors.csv", ["city", "day"], "weather").enrich()
    >>> joined.rows, joined.matched_rows, joined.added
    (6, 5, ['temperature', 'wind'])
    """

    rows: int
    """Rows of the result; as many as the query has, unless all matches are asked for."""
    matched_rows: int
    """Rows with a partner."""
    added: list[str]
    """Names of the added columns; a name that the query has too ends with the table's name."""
    mapping: dict[str, str]
    """Key column of the query to column of the table."""
    query: UserTable = field(repr=False)
    join: Enrichment = field(repr=False)
    find_sources: Callable[[], Iterable[str]] = field(repr=False)
    """Returns the files of the lake, which are never overwritten."""

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
        try:
            with replacing(target) as stream:
                if target.suffix.lower() == ".csv":
                    _write_csv(self.to_arrow(), stream, safe=safe)
                else:
                    import pyarrow.parquet as pq

                    pq.write_table(self.to_arrow(), stream)
        except OSError as error:
            raise QueryError(f"cannot write {target}: {error.strerror}") from error


def check_output(target: Path, find_sources: Callable[[], Iterable[str]], queries: Iterable[object] = ()) -> None:
    """Refuse to write a result over a query, over a file that the lake was read from, or into any lake."""
    path = target.resolve()
    for folder in (target, *target.parents, path, *path.parents):
        if (folder / "manifest.json").exists() and (folder / "segments").exists():
            raise QueryError(f"{target} is inside the lake {folder}; write the result to another place")
    try:
        found = target.stat()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise QueryError(f"{target} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    if target.is_dir():
        raise QueryError(f"{target} is a folder; results are written to a file")
    if not target.is_file():
        raise QueryError(f"{target} is no plain file; write the result to another place")
    if any(_is_same_file(found, query) for query in queries if isinstance(query, str | PathLike)):
        raise QueryError(f"{target} is the query itself; write the result to another file")
    if any(_is_same_file(found, source) for source in find_sources()):
        raise QueryError(f"{target} is a file of the lake; write the result to another place")


def _is_same_file(found: os.stat_result, path: str | PathLike[str]) -> bool:
    try:
        return os.path.samestat(found, Path(path).stat())
    except (OSError, ValueError):
        return False


def _write_csv(table: pa.Table, binary: BinaryIO, *, safe: bool) -> None:
    shown = _harmless if safe else str
    stream = TextIOWrapper(binary, encoding="utf-8", newline="")
    writer = csv.writer(stream)
    writer.writerow(map(shown, table.column_names))
    for batch in table.to_batches():
        columns = [["" if cell is None else shown(cell) for cell in column.to_pylist()] for column in batch.columns]
        writer.writerows(zip(*columns, strict=True))
    stream.detach()  # flushes, and leaves the file open


def _harmless(cell: object) -> str:
    """Return a cell as text, with an apostrophe before what a spreadsheet may run; numbers stay numbers."""
    text = str(cell)
    if not text.startswith(FORMULA):
        return text
    with suppress(ValueError):
        float(text)
        if text.isascii() and text == text.strip():
            return text
    return f"'{text}"
