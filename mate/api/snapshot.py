"""One state of an index, shared by the threads and answers that use it."""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import index as as_index
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mate.errors import QueryError, StoreError
from mate.stores import is_database

if TYPE_CHECKING:
    from mate.api.arguments import TableRef, Tables
    from mate.lake.base import Index
    from mate.lake.records import TableInfo


class Snapshot:
    """An open index. Closing it waits for the calls that use it."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._users = 0
        self._closed = False
        self._source_tables: SourceTables | None = None

    @contextmanager
    def use(self) -> Iterator[Index]:
        """Keep the index open inside a block."""
        with self._lock:
            if self._closed:
                raise StoreError(f"{self._index.address} is closed; open it again with mate.open(...)")
            self._users += 1
        try:
            yield self._index
        finally:
            with self._lock:
                self._users -= 1
                last = self._closed and not self._users
            if last:
                self._index.close()

    def source_tables(self) -> SourceTables:
        """Return which tables come from which file; computed once, except for databases, which others may change."""
        found = self._source_tables or SourceTables(self._index)
        if not is_database(self._index.address):
            self._source_tables = found
        return found

    def excluded(self, exclude: Tables, query_file: str | None) -> frozenset[int]:
        """Return the numbers of the tables that a search leaves out."""
        if isinstance(exclude, str):
            if exclude == "self":
                return self.source_tables().read_from(query_file)
            raise QueryError(f'exclude takes a list of tables, such as ["{exclude}"], or "self"')
        if not isinstance(exclude, Iterable):
            raise QueryError(f'exclude takes a list of tables, or "self", not {exclude!r}')
        return frozenset(table_of(self._index, table).table_id for table in exclude)

    def close(self) -> None:
        """Refuse new calls; close the index now or with the last call that runs."""
        with self._lock:
            first, self._closed = not self._closed, True
            idle = not self._users
        if first and idle:
            self._index.close()

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise StoreError(
            f"what belongs to {self._index.address} while it is open cannot be pickled; keep to_dicts() or to_pandas()"
        )

    def __del__(self) -> None:
        self.close()


class SourceTables:
    """The tables of an index by the file that they were read from: its path, or its content."""

    def __init__(self, index: Index) -> None:
        by_source: dict[str, list[int]] = defaultdict(list)
        for table in index.tables():
            by_source[table.source].append(table.table_id)
        self._tables: dict[Path | str, set[int]] = defaultdict(set)
        for record in index.sources():
            for identity in (Path(record["source"]).resolve(), record["sha256"]):
                self._tables[identity].update(by_source[record["source"]])

    def read_from(self, path: str | None) -> frozenset[int]:
        """Return the tables that were read from this file, or from one with the same content."""
        if path is None:
            raise QueryError('exclude="self" is for a query that is read from a file')
        with Path(path).open("rb") as stream:
            checksum = hashlib.file_digest(stream, "sha256").hexdigest()
        return frozenset().union(*(self._tables.get(identity, ()) for identity in (Path(path).resolve(), checksum)))


def table_of(index: Index, table: TableRef) -> TableInfo:
    """Return a table of an index by its number, file or name."""
    from mate.build.changes.naming import find_table
    from mate.lake.records import TableInfo

    if isinstance(table, TableInfo):
        table = table.table_id
    if isinstance(table, str):
        return find_table(index, table)
    if isinstance(table, bool) or not hasattr(table, "__index__"):
        raise QueryError(f"a table is named by its number, file or name, not by {type(table).__name__}")
    number = as_index(table)
    if not 0 <= number < 2**63:
        raise StoreError(f"{index.address} has no table {number}; see: mate stats --tables")
    return index.table(number)
