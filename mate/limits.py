"""Limits of reading; apart from the readers, so that the command line need not import Arrow."""

from __future__ import annotations

from dataclasses import dataclass

MOST_PADDING = 100
"""A row is filled up with empty cells if the table is at most this many times as wide."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How files are read, and how much of a table; what a limit cuts off is reported as a reject."""

    cell_characters: int = 1_000
    """A longer cell is stored but not indexed."""
    columns: int = 2_000
    """A wider table is rejected."""
    rows: int = 10_000_000
    """Further rows are rejected, as one reject with their number."""
    layout_tables: bool = False
    """Whether to read web tables that only lay out a page; otherwise they are counted."""
    encoding: str | None = None
    """The encoding of all delimited files without a byte order mark; detected for each by default."""
    chunk_cells: int = 200_000
    """Cells per chunk, which bounds a reader's memory."""
