"""One change to an index, worked out before anything is written: what goes, what comes, and the counts afterwards.

`mate.build.draft` makes it; a store's writer applies it all at once, in whatever way its database has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import pyarrow as pa

from mate.values.arrow import string_array
from mate.corpus import Chunk, Limits, Table
from mate.build.stage import TABLES_SCHEMA
from mate.build.steps import Store
from mate.store.base import Ids, IndexStore, Manifest, TableInfo

INFO_SCHEMA = pa.schema([("table_id", pa.int64()), *list(TABLES_SCHEMA)[1:]])


class TokenCounts(NamedTuple):
    """Postings by token and table."""

    token_id: Ids
    table_id: Ids
    postings: Ids


@dataclass(frozen=True)
class Change:
    """What a writer does to an index, all at once."""

    gone_rows: Ids
    """Ascending."""
    gone_postings: TokenCounts
    gone_tables: Ids
    """Records of tables to take out; a table that goes on has a new record among `tables`."""
    gone_sources: list[str]
    """Sources whose record and rejects to take out."""
    parts: list[Any]
    """What the tasks stored of the new rows."""
    added: pa.Table
    """The new rows' tokens: token_id, token, postings."""
    dictionary: pa.Table
    """Every token that the change touches, with how many postings it has afterwards; 0 for those that are gone."""
    tables: pa.Table
    sources: list[dict[str, Any]]
    rejects: list[dict[str, Any]]
    manifest: Manifest
    next_table: int
    next_row: int


class Writer(Protocol):
    """What a store offers to those who change it; used as a context, it holds the lock that keeps others out."""

    directory: Path
    """A folder for the files of the change."""
    contiguous: bool
    """Whether the rows of a table must follow each other."""

    @property
    def store(self) -> IndexStore:
        """The index as it is before the change."""

    @property
    def next_table(self) -> int:
        """The first number that no table ever had."""

    @property
    def next_row(self) -> int:
        """The first number that no row ever had."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def task(self, schemas: Mapping[str, Any]) -> Store:
        """Return the function that runs in a task and stores what it yields."""

    def apply(self, change: Change) -> None:
        """Make the change, durably and all at once."""


@dataclass(frozen=True)
class RowsSource:
    """Rows that are at hand, to be read like a file."""

    name: str
    header: tuple[str, ...]
    rows: list[list[str | None]]
    format: str = "rows"
    size: int = 0

    def read(self, limits: Limits) -> Iterator[Chunk]:
        """Yield the rows in chunks."""
        table = Table(self.name, 0, 1, self.name, self.header)
        step = max(1, limits.chunk_cells // len(self.header))
        for start in range(0, len(self.rows), step):
            cells = [cell for row in self.rows[start : start + step] for cell in row]
            yield Chunk(table, start, string_array(cells))

    def checksum(self) -> str:
        """Rows that are at hand have none."""
        return ""


def now() -> str:
    """Return the time, as manifests have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def info_table(tables: Iterable[TableInfo]) -> pa.Table:
    """Return tables as records of the index."""
    records = [{name: getattr(table, name) for name in INFO_SCHEMA.names} for table in tables]
    return pa.Table.from_pylist([{**r, "columns": list(r["columns"])} for r in records], INFO_SCHEMA)
