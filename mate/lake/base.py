"""What every index offers, whether it is a lake of segments or tables of a database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.errors import ChangedError, StoreError
from mate.hashing import Keys, SuperKeyHash
from mate.lake.manifest import Manifest
from mate.lake.records import TableInfo
from mate.lake.segment import SearchSegment

Ids: TypeAlias = npt.NDArray[np.int64]


class Sought(Protocol):
    """What an index may want to know of a search to leave out what cannot be among its answers."""

    @property
    def token_ids(self) -> Ids:
        """Token ids of the key tuples that the index may hold: one row per tuple, one column per key column."""

    @property
    def initial(self) -> int:
        """The key column that the search begins with."""

    @property
    def initial_postings(self) -> int:
        """How many postings the values of this column have in the index."""

    @property
    def exclude(self) -> frozenset[int]:
        """Tables that are not wanted."""

    @property
    def table_filters(self) -> bool:
        """Whether tables may be left out by their bounds."""

    @property
    def column_first(self) -> bool:
        """Whether it is column-first search: tables may be bounded by looking at whole rows."""

    @property
    def intersects(self) -> bool:
        """Whether only rows with a value of every key column are asked for, as in MCR."""

    @property
    def k(self) -> int:
        """How many tables are wanted."""

    @property
    def kth(self) -> int:
        """Score that a table needs to exceed to be among the answers: 0 while there is room."""

    @property
    def hash_number(self) -> int | None:
        """Which hash function filters rows; None: no row is filtered."""

    @property
    def measures(self) -> bool:
        """Whether every table that is found will be asked for as a whole (`Index.whole_tables`)."""

    @property
    def cache(self) -> dict[str, Any]:
        """What the index keeps until the search ends: segments may be asked for in several rounds."""

    def tuple_hashes(self, function: SuperKeyHash) -> Keys:
        """Return the hashes of the values of the key tuples: ``uint64[tuples, key columns, words]``."""


class TableSegment(NamedTuple):
    """A segment that has a table, and the table's place in it."""

    segment: SearchSegment
    place: int


class Index(ABC):
    """A published index, open for reading. Usable from several threads at a time.

    Rows and columns are counted from 0 within their table. Tables have numbers that they keep.
    """

    address: str
    manifest: Manifest

    # What a search asks for

    @abstractmethod
    def posting_counts(self, ids: Ids, texts: pa.StringArray) -> Ids:
        """Return how many postings tokens have in the tables in use, 0 for those that the index does not have."""

    @abstractmethod
    def search_segments(self, search: Sought) -> Iterator[SearchSegment]:
        """Yield segments that together hold every table and row that may be among the answers.

        Tables that cannot be, going by the k-th score when the next segment is asked for, may be left out.
        """

    @abstractmethod
    def table_segment(self, search: Sought, table_id: int) -> TableSegment | None:
        """Return a segment that has every row of a table that may join; None if there is none."""

    @abstractmethod
    def whole_tables(self, search: Sought, tables: Sequence[int]) -> list[TableSegment]:
        """Return segments that have every row of the first table, and of as many more as are well read with it."""

    def tables_found(self, search: Sought, tables: Sequence[int]) -> list[TableInfo]:
        """Return tables that a search has found, in any order; an index may have looked them up for it before."""
        return self.tables(tables)

    # What people ask for

    @abstractmethod
    def tables(self, table_ids: Sequence[int] | Ids | None = None) -> list[TableInfo]:
        """Return tables by number, ascending; all of them unless some are asked for. Unknown numbers are left out."""

    @abstractmethod
    def tables_from(self, sources: Sequence[str]) -> list[int]:
        """Return the numbers of the tables that were read from these sources."""

    @abstractmethod
    def cells(self, table_id: int, rows: Ids) -> list[list[str | None]]:
        """Return rows of a table as they were read, in the order asked for."""

    @abstractmethod
    def sources(self) -> list[dict[str, Any]]:
        """Return the files that were read: source, format, bytes, sha256, tables."""

    @abstractmethod
    def rejects(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return what was not indexed: source, line, kind, reason, count."""

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

    def sources_named(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return what `sources` tells of some files only."""
        wanted = set(names)
        return [record for record in self.sources() if record["source"] in wanted]

    def rejects_from(self, sources: Sequence[str]) -> list[dict[str, Any]]:
        """Return what `rejects` tells of some files only."""
        wanted = set(sources)
        return [record for record in self.rejects() if record["source"] in wanted]

    def verify(self) -> None:  # noqa: B027
        """Make sure that what is stored can be read; a database looks after that itself."""

    def trust(self) -> None:  # noqa: B027
        """Take what is stored for sound without a look at it."""

    @property
    def change(self) -> int:
        """Number of the last change that is known here, without looking.

        Always 0 for a lake: whoever has it open keeps the state that it had then.
        """
        return 0

    def last_change(self) -> int:
        """Look up the number of the last change of what is read."""
        return self.change

    def check_unchanged(self, change: int) -> None:
        """Refuse to add to an answer that was found before the last change."""
        if self.last_change() != change:
            raise ChangedError(f"{self.address} was changed since it was searched: search again")

    def close(self) -> None:  # noqa: B027
        """Release what it holds, if anything."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
