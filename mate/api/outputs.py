"""Write results to files, but never over a query, a file of the lake, or into a lake."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mate.errors import QueryError
from mate.files import replacing

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".csv", ".parquet", ".pq")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How a cell begins that a spreadsheet may run as a formula."""


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


def write_table(table: pa.Table, target: Path, *, safe: bool = False) -> None:
    """Write a table as CSV or Parquet, by the ending of the name; a failure leaves what was there before."""
    try:
        with replacing(target) as stream:
            if target.suffix.lower() == ".csv":
                _write_csv(table, stream, safe=safe)
            else:
                import pyarrow.parquet as pq

                pq.write_table(table, stream)
    except OSError as error:
        raise QueryError(f"cannot write {target}: {error.strerror}") from error


def _write_csv(table: pa.Table, binary: BinaryIO, *, safe: bool) -> None:
    import csv

    shown = _without_formulas if safe else list
    stream = TextIOWrapper(binary, encoding="utf-8", newline="")
    writer = csv.writer(stream)
    writer.writerow(shown(table.column_names))
    for batch in table.to_batches():
        columns = [["" if cell is None else str(cell) for cell in column.to_pylist()] for column in batch.columns]
        writer.writerows(zip(*map(shown, columns), strict=True))
    stream.detach()  # flushes, and leaves the file open


def _without_formulas(cells: Iterable[str]) -> list[str]:
    """Return cells, with an apostrophe before those that a spreadsheet may run; numbers stay numbers."""
    return [f"'{cell}" if cell.startswith(FORMULA) and not _is_number(cell) else cell for cell in cells]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and text == text.strip()
