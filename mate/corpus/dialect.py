"""Delimiter and quoting of a delimited text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from mate.corpus.rows import CsvDialect, Row, Rows

DELIMITERS = ",;\t|"
SCORED_ROWS = 300

_UNCLEAN = re.compile(r'["\t;|]|(?<!\d),(?=\S)|,(?=[^\d\s])|,\Z')
_BACKSLASH_QUOTE = '\\"'


def detect(lines: Sequence[str], quoted: bool) -> CsvDialect:
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
        if quoted and _BACKSLASH_QUOTE in text:
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
