"""A delimited file in parts that begin where a row does.

A line end may stand inside a quoted cell, so that a few lines do not tell whether a row begins there. The places to
cut are guesses, from some lines before each of them. Then every span is read by the very reader that will read it
again later, and tells where its last row ends. The next span is right if it begins there; if not, it is read again
from there. The first span begins with the first row, so all are right in the end.

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
from mate.corpus.parts.base import Again, Cutting, Part, Parts, Span, even_cuts, spans_between, with_rejects
from mate.corpus.parts.lines import ANY_END, after_lines, count_lines, line_start, piece
from mate.corpus.rows import Rows
from mate.corpus.table import Chunk, Limits, Reject, RejectCounts, beyond_limit
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
    first_line: int
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
        rows = self.rows(stream, span)
        reader = RowReader(rows, self.start, self.limits, span.most_rows)
        for _ in reader.batches(last=span.stop == self.size):
            pass
        stop = after_lines(stream, span.stop, rows.borrowed)
        return DelimitedLook(
            span, stop, rows.line - 1, reader.accepted, reader.first_line, reader.rejects, reader.footer_like
        )

    def settle(self, looks: Sequence[DelimitedLook]) -> Parts | Again:
        """Check that each span begins where the one before ends; then number the rows."""
        return _misplaced(looks) or _torn_footer(looks) or self._numbered(looks)

    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows."""
        reader = RowReader(self.rows(stream, part.span), self.start, limits, part.rows)
        return reader.chunks(part.first_row, last=False)

    def rows(self, stream: BinaryIO, span: Span) -> Rows:
        """Return the rows that begin in a span."""
        inside, beyond = self._lines(stream, span), self._lines(stream, Span(span.stop, self.size))
        return Rows(inside, self.start.dialect, len(self.start.table.header), beyond)

    def _lines(self, stream: BinaryIO, span: Span) -> Iterator[str]:
        """Yield the lines of a span; nothing is read before the first one is asked for."""
        # A byte order mark stands at the start only; the same character further down is text.
        encoding = self.encoding.name
        encoding = "utf-8" if span.start and encoding == "utf-8-sig" else encoding
        yield from io.TextIOWrapper(piece(stream, span), encoding, self.encoding.errors, newline="")

    def _numbered(self, looks: Sequence[DelimitedLook]) -> Parts | Again:
        counts = RejectCounts(self.source, "row")
        counts.merge(self.start.above)
        parts: list[Part] = []
        rows, lines = 0, self.start.line - 1
        for number, look in enumerate(looks):
            left = self.limits.rows - rows
            if look.rows > left > 0:
                return Again(number, number + 1, replace(look.span, most_rows=left))
            counts.merge(look.rejects, lines)
            if look.rows and left:
                parts.append(self.part(look.span, first_row=rows, rows=look.rows))
                rows += look.rows
            elif look.rows:
                counts.add(lines + look.first_line, beyond_limit(self.limits), look.rows)
            lines += look.lines
        return with_rejects(parts, [*counts.rejects(), *encoding_rejects(self.source, self.encoding)], 1, rows)


def _misplaced(looks: Sequence[DelimitedLook]) -> Again | None:
    for number, (look, following) in enumerate(pairwise(looks), start=1):
        if look.stop != following.span.start:
            return Again(number, number + 1, Span(look.stop, max(look.stop, following.span.stop)))
    return None


def _torn_footer(looks: Sequence[DelimitedLook]) -> Again | None:
    """A footer may begin before the last span."""
    if len(looks) > 1 and looks[-1].footer_like:
        return Again(len(looks) - 2, len(looks), Span(looks[-2].span.start, looks[-1].span.stop))
    return None


def cut(source: str, stream: BinaryIO, limits: Limits, size: int) -> DelimitedCutting | None:
    """Read a file once for its encoding, and choose where to cut; None if it is to be read whole."""
    if compression_of(stream.read(10)):
        return None
    try:
        encoding = find_encoding(lambda: _rewound(stream), limits.encoding)
        if not lines_end_in_bytes(encoding.name):
            return None
        text = io.TextIOWrapper(_rewound(stream), encoding.name, encoding.errors, newline="")
        try:
            start, _ = find_table(source, text, encoding.quotes, limits)
        finally:
            text.detach()
    except CorpusError:
        return None
    end = stream.seek(0, io.SEEK_END)
    first = after_lines(stream, 0, start.line - 1)
    cutting = DelimitedCutting(source, limits, (), start, encoding, end)
    places = [first, *(row_start(stream, cutting, at, first) for at in even_cuts(first, end, size)), end]
    return replace(cutting, spans=tuple(spans_between(places)))


def _rewound(stream: BinaryIO) -> BinaryIO:
    stream.seek(0)
    return stream


def row_start(stream: BinaryIO, cutting: DelimitedCutting, at: int, first: int) -> int:
    """Guess where the next row begins: reading from the middle of a cell gets into step after some lines."""
    if not cutting.start.dialect.quoted:
        return line_start(stream, at, ANY_END)
    begin = line_start(stream, max(first, at - _RUN_UP), ANY_END)
    wanted = count_lines(stream, begin, at)
    rows = cutting.rows(stream, Span(begin, cutting.size))
    while rows.line <= wanted and rows.take(1):
        pass
    return after_lines(stream, begin, rows.line - 1)
