"""The interface of every index: a lake of segments, or tables of a database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.errors import ChangedError, StoreError
from mate.lake.manifest import Manifest
from mate.lake.records import TableInfo
from mate.lake.segment import SearchSegment

Ids: TypeAlias = npt.NDArray[np.int64]
Search: TypeAlias = Any
"""A `mate.search.search.Search`. A database leaves out what cannot be among its answers; a lake does not look at it."""


class TableSegment(NamedTuple):
    """A segment and the place of a table in it."""

    segment: SearchSegment
    place: int


class Index(ABC):
    """A published index, open for reading by several threads.

    Rows and columns are counted from 0 within their table. A table keeps its number.
    """

    address: str
    manifest: Manifest
    has_directory: ClassVar[bool] = False
    """Whether its segments have whole tables with their directory, which key suggestions, graphs and batches on Spark
    read. Otherwise it answers searches alone, and may filter rows by super keys itself."""

    # For searches

    @abstractmethod
    def posting_counts(self, ids: Ids, texts: pa.StringArray) -> Ids:
        """Return how many postings tokens have in the tables in use; 0 for tokens that the index does not have."""

    @abstractmethod
    def search_segments(self, search: Search) -> Iterator[SearchSegment]:
        """Yield segments with every table and row that may be among the answers.

        The index may leave out tables that the current k-th score rules out.
        """

    @abstractmethod
    def table_segment(self, search: Search, table_id: int) -> TableSegment | None:
        """Return a segment with every row of a table that may join; None if there is none."""

    @abstractmethod
    def whole_tables(self, search: Search, tables: Sequence[int]) -> list[TableSegment]:
        """Return segments with every row of the first table, and of as many more as are best read with it."""

    def tables_found(self, search: Search, tables: Sequence[int]) -> list[TableInfo]:
        """Return tables that a search has found, in any order."""
        return self.tables(tables)

    # For people

    @abstractmethod
    def tables(self, table_ids: Sequence[int] | Ids | None = None) -> list[TableInfo]:
        """Return some tables, or all, by ascending number. Unknown numbers are left out."""

    @abstractmethod
    def tables_from(self, sources: Sequence[str]) -> list[int]:
        """Return the numbers of the tables that were read from these sources."""

    @abstractmethod
    def cells(self, table_id: int, rows: Ids) -> list[list[str | None]]:
        """Return rows of a table as they were read, in the given order."""

    @abstractmethod
    def sources(self, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return the files that were read, all or those of some names: source, format, bytes, sha256, tables."""

    @abstractmethod
    def rejects(self, limit: int | None = None, sources: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return what was not indexed, of all files or some: source, line, kind, reason, count."""

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Return bytes by part."""

    def tables_named(self, name: str) -> list[int]:
        """Return the numbers of the tables that have this name."""
        return [table.table_id for table in self.tables() if table.name == name]

    def table(self, table_id: int) -> TableInfo:
        """Return one table."""
        for table in self.tables([table_id]):
            return table
        raise self._no_table(table_id)

    def _no_table(self, table_id: int) -> StoreError:
        return StoreError(f"{self.address} has no table {table_id}; see: mate stats --tables")

    def verify(self) -> None:  # noqa: B027
        """Verify what is stored; a database does so itself."""

    def trust(self) -> None:  # noqa: B027
        """Skip the verification of what is stored."""

    @property
    def change(self) -> int:
        """Number of the last known change; always 0 for a lake, whose readers keep the state that they opened."""
        return 0

    def last_change(self) -> int:
        """Look up the number of the last change of what is read."""
        return self.change

    def check_unchanged(self, change: int) -> None:
        """Raise an error if there was a change since a search began."""
        if self.last_change() != change:
            raise ChangedError(f"{self.address} was changed since it was searched: search again")

    def close(self) -> None:  # noqa: B027
        """Release connections, if there are any."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
