"""An index in a database, open for reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from mate.errors import ChangedError
from mate.lake.base import Ids, Index, TableSegment
from mate.lake.manifest import Manifest
from mate.lake.records import REJECTS_SCHEMA, SOURCES_SCHEMA, TableInfo
from mate.lake.segment import SearchSegment
from mate.search.search import Search
from mate.sql.address import Address
from mate.sql.blocks import MOST_CELLS, Blocks
from mate.sql.dialects import dialect_of
from mate.sql.dialects.failures import MissingError
from mate.sql.reader import Reader, SessionPool, distinct
from mate.sql.schema import MANIFEST, NULL_CELL, Generation
from mate.sql.search_cache import SearchCache
from mate.sql.super_keys import key_columns

_REJECTS_ORDER = " ORDER BY source, COALESCE(line_number, -1), reason"


class DatabaseIndex(Index):
    """An index in a database: the generation that is in use when it is opened, until it is closed."""

    def __init__(self, address: str) -> None:
        self.address, self._where = address, Address.parse(address)
        self._pool = SessionPool(self._where)
        self._mutex = Lock()
        self._widths_at: tuple[int, Ids] | None = None
        try:
            number, change, text = self._published()
            self._change = int(change)
            self.manifest = Manifest.from_json(text, str(self._where))
        except BaseException:
            self.close()
            raise
        self.reader = Reader(self._pool, generation_of(self._where, number, self.manifest))

    def _published(self) -> Sequence[Any]:
        """Return number, last change and manifest of the generation in use."""
        newest = (
            f"SELECT load_id, change_id, manifest FROM {self._where.schema}.{MANIFEST} ORDER BY load_id DESC LIMIT 1"
        )
        try:
            for record in self._pool.ask(lambda session: session.execute(newest)):
                return record
        except MissingError:
            pass
        invisible = f", or {self._where.user} may not see it" if self._where.user else ""
        advice = "build one with: mate index PATH --store ADDRESS"
        raise MissingError(f"there is no index at {self._where}{invisible}; {advice}")

    @property
    def change(self) -> int:
        """Number of the last change that any search has noticed."""
        return self._change

    def last_change(self) -> int:
        """Look up the number of the last change of its tables; what changed with it is read again."""
        change, manifest = self.reader.last_change()
        with self._mutex:
            if change > self._change:
                # The manifest first: a search that begins in between takes the old number, and notices.
                self.manifest = Manifest.from_json(manifest, str(self._where))
                self._change = change
        return change

    # What a search asks for

    def posting_counts(self, ids: Ids, texts: pa.StringArray) -> Ids:
        """Look tokens up by number and compare their texts."""
        counts = {text: count for _, text, count in self.reader.records("tokens", "token_id", distinct(ids))}
        return np.array([counts.get(text, 0) for text in texts.to_pylist()], np.int64)

    def search_segments(self, search: Search) -> Iterator[SearchSegment]:
        """Yield the rows that pass the row filter, block after block."""
        return self._blocks(search).segments()

    def table_segment(self, search: Search, table_id: int) -> TableSegment | None:
        """Return the rows of a table that pass the row filter."""
        segment = self._blocks(search).table(table_id)
        return None if segment is None else TableSegment(segment, 0)

    def whole_tables(self, search: Search, tables: Sequence[int]) -> list[TableSegment]:
        """Return all rows of tables: those that the search has read already, or as many as one statement may read."""
        cache = SearchCache.of(search)
        if kept := cache.first_whole_tables(tables):
            return kept
        unknown = [number for number in tables if number not in cache.cell_counts()]
        cache.infos |= {info.table_id: info for info in self.tables(unknown)}
        counts = cache.cell_counts()
        cells = np.cumsum([counts.get(number, 0) for number in tables])
        wanted = tables[: max(1, int(np.searchsorted(cells, MOST_CELLS, "right")))]
        segment = self._blocks(search).whole(np.unique(wanted))
        present = [] if segment is None else segment.arrays.table_id.tolist()
        if segment is None or wanted[0] not in present:
            raise self._no_table(wanted[0])
        return [TableSegment(segment, present.index(number)) for number in takewhile(present.__contains__, wanted)]

    def tables_found(self, search: Search, tables: Sequence[int]) -> list[TableInfo]:
        """Return tables, those that the search has looked up already and others."""
        known = SearchCache.of(search).infos
        return [*(known[n] for n in tables if n in known), *self.tables([n for n in tables if n not in known])]

    def _blocks(self, search: Search) -> Blocks:
        return Blocks(self.reader, self.manifest, search, self._widths)

    def _widths(self) -> Ids:
        """Return the numbers of columns that tables have, looked up once after every change."""
        change = self._change
        if self._widths_at is None or self._widths_at[0] != change:
            counts = f"SELECT COUNT(*) AS width FROM {self.reader.generation.name('columns')} GROUP BY table_id"
            records = self.reader.query(f"SELECT DISTINCT width FROM ({counts}) AS counts")
            self._widths_at = change, np.array([width for (width,) in records], np.int64)
        return self._widths_at[1]

    # What people ask for

    def tables(self, table_ids: Sequence[int] | Ids | None = None) -> list[TableInfo]:
        """Return tables by number."""
        ids, generation = None if table_ids is None else distinct(table_ids), self.reader.generation
        own = [f"t.{column.name}" for column in generation.columns("tables")]
        joined = (
            f"{generation.name('tables')} AS t LEFT JOIN {generation.name('columns')} AS c ON c.table_id = t.table_id"
        )
        selected = f"{', '.join(own)}, c.column_id, c.column_name"
        records = self.reader.select(selected, joined, "t.table_id", ids, " ORDER BY t.table_id, c.column_id")
        return [
            TableInfo(number, name or "", source, position, line, _header(columns), rows)
            for (number, name, source, position, line, rows), columns in groupby(
                records, key=lambda record: tuple(record[: len(own)])
            )
        ]

    def tables_from(self, sources: Sequence[str]) -> list[int]:
        """Return the numbers of the tables that were read from these sources."""
        return sorted({record[0] for record in self.reader.records_of_sources("tables", sources)})

    def cells(self, table_id: int, rows: Ids) -> list[list[str | None]]:
        """Return rows of a table as they were read."""
        wanted = distinct(rows)
        if not len(wanted):
            return []
        more = f" AND table_id = {int(table_id)} ORDER BY row_id, column_id, piece"
        cells: dict[int, list[str | None]] = {}
        for _, row, _, piece, token, text in self.reader.records("cells", "row_id", wanted, more):
            if piece:
                cells[row][-1] = (cells[row][-1] or "") + text
            else:
                # An empty text was loaded as null, too; the token's number tells them apart.
                cells.setdefault(row, []).append(None if token == NULL_CELL else text or "")
        if len(cells) < len(wanted):
            left = self.table(table_id).rows  # tells if there is none
            raise ChangedError(f"{self._where}: table {table_id} has {left:,} rows, and row {wanted[-1]:,} no more")
        return [list(cells[row]) for row in rows.tolist()]

    def sources(self, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return the files that were read."""
        if names is None:
            return _named(self.reader.records("sources", more=" ORDER BY source"), SOURCES_SCHEMA)
        return _named(self.reader.records_of_sources("sources", names), SOURCES_SCHEMA)

    def rejects(self, limit: int | None = None, sources: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return what was not indexed; a reject without a line comes before those of its file that have one."""
        if sources is not None:
            return _named(self.reader.records_of_sources("rejects", sources, _REJECTS_ORDER), REJECTS_SCHEMA)[:limit]
        upto = "" if limit is None else f" LIMIT {int(limit)}"
        return _named(self.reader.records("rejects", more=_REJECTS_ORDER + upto), REJECTS_SCHEMA)

    def sizes(self) -> dict[str, int]:
        """Return the bytes of its tables, whatever the database keeps for them included."""
        generation = self.reader.generation
        tables = {f"{table.name}_{generation.number}": table.name for table in generation.kept_tables()}
        records = self.reader.query(dialect_of(self._where.kind).sizes(self._where.schema, list(tables)))
        sizes = {tables[name.lower()]: int(size or 0) for name, size in records if name.lower() in tables}
        return {name: sizes[name] for name in tables.values() if name in sizes}

    def close(self) -> None:
        """Close the sessions."""
        self._pool.close()


def generation_of(address: Address, number: int, manifest: Manifest) -> Generation:
    """Return the tables of an index with this manifest."""
    keys, buckets = key_columns(manifest.hashes), dialect_of(address.kind).buckets
    return Generation(address.schema, number, keys, manifest.layout, manifest.cell_characters, buckets)


def _header(records: Iterable[Sequence[Any]]) -> tuple[str, ...]:
    """Return the names of a table's columns; a table without any has one record with a null."""
    return tuple(name or "" for *_, column, name in records if column is not None)


def _named(records: list[Sequence[Any]], schema: pa.Schema) -> list[dict[str, Any]]:
    """Return records as dictionaries; an empty text was loaded as null."""
    texts = [pa.types.is_string(kind) for kind in schema.types]
    return [
        {name: value or "" if text else value for name, text, value in zip(schema.names, texts, record, strict=True)}
        for record in records
    ]
