"""Parquet files and JSON records: tables that bring their column names with them.

Every value becomes text in one predictable way: whole numbers without a point, floats as Python writes
them, true and false in lower case, dates and times in ISO form (``2024-05-01 12:30:00``), bytes as
hexadecimal digits, nested values as JSON. A null, or a key that a record leaves out, is a null cell.
A column of a Parquet file whose floats are all whole, or whose times are all midnight, is one of whole
numbers or dates (`mate.corpus.whole_values`): that is how pandas writes those with an empty cell.

JSON records are an array of objects or one object a line. They are read twice, first for the union of
their keys in order of first appearance, then for the rows; only one record is held at a time.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import chain, islice
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mate.corpus.compression import DAMAGE, arrow_file, damage, plain, rewindable
from mate.corpus.delimited import table_name
from mate.corpus.dwtc import LONGEST_RECORD, encodable, kind_of, numbered_lines, parse
from mate.corpus.rows import CHARACTERS
from mate.corpus.table import Chunk, Limits, Reject, Table
from mate.corpus.tally import Tally
from mate.corpus.whole_values import as_whole, first_fraction, may_be_whole
from mate.display import visible
from mate.errors import CorpusError
from mate.limits import MOST_PADDING

BLOCK = 1 << 20
MOST_KEYS = 1 << 20
LISTED_VALUES = 5_000_000
LISTED_PER_BYTE = 20
"""Values in lists that a Parquet file may have in any case, and more of them for each of its bytes."""
_ROWS = 16

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def read_parquet(source: str, stream: BinaryIO, limits: Limits | None = None) -> Iterator[Chunk | Reject]:
    """Yield the table of a Parquet file, a batch of a row group at a time."""
    try:
        yield from _parquet(source, rewindable(stream), limits or Limits())
    except CorpusError as error:
        yield Reject(source, None, "file", str(error))


def _parquet(source: str, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
    file, table = open_parquet(source, stream, limits)
    total, given = file.metadata.num_rows, 0
    groups = range(file.num_row_groups)
    try:
        whole = whole_columns(file, groups, limits)
        for batch in parquet_batches(file, groups, limits):
            yield from parquet_chunks(table, given, batch, whole)
            given += len(batch)
    except CorruptError as error:
        raise CorpusError(f"corrupt Parquet data after {given} rows: {error}") from error
    yield from rows_left_out(source, limits, total, given)


def open_parquet(source: str, stream: BinaryIO, limits: Limits) -> tuple[pq.ParquetFile, Table]:
    """Return a Parquet file and its table, if it has one."""
    file = _parquet_file(stream)
    width = len(file.schema_arrow)
    if not width or not file.metadata.num_rows:
        raise CorpusError("no data rows" if width else "no columns")
    if width > limits.columns:
        raise CorpusError(f"{width} columns, more than the limit of {limits.columns}")
    _check_lists(file)
    values, size = _listed_values(file.metadata), stream.seek(0, io.SEEK_END)
    if values > LISTED_VALUES + LISTED_PER_BYTE * size:
        raise CorpusError(f"{values:,} values in lists, too many for a file of {size:,} bytes")
    return file, Table(source, 0, 1, table_name(source), tuple(file.schema_arrow.names))


def _check_lists(file: pq.ParquetFile) -> None:
    """Read no row of the columns with lists, which is an error where their metadata contradict the schema.

    Asking for such metadata ends the process.
    """
    listed = _columns_with_lists(file.metadata)
    try:
        for group in range(file.metadata.num_row_groups) if listed else ():
            next(file.reader.iter_batches(0, [group], listed), None)
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(f"not a readable Parquet file: {_first_line(error)}") from error


def _listed_values(metadata: pq.FileMetaData) -> int:
    """Count the values that are in lists; a list of a million equal ones takes some bytes."""
    listed = _columns_with_lists(metadata)
    return sum(metadata.row_group(n).column(p).num_values for n in range(metadata.num_row_groups) for p in listed)


def _columns_with_lists(metadata: pq.FileMetaData) -> list[int]:
    return [place for place in range(metadata.num_columns) if metadata.schema.column(place).max_repetition_level]


def _parquet_file(stream: BinaryIO) -> pq.ParquetFile:
    try:
        file = pq.ParquetFile(arrow_file(stream))
        file.schema_arrow.names  # noqa: B018 (read here, where it may fail)
        for kind in file.schema_arrow.types:
            _read_time_zones(kind)
        return file
    except UnicodeDecodeError as error:
        raise CorpusError("not a readable Parquet file: the name of a column or time zone is not UTF-8") from error
    except MemoryError:  # Arrow's own is one of its errors as well, and says nothing of the file
        raise
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(f"not a readable Parquet file: {_first_line(error)}") from error


def _read_time_zones(kind: pa.DataType) -> None:
    """Read the time zones of a type and of those inside it, here, where it may fail."""
    if pa.types.is_timestamp(kind):
        kind.tz  # noqa: B018
    elif pa.types.is_dictionary(kind):
        _read_time_zones(kind.value_type)
    for place in range(kind.num_fields):
        _read_time_zones(kind.field(place).type)


def rows_left_out(source: str, limits: Limits, total: int, given: int) -> Iterator[Reject]:
    """Report the rows that a Parquet file says it has and that were not given: beyond the limit, or not there."""
    if given == limits.rows:
        yield from beyond_limit(source, limits, total - given)
    elif given != total:
        yield Reject(source, None, "file", f"corrupt Parquet data after {given} rows: there should be {total}")


class CorruptError(Exception):
    """Data of a Parquet file that cannot be decoded."""


def parquet_batches(file: pq.ParquetFile, groups: Iterable[int], limits: Limits) -> Iterator[pa.RecordBatch]:
    """Yield row groups, so many rows at a time, up to the limit of rows.

    A batch ends where its row group does, so that what is read before damaged data is the same whichever row groups
    are read together.
    """
    values = max(len(file.schema_arrow), _listed_values(file.metadata) // max(1, file.metadata.num_rows))
    size = max(1, limits.chunk_cells // values)
    room = limits.rows
    try:
        for group in groups:
            for batch in file.iter_batches(size, [group]):
                yield batch.slice(0, room)
                room -= len(batch)
                if room <= 0:
                    return
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise CorruptError(_first_line(error)) from error


class Look(NamedTuple):
    """What a first look at row groups found."""

    rows: int
    """Rows that can be read."""
    damage: str | None
    """Why the others cannot."""
    fractions: Mapping[int, int]
    """Where columns that may be whole have the first value that is not, or that number of rows."""


def look_at(file: pq.ParquetFile, groups: Iterable[int], limits: Limits) -> Look:
    """Decode row groups once: damage in one ends the table there, and a value decides how its column is written."""
    rows = 0
    kinds = {place: kind for place, kind in enumerate(file.schema_arrow.types) if may_be_whole(kind)}
    fractions: dict[int, int] = {}
    try:
        for batch in parquet_batches(file, groups, limits):
            for place in kinds.keys() - fractions.keys():
                found = first_fraction(batch.column(place))
                if found < len(batch):
                    fractions[place] = rows + found
            rows += len(batch)
    except CorruptError as error:
        return Look(rows, str(error), {**dict.fromkeys(kinds, rows), **fractions})
    return Look(rows, None, {**dict.fromkeys(kinds, rows), **fractions})


def whole_columns(file: pq.ParquetFile, groups: Iterable[int], limits: Limits) -> frozenset[int]:
    """Return the columns, by place, that are written as whole numbers or dates."""
    if not any(map(may_be_whole, file.schema_arrow.types)):
        return frozenset()
    look = look_at(file, groups, limits)
    return frozenset(place for place, first in look.fractions.items() if first >= look.rows)


def parquet_chunks(table: Table, first_row: int, batch: pa.RecordBatch, whole: Set[int]) -> Iterator[Chunk]:
    """Yield a batch as text, row by row, some columns as whole values; in several chunks if the text is long."""
    rows = len(batch)
    if rows > 1 and _text_bytes(batch) > CHARACTERS:
        half = rows // 2
        yield from parquet_chunks(table, first_row, batch.slice(0, half), whole)
        yield from parquet_chunks(table, first_row + half, batch.slice(half), whole)
    elif rows:
        columns = [as_whole(column) if place in whole else column for place, column in enumerate(batch.columns)]
        yield Chunk(table, first_row, _row_major(list(map(as_text, columns))))


def _text_bytes(batch: pa.RecordBatch) -> int:
    """Estimate how long the text of a batch is: numbers are short, the rest is as long as it is in memory."""
    return sum(map(_column_bytes, batch.columns))


def _column_bytes(column: pa.Array) -> int:
    """Estimate the text of a column; a value of a dictionary is as often in the text as it is referred to."""
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return _column_bytes(column.storage)
    if pa.types.is_dictionary(kind):
        return _referred_bytes(column)
    if pa.types.is_struct(kind):
        return sum(map(_column_bytes, column.flatten()))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return int(column.nbytes) + _column_bytes(column.flatten())
    return int(column.nbytes)


def _referred_bytes(column: pa.DictionaryArray) -> int:
    values, kind = column.dictionary, column.type.value_type
    if kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        lengths = pc.binary_length(values).cast(pa.int64())
        return int(pc.sum(lengths.take(column.indices)).as_py() or 0)
    return int(column.indices.nbytes) + len(column) * int(values.nbytes) // max(1, len(values))


def _first_line(error: Exception) -> str:
    return visible(str(error).strip().splitlines()[0].rstrip("."))


def _row_major(columns: list[pa.StringArray]) -> pa.StringArray:
    rows = len(columns[0])
    order = np.arange(rows * len(columns)).reshape(len(columns), rows).T.ravel()
    return pa.concat_arrays(columns).take(pa.array(order))


def as_text(column: pa.Array) -> pa.StringArray:
    """Render a column of any type as text; whatever the column holds, there is a text for it."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return as_text(column.dictionary_decode())
    if isinstance(column, pa.ExtensionArray):
        return as_text(column.storage)
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        return _sound_text(column)
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind):
        return pc.cast(column, pa.string())
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return _time(column)
    return pa.array([None if value is None else _render(value) for value in _values(column)], pa.string())


