"""CSV and its kin as published: any delimiter, quoting and encoding, with text above and below the table.

Nothing is asked of the user and nothing is trusted but the bytes. The file is read twice: once for its encoding (and to
see a damaged compressed file before any row of it is given out), once for its rows.

A truncated compressed file is refused whole, since half a table looks like a table. What else is no row of the table
is counted, by reason: `docs/reading.md` has the list.
"""

from __future__ import annotations

import io
import re
import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from typing import BinaryIO

import pyarrow as pa

from mate.corpus.compression import DAMAGE, compression_of, damage, plain, unpacked_name
from mate.corpus.encoding import TextEncoding, find_encoding, lines_end_in_bytes
from mate.corpus.header import filled, find_header
from mate.corpus.lines import Span, after_lines, count_lines, even_cuts, line_start, piece, spans_between
from mate.corpus.parts import Correction, Cutting, Look, Part, Parts
from mate.corpus.rows import CHARACTERS, CsvDialect, Row, Rows, find_dialect, lines_of
from mate.corpus.table import Chunk, Limits, Reject, RejectCounts, Table, check_width, rows_beyond
from mate.errors import CorpusError
from mate.limits import MOST_PADDING

SAMPLE_LINES = 1_000
SAMPLE_CHARACTERS = 1 << 18
FEWEST_LINES = 20
BATCH_CELLS = 8_000
"""Cells that are read at a time: as many as stay in the processor's cache until they are in a chunk."""
FOOTER_ROWS = 1_000
"""Rows at the end of a file among which its footer is looked for."""

Cells = Sequence[str | None]

_FOOTER = re.compile(
    r"\s*(?:[_=*-]{3,}|©|\(c\)|\(C\)|\*|\d\)|(?:Stand|Quelle|Quellen|Datenquelle|Source|Sources|Note|Notes"
    r"|Hinweis|Hinweise|Anmerkung|Anmerkungen|Fußnote|Legende)\b\s*:?)"
)
_BLANK = " \t\x1a"
_RUN_UP = 1 << 16
"""Bytes that are read to find out where rows begin behind them."""


