"""Parquet files and JSON records: tables that bring their column names with them.

Every value becomes text in one predictable way: whole numbers without a point, floats as Python writes
them, true and false in lower case, dates and times in ISO form (``2024-05-01 12:30:00``), bytes as
hexadecimal digits, nested values as JSON. A null, or a key that a record leaves out, is a null cell.

JSON records are an array of objects or one object a line. They are read twice, first for the union of
their keys in order of first appearance, then for the rows; only one record is held at a time.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mate.corpus.compression import DAMAGE, arrow_file, damage, plain, rewindable
from mate.corpus.delimited import table_name
from mate.corpus.dwtc import LONGEST_RECORD, encodable, kind_of, parse
from mate.corpus.table import Chunk, Limits, Reject, Table
from mate.corpus.tally import Tally
from mate.errors import CorpusError

BLOCK = 1 << 20

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def read_parquet(source: str, stream: BinaryIO, limits: Limits | None = None) -> Iterator[Chunk | Reject]:
    """Yield the table of a Parquet file, a batch of a row group at a time."""
    try:
        yield from _parquet(source, rewindable(stream), limits or Limits())
    except CorpusError as error:
        yield Reject(source, None, "file", str(error))


def _parquet(source: str, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
    try:
        file = pq.ParquetFile(arrow_file(stream))
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(f"not a readable Parquet file: {_first_line(error)}") from error
    width, total = len(file.schema_arrow), file.metadata.num_rows
    if not width or not total:
        raise CorpusError("no data rows" if width else "no columns")
    if width > limits.columns:
        raise CorpusError(f"{width} columns, more than the limit of {limits.columns}")
    table = Table(source, 0, 1, table_name(source), tuple(file.schema_arrow.names))
    given = 0
    try:
        for batch in file.iter_batches(max(1, limits.chunk_cells // width)):
            part = batch.slice(0, limits.rows - given)
            if len(part):
                yield Chunk(table, given, _row_major([as_text(column) for column in part.columns]))
                given += len(part)
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(f"corrupt Parquet data after {given} rows: {_first_line(error)}") from error
    if total > given:
        yield Reject(source, given + 1, "row", f"beyond the limit of {limits.rows} rows", total - given)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")


def _row_major(columns: list[pa.StringArray]) -> pa.StringArray:
    rows = len(columns[0])
    order = np.arange(rows * len(columns)).reshape(len(columns), rows).T.ravel()
    return pa.concat_arrays(columns).take(pa.array(order))


def as_text(column: pa.Array) -> pa.StringArray:
    """Render a column of any type as text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return as_text(column.dictionary_decode())
    if isinstance(column, pa.ExtensionArray):
        return as_text(column.storage)
    if _is_text(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        return pc.cast(column, pa.string())
    if pa.types.is_date(kind):
        return pc.cast(column, pa.string())
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return pc.replace_substring_regex(pc.cast(column, pa.string()), r"\.0+(Z?)$", r"\1")
    return pa.array([None if value is None else _render(value) for value in _values(column)], pa.string())


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _values(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if column.type in (pa.float16(), pa.float32()):
        # widened to 64 bits a narrow float shows digits that nobody wrote: 0.1 as 0.10000000149011612
        narrow = column.to_numpy(zero_copy_only=False)
        return [None if value is None else narrow[row] for row, value in enumerate(values)]
    return values


def _render(value: Any) -> str:
    """Write one value as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, (list, dict, tuple)):
        return json.dumps(value, ensure_ascii=False, default=_render)
    return str(value)


def read_json(source: str, stream: BinaryIO, limits: Limits | None = None) -> Iterator[Chunk | Reject]:
    """Yield the table of a file of JSON objects, as one array or one a line."""
    stream = rewindable(stream)
    _, packed = plain(stream)
    try:
        yield from _json(source, lambda: plain(stream)[0], limits or Limits())
    except CorpusError as error:
        yield Reject(source, None, "file", str(error))
    except DAMAGE as error:
        yield Reject(source, None, "file", damage(error, packed))


Found = tuple[int, dict[str, Any] | CorpusError]
"""A record's number in its file (line, or place in the array), and the object or what is wrong with it."""


def _json(source: str, reopen: Callable[[], BinaryIO], limits: Limits) -> Iterator[Chunk | Reject]:
    bad = Tally(source, "record")
    header = _keys(_objects(reopen), bad)
    if len(header) > limits.columns:
        raise CorpusError(f"{len(header)} columns, more than the limit of {limits.columns}")
    if not header:
        yield from bad.rejects()
        raise CorpusError("no data rows")
    rows = (_row(record, header) for _, record in _objects(reopen) if isinstance(record, dict) and record)
    yield from _json_chunks(Table(source, 0, 1, table_name(source), header), rows, limits)
    yield from bad.rejects()


def _keys(objects: Iterator[Found], bad: Tally) -> tuple[str, ...]:
    """Return the union of keys; what cannot become a row is counted on the way."""
    keys: dict[str, None] = {}
    for number, record in objects:
        if isinstance(record, CorpusError):
            bad.add(number, str(record))
        elif not record:
            bad.add(number, "an object without keys")
        else:
            keys.update(dict.fromkeys(record))
    return tuple(keys)


def _row(record: dict[str, Any], header: tuple[str, ...]) -> list[str | None]:
    values = map(record.get, header)
    return [None if value is None else _render(value) for value in values]


def _json_chunks(table: Table, rows: Iterator[list[str | None]], limits: Limits) -> Iterator[Chunk | Reject]:
    size = max(1, limits.chunk_cells // len(table.header))
    held: list[list[str | None]] = []
    given = beyond = 0
    for row in rows:
        if given + len(held) == limits.rows:
            beyond += 1
            continue
        held.append(row)
        if len(held) == size:
            yield _json_chunk(table, given, held)
            given, held = given + size, []
    if held:
        yield _json_chunk(table, given, held)
    if beyond:
        yield Reject(table.source, limits.rows + 1, "row", f"beyond the limit of {limits.rows} rows", beyond)


def _json_chunk(table: Table, first: int, rows: list[list[str | None]]) -> Chunk:
    return Chunk(table, first, pa.array(chain.from_iterable(rows), pa.string()))


def _objects(reopen: Callable[[], BinaryIO]) -> Iterator[Found]:
    head = reopen().read(BLOCK).removeprefix(codecs.BOM_UTF8).lstrip()
    if not head:
        raise CorpusError("empty file")
    return _array_objects(reopen()) if head.startswith(b"[") else _line_objects(reopen())


def _line_objects(stream: BinaryIO) -> Iterator[Found]:
    number = 0
    while line := stream.readline(LONGEST_RECORD):
        number += 1
        if not line.strip():
            continue
        try:
            record = parse(line)
            if b"\\u" in line:
                encodable(json.dumps(record, ensure_ascii=False))
            yield number, record
        except CorpusError as error:
            yield number, error


def _array_objects(stream: BinaryIO) -> Iterator[Found]:
    for number, (text, value) in enumerate(_elements(_Window(stream)), start=1):
        try:
            if not isinstance(value, dict):
                raise CorpusError(f"{kind_of(value)} where an object is expected")
            if "\\u" in text:
                encodable(json.dumps(value, ensure_ascii=False))
            yield number, value
        except CorpusError as error:
            yield number, error


def _elements(window: _Window) -> Iterator[tuple[str, Any]]:
    """Yield the elements of a JSON array with their text, holding one at a time."""
    window.skip("[")
    if window.peek() == "]":
        return
    while True:
        yield window.value()
        if window.peek() == "]":
            return
        window.skip(",")


class _Window:
    """The part of a JSON text around the element being read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text = ""
        self._at = 0

    def peek(self) -> str:
        """Return the next character that is not white space, empty at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text) or not self._more(BLOCK):
                return self._text[self._at : self._at + 1]

    def skip(self, mark: str) -> None:
        """Go past a mark that must come next."""
        found = self.peek()
        if found != mark:
            raise CorpusError(f"invalid JSON: {found or 'end of file'} where {mark} is expected")
        self._at += 1

    def value(self) -> tuple[str, Any]:
        """Return the next value and its text; the block read doubles until the value is whole."""
        self.peek()
        size = BLOCK
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                if end < len(self._text) or not self._more(size):
                    return self._taken(end), value
            except json.JSONDecodeError as error:
                if not self._more(size):
                    raise CorpusError(f"invalid JSON: {error.msg}") from error
            except (RecursionError, ValueError) as error:
                raise CorpusError("invalid JSON: nested too deeply or a number too long") from error
            size *= 2

    def _taken(self, end: int) -> str:
        text, self._at = self._text[self._at : end], end
        return text

    def _more(self, size: int) -> bool:
        block = self._stream.read(size)
        try:
            text = self._decode(block, not block)
        except UnicodeDecodeError as error:
            raise CorpusError("invalid UTF-8") from error
        self._text = self._text[self._at :] + text
        self._at = 0
        return bool(block)
