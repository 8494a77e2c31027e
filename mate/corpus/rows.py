"""Rows of a delimited text, read by its dialect; broken quotes cost the rows that they are in and no others."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _csv import Reader

LONGEST_CELL = 1 << 20
"""Characters of a cell after which its quote may be a stray one."""
LONGEST_ROW_LINES = 1_000
LARGE_CELL = 1 << 24
"""Characters of the longest cell that is taken, if the row fits the table with it."""
CHARACTERS = 1 << 26
"""Characters in memory at a time."""
STRAY_QUOTE = "stray quote, the line was read as it stands"
LONG_CELL = f"a cell of more than {LONGEST_CELL:,} characters in a row that does not fit, read as it stands"

Row = list[str]

_LINES = 16
_LINE_END = re.compile(r"\r\n|\r|\n")
_OPEN_AT_THE_END = "unexpected end of data"
_TOO_LONG = "field larger than field limit"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How cells are separated and quoted."""

    delimiter: str = ","
    quoted: bool = True
    """False where the file has no quote at all, which reads faster."""
    backslash: bool = False
    """Quotes inside a cell are written ``\\"`` instead of ``""``."""
    padded: bool = False
    """A space follows each delimiter, also before an opening quote."""

    def reader(self, lines: Iterable[str]) -> Reader:
        """Return a strict reader: a quote that closes in the wrong place raises ``csv.Error``."""
        if not self.quoted:
            return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE)
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            strict=True,
            doublequote=not self.backslash,
            escapechar="\\" if self.backslash else None,
            skipinitialspace=self.padded,
        )


@dataclass
class _OpenLines:
    """Lines known to be inside a quote that was opened before them and does not close in time.

    A row that begins in them and is open at the end of its first line does not close in time either, so it need not
    be read. This keeps a file of many stray quotes from taking quadratic time.
    """

    last: int = 0
    """Number of the last of them in the file."""
    end: str = ""
    """What follows in the next line: ``error``, ``close``, or nothing if it is not known."""


