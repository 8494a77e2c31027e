"""CSV and its kin as published: any delimiter, quoting and encoding, with text above and below the table.

Nothing is asked of the user and nothing is trusted but the bytes. The file is read twice: once for its
encoding (and to see a damaged compressed file before any row of it is given out), once for its rows.

What happens to what is not a row of the table:

- Lines above the header and a footer below the table are one reject each (kind ``row``, with their count).
- A short row is padded with nulls. Empty cells beyond the last column are dropped; a row with other cells
  there is rejected. Blank lines are skipped.
- A line with a stray quote, or with a cell that is too long to be one, is read as it stands, and counted.
- A file that holds no table (another format, no rows, undecodable, compressed and cut off) is one reject
  of kind ``file``. A truncated compressed file is refused whole, since half a table looks like a table.
"""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath
from typing import BinaryIO

import pyarrow as pa

from mate.corpus.compression import DAMAGE, SUFFIXES, damage, plain, rewindable
from mate.corpus.dialect import Dialect, detect
from mate.corpus.encoding import Survey, survey
from mate.corpus.header import check_width, filled, find_shape
from mate.corpus.rows import CHARACTERS, Row, Rows, lines_of
from mate.corpus.table import Chunk, Limits, Reject, Table
from mate.corpus.tally import Tally
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


def read(source: str, stream: BinaryIO, limits: Limits | None = None) -> Iterator[Chunk | Reject]:
    """Yield the table of a delimited text file, compressed or not."""
    try:
        yield from _read(source, rewindable(stream), limits or Limits())
    except CorpusError as error:
        yield Reject(source, None, "file", str(error))


