"""Web tables of the Dresden and WDC corpora: one JSON record a line, plain or compressed.

``relation`` holds a table column by column. With a header in the first row, the first cell of each column
is its name; with a header in the first column the table lies on its side and is turned; any other header
position (none, or both at once) gives columns without names.

Records are independent of each other, so a bad one is one reject and a shard that is cut off keeps the
tables before the cut: ``truncated gzip stream after 12 records``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import Any, BinaryIO

import pyarrow as pa

from mate.corpus.compression import DAMAGE, damage, plain, rewindable
from mate.corpus.table import Chunk, Limits, Reject, Table
from mate.corpus.tally import Tally
from mate.errors import CorpusError
from mate.limits import MOST_PADDING

LONGEST_RECORD = 64 << 20
MOST_EMPTY = 1_000_000
"""Cells that a table may be filled up with."""

_NAMES = {list: "a list", dict: "an object", str: "a string", int: "a number", float: "a number", bool: "true or false"}


def read(source: str, stream: BinaryIO, limits: Limits | None = None) -> Iterator[Chunk | Reject]:
    """Yield every table of a shard; tables that only lay out a page are counted, and read if the limits say so."""
    reading = Reading(source, limits or Limits())
    plain_stream, packed = plain(rewindable(stream))
    line = 0
    try:
        for line, record in numbered_lines(plain_stream):
            yield from reading.record(line, record)
    except DAMAGE as error:
        yield Reject(source, None, "file", f"{damage(error, packed)} after {line} records")
    else:
        if not reading.records:
            yield Reject(source, None, "file", "empty file")
    yield from reading.left_out.rejects()


def numbered_lines(stream: BinaryIO, lines_before: int = 0) -> Iterator[tuple[int, bytes | None]]:
    """Yield lines with their number; None for one that is longer than any record should be."""
    number = lines_before
    while line := stream.readline(LONGEST_RECORD):
        number += 1
        yield number, _whole(stream, line)


def _whole(stream: BinaryIO, record: bytes) -> bytes | None:
    """Return the record, or None and skip to its end when it is too long."""
    if len(record) < LONGEST_RECORD or record.endswith(b"\n"):
        return record
    while (rest := stream.readline(LONGEST_RECORD)) and not rest.endswith(b"\n"):
        pass
    return None


class Reading:
    """Records of a shard on their way to tables."""

    def __init__(self, source: str, limits: Limits, tables_before: int = 0) -> None:
        self._source = source
        self._limits = limits
        self._layout = limits.layout_tables
        self.tables = tables_before
        """Tables of the shard up to here."""
        self.records = 0
        self.left_out = Tally(source, "record")

    def record(self, line: int, record: bytes | None) -> Iterator[Chunk | Reject]:
        """Yield the table of one record, or why there is none."""
        if record is not None and not record.strip():
            return
        self.records += 1
        try:
            found = parse(record)
            if found.get("tableType") == "LAYOUT" and not self._layout:
                self.left_out.add(line, "layout table")
                return
            header, rows = header_and_rows(found, self._limits.columns)
            chunks = list(self._chunks(line, _name(found), header, rows))
        except CorpusError as error:
            yield Reject(self._source, line, "record", str(error))
        else:
            self.tables += 1
            yield from chunks

    def _chunks(
        self, line: int, name: str, header: Sequence[str], rows: list[Sequence[str | None]]
    ) -> Iterator[Chunk | Reject]:
        width, limits = len(header), self._limits
        encodable("".join((name, *header)))
        table = Table(self._source, self.tables, line, name, tuple(header))
        size = max(1, limits.chunk_cells // width)
        kept = rows[: limits.rows]
        for first in range(0, len(kept), size):
            yield Chunk(table, first, _array(list(chain.from_iterable(kept[first : first + size]))))
        if len(rows) > len(kept):
            reason = f"beyond the limit of {limits.rows} rows"
            yield Reject(self._source, line, "row", reason, len(rows) - len(kept))


def parse(record: bytes | None) -> dict[str, Any]:
    """Read one JSON object; anything else raises `CorpusError` with the reason."""
    if record is None:
        raise CorpusError(f"a record of more than {LONGEST_RECORD >> 20} MB")
    try:
        found = json.loads(record.rstrip(b"\r\n").decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise CorpusError(f"invalid UTF-8 at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise CorpusError(f"invalid JSON: {error.msg} at column {error.pos + 1}") from error
    except (RecursionError, ValueError) as error:
        raise CorpusError("invalid JSON: nested too deeply or a number too long") from error
    if not isinstance(found, dict):
        raise CorpusError(f"{kind_of(found)} where an object is expected")
    return found


def kind_of(value: object) -> str:
    """Name a JSON value's type for people."""
    return "null" if value is None else _NAMES[type(value)]


