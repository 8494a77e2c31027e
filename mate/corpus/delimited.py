"""CSV and its kin as published: any delimiter, quoting and encoding, with text above and below the table.

Nothing is asked of the user and nothing is trusted but the bytes. The file is read twice: once for its
encoding (and to see a damaged compressed file before any row of it is given out), once for its rows.

What happens to what is not a row of the table:

- Lines above the header and a footer below the table are one reject each (kind ``row``, with their count).
- A short row is padded with nulls. Empty cells beyond the last column are dropped; a row with other cells
  there is rejected. Blank lines are skipped.
- A line with a stray quote is read as it stands, and counted.
- A file that holds no table (another format, no rows, undecodable, compressed and cut off) is one reject
  of kind ``file``. A truncated compressed file is refused whole, since half a table looks like a table.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import PurePath
from typing import BinaryIO

import pyarrow as pa

from mate.corpus.compression import DAMAGE, SUFFIXES, damage, plain, rewindable
from mate.corpus.dialect import Row, Rows, detect, lines_of
from mate.corpus.encoding import survey
from mate.corpus.header import Shape, filled, find_shape
from mate.corpus.table import Chunk, Limits, Reject, Table
from mate.corpus.tally import Tally
from mate.errors import CorpusError

SAMPLE_LINES = 1_000
SAMPLE_CHARACTERS = 1 << 18
FEWEST_LINES = 20

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
        found = survey(lambda: plain(stream)[0])
    except DAMAGE as error:
        raise CorpusError(damage(error, packed)) from error
    text = io.TextIOWrapper(plain(stream)[0], found.encoding, found.errors, newline="")
    try:
        yield from _Reading(source, text, found.quotes, limits).run()
    finally:
        text.detach()  # the caller's stream stays open


def _sample(text: io.TextIOWrapper) -> tuple[list[str], bool]:
    """Return the first lines, enough to know the table by, and whether they are all there are."""
    lines: list[str] = []
    characters = 0
    while len(lines) < SAMPLE_LINES and (characters < SAMPLE_CHARACTERS or len(lines) < FEWEST_LINES):
        line = text.readline()
        if not line:
            return lines, True
        lines.append(line)
        characters += len(line)
    return lines, False


class _Reading:
    """One file on its way to chunks."""

    def __init__(self, source: str, text: io.TextIOWrapper, quoted: bool, limits: Limits) -> None:
        self._limits = limits
        self._tally = Tally(source, "row")
        self._given = 0
        sample, complete = _sample(text)
        dialect = detect(sample, quoted)
        shape = find_shape(Rows(sample, dialect).take(len(sample)), complete)
        self._width = len(shape.header)
        self._rows = Rows(chain(sample, text), dialect, self._width)
        self._skip_above(shape)
        self._table = Table(source, 0, self._rows.line, table_name(source), shape.header)
        self._rows.take(shape.header_rows)

    def run(self) -> Iterator[Chunk | Reject]:
        if self._width > self._limits.columns:
            raise CorpusError(f"{self._width} columns, more than the limit of {self._limits.columns}")
        for line, rows in self._batches():
            cells = self._cells(line, self._within_limit(line, rows))
            if cells:
                yield self._chunk(cells)
        if not self._given:
            raise CorpusError("no data rows")
        yield from self._tally.rejects()

    def _skip_above(self, shape: Shape) -> None:
        line = self._rows.line
        for row in self._rows.take(shape.above):
            if row:
                self._tally.add(line, "line above the header")
            line += lines_of(row)

    def _batches(self) -> Iterator[tuple[int, list[Row]]]:
        """Yield rows a chunk at a time, one behind, so that the footer is seen before it is given out."""
        size = max(1, self._limits.chunk_cells // self._width)
        line, held = self._rows.line, self._take(size)
        while len(held) >= size:
            next_line, rows = self._rows.line, self._take(size)
            if len(rows) < size:
                held += rows
                break
            yield line, held
            line, held = next_line, rows
        held = self._without_footer(line, held)
        yield line, held[:size]
        yield line + sum(map(lines_of, held[:size])), held[size:]

    def _take(self, size: int) -> list[Row]:
        rows = self._rows.take(size)
        for line in self._rows.broken:
            self._tally.add(line, "stray quote, the line was read as it stands")
        return rows

    def _without_footer(self, line: int, rows: list[Row]) -> list[Row]:
        end = _footer_start(rows, self._width)
        line += sum(map(lines_of, rows[:end]))
        for row in rows[end:]:
            if filled(row):
                self._tally.add(line, "footer line")
            line += lines_of(row)
        return rows[:end]

    def _within_limit(self, line: int, rows: list[Row]) -> list[Row]:
        room = self._limits.rows - self._given
        if len(rows) <= room:
            return rows
        line += sum(map(lines_of, rows[:room]))
        self._tally.add(line, f"beyond the limit of {self._limits.rows} rows", len(rows) - room)
        return rows[:room]

    def _cells(self, line: int, rows: list[Row]) -> list[str | None]:
        """Return the rows' cells one after the other; rows of the right width cost no look at each."""
        if set(map(len, rows)) == {self._width}:
            return list(chain.from_iterable(rows))
        cells: list[str | None] = []
        for row in rows:
            self._add(cells, row, line)
            line += lines_of(row)
        return cells

    def _add(self, cells: list[str | None], row: Row, line: int) -> None:
        missing = self._width - len(row)
        if missing == 0:
            cells += row
        elif len(row) <= 1 and not "".join(row).strip(_BLANK):
            return
        elif missing > 0:
            cells += row
            cells += [None] * missing
        elif filled(row) <= self._width:
            cells += row[: self._width]
        else:
            self._tally.add(line, f"{filled(row)} cells where the header has {self._width}")

    def _chunk(self, cells: list[str | None]) -> Chunk:
        chunk = Chunk(self._table, self._given, pa.array(cells, pa.string()))
        self._given += chunk.rows
        return chunk


def _footer_start(rows: list[Row], width: int) -> int:
    """Return where the footer begins: lines of text, not cells, that run to the end of the file."""
    if width < 2:
        return len(rows)
    start = len(rows)
    while start and filled(rows[start - 1]) <= 1 and "".join(rows[start - 1][1:]).strip() == "":
        start -= 1
    for index in range(start, len(rows)):
        lines = [row for row in rows[index:] if filled(row)]
        if lines and (_FOOTER.match(lines[0][0]) or (width > 2 and all(len(row) == 1 for row in lines))):
            return index
    return len(rows)


def table_name(source: str) -> str:
    """Return the file's name without folder and endings: ``data/towns.csv.gz`` is ``towns``."""
    path = PurePath(source)
    return PurePath(path.stem).stem if path.suffix.lower() in SUFFIXES else path.stem
