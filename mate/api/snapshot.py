"""One state of an index, shared by a lake and its answers."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from operator import index as as_index
from pathlib import Path
from typing import Any

from mate.api.arguments import TableRef, Tables
from mate.build.changes.naming import find_table
from mate.errors import QueryError, StoreError
from mate.lake.base import Index
from mate.lake.records import TableInfo
from mate.stores import is_database


class Snapshot:
    """An open index that answers share. After it is closed, calls that already run still finish."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._closed = False
        self._source_tables: SourceTables | None = None

    @property
    def index(self) -> Index:
        """The index, while it is open."""
        self.require_open()
        return self._index

    def require_open(self) -> None:
        """Refuse calls after it was closed."""
        if self._closed:
            raise StoreError(f"{self._index.address} is closed; open it again with mate.open(...)")

    def find(self, table: TableRef) -> TableInfo:
        """Return a table by its number, file or name."""
        if isinstance(table, str):
            return find_table(self.index, table)
        number = as_index(table.table_id if isinstance(table, TableInfo) else table)
        if not 0 <= number < 2**63:
            raise StoreError(f"{self.index.address} has no table {number}; see: mate stats --tables")
        return self.index.table(number)

    def source_names(self) -> list[str]:
        """Return the files that the index was read from, also after it was closed."""
        return [record["source"] for record in self._index.sources()]

    def source_tables(self) -> SourceTables:
        """Return which tables come from which file; computed once, except for databases, which others may change."""
        if self._source_tables is None or is_database(self.index.address):
            self._source_tables = SourceTables(self.index)
        return self._source_tables

    def excluded(self, exclude: Tables, query_file: str | None) -> frozenset[int]:
        """Return the numbers of the tables that a search leaves out."""
        if isinstance(exclude, str):
            if exclude == "self":
                return self.source_tables().read_from(query_file)
            raise QueryError(f'exclude takes a list of tables, such as ["{exclude}"], or "self"')
        return frozenset(self.find(table).table_id for table in exclude)

    def close(self) -> None:
        """Refuse new calls."""
        self._closed = True
        self._index.close()

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise StoreError(
            f"what belongs to {self._index.address} while it is open cannot be pickled; keep to_dicts() or to_pandas()"
        )

    def __del__(self) -> None:
        self._index.close()


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
