"""What every reader yields: chunks of tables, and rejects with their place and reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from mate.errors import CorpusError
from mate.limits import Limits

__all__ = ["Chunk", "Limits", "Reject", "RejectCounts", "Table", "check_width", "rows_beyond"]


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the corpus, as found in its source; its rows travel in chunks."""

    source: str
    """The file that holds it, as a path or URI."""
    position: int
    """Its ordinal among the tables of that file, from 0."""
    line: int
    """The 1-based line (or record) of the file where it starts."""
    name: str
    """A name for people: the page title, the file's stem."""
    header: tuple[str, ...]
    """One name per column; an empty string where the source has none."""
    header_rows: tuple[tuple[str, ...], ...] = ()
    """The rows that these names are joined of, if there are several."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows of one table, row-major: cell (row, column) is ``cells[row * width + column]``."""

    table: Table
    first_row: int
    cells: pa.StringArray

    @property
    def rows(self) -> int:
        """Number of rows in this chunk."""
        return len(self.cells) // len(self.table.header)


@dataclass(frozen=True, slots=True)
class Reject:
    """Something that was not indexed, with the place where a person can look at it."""

    source: str
    line: int | None
    """1-based line or record in the file, None when the whole file is meant."""
    kind: str
    """``file``, ``record`` (a table of a shard), ``row`` or ``cell``."""
    reason: str
    count: int = 1
    """How many of that kind this reject stands for, ``line`` being the first of them."""


class RejectCounts:
    """Rejects of one file and kind, counted by reason: a million bad rows make one line in a report."""

    def __init__(self, source: str, kind: str) -> None:
        self._source = source
        self._kind = kind
        self._counts: dict[str, tuple[int, int]] = {}

    def add(self, line: int, reason: str, count: int = 1) -> None:
        """Count one more (or ``count`` more) of this reason; the first line is kept."""
        first, before = self._counts.get(reason, (line, 0))
        self._counts[reason] = (min(first, line), before + count)

    def merge(self, other: RejectCounts, lines_before: int = 0) -> None:
        """Add what was counted elsewhere, in lines that follow so many others."""
        for reason, (line, count) in other._counts.items():
            self.add(lines_before + line, reason, count)

    def rejects(self) -> Iterator[Reject]:
        """Yield one reject per reason, in order of line."""
        for reason, (line, count) in sorted(self._counts.items(), key=lambda item: item[1]):
            yield Reject(self._source, line, self._kind, reason, count)


def rows_beyond(source: str, limits: Limits, rows: int, line: int | None = None) -> Iterator[Reject]:
    """Report rows beyond the limit, if there are any; by default, the place is the first of them."""
    if rows > 0:
        yield Reject(source, line or limits.rows + 1, "row", f"beyond the limit of {limits.rows} rows", rows)


def check_width(width: int, limits: Limits) -> None:
    """Refuse a table that is too wide."""
    if width > limits.columns:
        raise CorpusError(f"{width} columns, more than the limit of {limits.columns}")
