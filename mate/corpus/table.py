"""What every reader yields: chunks of tables, and rejects with their place and reason."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


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


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a table is taken in; a limit that bites is reported as a reject."""

    cell_characters: int = 1_000
    """A longer cell is kept but not indexed (applied when tokens are made, not by the readers)."""
    columns: int = 2_000
    """A wider table is rejected whole."""
    rows: int = 10_000_000
    """Rows beyond this many are rejected, as one reject that says how many."""
    chunk_cells: int = 200_000
    """Cells per chunk: what bounds a reader's memory."""
