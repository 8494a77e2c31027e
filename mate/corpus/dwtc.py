"""Web tables of the Dresden and WDC corpora: one JSON record per line, plain or compressed.

``relation`` holds a table column by column. With a header in the first row, the first cell of each column is its
name; with a header in the first column the table is transposed; any other header position (none, or both at once)
gives columns without names.

Records are independent of each other, so a bad one is one reject, and a shard that is cut off keeps the tables before
the cut: ``truncated gzip stream after 12 records``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import Any, BinaryIO

import pyarrow as pa

from mate.corpus.compression import DAMAGE, compression_of, damage, plain
from mate.corpus.json_records import check_text, kind_of, numbered_lines, parse
from mate.corpus.lines import Span, line_spans, piece
from mate.corpus.parts import Cutting, Look, Part, Parts
from mate.corpus.table import Chunk, Limits, Reject, RejectCounts, Table, check_width, rows_beyond
from mate.errors import CorpusError
from mate.limits import MOST_PADDING

MOST_EMPTY = 1_000_000
"""Empty cells that a table with columns of different lengths may get."""

_SURROGATE = re.compile(rb"\\u[dD]")
"""An escape of a part of a surrogate pair, without the other one no text."""

Row = Sequence[str | None]


def read(source: str, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
    """Yield every table of a shard; tables that only lay out a page are counted, and read if the limits say so."""
    reader = ShardReader(source, limits)
    plain_stream, compression = plain(stream)
    line = 0
    try:
        for line, record in numbered_lines(plain_stream):
            yield from reader.record(line, record)
    except DAMAGE as error:
        yield Reject(source, None, "file", f"{damage(error, compression)} after {line} records")
    else:
        if not reader.records:
            yield Reject(source, None, "file", "empty file")
    yield from reader.layout_tables.rejects()


class ShardReader:
    """Turns the records of a shard into tables."""

    def __init__(self, source: str, limits: Limits, tables_before: int = 0) -> None:
        self._source = source
        self._limits = limits
        self.tables = tables_before
        """Tables of the shard up to here."""
        self.records = 0
        self.layout_tables = RejectCounts(source, "record")

    def record(self, line: int, record: bytes | None) -> Iterator[Chunk | Reject]:
        """Yield the table of one record, or why there is none."""
        if record is not None and not record.strip():
            return
        self.records += 1
        try:
            fields = parse(record)
            if fields.get("tableType") == "LAYOUT" and not self._limits.layout_tables:
                self.layout_tables.add(line, "layout table")
                return
            header, rows = header_and_rows(fields, self._limits)
            titles = (fields.get("pageTitle"), fields.get("title"))
            name = next((title for title in titles if isinstance(title, str) and title.strip()), "")
            if record and _SURROGATE.search(record):
                check_text("".join(filter(None, chain((name, *header), *rows))))
        except CorpusError as error:
            yield Reject(self._source, line, "record", str(error))
        else:
            table = Table(self._source, self.tables, line, name, tuple(header))
            self.tables += 1
            most, size = self._limits.rows, max(1, self._limits.chunk_cells // len(header))
            for first in range(0, min(len(rows), most), size):
                cells = list(chain.from_iterable(rows[first : min(first + size, most)]))
                yield Chunk(table, first, pa.array(cells, pa.string()))
            yield from rows_beyond(self._source, self._limits, len(rows) - most, line)


def header_and_rows(record: dict[str, Any], limits: Limits) -> tuple[Sequence[str], list[Row]]:
    """Return column names and rows of a record, ragged columns padded with nulls."""
    columns = _columns(record)
    _check_size(columns, record.get("headerPosition") == "FIRST_COLUMN", limits)
    position = record.get("headerPosition", "FIRST_ROW") if record.get("hasHeader", True) else "NONE"
    rows: list[Row] = list(zip_longest(*columns))
    header: Row = [""] * len(columns)
    if position == "FIRST_COLUMN":
        header, *rows = list[Row](zip(*rows, strict=True))
    elif position == "FIRST_ROW":
        index = record.get("headerRowIndex", 0)
        header = rows.pop(index if isinstance(index, int) and 0 <= index < len(rows) else 0)
    if not rows:
        raise CorpusError("no data rows")
    return [name or "" for name in header], rows


def _check_size(columns: list[list[str]], transposed: bool, limits: Limits) -> None:
    """Refuse a table that is too wide, or nearly empty, before it is padded."""
    height = max(map(len, columns))
    check_width(height if transposed else len(columns), limits)
    cells = sum(map(len, columns))
    if len(columns) * height > min(MOST_PADDING * cells, cells + MOST_EMPTY):
        raise CorpusError(f"{cells} cells in {len(columns)} columns of very different lengths, up to {height}")


def _columns(record: dict[str, Any]) -> list[list[str]]:
    if "relation" not in record:
        raise CorpusError("no relation")
    relation = record["relation"]
    if not isinstance(relation, list):
        raise CorpusError(f"relation is {kind_of(relation)}, not a list of columns")
    if not any(relation):
        raise CorpusError("empty relation")
    for number, column in enumerate(relation, start=1):
        if not isinstance(column, list):
            raise CorpusError(f"column {number} is {kind_of(column)}, not a list of cells")
        wrong = [cell for cell in column if type(cell) is not str]
        if wrong:
            raise CorpusError(f"column {number} holds {kind_of(wrong[0])} where a string is expected")
    return relation


class ShardCutting(Cutting):
    """A shard that is cut between its lines."""

    def look(self, stream: BinaryIO, span: Span) -> Look:
        """Count lines, records and tables."""
        reader, line = ShardReader(self.source, self.limits), 0
        for line, record in numbered_lines(piece(stream, *span)):
            for _ in reader.record(line, record):
                pass
        return Look(span, reader.layout_tables, line, tables=reader.tables, more=reader.records)

    def settle(self, looks: Sequence[Look]) -> Parts:
        """Number lines and tables."""
        if not any(look.more for look in looks):
            return Parts(())
        return self.parts(looks, RejectCounts(self.source, "record"))

    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the tables, and a reject for each record that is none."""
        reader = ShardReader(self.source, limits, part.tables_before)
        for line, record in numbered_lines(piece(stream, *part.span), part.lines_before):
            yield from reader.record(line, record)


def cut(source: str, stream: BinaryIO, limits: Limits, size: int) -> ShardCutting | None:
    """Choose where to cut; None if the shard is compressed."""
    return None if compression_of(stream.read(10)) else ShardCutting(source, limits, line_spans(stream, size))