def _read(source: str, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
    _, packed = plain(stream)
    try:
        found = survey(lambda: plain(stream)[0], limits.encoding)
    except DAMAGE as error:
        raise CorpusError(damage(error, packed)) from error
    text = io.TextIOWrapper(plain(stream)[0], found.encoding, found.errors, newline="")
    try:
        frame, rows = find_frame(source, text, found.quotes, limits)
        reading = Reading(rows, frame, limits)
        yield from reading.chunks(reading.batches(last=True))
        if not reading.given:
            raise CorpusError("no data rows")
        reading.tally.merge(frame.above)
        yield from reading.tally.rejects()
        yield from encoding_rejects(source, found)
    finally:
        text.detach()  # the caller's stream stays open


def encoding_rejects(source: str, found: Survey) -> Iterator[Reject]:
    """Report what may be wrong with the encoding that a text was read in."""
    if found.doubt:
        yield Reject(source, None, "cell", f"{found.doubt}; --encoding says which it is")
    if found.undecodable:
        reason = f"bytes that are not {found.encoding}, each read as \ufffd; --encoding names another encoding"
        yield Reject(source, None, "cell", reason, found.undecodable)


@dataclass(frozen=True, slots=True)
class Frame:
    """What the first lines of a file tell of its table."""

    table: Table
    dialect: Dialect
    line: int
    """The line where its rows begin."""
    above: Tally
    """What stands above the header."""


def find_frame(source: str, text: io.TextIOWrapper, quoted: bool, limits: Limits) -> tuple[Frame, Rows]:
    """Return the frame of a text, and its rows from the first one below the header on."""
    sample, complete = _sample(text)
    dialect = detect(sample, quoted)
    shape = find_shape(Rows(sample, dialect).take(len(sample)), complete, limits.columns)
    width = len(shape.header)
    check_width(width, limits.columns)
    rows = Rows(chain(sample, text), dialect, width)
    above = Tally(source, "row")
    line = rows.line
    for row in rows.take(shape.above):
        if row:
            above.add(line, "line above the header")
        line += lines_of(row)
    table = Table(source, 0, rows.line, table_name(source), shape.header)
    rows.take(shape.header_rows)
    return Frame(table, dialect, rows.line, above), rows


def _sample(text: io.TextIOWrapper) -> tuple[list[str], bool]:
    """Return the first lines, enough to know the table by, and whether they are all there are."""
    lines: list[str] = []
    characters = 0
    while len(lines) < SAMPLE_LINES and (characters < SAMPLE_CHARACTERS or len(lines) < FEWEST_LINES):
        if characters > CHARACTERS // 4:
            break
        line = text.readline()
        if not line:
            return lines, True
        lines.append(line)
        characters += len(line)
    return lines, False


class Reading:
    """Rows on their way to the index: those that fit the table; the others are counted by reason."""

    def __init__(self, rows: Rows, frame: Frame, limits: Limits, first_row: int = 0, room: int | None = None) -> None:
        self._rows = rows
        self._table = frame.table
        self._width = len(frame.table.header)
        self._size = max(1, min(limits.chunk_cells, BATCH_CELLS) // self._width)
        self._limit = limits.rows
        self._room = limits.rows if room is None else room
        self._first_row = first_row
        self.tally = Tally(frame.table.source, "row")
        self.given = 0
        """Rows that were given out."""
        self.first_line = 0
        """The line of the first row that fits the table."""
        self.footer_like = False
        """Whether everything that was read could be a footer, of which more may stand before."""

    def chunks(self, batches: Iterable[Sequence[Cells]]) -> Iterator[Chunk]:
        """Yield batches of rows as chunks of the table."""
        row = self._first_row
        for rows in batches:
            if rows:
                yield Chunk(self._table, row, pa.array(list(chain.from_iterable(rows)), pa.string()))
                row += len(rows)

    def batches(self, last: bool) -> Iterator[Sequence[Cells]]:
        """Yield the rows that are indexed, a batch at a time; the last ones of the file without its footer."""
        for line, rows in self._without_footer() if last else self._taken():
            kept = self._kept(line, rows)
            self.given += len(kept)
            yield kept

    def _taken(self) -> Iterator[tuple[int, list[Row]]]:
        """Yield batches of rows, each with its line."""
        line = self._rows.line
        while rows := self._rows.take(self._size):
            for broken, reason in self._rows.broken:
                self.tally.add(broken, reason)
            yield line, rows
            line = self._rows.line

    def _without_footer(self) -> Iterator[tuple[int, list[Row]]]:
        """Yield batches, but hold back so many rows that a footer is seen before it is given out."""
        held: deque[tuple[int, list[Row]]] = deque()
        waiting = 0
        for line, rows in self._taken():
            held.append((line, rows))
            waiting += len(rows)
            while waiting - len(held[0][1]) >= FOOTER_ROWS:
                waiting -= len(held[0][1])
                yield held.popleft()
        table_rows, self.footer_like = _footer_start(list(chain.from_iterable(rows for _, rows in held)), self._width)
        for line, rows in held:
            kept, footer = rows[:table_rows], rows[table_rows:]
            table_rows -= len(kept)
            if kept:
                yield line, kept
            if footer:
                self._count_footer(line + sum(map(lines_of, kept)), footer)

    def _count_footer(self, line: int, rows: list[Row]) -> None:
        for row in rows:
            if filled(row):
                self.tally.add(line, "footer line")
            line += lines_of(row)

    def _kept(self, line: int, rows: list[Row]) -> Sequence[Cells]:
        """Return the rows that fit, up to the limit; rows of the right width cost no look at each."""
        if self.given + len(rows) <= self._room and set(map(len, rows)) == {self._width}:
            self.first_line = self.first_line or line
            return rows
        kept: list[Cells] = []
        for row in rows:
            if fitting := self._fitted(row, line):
                self.first_line = self.first_line or line
                if self.given + len(kept) < self._room:
                    kept.append(fitting)
                else:
                    self.tally.add(line, f"beyond the limit of {self._limit} rows")
            line += lines_of(row)
        return kept

    def _fitted(self, row: Row, line: int) -> Cells | None:
        """Return a row in the table's width; None for a blank line and for one with too many cells."""
        missing = self._width - len(row)
        if missing == 0:
            return row
        if len(row) <= 1 and not "".join(row).strip(_BLANK):
            return None
        if missing > 0 and self._width > MOST_PADDING * len(row):
            self.tally.add(line, f"too few cells to be a row of {self._width}")
            return None
        if missing > 0:
            return [*row, *[None] * missing]
        if filled(row) <= self._width:
            return row[: self._width]
        self.tally.add(line, f"{filled(row)} cells where the header has {self._width}")
        return None


def _footer_start(rows: list[Row], width: int) -> tuple[int, bool]:
    """Return where the footer begins: lines of text, not cells, that run to the end of the file.

    Also whether such lines are all there are, so that more of them may stand before.
    """
    if width < 2:
        return len(rows), False
    found = len(rows)
    first, alone = "", True
    for index in range(len(rows) - 1, max(-1, len(rows) - 1 - FOOTER_ROWS), -1):
        row = rows[index]
        if filled(row) > 1:
            return found, False
        if filled(row):
            first, alone = row[0], alone and len(row) == 1
        if first and (_FOOTER.match(first) or (width > 2 and alone)):
            found = index
    return found, len(rows) < FOOTER_ROWS


def table_name(source: str) -> str:
    """Return the file's name without folder and endings: ``data/towns.csv.gz`` is ``towns``."""
    path = PurePath(source)
    return PurePath(path.stem).stem if path.suffix.lower() in SUFFIXES else path.stem
