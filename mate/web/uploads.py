"""Tables that are searched with: what was uploaded is read, once it is known not to be too large."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

import mate
from mate.errors import MateError
from mate.web.replies import WebError

MOST_CELLS = 20_000_000
"""Cells of a table that is searched with."""
ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".json")
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")
"""First bytes of compressed files: a small one may expand to too much."""


@dataclass(frozen=True)
class SearchedTable:
    """The table that is searched with."""

    table: mate.QueryTable
    source: str | int
    """The name of its file, which is a label and never a path, or its number in the lake."""
    exclude: Sequence[int] | Literal["self"] = ()
    """Tables of the lake that are no answers: itself."""


def read_upload(name: str, content: bytes, most_bytes: int) -> SearchedTable:
    """Read a table from the bytes of a file; its name tells the format, `most_bytes` limits its text."""
    label = PurePosixPath(name.replace("\\", "/")).name or "upload.csv"
    ending = PurePosixPath(label).suffix.lower()
    if ending not in ENDINGS:
        raise WebError(f"{label[:80]} cannot be read: upload {', '.join(ENDINGS)}")
    if content.startswith(PACKED):
        raise WebError(f"{label[:80]} is compressed; unpack it first")
    with tempfile.TemporaryDirectory(prefix="mate-") as folder:
        path = Path(folder) / f"query{ending}"
        path.write_bytes(content)
        if ending in (".parquet", ".pq"):
            _check_parquet(path, most_bytes)
        try:
            table = mate.read(path, most_bytes=most_bytes)
        except MateError as error:
            raise WebError(str(error).replace(str(path), label[:80])) from None
    check_size(table.columns.num_rows, table.columns.num_columns)
    return SearchedTable(replace(table, name=PurePosixPath(label).stem, source=None), label)


def check_size(rows: int, columns: int) -> None:
    """Raise an error if a table is too large to be searched with here."""
    if rows * columns > MOST_CELLS:
        most = f"this page takes up to {MOST_CELLS:,}: use mate search"
        raise WebError(f"the table has {rows * columns:,} cells; {most}", 413)


def _check_parquet(path: Path, most_bytes: int) -> None:
    """Raise an error if a small Parquet file contains a large table."""
    try:
        metadata = pq.read_metadata(path)
    except (pa.ArrowException, OSError):  # pyarrow raises both for damaged files
        return  # mate.read says what is wrong with it
    check_size(metadata.num_rows, metadata.num_columns)
    unpacked = sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))
    if unpacked > most_bytes:
        raise WebError(f"the table has {unpacked:,} bytes; this page takes up to {most_bytes:,}", 413)
