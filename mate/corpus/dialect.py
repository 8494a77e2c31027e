"""Delimiter and quoting of a delimited text, and rows read by them, broken quotes included."""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, tee
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS = ",;\t|"
LONGEST_CELL = 1 << 20
LONGEST_ROW_LINES = 1_000
SCORED_ROWS = 300

Row = list[str]

_LINE_END = re.compile(r"\r\n|\r|\n")
_UNCLEAN = re.compile(r'["\t;|]|(?<!\d),(?=\S)|,(?=[^\d\s])|,\Z')
_BACKSLASH_QUOTE = '\\"'


@dataclass(frozen=True, slots=True)
class Dialect:
    """How cells are told apart and quoted."""

    delimiter: str = ","
    quoted: bool = True
    """False where the file has no quote at all, which reads faster."""
    backslash: bool = False
    """Quotes inside a cell are written ``\\"`` instead of ``""``."""
    padded: bool = False
    """A space follows each delimiter, also before an opening quote."""

    def reader(self, lines: Iterable[str]) -> Reader:
        """Return a strict reader: a quote that closes in the wrong place raises ``csv.Error``."""
        return csv.reader(lines, **self._settings())

    def _settings(self) -> dict[str, Any]:
        if not self.quoted:
            return {"delimiter": self.delimiter, "quoting": csv.QUOTE_NONE}
        return {
            "delimiter": self.delimiter,
            "strict": True,
            "doublequote": not self.backslash,
            "escapechar": "\\" if self.backslash else None,
            "skipinitialspace": self.padded,
        }


class Rows:
    """Rows of a text, a batch at a time; a blank line is an empty row.

    A row whose quotes do not close where a cell ends, or that runs on for more than `LONGEST_ROW_LINES`
    lines, has a stray quote in its first line: that line is read as it stands, and reading goes on with
    the next one, so that a stray quote costs one row and never the rest of the file.

    Where the lines are only a part of a text, those ``beyond`` it are lent to the row that begins in the part
    and ends after it. What is read from a line on where a row begins does not depend on the lines before it.
    """

    def __init__(self, lines: Iterable[str], dialect: Dialect, width: int = 0, beyond: Iterable[str] = ()) -> None:
        csv.field_size_limit(LONGEST_CELL)  # the module's default is shorter than a polygon may be
        self._dialect = dialect
        self._width = width
        self._lines = iter(lines)
        self._beyond = iter(beyond)
        self._lent: list[str] = []
        self._returned: Iterator[str] = iter(())
        self._restart([])
        self.line = 1
        """The line of the file where the next batch starts."""
        self.broken: list[int] = []
        """Lines of the last batch that were read as they stand."""
        self.borrowed = 0
        """Lines beyond the part that its last row took."""

    def take(self, count: int) -> list[Row]:
        """Return the next rows; fewer than ``count`` only at the end."""
        rows: list[Row] = []
        self.broken = []
        while len(rows) < count:
            part = self._part(count - len(rows))
            if not part:
                break
            rows += part
        return rows

    def _restart(self, returned: list[str]) -> None:
        """Read on, from lines that were read too early; lines are remembered until `_advance` goes past them."""
        self._returned = iter([*returned, *self._returned])
        self._remembered, ahead = tee(chain(self._returned, self._lines))
        self._reader = self._dialect.reader(ahead)
        self._passed = 0

    def _part(self, count: int) -> list[Row]:
        rows: list[Row] = []
        try:
            rows.extend(islice(self._reader, count))  # rows read before an error stay in the list
        except csv.Error:
            return self._salvage(rows)
        seen = self._reader.line_num - self._passed
        if seen - len(rows) >= LONGEST_ROW_LINES:
            sound = next((i for i, row in enumerate(rows) if lines_of(row) > LONGEST_ROW_LINES), None)
            if sound is not None:
                return self._salvage(rows[:sound])
        self._advance(seen)
        return rows

    def _advance(self, lines: int) -> None:
        deque(islice(self._remembered, lines), maxlen=0)
        self._passed += lines
        self.line += lines

    def _salvage(self, rows: list[Row]) -> list[Row]:
        """Return the rows before a broken one, and what is left of that."""
        seen = list(islice(self._remembered, self._reader.line_num - self._passed))
        sound = self._dialect.reader(iter(seen))
        deque(islice(sound, len(rows)), maxlen=0)
        self.line += sound.line_num
        rest = seen[sound.line_num :]
        following = next(self._remembered, None)
        if following is None and self._borrow():
            return [*rows, *self._across(rest)]
        broken, *rest = rest
        self._restart(rest if following is None else [*rest, following])
        self.broken.append(self.line)
        self.line += 1
        return [*rows, _as_it_stands(broken, self._dialect, self._width)]

    def _borrow(self) -> bool:
        """Take lines beyond the part, as many as tell whether its last row ends there; False if there are none."""
        self._lent = self._lent or list(islice(self._beyond, LONGEST_ROW_LINES + 1))
        return bool(self._lent)

    def _across(self, rest: list[str]) -> list[Row]:
        """Read one row from the last lines of the part and those beyond it."""
        whole = Rows([*rest, *self._lent], self._dialect, self._width)
        row = whole.take(1)
        used = whole.line - 1
        self.broken += [self.line] * len(whole.broken)
        self.line += used
        self.borrowed = max(0, used - len(rest))
        self._restart(rest[used:])
        return row


