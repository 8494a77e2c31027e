"""Delimiter, quoting and rows of a delimited text; broken quotes cost the rows that they are in and no others."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _csv import Reader

LONGEST_CELL = 1 << 24
"""Characters of a cell after which its quote is taken for a stray one."""
LONGEST_ROW_LINES = 1_000
CHARACTERS = 1 << 26
"""Characters in memory at a time."""
STRAY_QUOTE = "stray quote, the line was read as it stands"

DELIMITERS = ",;\t|"
SCORED_ROWS = 300

Row = list[str]

_LINES = 16
_UNCLEAN = re.compile(r'["\t;|]|(?<!\d),(?=\S)|,(?=[^\d\s])|,\Z')
_LINE_END = re.compile(r"\r\n|\r|\n")
_OPEN_AT_THE_END = "unexpected end of data"
_MISPLACED = "'"
"""How the message begins if a cell does not end behind its closing quote: ``',' expected after '"'``."""


@dataclass(frozen=True, slots=True)
class CsvDialect:
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


class Rows:
    """Rows of a text, a batch at a time; a blank line is an empty row.

    A row whose quotes do not close where a cell ends, or that has more than `LONGEST_ROW_LINES` lines, has a stray
    quote in its first line: that line is read as it stands, and reading goes on with the next one, so that a stray
    quote costs one row and never the rest of the file.

    Rows do not depend on the lines before the one where they begin.
    """

    def __init__(self, lines: Iterable[str], dialect: CsvDialect, width: int = 0) -> None:
        csv.field_size_limit(LONGEST_CELL)  # the module's default is shorter than a polygon may be
        self._dialect = dialect
        self._width = width
        self._source = iter(lines)
        self._ahead: list[str] = []
        self._ahead_characters = 0
        self._taken_characters = 0
        self._complete = False
        """Whether the lines ahead are all there are."""
        self._open_until = 0
        """The last line known to be inside a stray quote, if that does not close where it should."""
        self._open_for_good = False
        """Whether no quote closes that is open until there."""
        self.line = 1
        """The line of the file where the next batch starts."""
        self.broken: list[tuple[int, str]] = []
        """Lines of the last batch that were read as they stand, and why."""

    def take(self, count: int) -> list[Row]:
        """Return the next rows; fewer than ``count`` only at the end, or where they are very long."""
        rows: list[Row] = []
        self.broken = []
        self._taken_characters = 0
        while len(rows) < count and self._taken_characters < CHARACTERS and (more := self._next(count - len(rows))):
            rows += more
        return rows

    def _next(self, count: int) -> list[Row]:
        """Return one row or more, as long as there are any."""
        if self.line <= self._open_until:
            if not self._leaves_open(self._ahead[0]):
                count = 1
            elif self._open_for_good or self._open_until - self.line >= LONGEST_ROW_LINES:
                return [self._as_it_stands()]  # not read up to there again: it would take quadratic time
        self._fill(count + LONGEST_ROW_LINES if self._dialect.quoted else count)
        reader = self._dialect.reader(iter(self._ahead))
        rows: list[Row] = []
        error = ""
        try:
            rows.extend(islice(reader, count))  # rows read before an error stay in the list
        except csv.Error as found:
            error = str(found)
        sound = len(rows)
        if reader.line_num - sound >= LONGEST_ROW_LINES:
            sound = next((number for number, row in enumerate(rows) if lines_of(row) > LONGEST_ROW_LINES), sound)
        if sound == len(rows) and not error:
            self._advance(reader.line_num)
            return rows
        if sound:
            return self._next(sound)
        self._open_until = self.line + (lines_of(rows[0]) if rows else reader.line_num) - 2
        never_closes = error == _OPEN_AT_THE_END and self._complete
        self._open_for_good = not rows and (never_closes or error.startswith(_MISPLACED))
        return [self._as_it_stands()]

    def _fill(self, lines: int) -> None:
        """Fetch lines until there are so many ahead, unless the text ends or they are very long."""
        while len(self._ahead) < lines and self._ahead_characters < CHARACTERS and not self._complete:
            more = list(islice(self._source, min(_LINES, lines - len(self._ahead))))
            self._complete = not more
            self._ahead += more
            self._ahead_characters += sum(map(len, more))

    def _advance(self, lines: int) -> None:
        characters = sum(map(len, islice(self._ahead, lines)))
        self._taken_characters += characters
        self._ahead_characters -= characters
        del self._ahead[:lines]
        self.line += lines

    def _leaves_open(self, line: str) -> bool:
        """Tell whether a quoted cell is still open where a line ends."""
        try:
            for _ in self._dialect.reader([line]):
                pass
        except csv.Error as error:
            return str(error) == _OPEN_AT_THE_END
        return False

    def _as_it_stands(self) -> Row:
        """Split a line whose quotes make no sense; quotes around a whole cell are still removed."""
        self.broken.append((self.line, STRAY_QUOTE))
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


def lines_of(row: Row) -> int:
    """Count the lines that a row takes in its file."""
    return 1 + sum(len(_LINE_END.findall(cell)) for cell in row if "\n" in cell or "\r" in cell)


def _unquoted(cell: str) -> str:
    if len(cell) > 1 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell


def find_dialect(lines: Sequence[str], quoted: bool) -> CsvDialect:
    """Find the dialect under which the lines fall into rows of one width with clean cells.

    A wrong delimiter shows in either: the widths vary from row to row, or cells still hold a delimiter.
    """
    best = CsvDialect(quoted=quoted)
    best_score = (0.0, 0)
    for dialect in _candidates("".join(lines), quoted):
        score, width = _score(lines, dialect)
        if score > 0 and (round(score, 2), width) > best_score:
            best, best_score = dialect, (round(score, 2), width)
    return best


def _candidates(text: str, quoted: bool) -> Iterator[CsvDialect]:
    for delimiter in DELIMITERS:
        if delimiter not in text:
            continue
        yield CsvDialect(delimiter, quoted)
        if quoted and '\\"' in text:
            yield CsvDialect(delimiter, backslash=True)
        if quoted and f'{delimiter} "' in text:
            yield CsvDialect(delimiter, padded=True)


def _score(lines: Sequence[str], dialect: CsvDialect) -> tuple[float, int]:
    """Score the rows that a dialect gives, and return their width."""
    source = Rows(lines, dialect)
    rows = [row for row in source.take(len(lines)) if row]
    width = usual_width(rows)
    if width < 2:
        return 0.0, 1
    usual = [row for row in rows if len(row) == width]
    cells = [cell for row in usual[:SCORED_ROWS] for cell in row]
    clean = 1 - sum(1 for cell in cells if _UNCLEAN.search(cell)) / len(cells)
    unbroken = 1 - len(source.broken) / len(rows)
    even = len(usual) / len(rows)
    return even**2 * (1 + clean) * unbroken, width


def usual_width(rows: Iterable[Row]) -> int:
    """Return the most frequent width, the wider one of a tie; 0 without rows."""
    widths = Counter(map(len, rows))
    return max(widths, key=lambda width: (widths[width], width), default=0)
