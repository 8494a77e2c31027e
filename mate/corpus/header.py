"""Where a table starts in a delimited text, how wide it is, and what its columns are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mate.corpus.rows import Row, usual_width
from mate.corpus.table import Limits, check_width

BODY_ROWS = 200
MOST_HEADER_ROWS = 8
UNSETTLED_ROWS = 6
"""Rows below the first that may belong to the header and do not count when columns are judged."""
SUPPORT = 0.1
"""Share of rows that must reach a width for the table to be that wide."""

NO_VALUE = frozenset(
    ("", "na", "nan", "null", "none", "n/a", "#n/a", "-", "--", "–", "—", ".", "..", "...", "…", "x", "/", "?", "*")
)  # fmt: skip
MEASURED = ("year", "date", "number")
"""Kinds of cells over which a word is a name."""
_SPLITS = tuple(map(re.compile, (r"\t", ";", ",", r"\|", r"\s+")))
_YEAR = re.compile(r"(?:1[6-9]|20)\d\d")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?:[T ][\d:.]+(?:Z|[+-][\d:]+)?)?|\d{1,2}:\d\d(?::\d\d)?")
_NUMBER = re.compile(r"[<>~]?\s*[-+−]?[.,]?\d[\d.,'\s]*(?:[eE][-+]?\d+)?\s*[%€$£]?|[€$£]\s*[-+]?\d[\d.,]*")


@dataclass(frozen=True, slots=True)
class TableShape:
    """How a sample of rows splits into what is above the table, its header and its width."""

    above: int
    """Rows before the header (or before the data, where there is no header)."""
    header_rows: int
    header: tuple[str, ...]
    joined: tuple[tuple[str, ...], ...] = ()
    """The rows that the header is joined of, if there are several."""


def find_header(rows: Sequence[Row], complete: bool, limits: Limits) -> TableShape:
    """Find preamble, header and width from the first rows; ``complete`` when these are all there are.

    The table starts with the first row that fills more than a title would. Its first row is a header unless it looks
    like the data below: a number over numbers, a date over dates, a value that comes again in its own column. Further
    rows that put words over columns of numbers belong to the header too, and their parts are joined: ``Gender /
    female``. A title between them shows that the rows before it are not part of the header. If no row of the table is
    a header, the line above may be one that was written with another delimiter.
    """
    width = _width(rows, complete)
    check_width(width, limits)
    above = _rows_above(rows, width)
    columns = _columns(rows[above:], width)
    above += _rows_above_last_title(rows[above:], columns)
    table = rows[above:]
    count = _header_rows(table, columns)
    if not count:
        return _named_otherwise(rows[:above], columns) or TableShape(above, 0, ("",) * width)
    if count == 1 and 2 * filled(table[0]) <= width and (shape := _named_otherwise(rows[: above + 1], columns)):
        return shape
    named = [_fit(row, width) for row in table[:count] if row]
    names = _shifted(_joined(named, columns), table[0], table[count:])
    return TableShape(above, count, names, tuple(map(tuple, named)) if len(named) > 1 else ())


def filled(row: Row) -> int:
    """Return the width of a row without its trailing empty cells."""
    width = len(row)
    while width and not row[width - 1].strip():
        width -= 1
    return width


# --- where the table is ---


def _width(rows: Sequence[Row], complete: bool) -> int:
    cells = [row for row in rows if row]
    wide = [row for row in cells if len(row) > 1] or cells
    width = usual_width(wide) or 1
    ends = Counter(map(filled, wide))
    needed = max(3, SUPPORT * len(wide))
    reached = [end for end in ends if sum(n for other, n in ends.items() if other >= end) >= needed]
    width = max([width, *reached])
    header = next((row for row in cells if not _is_title(row, width)), [])
    width = max(width, filled(header))
    return max(1, *ends) if complete and ends and max(ends) < width else width


def _rows_above(rows: Sequence[Row], width: int) -> int:
    above = next((i for i, row in enumerate(rows) if row and not _is_title(row, width)), 0)
    titles, table = (sum(map(bool, some)) for some in (rows[:above], rows[above:]))
    if titles < max(3, table):
        return above
    return next((i for i, row in enumerate(rows) if row), 0)


def _is_title(row: Row, width: int) -> bool:
    """Tell whether a row of a table that wide is a line of text and no row of cells."""
    end = filled(row)
    if width == 1:
        return end == 0
    if end <= 1:
        return end == 0 or len(row) == 1 or width > 2
    few = sum(1 for cell in row if cell.strip()) * 2 < width
    return few and (len(row) < width or row[0].lstrip().startswith("#"))


def _rows_above_last_title(table: Sequence[Row], columns: _Columns) -> int:
    """Return how many rows are above the header because a title follows them, and the header only then.

    A row that ends early and has nothing in the measured columns is a title, too.
    """
    start = [_fit(row, columns.width) for row in table[: 2 * MOST_HEADER_ROWS]]
    end = next((number for number, row in enumerate(start) if columns.has_measures(row)), 0)
    titles = [
        number
        for number, row in enumerate(table[:end])
        if row and (_is_title(row, columns.width) or (len(row) < columns.width and columns.lacks_values(start[number])))
    ]
    first = titles[-1] + 1 if titles else end
    named = any(columns.has_names(start[number]) for number in range(first, end) if table[number])
    return first if named else 0


# --- what its columns hold ---


def _kind(cell: str) -> str:
    """Return the kind of a cell: ``year``, ``date``, ``number``, ``text``, or nothing for no value."""
    text = cell.strip()
    if text.lower() in NO_VALUE:
        return ""
    if _YEAR.fullmatch(text):
        return "year"
    if _DATE.fullmatch(text):
        return "date"
    return "number" if _NUMBER.fullmatch(text) else "text"


def _column_kind(cells: list[str]) -> str:
    kinds = Counter(kind for kind in map(_kind, cells) if kind)
    if not kinds:
        return ""
    if kinds["year"] and kinds["number"]:
        kinds["number"] += kinds.pop("year")
    kind, count = kinds.most_common(1)[0]
    return kind if count >= 0.7 * kinds.total() else "text"


@dataclass(frozen=True, slots=True)
class _Columns:
    """What the rows of a table tell of its columns."""

    body: list[Row]
    kinds: list[str]
    constant: frozenset[int]
    """Those with one value in all rows, the first included: they do not tell what kind a row is."""
    measured: list[int]
    """Columns of numbers or dates, over which words are names."""

    @property
    def width(self) -> int:
        return len(self.kinds)

    def has_measures(self, row: Row) -> bool:
        """Tell whether a row has a number or date where its column has."""
        return any(_kind(row[column]) in MEASURED for column in self.measured)

    def lacks_values(self, row: Row) -> bool:
        """Tell whether a row has nothing in the measured columns."""
        return not any(_kind(row[column]) for column in self.measured)

    def has_names(self, row: Row, above: Row | None = None) -> bool:
        """Tell whether a row, not the first one of a header, has words over the measured columns.

        Of few such columns all have one, and the row leaves its own first cell empty, or the one above leaves a name.
        """
        kinds = [_kind(row[column]) for column in self.measured]
        words = sum(1 for column, kind in zip(self.measured, kinds, strict=True) if kind and _is_word(row[column]))
        if not words or any(kind not in ("", "text") for kind in kinds):
            return False
        if len(self.measured) >= 3:
            return True
        completes = above is not None and words > 1 and any(not above[column].strip() for column in self.measured)
        return words == len(self.measured) and (row[0] == "" or completes)


def _columns(table: Sequence[Row], width: int) -> _Columns:
    first = _fit(table[0], width) if table else [""] * width
    body = [_fit(row, width) for row in table[1 : BODY_ROWS + 1] if row]
    settled = body[min(UNSETTLED_ROWS, len(body) // 2) :]
    kinds = [_column_kind([row[column] for row in settled]) for column in range(width)]
    same = (c for c in range(width) if body and first[c].strip() and all(row[c] == first[c] for row in body))
    constant = frozenset(same)
    measured = [column for column, kind in enumerate(kinds) if kind in MEASURED and column not in constant]
    return _Columns(body, kinds, constant, measured)


def _fit(row: Row, width: int) -> Row:
    return row[:width] + [""] * (width - len(row))


def _is_word(cell: str) -> bool:
    return sum(character.isalpha() for character in cell) > 1


# --- which rows are the header ---


def _header_rows(table: Sequence[Row], columns: _Columns) -> int:
    """Return how many rows the header takes, 0 without one.

    A first row with nothing in the measured columns may be followed by others of that kind; any other header goes on
    as long as there are words over these columns.
    """
    if not table:
        return 0
    first, *others = (_fit(row, columns.width) for row in table[:MOST_HEADER_ROWS])
    lacks_values = columns.lacks_values(first)
    further = 0
    for offset, row in enumerate(others, start=1):
        if not table[offset] or (lacks_values and columns.lacks_values(row)):
            continue
        if not columns.has_names(row, first):
            break
        further = offset
    return 1 + further if (further and lacks_values) or _is_header(first, columns) else 0


def _is_header(row: Row, columns: _Columns) -> bool:
    numbered = row[1:] if row[0] == "" else row
    if not columns.body or (len(numbered) > 1 and numbered == list(map(str, range(len(numbered))))):
        return True
    votes = 0.0
    for column, (cell, kind) in enumerate(zip(row, columns.kinds, strict=True)):
        own = _kind(cell)
        if kind in MEASURED:
            votes += 1.0 if own == "text" else -1.0 if own == kind else 0.0
        elif own and any(other[column] == cell for other in columns.body):
            votes -= 0.5
    return votes >= 0


def _named_otherwise(above: Sequence[Row], columns: _Columns) -> TableShape | None:
    """Take the last line above as the header, if another delimiter splits it into as many names as columns."""
    lines = [number for number, row in enumerate(above) if filled(row)]
    if not lines or sum(kind in MEASURED for kind in columns.kinds) < 2:
        return None
    cells = [cell for cell in above[lines[-1]] if cell.strip()]
    for split in _SPLITS:
        names = tuple(name.strip() for cell in cells for name in split.split(cell.strip()))
        if len(names) == columns.width and len(set(names)) == len(names) and all(map(_is_word, names)):
            return TableShape(lines[-1], len(above) - lines[-1], names)
    return None


# --- what its columns are called ---


def _joined(rows: list[Row], columns: _Columns) -> tuple[str, ...]:
    if len(rows) < 2:
        return tuple(rows[0]) if rows else ("",) * columns.width
    rows = [["" if column in columns.constant else cell for column, cell in enumerate(row)] for row in rows]
    spread = [_spread(row, rows[number:], columns.kinds) for number, row in enumerate(rows, start=1)]
    return tuple(" / ".join(dict.fromkeys(filter(None, map(str.strip, parts)))) for parts in zip(*spread, strict=True))


def _spread(row: Row, below: list[Row], kinds: list[str]) -> Row:
    """Repeat a name in the empty cells to its right, as a merged cell does, where names stand below.

    The name of a column of texts is not repeated over a column of numbers. A cell that comes again below marks a line
    and is no name.
    """
    result: Row = []
    repeated, texts = "", False
    for column, cell in enumerate(row):
        if cell.strip():
            repeated = "" if any(under[column] == cell for under in below) else cell
            texts = kinds[column] == "text"
        elif not any(under[column].strip() for under in below) or (texts and kinds[column] in MEASURED):
            repeated = ""
        result.append(cell if cell.strip() else repeated)
    return result


def _shifted(names: tuple[str, ...], first: Row, body: Sequence[Row]) -> tuple[str, ...]:
    """Move names one to the right if every row begins with a row name that the header leaves out."""
    rows = [row for row in body if row][:BODY_ROWS]
    one_short = 0 < len(first) == len(names) - 1 and first[0].strip() != ""
    return ("", *names[:-1]) if one_short and rows and all(filled(row) == len(names) for row in rows) else names
