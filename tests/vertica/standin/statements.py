"""What statements are about, once they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Type(NamedTuple):
    """A type with its length, as the catalogue and as DuckDB have it."""

    name: str
    duckdb: str
    octets: int


class Ref(NamedTuple):
    """A table that a statement names, and the span of its name."""

    name: str
    start: int
    end: int
    has_alias: bool


class Ordered(NamedTuple):
    """A column that a query is sorted by, and where that ends."""

    name: str
    end: int
    descends: bool


@dataclass
class Statement:
    """A statement that was read: its kind, and what it names."""

    kind: str
    text: str
    refs: list[Ref] = field(default_factory=list)
    ordered: list[Ordered] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    replaced: list[tuple[int, int, str]] = field(default_factory=list)
    """Spans that DuckDB has other words for."""
    detail: object = None
    """What is particular to a kind of statement."""


class Change(NamedTuple):
    """INSERT, UPDATE or DELETE: a table, and the spans of the rest."""

    table: str
    alias: str
    columns: tuple[str, ...]
    source: tuple[int, int] = (0, 0)
    """Of the rows to insert."""
    values: tuple[tuple[int, int], ...] = ()
    """Of the new values of the columns, in an update."""
    where: tuple[int, int] | None = None


class Names(NamedTuple):
    """Things to drop or create."""

    names: tuple[str, ...]
    unless: bool = False
    """IF EXISTS, or IF NOT EXISTS."""
    word: str = ""
    """INCLUDE or EXCLUDE for a schema's privileges, a password for a user, NOWAIT for a lock, a value for a setting."""


class Grant(NamedTuple):
    """GRANT."""

    privileges: tuple[str, ...]
    kind: str
    names: tuple[str, ...]
    users: tuple[str, ...]


class Field(NamedTuple):
    """A column as it was declared."""

    name: str
    type: Type
    required: bool = False
    encoding: str = "AUTO"


class Definition(NamedTuple):
    """A table to create."""

    name: str
    temporary: bool
    unless_there: bool
    fields: tuple[Field, ...]
    keys: tuple[tuple[str, ...], ...]
    """Columns of the keys that are enforced."""
    order: tuple[str, ...]
    segmented: tuple[str, ...]


class CopyColumn(NamedTuple):
    """A column of a COPY, and whether its values are written in hexadecimal."""

    name: str
    hexadecimal: bool


class Copy(NamedTuple):
    """A COPY statement."""

    table: str
    columns: tuple[CopyColumn, ...]
    delimiter: str = "|"
    enclosed: str = ""
    commit: bool = True