def lines_of(row: Row) -> int:
    """Count the lines that a row takes in its file."""
    return 1 + sum(len(_LINE_END.findall(cell)) for cell in row if "\n" in cell or "\r" in cell)


def _as_it_stands(line: str, dialect: Dialect, width: int) -> Row:
    """Split a line whose quotes make no sense; quotes around a whole cell are still taken off."""
    bare = line.rstrip("\r\n")
    cells = [_unquoted(cell) for cell in bare.split(dialect.delimiter)]
    if len(cells) == width or not width:
        return cells
    lenient = next(_lenient(bare, dialect.delimiter), cells)
    return lenient if len(lenient) == width else cells


def _lenient(line: str, delimiter: str) -> Iterator[Row]:
    try:
        yield from csv.reader([line], delimiter=delimiter)
    except csv.Error:
        return


def _unquoted(cell: str) -> str:
    if len(cell) > 1 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell


@dataclass(frozen=True, slots=True)
class _Trial:
    dialect: Dialect
    score: float
    width: int


def detect(lines: Sequence[str], quoted: bool) -> Dialect:
    """Find the dialect under which the lines fall into rows of one width with clean cells.

    A wrong delimiter shows in either: the widths vary from row to row, or cells still hold a delimiter.
    """
    text = "".join(lines)
    trials = [_trial(lines, dialect) for dialect in _candidates(text, quoted)]
    best = max(trials, key=lambda trial: (round(trial.score, 2), trial.width), default=None)
    return best.dialect if best and best.score > 0 else Dialect(quoted=quoted)


def _candidates(text: str, quoted: bool) -> Iterator[Dialect]:
    for delimiter in DELIMITERS:
        if delimiter not in text:
            continue
        yield Dialect(delimiter, quoted)
        if quoted and _BACKSLASH_QUOTE in text:
            yield Dialect(delimiter, backslash=True)
        if quoted and f'{delimiter} "' in text:
            yield Dialect(delimiter, padded=True)


def _trial(lines: Sequence[str], dialect: Dialect) -> _Trial:
    source = Rows(lines, dialect)
    rows = [row for row in source.take(len(lines)) if row]
    width = usual_width(rows)
    if width < 2:
        return _Trial(dialect, 0.0, 1)
    usual = [row for row in rows if len(row) == width]
    sound = 1 - len(source.broken) / len(rows)
    even = len(usual) / len(rows)
    return _Trial(dialect, even**2 * (1 + _clean_share(usual[:SCORED_ROWS])) * sound, width)


def usual_width(rows: Iterable[Row]) -> int:
    """Return the commonest width, the wider one of a tie; 0 without rows."""
    widths = Counter(map(len, rows))
    return max(widths, key=lambda width: (widths[width], width), default=0)


def _clean_share(rows: list[Row]) -> float:
    cells = sum(map(len, rows))
    unclean = sum(1 for row in rows for cell in row if _UNCLEAN.search(cell))
    return 1 - unclean / cells
