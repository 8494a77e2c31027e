"""A delimited file in parts that begin where a row does.

A line end may stand inside a quoted cell, so that a few lines do not tell whether a row begins there. The places to
cut are guesses, from some lines before each of them. Then every span is read by the very reader that reads it later,
and tells where its last row ends. The next span is right if it begins there; if not, it is read again from there. The
first span begins with the first row, so all are right in the end.

A text whose line ends are not single bytes, such as UTF-16, is not cut.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import BinaryIO

from mate.corpus.compression import compression_of
from mate.corpus.delimited import RowReader, TableStart, encoding_rejects, find_table
from mate.corpus.encoding import TextEncoding, find_encoding, lines_end_in_bytes
from mate.corpus.parts.base import Correction, Cutting, Part, Parts, Span, even_cuts, spans_between
from mate.corpus.parts.lines import after_lines, count_lines, line_start, piece
from mate.corpus.rows import Rows
from mate.corpus.table import Chunk, Limits, Reject, RejectCounts, rows_beyond
from mate.errors import CorpusError

_RUN_UP = 1 << 16
"""Bytes that are read to find out where rows begin behind them."""


@dataclass(frozen=True, slots=True)
class DelimitedLook:
    """What a span has; lines count from 1, where the span begins."""

    span: Span
    stop: int
    """Where the last row ends that begins in the span."""
    lines: int
    rows: int
    rejects: RejectCounts
    footer_like: bool


@dataclass(frozen=True)
class DelimitedCutting(Cutting):
    """A delimited file that is cut, and all that a part of it needs to be read as the whole is."""

    start: TableStart
    encoding: TextEncoding
    size: int

    def look(self, stream: BinaryIO, span: Span) -> DelimitedLook:
        """Count rows, lines and rejects of a span, and find where its last row ends."""
        lines = count_lines(stream, span.start, span.stop)
        reader = RowReader(self.rows(stream, span.start), self.start, self.limits, lines)
        rows = sum(map(len, reader.batches(span.stop == self.size)))
        stop = after_lines(stream, span.stop, reader.line - 1 - lines)
        return DelimitedLook(span, stop, reader.line - 1, rows, reader.rejects, reader.footer_like)

    def settle(self, looks: Sequence[DelimitedLook]) -> Parts | Correction:
        """Check that each span begins where the one before ends; then number the rows."""
        for number, (look, following) in enumerate(pairwise(looks), start=1):
            if look.stop != following.span.start:
                return Correction(number, number + 1, Span(look.stop, max(look.stop, following.span.stop)))
        if len(looks) > 1 and looks[-1].footer_like:  # it may begin before the last span
            return Correction(len(looks) - 2, len(looks), Span(looks[-2].span.start, looks[-1].span.stop))
        counts = RejectCounts(self.source, "row")
        counts.merge(self.start.above)
        lines = self.start.line - 1
        for look in looks:
            counts.merge(look.rejects, lines)
            lines += look.lines
        parts, beyond = self.table_parts((look.span, look.rows) for look in looks)
        rejects = [*counts.rejects(), *rows_beyond(self.source, self.limits, beyond)]
        return Parts.of(parts, [*rejects, *encoding_rejects(self.source, self.encoding)])

    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows."""
        return RowReader(self.rows(stream, part.span.start), self.start, limits).chunks(part.first_row, False)

    def rows(self, stream: BinaryIO, start: int) -> Rows:
        """Return the rows from a place on."""
        # A byte order mark stands at the start only; the same character further down is text.
        encoding = self.encoding.name
        encoding = "utf-8" if start and encoding == "utf-8-sig" else encoding
        lines = io.TextIOWrapper(piece(stream, start), encoding, self.encoding.errors, newline="")
        return Rows(lines, self.start.dialect, len(self.start.table.header))


def cut(source: str, stream: BinaryIO, limits: Limits, size: int) -> DelimitedCutting | None:
    """Read a file once for its encoding, and choose where to cut; None if it is to be read whole."""
    if compression_of(stream.read(10)):
        return None
    try:
        encoding = find_encoding(lambda: piece(stream, 0), limits.encoding)
        if not lines_end_in_bytes(encoding.name):
            return None
        text = io.TextIOWrapper(piece(stream, 0), encoding.name, encoding.errors, newline="")
        start, _ = find_table(source, text, encoding.quotes, limits)
    except CorpusError:
        return None
    end = stream.seek(0, io.SEEK_END)
    first = after_lines(stream, 0, start.line - 1)
    cutting = DelimitedCutting(source, limits, (), start, encoding, end)
    places = [first, *(row_start(stream, cutting, at, first) for at in even_cuts(first, end, size)), end]
    return replace(cutting, spans=spans_between(places))


def row_start(stream: BinaryIO, cutting: DelimitedCutting, at: int, first: int) -> int:
    """Guess where the next row begins: reading from the middle of a cell gets into step after some lines."""
    if not cutting.start.dialect.quoted:
        return line_start(stream, at)
    begin = line_start(stream, max(first, at - _RUN_UP))
    wanted = count_lines(stream, begin, at)
    rows = cutting.rows(stream, begin)
    while rows.line <= wanted and rows.take(1):
        pass
    return after_lines(stream, begin, rows.line - 1)