def read(source: str, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
    """Yield the table of a delimited text file, compressed or not."""
    _, compression = plain(stream)
    try:
        encoding = find_encoding(lambda: plain(stream)[0], limits.encoding)
    except DAMAGE as error:
        raise CorpusError(damage(error, compression)) from error
    start, rows = find_table(source, encoding.text(plain(stream)[0]), encoding.quotes, limits)
    reader = RowReader(rows, start, limits)
    yield from reader.chunks(first_row=0, has_footer=True)
    if not reader.fitting:
        raise CorpusError("no data rows")
    reader.rejects.merge(start.above)
    yield from reader.rejects.rejects()
    yield from rows_beyond(source, limits, reader.fitting - limits.rows)
    yield from encoding_rejects(source, encoding)


def encoding_rejects(source: str, encoding: TextEncoding) -> Iterator[Reject]:
    """Report what may be wrong with the encoding that a text was read in."""
    if encoding.doubt:
        reason = f"the encoding is uncertain: read as {encoding.name}, it may be {encoding.doubt}"
        yield Reject(source, None, "cell", f"{reason}; --encoding says which it is")
    if encoding.undecodable:
        reason = f"bytes that are not {encoding.name}, each read as \ufffd; --encoding names another encoding"
        yield Reject(source, None, "cell", reason, encoding.undecodable)


@dataclass(frozen=True, slots=True)
class TableStart:
    """What the first lines of a file tell of its table."""

    table: Table
    dialect: CsvDialect
    line: int
    """The line where its rows begin."""
    above: RejectCounts
    """What stands above the header."""


def find_table(source: str, text: io.TextIOWrapper, quoted: bool, limits: Limits) -> tuple[TableStart, Rows]:
    """Return where the table of a text starts, and its rows from the first one below the header on."""
    sample, complete = _sample(text)
    dialect = find_dialect(sample, quoted)
    found = find_header(Rows(sample, dialect).take(len(sample)), complete, limits)
    width = len(found.header)
    check_width(width, limits)
    rows = Rows(chain(sample, text), dialect, width)
    above = RejectCounts(source, "row")
    line = rows.line
    for row in rows.take(found.above):
        if row:
            above.add(line, "line above the header")
        line += lines_of(row)
    table = Table(source, 0, rows.line, unpacked_name(source).stem, found.header, found.joined)
    rows.take(found.header_rows)
    return TableStart(table, dialect, rows.line, above), rows


def _sample(text: io.TextIOWrapper) -> tuple[list[str], bool]:
    """Return the first lines, enough to know the table by, and whether they are all there are."""
    lines: list[str] = []
    characters = 0
    for line in text:
        lines.append(line)
        characters += len(line)
        enough = characters >= SAMPLE_CHARACTERS and len(lines) >= FEWEST_LINES
        if enough or len(lines) >= SAMPLE_LINES or characters > CHARACTERS // 4:
            return lines, False
    return lines, True


class RowReader:
    """Reads the rows that fit the table; the others are counted by reason."""

    def __init__(self, rows: Rows, start: TableStart, limits: Limits, last_line: int = sys.maxsize) -> None:
        self._rows = rows
        self._table = start.table
        self._width = len(start.table.header)
        self._batch_rows = max(1, min(limits.chunk_cells, BATCH_CELLS) // self._width)
        self._most_rows = limits.rows
        self._last_line = last_line
        """The last line where a row may begin."""
        self.line = rows.line
        """The line behind the last row."""
        self.rejects = RejectCounts(start.table.source, "row")
        self.fitting = 0
        """Rows that fit the table, also those beyond the limit."""
        self.footer_like = False
        """Whether everything that was read could be a footer, of which more may stand before."""

    def chunks(self, first_row: int, has_footer: bool) -> Iterator[Chunk]:
        """Yield the rows in chunks, up to the limit."""
        for batch in self.batches(has_footer):
            before = min(self.fitting - len(batch), self._most_rows)
            if rows := batch[: self._most_rows - before]:
                yield Chunk(self._table, first_row + before, pa.array(list(chain.from_iterable(rows)), pa.string()))

    def batches(self, has_footer: bool) -> Iterator[Sequence[Cells]]:
        """Yield the rows, a batch at a time; without the footer, if they are the last ones of the file."""
        for line, rows in self._without_footer() if has_footer else self._all_batches():
            fitting = self._fitting(line, rows)
            self.fitting += len(fitting)
            yield fitting

    def _all_batches(self) -> Iterator[tuple[int, list[Row]]]:
        """Yield batches of rows, each with its line."""
        while self.line <= self._last_line and (rows := self._rows.take(self._batch_rows)):
            line, self.line = self.line, self._rows.line
            if self.line - 1 > self._last_line:
                lines = list(accumulate(map(lines_of, rows), initial=line))
                rows = rows[: bisect_right(lines, self._last_line)]
                self.line = lines[len(rows)]
            for broken, reason in self._rows.broken:
                if broken < self.line:
                    self.rejects.add(broken, reason)
            yield line, rows

    def _without_footer(self) -> Iterator[tuple[int, list[Row]]]:
        """Yield batches, but delay so many rows that a footer is seen before it is given out."""
        delayed: deque[tuple[int, list[Row]]] = deque()
        waiting = 0
        for line, rows in self._all_batches():
            delayed.append((line, rows))
            waiting += len(rows)
            while waiting - len(delayed[0][1]) >= FOOTER_ROWS:
                waiting -= len(delayed[0][1])
                yield delayed.popleft()
        table_rows, self.footer_like = _footer_start(
            list(chain.from_iterable(rows for _, rows in delayed)), self._width
        )
        for line, rows in delayed:
            body, footer = rows[:table_rows], rows[table_rows:]
            table_rows -= len(body)
            if body:
                yield line, body
            line += sum(map(lines_of, body)) if footer else 0
            for row in footer:
                if filled(row):
                    self.rejects.add(line, "footer line")
                line += lines_of(row)

    def _fitting(self, line: int, rows: list[Row]) -> Sequence[Cells]:
        """Return the rows that fit; if all have the right width, they are not looked at one by one."""
        if set(map(len, rows)) == {self._width}:
            return rows
        fitting: list[Cells] = []
        for row in rows:
            if cells := self._fitted(row, line):
                fitting.append(cells)
            line += lines_of(row)
        return fitting

    def _fitted(self, row: Row, line: int) -> Cells | None:
        """Return a row in the table's width; None for a blank line and for one with too many cells."""
        missing = self._width - len(row)
        if missing == 0:
            return row
        if len(row) <= 1 and not "".join(row).strip(_BLANK):
            return None
        if missing > 0 and self._width > MOST_PADDING * len(row):
            self.rejects.add(line, f"too few cells to be a row of {self._width}")
            return None
        if missing > 0:
            return [*row, *[None] * missing]
        if filled(row) <= self._width:
            return row[: self._width]
        self.rejects.add(line, f"{filled(row)} cells where the header has {self._width}")
        return None


def _footer_start(rows: list[Row], width: int) -> tuple[int, bool]:
    """Return where the footer begins: lines of text, not cells, that run to the end of the file.

    Also whether such lines are all there are, so that more of them may stand before.
    """
    if width < 2:
        return len(rows), False
    start = len(rows)
    text, unsplit = "", True
    for index in range(len(rows) - 1, max(-1, len(rows) - 1 - FOOTER_ROWS), -1):
        row = rows[index]
        if filled(row) > 1:
            return start, False
        if filled(row):
            text, unsplit = row[0], unsplit and len(row) == 1
        if text and (_FOOTER.match(text) or (width > 2 and unsplit)):
            start = index
    return start, len(rows) < FOOTER_ROWS


# --- a file in parts ---


@dataclass(frozen=True)
class DelimitedCutting(Cutting):
    """A file that is cut, and all that a part of it needs to be read as the whole is.

    A line end may stand inside a quoted cell, so that a few lines do not tell whether a row begins there. The places
    to cut are guesses, from some lines before each of them. Then every span is read by the very reader that reads it
    later, and tells where its last row ends. The next span is right if it begins there; if not, it is read again from
    there. The first span begins with the first row, so all are right in the end.
    """

    start: TableStart
    encoding: TextEncoding
    size: int

    def look(self, stream: BinaryIO, span: Span) -> Look:
        """Count rows, lines and rejects; note where the last row ends, and whether it could all be a footer."""
        lines = count_lines(stream, span.start, span.stop)
        reader = RowReader(self.rows(stream, span.start), self.start, self.limits, lines)
        rows = sum(map(len, reader.batches(span.stop == self.size)))
        stop = after_lines(stream, span.stop, reader.line - 1 - lines)
        return Look(span, reader.rejects, reader.line - 1, rows, more=(stop, reader.footer_like))

    def settle(self, looks: Sequence[Look]) -> Parts | Correction:
        """Check that each span begins where the one before ends; then number the rows."""
        for number, (look, following) in enumerate(pairwise(looks), start=1):
            stop, _ = look.more
            if stop != following.span.start:
                return Correction(number, number + 1, Span(stop, max(stop, following.span.stop)))
        _, footer_like = looks[-1].more
        if len(looks) > 1 and footer_like:  # it may begin before the last span
            return Correction(len(looks) - 2, len(looks), Span(looks[-2].span.start, looks[-1].span.stop))
        rejects = RejectCounts(self.source, "row")
        rejects.merge(self.start.above)
        return self.parts(looks, rejects, self.start.line - 1, encoding_rejects(self.source, self.encoding))

    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows."""
        return RowReader(self.rows(stream, part.span.start), self.start, limits).chunks(part.first_row, False)

    def rows(self, stream: BinaryIO, start: int) -> Rows:
        """Return the rows from a place on."""
        # A byte order mark stands at the start only; the same character further down is text.
        marked = start and self.encoding.name == "utf-8-sig"
        encoding = replace(self.encoding, name="utf-8") if marked else self.encoding
        return Rows(encoding.text(piece(stream, start)), self.start.dialect, len(self.start.table.header))


def cut(source: str, stream: BinaryIO, limits: Limits, size: int) -> DelimitedCutting | None:
    """Read a file once for its encoding, and choose where to cut; None if it is to be read whole."""
    if compression_of(stream.read(10)):
        return None
    encoding = find_encoding(lambda: piece(stream, 0), limits.encoding)
    if not lines_end_in_bytes(encoding.name):
        return None
    start, _ = find_table(source, encoding.text(piece(stream, 0)), encoding.quotes, limits)
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
