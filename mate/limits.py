"""What is taken in, and how; apart from the readers, so that the command line knows it without loading Arrow."""

from __future__ import annotations

from dataclasses import dataclass

MOST_PADDING = 100
"""How many times as wide as a row a table may be for the row to be filled up with empty cells."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How files are read and how much of a table is taken in; a limit that bites is reported as a reject."""

    cell_characters: int = 1_000
    """A longer cell is kept but not indexed (applied when tokens are made, not by the readers)."""
    columns: int = 2_000
    """A wider table is rejected whole."""
    rows: int = 10_000_000
    """Rows beyond this many are rejected, as one reject that says how many."""
    layout_tables: bool = False
    """Whether web tables that only lay out a page are taken in; left out, they are counted."""
    encoding: str | None = None
    """The encoding of all delimited files that do not begin with a mark of their own; found for each unless given."""
    chunk_cells: int = 200_000
    """Cells per chunk: what bounds a reader's memory."""
