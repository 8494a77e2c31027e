"""What every reader yields: chunks of tables, and rejects with their place and reason."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from mate.limits import Limits

__all__ = ["Chunk", "Limits", "Reject", "Table"]


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
    """One name a column; an empty string where the source has none."""


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
