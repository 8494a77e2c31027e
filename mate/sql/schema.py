"""The tables of an index in a database, the same in every one.

An index is a *generation* of tables, ``postings_7`` and so on, that one build fills; changes are made in it.
Which one is in use is said by one record of ``manifest``: that is what publishing writes.

    postings_N      by token: table, row and column; with the layout per_cell also the super keys of the row
    cells_N         by table and row: one record per cell, its token and its text, also where it has no token
    super_keys_N    by table and row, with the layout per_row only
    tokens_N        the dictionary, merged from ``token_counts_N``, which has that of every segment and is then dropped
    tables_N, columns_N, sources_N, rejects_N, load_log_N

Rows are counted within their table. Cells are records and not arrays or JSON, because every database has whole numbers
and texts, and because a record per cell is what sorts and compresses in a column store.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

NO_CELL = -2
"""Stands in token_id for a cell that is null; one without a token has -1. Neither is a token's number."""

PIECE = 8_000
"""Octets of a cell in one record; a longer cell takes several, so that no declared length limits it."""

LAYOUTS = ("per_cell", "per_row")
"""Super keys in every posting, which a look-up finds at once, or once per row, which takes less room."""

MANIFEST, BUILDS, TOKEN_COUNTS = "manifest", "builds", "token_counts"
BUCKET_SHIFT = 51
"""A token's bucket is its number without so many low bits: 4,096 buckets."""


class Content(Enum):
    """What a column holds; a dialect knows the type."""

    NUMBER = "number"
    """63 bits."""
    PLACE = "place"
    """Number of a table, row, column or piece."""
    KEY = "key"
    """A super key of `size` octets."""
    WIDE_KEY = "wide key"
    """A super key of any number of octets."""
    PRINTS = "prints"
    """Fingerprints, a character each."""
    PRINT = "print"
    """One of them."""
    TOKEN = "token"
    """A text of at most `size` characters that is compared and grouped by."""
    CELL = "cell"
    """A text of at most `PIECE` octets."""
    PATH = "path"
    TEXT = "text"
    WORD = "word"
    """A text of at most 64 octets."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    kind: Content = Content.NUMBER
    size: int = 0
    required: bool = True
    repeats: bool = False
    """Whether equal values follow each other in the order of the table, many of them."""


class Table(NamedTuple):
    """A table of a generation."""

    name: str
    columns: tuple[Column, ...]
    order: tuple[str, ...] = ()
    """Columns that it is sorted by, or has an index on."""
    spread: tuple[str, ...] = ()
    """Columns whose hash says on which node a record is; without any, every node has all."""
    unique: str = ""
    """A column whose values are unique, and held to that."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the tables of an index depend on."""

    keys: tuple[Column, ...]
    """Columns of the super keys, by hash function."""
    layout: str
    cell_characters: int
    buckets: bool = False
    """Whether postings have their token's bucket in front: a coarse column to sort by."""

    @property
    def has_super_keys(self) -> bool:
        """Whether super keys are in a table of their own."""
        return self.layout == "per_row" and bool(self.keys)

    def tables(self) -> list[Table]:
        """Return the tables of a generation, those that only a build needs included."""
        found = [self._postings(), CELLS, *self._dictionary(), TABLES, COLUMNS, SOURCES, REJECTS, LOAD_LOG]
        if self.has_super_keys:
            found.append(Table("super_keys", (*_ROW, *self.keys), ("table_id", "row_id"), ("table_id", "row_id")))
        return found

    def kept_tables(self) -> list[Table]:
        """Return the tables of a generation that searches need."""
        return [table for table in self.tables() if table.name != TOKEN_COUNTS]

    def table(self, name: str) -> Table:
        """Return one of the tables."""
        return next(table for table in self.tables() if table.name == name)

    def _postings(self) -> Table:
        bucket = (Column("bucket", Content.PLACE, repeats=True),) if self.buckets else ()
        keys = self.keys if self.layout == "per_cell" else ()
        columns = (*bucket, Column("token_id"), *_ROW, Column("column_id", Content.PLACE), *keys)
        order = (*(column.name for column in bucket), "token_id", "table_id", "row_id")
        return Table("postings", columns, order, ("table_id", "row_id"))

    def _dictionary(self) -> list[Table]:
        columns = token_columns(self.cell_characters)
        return [Table(name, columns, ("token_id",), ("token_id",)) for name in ("tokens", TOKEN_COUNTS)]


def key_column(number: int) -> str:
    """Return the name of the column that holds one super key."""
    return f"key{number}"


def token_columns(cell_characters: int) -> tuple[Column, ...]:
    """Return the columns of a dictionary."""
    return (Column("token_id"), Column("token", Content.TOKEN, cell_characters), Column("posting_count"))


_ROW = (Column("table_id", Content.PLACE), Column("row_id", Content.PLACE))
_BY_TABLE = (Column("table_id", Content.PLACE, repeats=True),)

CELLS = Table(
    "cells",
    (
        *_BY_TABLE,
        Column("row_id", Content.PLACE),
        Column("column_id", Content.PLACE),
        Column("piece", Content.PLACE),
        Column("token_id"),
        Column("cell", Content.CELL, required=False),
    ),
    ("table_id", "row_id", "column_id", "piece"),
    ("table_id", "row_id"),
)
TABLES = Table(
    "tables",
    (
        Column("table_id", Content.PLACE),
        Column("table_name", Content.TEXT, required=False),
        Column("source", Content.PATH),
        Column("place"),
        Column("line_number"),
        Column("row_count"),
    ),
    ("table_id",),
    ("table_id",),
)
COLUMNS = Table(
    "columns",
    (*_BY_TABLE, Column("column_id", Content.PLACE), Column("column_name", Content.TEXT, required=False)),
    ("table_id", "column_id"),
    ("table_id",),
)
SOURCES = Table(
    "sources",
    (
        Column("source", Content.PATH),
        Column("format_name", Content.WORD, required=False),
        Column("byte_count", required=False),
        Column("sha256", Content.WORD, required=False),
        Column("table_count", required=False),
    ),
)
REJECTS = Table(
    "rejects",
    (
        Column("source", Content.PATH),
        Column("line_number", required=False),
        Column("kind", Content.WORD, required=False),
        Column("reason", Content.PATH, required=False),
        Column("occurrences", required=False),
    ),
)
LOAD_LOG = Table("load_log", (Column("part_id"), Column("record_count")), unique="part_id")

SHARED = (
    Table(MANIFEST, (Column("load_id"), Column("change_id"), Column("manifest", Content.TEXT)), unique="load_id"),
    Table(BUILDS, (Column("load_id"),)),
)
"""Tables that all generations share: manifests, and what builds and changes lock."""

NAMES = (
    *("postings", "cells", "super_keys", "tables", "columns", "tokens", TOKEN_COUNTS),
    *("sources", "rejects", "load_log"),
)
"""Names of the tables that a generation may have."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The tables of one build."""

    schema: str
    number: int

    def table(self, name: str) -> str:
        """Return the full name of a table."""
        return f"{self.schema}.{name}_{self.number}"

    def drop(self, names: Iterable[str] = NAMES) -> list[str]:
        """SQL that removes tables."""
        return [f"DROP TABLE IF EXISTS {self.table(name)} CASCADE" for name in names]
