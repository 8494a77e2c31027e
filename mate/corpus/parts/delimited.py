"""A delimited file in parts that begin where a row does.

A line end may stand inside a quoted cell, so that no one can tell from a few lines whether a row begins there. Where
to cut is therefore guessed, by reading some lines before it. Then every piece is gone through by the very
reader that will read it, and tells where its last row ends. A piece was cut right if it begins where the one before
ends; one that was not is gone through again from there. The first piece begins with the first row, so all are right
in the end.

Not cut are texts whose line ends are not single bytes, such as those in UTF-16.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import BinaryIO

from mate.corpus.compression import compression_of
from mate.corpus.delimited import Frame, Reading, encoding_rejects, find_frame
from mate.corpus.encoding import Survey, lines_end_in_bytes, survey
from mate.corpus.parts.base import WHOLE, Again, Parts, Span, changed, even_cuts, spans_between
from mate.corpus.parts.lines import ANY_END, after_lines, count_lines, line_start, piece
from mate.corpus.rows import Rows
from mate.corpus.table import Chunk, Limits, Reject
from mate.corpus.tally import Tally
from mate.errors import CorpusError

_RUN_UP = 1 << 16
"""Bytes that are read to find out where rows begin behind them."""


@dataclass(frozen=True, slots=True)
class Text:
    """A file, and all that a part of it needs to be read as the whole is."""

    frame: Frame
    found: Survey
    size: int

    def lines(self, stream: BinaryIO, start: int, stop: int) -> Iterator[str]:
        """Yield the lines between two places; nothing is read before the first one is asked for."""
        # A mark of the byte order stands at the start only; the same character further down is text.
        encoding = "utf-8" if start and self.found.encoding == "utf-8-sig" else self.found.encoding
        yield from io.TextIOWrapper(piece(stream, start, stop), encoding, self.found.errors, newline="")

    def rows(self, stream: BinaryIO, span: Span) -> Rows:
        """Return the rows that begin in a span."""
        inside, beyond = self.lines(stream, span.start, span.stop), self.lines(stream, span.stop, self.size)
        return Rows(inside, self.frame.dialect, len(self.frame.table.header), beyond)


@dataclass(frozen=True, slots=True)
class DelimitedLook:
    """What a span holds; lines count from 1, where the span begins."""

    span: Span
    stop: int
    """Where the row ends that is the last one to begin in the span."""
    lines: int
    rows: int
    first_line: int
    tally: Tally
    footer_like: bool


@dataclass(frozen=True, slots=True)
class DelimitedPart:
    """Rows of a delimited file."""

    text: Text
    span: Span
    first_row: int
    rows: int
    rejects: tuple[Reject, ...] = ()
    """Those of the whole file, which its last part reports."""

    @property
    def continues(self) -> bool:
        """Whether rows stand before."""
        return self.first_row > 0

    def read(self, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows that were counted."""
        reading = Reading(self.text.rows(stream, self.span), self.text.frame, limits, self.first_row, self.rows)
        for chunk in reading.chunks(reading.batches(last=False)):
            yield chunk
            if reading.given == self.rows:
                break
        if reading.given < self.rows:
            raise CorpusError(changed(self.text.frame.table.source))
        yield from self.rejects


@dataclass(frozen=True, slots=True)
class DelimitedCutting:
    """A delimited file that is cut."""

    text: Text
    limits: Limits
    spans: tuple[Span, ...]

    def look(self, stream: BinaryIO, span: Span) -> DelimitedLook:
        """Count rows, lines and rejects of a span, and see where its last row ends."""
        rows = self.text.rows(stream, span)
        reading = Reading(rows, self.text.frame, self.limits, room=span.room)
        for _ in reading.batches(last=span.stop == self.text.size):
            pass
        stop = after_lines(stream, span.stop, rows.borrowed)
        return DelimitedLook(
            span, stop, rows.line - 1, reading.given, reading.first_line, reading.tally, reading.footer_like
        )

    def settle(self, looks: Sequence[DelimitedLook]) -> Parts | Again:
        """Check that each span begins where the one before ends; then number the rows."""
        return _misplaced(looks) or _torn_footer(looks) or self._numbered(looks)

    def _numbered(self, looks: Sequence[DelimitedLook]) -> Parts | Again:
        frame = self.text.frame
        tally = Tally(frame.table.source, "row")
        tally.merge(frame.above)
        parts: list[DelimitedPart] = []
        given, lines = 0, frame.line - 1
        for number, look in enumerate(looks):
            room = self.limits.rows - given
            if look.rows > room > 0:
                return Again(number, number + 1, replace(look.span, room=room))
            tally.merge(look.tally, lines)
            if look.rows and room:
                parts.append(DelimitedPart(self.text, look.span, given, look.rows))
                given += look.rows
            elif look.rows:
                tally.add(lines + look.first_line, f"beyond the limit of {self.limits.rows} rows", look.rows)
            lines += look.lines
        if not parts:
            return WHOLE
        doubts = encoding_rejects(frame.table.source, self.text.found)
        parts[-1] = replace(parts[-1], rejects=(*tally.rejects(), *doubts))
        return Parts(parts, tables=1, rows=given)


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
        found = survey(lambda: _rewound(stream), limits.encoding)
        if not lines_end_in_bytes(found.encoding):
            return None
        decoded = io.TextIOWrapper(_rewound(stream), found.encoding, found.errors, newline="")
        try:
            frame, _ = find_frame(source, decoded, found.quotes, limits)
        finally:
            decoded.detach()
    except CorpusError:
        return None
    end = stream.seek(0, io.SEEK_END)
    text = Text(frame, found, end)
    start = after_lines(stream, 0, frame.line - 1)
    places = [start, *(row_start(stream, text, at, start) for at in even_cuts(start, end, size)), end]
    return DelimitedCutting(text, limits, tuple(spans_between(places)))


def _rewound(stream: BinaryIO) -> BinaryIO:
    stream.seek(0)
    return stream


def row_start(stream: BinaryIO, text: Text, at: int, first: int) -> int:
    """Return where the next row probably begins: reading in the middle of a cell gets into step after some lines."""
    if not text.frame.dialect.quoted:
        return line_start(stream, at, ANY_END)
    begin = line_start(stream, max(first, at - _RUN_UP), ANY_END)
    wanted = count_lines(stream, begin, at)
    rows = Rows(text.lines(stream, begin, text.size), text.frame.dialect, len(text.frame.table.header))
    while rows.line <= wanted and rows.take(1):
        pass
    return after_lines(stream, begin, rows.line - 1)