def encodable(text: str) -> None:
    """Refuse half of a surrogate pair: JSON can escape one, text cannot hold it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ord(error.object[error.start])
        raise CorpusError(f"half a surrogate pair (\\u{half:04x}), which is not text") from error


def _array(cells: list[str | None]) -> pa.StringArray:
    try:
        return pa.array(cells, pa.string())
    except UnicodeEncodeError:
        for cell in filter(None, cells):
            encodable(cell)
        raise


def _name(record: dict[str, Any]) -> str:
    names = (record.get("pageTitle"), record.get("title"))
    return next((name for name in names if isinstance(name, str) and name.strip()), "")


def header_and_rows(record: dict[str, Any], most: int) -> tuple[Sequence[str], list[Sequence[str | None]]]:
    """Return column names and rows of a record of at most so many columns, ragged columns padded with nulls."""
    columns = _columns(record)
    _check_size(columns, record.get("headerPosition") == "FIRST_COLUMN", most)
    position = record.get("headerPosition", "FIRST_ROW") if record.get("hasHeader", True) else "NONE"
    rows: list[Sequence[str | None]]
    if position == "FIRST_COLUMN":
        header: Sequence[str] = columns[0]
        width = max(map(len, columns))
        rows = [_padded(column, width) for column in columns[1:]]
        header = [*header, *[""] * (width - len(header))]
    else:
        rows = list(zip_longest(*columns))
        header = [""] * len(columns)
        if position == "FIRST_ROW":
            header = [name or "" for name in rows.pop(_header_row(record, len(rows)))]
    if not rows:
        raise CorpusError("no data rows")
    return header, rows


def _check_size(columns: list[list[str]], turned: bool, most: int) -> None:
    """Refuse a table that is too wide, or nearly empty, before it is filled up."""
    height = max(map(len, columns))
    width = height if turned else len(columns)
    if width > most:
        raise CorpusError(f"{width} columns, more than the limit of {most}")
    cells = sum(map(len, columns))
    if len(columns) * height > min(MOST_PADDING * cells, cells + MOST_EMPTY):
        raise CorpusError(f"{cells} cells in {len(columns)} columns of very different lengths, up to {height}")


def _header_row(record: dict[str, Any], rows: int) -> int:
    index = record.get("headerRowIndex", 0)
    return index if isinstance(index, int) and 0 <= index < rows else 0


def _padded(cells: list[str], width: int) -> Sequence[str | None]:
    return [*cells, *[None] * (width - len(cells))]


def _columns(record: dict[str, Any]) -> list[list[str]]:
    if "relation" not in record:
        raise CorpusError("no relation")
    relation = record["relation"]
    if not isinstance(relation, list):
        raise CorpusError(f"relation is {kind_of(relation)}, not a list of columns")
    if not any(relation):
        raise CorpusError("empty relation")
    for number, column in enumerate(relation, start=1):
        _check_column(number, column)
    return relation


def _check_column(number: int, column: object) -> None:
    if not isinstance(column, list):
        raise CorpusError(f"column {number} is {kind_of(column)}, not a list of cells")
    if set(map(type, column)) > {str} or (column and type(column[0]) is not str):
        cell = next(cell for cell in column if not isinstance(cell, str))
        raise CorpusError(f"column {number} holds {kind_of(cell)} where a string is expected")
