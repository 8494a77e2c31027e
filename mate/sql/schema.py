"""The tables of an index in a database, the same in every one.

An index is a *generation* of tables, ``postings_7`` and so on, that one build fills; changes are made in it.
One record of ``manifest`` says which generation is in use: writing it is what publishes.

    postings_N      by token: table, row and column; with the layout per_cell also the super keys of the row
    cells_N         by table and row: one record per cell, its token and its text, also where it has no token
    super_keys_N    by table and row, with the layout per_row only
    tokens_N        the dictionary, merged from ``token_counts_N``, which has that of every segment and is then dropped
    tables_N, columns_N, sources_N, rejects_N, load_log_N

Rows are counted within their table. Cells are records and not arrays or JSON, because every database has whole numbers
and texts, and because a record per cell is what sorts and compresses in a column store.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

NULL_CELL = -2
"""Stands in token_id for a cell that is null; one without a token has -1. Neither is a token's number."""

PIECE = 8_000
"""Octets of a cell in one record; a longer cell takes several, so that no declared length limits it."""

SHORT_TEXT, PATH, LONG_TEXT = 64, 65_000, 1_048_576
"""Declared octets of texts, where a database wants to know them."""

LAYOUTS = ("per_cell", "per_row")
"""Super keys in every posting, which a look-up finds at once, or once per row, which takes less room."""

MANIFEST, BUILDS, TOKEN_COUNTS = "manifest", "builds", "token_counts"
BUCKET_SHIFT = 51
"""A token's bucket is its number without so many low bits: 4,096 buckets."""


class Content(Enum):
    """What a column holds; a dialect knows the type."""

    NUMBER = auto()
    """63 bits."""
    PLACE = auto()
    """Number of a table, row, column or piece."""
    KEY = auto()
    """A super key of `size` octets, or of any number if that is 0."""
    TEXT = auto()
    """At most `size` octets."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    content: Content = Content.NUMBER
    size: int = 0
    required: bool = True
    repeats: bool = False
    """Whether many equal values follow each other in the order of the table."""


class TableDefinition(NamedTuple):
    """A table of a generation."""

    name: str
    columns: tuple[Column, ...]
    order: tuple[str, ...] = ()
    """Columns that it is sorted by, or has an index on."""
    spread: tuple[str, ...] = ()
    """Columns whose hash says on which node a record is; without any, every node has all."""
    unique: str = ""
    """The primary key, which is enforced."""


_ROW = ("table_id", "row_id")
_TABLE_ID, _ROW_ID, _COLUMN_ID = (Column(name, Content.PLACE) for name in (*_ROW, "column_id"))
_REPEATED_TABLE_ID = _TABLE_ID._replace(repeats=True)
_BUCKET = Column("bucket", Content.PLACE, repeats=True)
_SOURCE = Column("source", Content.TEXT, PATH)


def _optional(name: str, octets: int = 0) -> Column:
    """Return a column that may be null, of texts of so many octets, or of numbers."""
    return Column(name, Content.TEXT if octets else Content.NUMBER, octets, required=False)


_CELL_COLUMNS = (
    _REPEATED_TABLE_ID,
    _ROW_ID,
    _COLUMN_ID,
    Column("piece", Content.PLACE),
    Column("token_id"),
    _optional("cell", PIECE),
)
_TABLE_COLUMNS = (
    _TABLE_ID,
    _optional("table_name", LONG_TEXT),
    _SOURCE,
    *map(Column, ("place", "line_number", "row_count")),
)
_COLUMN_COLUMNS = (_REPEATED_TABLE_ID, _COLUMN_ID, _optional("column_name", LONG_TEXT))
_SOURCE_COLUMNS = (
    _SOURCE,
    _optional("format_name", SHORT_TEXT),
    _optional("byte_count"),
    _optional("sha256", SHORT_TEXT),
    _optional("table_count"),
)
_REJECT_COLUMNS = (
    _SOURCE,
    _optional("line_number"),
    _optional("kind", SHORT_TEXT),
    _optional("reason", PATH),
    _optional("occurrences"),
)
_MANIFEST_COLUMNS = (Column("load_id"), Column("change_id"), Column("manifest", Content.TEXT, LONG_TEXT))

_FIXED_TABLES = (
    TableDefinition("cells", _CELL_COLUMNS, (*_ROW, "column_id", "piece"), _ROW),
    TableDefinition("tables", _TABLE_COLUMNS, ("table_id",), ("table_id",)),
    TableDefinition("columns", _COLUMN_COLUMNS, ("table_id", "column_id"), ("table_id",)),
    TableDefinition("sources", _SOURCE_COLUMNS),
    TableDefinition("rejects", _REJECT_COLUMNS),
    TableDefinition("load_log", (Column("part_id"), Column("record_count")), unique="part_id"),
)
"""Tables that are the same in every generation."""

SHARED = (
    TableDefinition(MANIFEST, _MANIFEST_COLUMNS, unique="load_id"),
    TableDefinition(BUILDS, (Column("load_id"),)),
)
"""Tables that all generations share: manifests, and the empty table that builds and changes lock."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The tables of one build."""

    schema: str
    number: int
    keys: tuple[Column, ...]
    """Columns of the super keys, by hash function."""
    layout: str
    cell_characters: int
    buckets: bool = False
    """Whether postings have their token's bucket in front: a coarse column to sort by."""

    def name(self, table: str) -> str:
        """Return the full name of a table."""
        return f"{self.schema}.{table}_{self.number}"

    @property
    def has_super_keys(self) -> bool:
        """Whether super keys are in a table of their own."""
        return self.layout == "per_row" and bool(self.keys)

    def tables(self) -> list[TableDefinition]:
        """Return all tables, with those that only a build needs."""
        token = Column("token", Content.TEXT, 4 * self.cell_characters)  # a character takes up to four octets
        dictionary = Column("token_id"), token, Column("posting_count")
        tokens = [TableDefinition(n, dictionary, ("token_id",), ("token_id",)) for n in ("tokens", TOKEN_COUNTS)]
        definitions = [self._postings(), *_FIXED_TABLES, *tokens]
        if self.has_super_keys:
            definitions.append(TableDefinition("super_keys", (_TABLE_ID, _ROW_ID, *self.keys), _ROW, _ROW))
        return definitions

    def kept_tables(self) -> list[TableDefinition]:
        """Return the tables that searches need."""
        return [table for table in self.tables() if table.name != TOKEN_COUNTS]

    def columns(self, table: str) -> tuple[Column, ...]:
        """Return the columns of a table."""
        return next(definition.columns for definition in self.tables() if definition.name == table)

    def _postings(self) -> TableDefinition:
        bucket = (_BUCKET,) if self.buckets else ()
        keys = self.keys if self.layout == "per_cell" else ()
        columns = (*bucket, Column("token_id"), _TABLE_ID, _ROW_ID, _COLUMN_ID, *keys)
        order = (*(column.name for column in bucket), "token_id", *_ROW)
        return TableDefinition("postings", columns, order, _ROW)


def key_column(number: int) -> str:
    """Return the name of the column that holds one super key."""
    return f"key{number}"