def _sound_text(column: pa.Array) -> pa.StringArray:
    """Take texts as they are, but for bytes that are not UTF-8, which nothing keeps a writer from calling text."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        octets = pc.cast(column, pa.binary() if column.type != pa.large_string() else pa.large_binary()).to_pylist()
        return pa.array([None if text is None else text.decode("utf-8", "replace") for text in octets], pa.string())
    return pc.cast(column, pa.string())


def _time(column: pa.Array) -> pa.StringArray:
    try:
        texts = pc.cast(column, pa.string())
    except pa.ArrowInvalid:  # a time zone that nobody knows: the moment is told in UTC
        texts = pc.cast(pc.cast(column, pa.timestamp(column.type.unit, "UTC")), pa.string())
    return pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1")


def _values(column: pa.Array) -> list[Any]:
    if column.type in (pa.float16(), pa.float32()):
        # widened to 64 bits a narrow float shows digits that nobody wrote: 0.1 as 0.10000000149011612
        narrow = column.to_numpy(zero_copy_only=False)
        return [narrow[row] if valid else None for row, valid in enumerate(column.is_valid().to_pylist())]
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in column]
    return values


def _value(scalar: pa.Scalar) -> Any:
    """Return one value; some that Arrow can hold, such as a date in the year 10000, are beyond Python."""
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return "<value out of range>"


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
    """Yield the table of a file of JSON objects, as one array or one per line."""
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
    widths: Widths = {}
    header = tuple(union_of_keys(_objects(reopen), bad, widths))
    if len(header) > limits.columns:
        raise CorpusError(f"{len(header)} columns, more than the limit of {limits.columns}")
    if not full_rows(widths, len(header), bad):
        yield from bad.rejects()
        raise CorpusError("no data rows")
    table = json_table(source, header)
    rows = json_rows(_objects(reopen), header)
    yield from json_chunks(table, islice(rows, limits.rows), limits)
    beyond = sum(1 for _ in rows)
    yield from beyond_limit(source, limits, beyond)
    yield from bad.rejects()


Widths = dict[int, tuple[int, int]]
"""How many records have so many keys, behind the number of the first of them."""


def union_of_keys(objects: Iterable[Found], bad: Tally, widths: Widths) -> dict[str, None]:
    """Return the keys in order of first appearance; what cannot become a row is counted on the way, and all widths."""
    keys: dict[str, None] = {}
    for number, record in objects:
        if isinstance(record, CorpusError):
            bad.add(number, str(record))
        elif not record:
            bad.add(number, "an object without keys")
        else:
            first, count = widths.get(len(record), (number, 0))
            widths[len(record)] = first, count + 1
            if len(keys) <= MOST_KEYS:  # of more nobody wants to know which they are
                keys.update(dict.fromkeys(record))
    return keys


def full_rows(widths: Widths, width: int, bad: Tally, lines_before: int = 0) -> int:
    """Return how many records become rows of a table; the others, which would be nearly empty, are counted as bad."""
    rows = 0
    for keys, (first, count) in widths.items():
        if _is_row(keys, width):
            rows += count
        else:
            bad.add(lines_before + first, f"too few keys to be a row of {width}", count)
    return rows


def _is_row(keys: int, width: int) -> bool:
    return keys > 0 and width <= MOST_PADDING * keys


def json_table(source: str, header: tuple[str, ...]) -> Table:
    """Return the one table of a file of JSON records."""
    return Table(source, 0, 1, table_name(source), header)


def json_rows(objects: Iterable[Found], header: tuple[str, ...]) -> Iterator[list[str | None]]:
    """Yield the rows of records."""
    for _, record in objects:
        if isinstance(record, dict) and _is_row(len(record), len(header)):
            values = map(record.get, header)
            yield [None if value is None else _render(value) for value in values]


def json_chunks(table: Table, rows: Iterator[list[str | None]], limits: Limits, first_row: int = 0) -> Iterator[Chunk]:
    """Yield rows as chunks of the table."""
    size = max(1, limits.chunk_cells // len(table.header))
    while held := _some(rows, size):
        yield Chunk(table, first_row, pa.array(chain.from_iterable(held), pa.string()))
        first_row += len(held)


def _some(rows: Iterator[list[str | None]], count: int) -> list[list[str | None]]:
    """Return the next rows, fewer than so many only at the end or where they are very long."""
    held: list[list[str | None]] = []
    characters = 0
    while len(held) < count and characters < CHARACTERS and (more := list(islice(rows, min(_ROWS, count - len(held))))):
        held += more
        characters += sum(len(cell) for cell in chain.from_iterable(more) if cell)
    return held


def beyond_limit(source: str, limits: Limits, rows: int) -> Iterator[Reject]:
    """Report rows beyond the limit, if there are any."""
    if rows:
        yield Reject(source, limits.rows + 1, "row", f"beyond the limit of {limits.rows} rows", rows)


def _objects(reopen: Callable[[], BinaryIO]) -> Iterator[Found]:
    head = reopen().read(BLOCK)
    if not head.removeprefix(codecs.BOM_UTF8).lstrip():
        raise CorpusError("empty file")
    return _array_objects(reopen()) if is_array(head) else line_objects(numbered_lines(reopen()))


def is_array(head: bytes) -> bool:
    """Tell from the first bytes of a file of JSON records whether they are in one array."""
    return head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")


def line_objects(lines: Iterable[tuple[int, bytes | None]]) -> Iterator[Found]:
    """Yield the records that stand one per line."""
    for number, line in lines:
        if line is not None and not line.strip():
            continue
        try:
            record = parse(line)
            if line and b"\\u" in line:
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
            if len(self._text) - self._at > LONGEST_RECORD:
                raise CorpusError(f"a record of more than {LONGEST_RECORD >> 20} MB")
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
