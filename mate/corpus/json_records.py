"""JSON records: an array of objects, or one object per line.

They are read twice, first for the union of their keys in order of first appearance, then for the rows; only one record
is held at a time. A null, or a key that a record leaves out, is a null cell.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, BinaryIO

import pyarrow as pa

from mate.corpus.arrow_text import value_as_text
from mate.corpus.compression import DAMAGE, compression_of, damage, plain, unpacked_name
from mate.corpus.lines import Span, line_spans, piece
from mate.corpus.parts import Cutting, Look, Part, Parts
from mate.corpus.rows import CHARACTERS
from mate.corpus.table import Chunk, Limits, Reject, RejectCounts, Table, check_width, rows_beyond
from mate.errors import CorpusError
from mate.limits import MOST_PADDING

BLOCK = 1 << 20
MOST_KEYS = 1 << 20
LONGEST_RECORD = 64 << 20
NESTED = "invalid JSON: nested too deeply or a number too long"

_NAMES = {list: "a list", dict: "an object", str: "a string", int: "a number", float: "a number", bool: "true or false"}
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")

Record = tuple[int, dict[str, Any] | CorpusError | None]
"""A record's number in its file (line, or place in the array), and the object or what is wrong; None: a blank line."""
Row = list[str | None]


def read(source: str, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
    """Yield the table of a file of JSON objects, as one array or one per line."""
    keys = RecordKeys(source, MOST_KEYS)
    try:
        for number, record in _records(stream):
            keys.add(number, record)
    except DAMAGE as error:
        raise CorpusError(damage(error, plain(stream)[1])) from error
    header = tuple(keys.names)
    check_width(len(header), limits)
    count = keys.rows(len(header))
    if count:
        yield from chunks(source, header, islice(rows_of(_records(stream), header), limits.rows), limits)
    yield from keys.bad.rejects()
    yield from rows_beyond(source, limits, count - limits.rows)
    if not count:
        raise CorpusError("no data rows")


class RecordKeys:
    """The keys of records in order of first appearance, and what becomes a row of them."""

    def __init__(self, source: str, most: int) -> None:
        self.names: dict[str, None] = {}
        self.bad = RejectCounts(source, "record")
        """Records that cannot become a row."""
        self._most = most
        self._widths: dict[int, tuple[int, int]] = {}
        """How many records have so many keys, behind the number of the first of them."""

    def add(self, number: int, record: dict[str, Any] | CorpusError | None) -> None:
        """Take in one record; of more than the most keys nobody wants to know which they are."""
        if record is None:
            return
        if isinstance(record, CorpusError):
            self.bad.add(number, str(record))
        elif not record:
            self.bad.add(number, "an object without keys")
        else:
            first, count = self._widths.get(len(record), (number, 0))
            self._widths[len(record)] = first, count + 1
            if len(self.names) <= self._most:
                self.names.update(dict.fromkeys(record))

    def rows(self, width: int) -> int:
        """Return how many records become rows of a table; the others, nearly empty, are bad."""
        for keys, (first, count) in self._widths.items():
            if not _is_row(keys, width):
                self.bad.add(first, f"too few keys to be a row of {width}", count)
        return sum(count for keys, (_, count) in self._widths.items() if _is_row(keys, width))


def _is_row(keys: int, width: int) -> bool:
    return keys > 0 and width <= MOST_PADDING * keys


def rows_of(records: Iterable[Record], header: tuple[str, ...]) -> Iterator[Row]:
    """Yield the rows of records."""
    for _, record in records:
        if isinstance(record, dict) and _is_row(len(record), len(header)):
            yield [None if value is None else value_as_text(value) for value in map(record.get, header)]


def chunks(
    source: str, header: tuple[str, ...], rows: Iterator[Row], limits: Limits, first_row: int = 0
) -> Iterator[Chunk]:
    """Yield rows as chunks of the one table of a file."""
    table = Table(source, 0, 1, unpacked_name(source).stem, header)
    size = max(1, limits.chunk_cells // len(header))
    while some := list(_some(rows, size)):
        yield Chunk(table, first_row, pa.array(chain.from_iterable(some), pa.string()))
        first_row += len(some)


def _some(rows: Iterator[Row], count: int) -> Iterator[Row]:
    """Yield the next rows, fewer than ``count`` only at the end or where they are very long."""
    characters = 0
    for row in islice(rows, count):
        yield row
        characters += sum(map(len, filter(None, row)))
        if characters > CHARACTERS:
            return


def _records(stream: BinaryIO) -> Iterator[Record]:
    start = _first_byte(plain(stream)[0])
    if not start:
        raise CorpusError("empty file")
    text, _ = plain(stream)
    return enumerate(_array_records(_JsonText(text)), start=1) if start == b"[" else line_records(text)


def _first_byte(stream: BinaryIO) -> bytes:
    """Return the first byte of a text that is no space: a bracket if its records are in one array."""
    return stream.read(BLOCK).removeprefix(codecs.BOM_UTF8).lstrip()[:1]


def line_records(stream: BinaryIO) -> Iterator[Record]:
    """Yield the records that stand one per line."""
    for number, line in numbered_lines(stream):
        if line is not None and not line.strip():
            yield number, None
            continue
        try:
            yield number, _checked(parse(line), line is not None and b"\\u" in line)
        except CorpusError as error:
            yield number, error


def numbered_lines(stream: BinaryIO, lines_before: int = 0) -> Iterator[tuple[int, bytes | None]]:
    """Yield lines with their number; None for one that is longer than any record should be."""
    number = lines_before
    while line := stream.readline(LONGEST_RECORD):
        number += 1
        if len(line) < LONGEST_RECORD or line.endswith(b"\n"):
            yield number, line
            continue
        while (rest := stream.readline(LONGEST_RECORD)) and not rest.endswith(b"\n"):
            pass
        yield number, None


def parse(record: bytes | None) -> dict[str, Any]:
    """Read one JSON object; anything else raises `CorpusError` with the reason."""
    if record is None:
        raise CorpusError(f"a record of more than {LONGEST_RECORD >> 20} MB")
    try:
        value = json.loads(record.rstrip(b"\r\n").decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise CorpusError(f"invalid UTF-8 at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise CorpusError(f"invalid JSON: {error.msg} at column {error.pos + 1}") from error
    except (RecursionError, ValueError) as error:
        raise CorpusError(NESTED) from error
    return as_object(value)


def as_object(value: object) -> dict[str, Any]:
    """Return a JSON value if it is an object."""
    if not isinstance(value, dict):
        raise CorpusError(f"{kind_of(value)} where an object is expected")
    return value


def kind_of(value: object) -> str:
    """Name a JSON value's type for people."""
    return "null" if value is None else _NAMES[type(value)]


def check_text(text: str) -> None:
    """Refuse half of a surrogate pair: JSON can escape one, text cannot hold it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ord(error.object[error.start])
        raise CorpusError(f"half a surrogate pair (\\u{half:04x}), which is not text") from error


def _checked(value: object, escaped: bool) -> dict[str, Any]:
    """Return a value if it is an object of text; only an escape can hold half of a surrogate pair."""
    record = as_object(value)
    if escaped:
        check_text(json.dumps(record, ensure_ascii=False))
    return record


@dataclass(frozen=True)
class JsonCutting(Cutting):
    """A file of JSON records that is cut: one table, whose columns are known when all records were seen."""

    header: tuple[str, ...] = ()

    def look(self, stream: BinaryIO, span: Span) -> Look:
        """Collect keys, count lines and records."""
        keys, line = RecordKeys(self.source, self.limits.columns), 0
        for line, record in line_records(piece(stream, *span)):
            keys.add(line, record)
        return Look(span, keys.bad, line, more=keys)

    def settle(self, looks: Sequence[Look]) -> Parts:
        """Join the keys and number the rows."""
        header = tuple(dict.fromkeys(name for look in looks for name in look.more.names))
        if not header or len(header) > self.limits.columns:
            return Parts(())
        counted = [replace(look, rows=look.more.rows(len(header))) for look in looks]
        return replace(self, header=header).parts(counted, RejectCounts(self.source, "record"))

    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows."""
        rows = islice(rows_of(line_records(piece(stream, *part.span)), self.header), limits.rows)
        return chunks(self.source, self.header, rows, limits, part.first_row)


def cut(source: str, stream: BinaryIO, limits: Limits, size: int) -> JsonCutting | None:
    """Choose where to cut; None if the file is one array, or compressed."""
    if compression_of(stream.read(10)) or _first_byte(piece(stream, 0)) == b"[":
        return None
    return JsonCutting(source, limits, line_spans(stream, size))


# --- records in an array ---


def _array_records(text: _JsonText) -> Iterator[dict[str, Any] | CorpusError]:
    """Yield the elements of a JSON array, holding one at a time."""
    text.skip("[")
    more = text.peek() != "]"
    while more:
        value, escaped = text.value()
        try:
            yield _checked(value, escaped)
        except CorpusError as error:
            yield error
        more = text.peek() != "]"
        if more:
            text.skip(",")


class _JsonText:
    """A JSON text, of which only what is around the value being read is in memory."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = io.TextIOWrapper(stream, "utf-8-sig", newline="")
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

    def value(self) -> tuple[Any, bool]:
        """Return the next value, and whether it has escapes; the block read doubles until the value is whole."""
        self.peek()
        size = BLOCK
        while True:
            if len(self._text) - self._at > LONGEST_RECORD:
                raise CorpusError(f"a record of more than {LONGEST_RECORD >> 20} MB")
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                if end < len(self._text) or not self._more(size):
                    start, self._at = self._at, end
                    return value, self._text.find("\\u", start, end) >= 0
            except json.JSONDecodeError as error:
                if not self._more(size):
                    raise CorpusError(f"invalid JSON: {error.msg}") from error
            except (RecursionError, ValueError) as error:
                raise CorpusError(NESTED) from error
            size *= 2

    def _more(self, size: int) -> bool:
        try:
            text = self._stream.read(size)
        except UnicodeDecodeError as error:
            raise CorpusError("invalid UTF-8") from error
        self._text, self._at = self._text[self._at :] + text, 0
        return bool(text)