class Rows:
    """Rows of a text, a batch at a time; a blank line is an empty row.

    A row whose quotes do not close where a cell ends, or that has more than `LONGEST_ROW_LINES` lines, has a stray
    quote in its first line: that line is read as it stands, and reading goes on with the next one, so that a stray
    quote costs one row and never the rest of the file.

    If the lines are only a part of a text, the last row may take further lines from those ``beyond``. Rows do not
    depend on the lines before the one where they begin.
    """

    def __init__(self, lines: Iterable[str], dialect: Dialect, width: int = 0, beyond: Iterable[str] = ()) -> None:
        csv.field_size_limit(LONGEST_CELL)  # the module's default is shorter than a polygon may be
        self._dialect = dialect
        self._width = width
        self._source = iter(lines)
        self._beyond = iter(beyond)
        self._borrowable: list[str] = []
        self._ahead: list[str] = []
        self._ahead_characters = 0
        self._characters = 0
        self._open = _OpenLines()
        self.line = 1
        """The line of the file where the next batch starts."""
        self.broken: list[tuple[int, str]] = []
        """Lines of the last batch that were read as they stand, and why."""
        self.borrowed = 0
        """Lines beyond the part that its last row took."""

    def take(self, count: int) -> list[Row]:
        """Return the next rows; fewer than ``count`` only at the end, or where they are very long."""
        rows: list[Row] = []
        self.broken = []
        self._characters = 0
        while len(rows) < count and self._characters < CHARACTERS:
            part = self._from_open_lines(count - len(rows)) or self._part(count - len(rows))
            if not part:
                break
            rows += part
        return rows

    def _fill(self, lines: int) -> None:
        """Fetch lines until there are so many ahead, unless the text ends or they are very long."""
        while len(self._ahead) < lines and self._ahead_characters < CHARACTERS:
            more = list(islice(self._source, min(_LINES, lines - len(self._ahead))))
            if not more:
                return
            self._ahead += more
            self._ahead_characters += sum(map(len, more))

    def _part(self, count: int) -> list[Row]:
        self._fill(count + LONGEST_ROW_LINES if self._dialect.quoted else count)
        reader = self._dialect.reader(iter(self._ahead))
        rows: list[Row] = []
        error = None
        try:
            rows.extend(islice(reader, count))  # rows read before an error stay in the list
        except csv.Error as found:
            error = str(found)
        if reader.line_num - len(rows) >= LONGEST_ROW_LINES:
            long = next((i for i, row in enumerate(rows) if lines_of(row) > LONGEST_ROW_LINES), None)
            if long is not None:
                return self._before_broken(rows[:long]) or self._salvage(lines_of(rows[0]), "")
        if error is not None:
            return self._before_broken(rows) or self._salvage(reader.line_num, error)
        self._advance(reader.line_num)
        return rows

    def _before_broken(self, rows: list[Row]) -> list[Row]:
        """Go past the rows before a broken one, and return them."""
        reader = self._dialect.reader(iter(self._ahead))
        for _ in islice(reader, len(rows)):
            pass
        self._advance(reader.line_num)
        return rows

    def _advance(self, lines: int) -> None:
        characters = sum(map(len, islice(self._ahead, lines)))
        self._characters += characters
        self._ahead_characters -= characters
        del self._ahead[:lines]
        self.line += lines

    def _salvage(self, seen: int, error: str) -> list[Row]:
        """Return what is left of a broken row, of which so many lines were seen."""
        everything = seen == len(self._ahead) and not self._more()
        if everything and self._borrow():
            return self._row_across_end()
        if error.startswith(_TOO_LONG):
            reason = LONG_CELL if seen <= LONGEST_ROW_LINES else STRAY_QUOTE
            return self._row_with_large_cells() or [self._as_it_stands(reason)]
        self._open = self._left_open(seen, error, everything)
        return [self._as_it_stands()]

    def _more(self) -> bool:
        """Fetch one more line, if there is one."""
        count = len(self._ahead)
        self._ahead += islice(self._source, 1)
        self._ahead_characters += sum(map(len, self._ahead[count:]))
        return len(self._ahead) > count

    def _left_open(self, seen: int, error: str, everything: bool) -> _OpenLines:
        last = self.line + seen - 1
        if error == _OPEN_AT_THE_END:
            return _OpenLines(last, "error" if everything else "")
        return _OpenLines(last - 1, "error" if error else "close")

    def _from_open_lines(self, count: int) -> list[Row]:
        """Read a line that certainly has a stray quote as it stands, or some lines without quotes; else nothing."""
        if self.line > self._open.last:
            return []
        self._fill(1)
        if not self._leaves_open(self._ahead[:1]):
            inside = islice(self._ahead, min(count, self._open.last + 1 - self.line))
            return self._part(max(1, sum(1 for _ in takewhile(lambda line: '"' not in line, inside))))
        if self._runs_on():
            return [self._as_it_stands()]
        self._open = _OpenLines()
        return []

    def _runs_on(self) -> bool:
        """Tell whether a row that begins here, and is open, does not close in time; read further lines if needed."""
        lines = self._open.last + 1 - self.line
        while self._open.end == "" and lines < LONGEST_ROW_LINES:
            self._fill(lines + 1)
            if lines >= len(self._ahead) or not self._leaves_open(['"\n', self._ahead[lines]]):
                return False
            self._open.last += 1
            lines += 1
        return self._open.end == "error" or lines >= LONGEST_ROW_LINES

    def _leaves_open(self, lines: list[str]) -> bool:
        """Tell whether a quoted cell is still open where lines end."""
        try:
            for _ in self._dialect.reader(lines):
                pass
        except csv.Error as error:
            return str(error) == _OPEN_AT_THE_END
        return False

    def _row_with_large_cells(self) -> list[Row]:
        """Read a row with a very long cell, if it fits the table."""
        csv.field_size_limit(LARGE_CELL)
        try:
            reader = self._dialect.reader(iter(self._ahead))
            row = next(reader, [])
            if len(row) != (self._width or len(row)) or reader.line_num > LONGEST_ROW_LINES:
                return []
            self._advance(reader.line_num)
            return [row]
        except csv.Error:
            return []
        finally:
            csv.field_size_limit(LONGEST_CELL)

    def _as_it_stands(self, reason: str = STRAY_QUOTE) -> Row:
        """Split a line whose quotes make no sense; quotes around a whole cell are still removed."""
        self.broken.append((self.line, reason))
        bare = self._ahead[0].rstrip("\r\n")
        self._advance(1)
        delimiter, width = self._dialect.delimiter, self._width
        cells = [_unquoted(cell) for cell in bare.split(delimiter)]
        if len(cells) == width or not width:
            return cells
        try:
            lenient = next(csv.reader([bare], delimiter=delimiter), cells)
        except csv.Error:
            return cells
        return lenient if len(lenient) == width else cells

    def _borrow(self) -> bool:
        """Fetch lines beyond the part, enough to see where its last row ends; False if there are none."""
        self._borrowable = self._borrowable or list(islice(self._beyond, LONGEST_ROW_LINES + 1))
        return bool(self._borrowable)

    def _row_across_end(self) -> list[Row]:
        """Read one row from the last lines of the part and those beyond it."""
        whole = Rows([*self._ahead, *self._borrowable], self._dialect, self._width)
        row = whole.take(1)
        used = whole.line - 1
        self.broken += [(self.line, reason) for _, reason in whole.broken]
        self.borrowed = max(0, used - len(self._ahead))
        self._advance(min(used, len(self._ahead)))
        self.line += self.borrowed
        return row


def lines_of(row: Row) -> int:
    """Count the lines that a row takes in its file."""
    return 1 + sum(len(_LINE_END.findall(cell)) for cell in row if "\n" in cell or "\r" in cell)


def _unquoted(cell: str) -> str:
    if len(cell) > 1 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell
