"""An index in a database, open for reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from mate.errors import ChangedError
from mate.lake.base import Ids, Index, TableSegment
from mate.lake.manifest import Manifest
from mate.lake.records import REJECTS_SCHEMA, SOURCES_SCHEMA, TableInfo
from mate.lake.segment import SearchSegment
from mate.search.search import Search
from mate.sql.address import Address
from mate.sql.blocks import Blocks
from mate.sql.dialects import dialect_of
from mate.sql.dialects.failures import MissingError
from mate.sql.dialects.session import Session, SessionPool
from mate.sql.lookup import among, among_sources
from mate.sql.schema import MANIFEST, NULL_CELL, Column, Generation
from mate.sql.super_keys import key_form

_IDS = "mate_ids"
"""Temporary table of numbers to look up."""
_Answer = TypeVar("_Answer")
_REJECTS_ORDER = " ORDER BY source, COALESCE(line_number, -1), reason"


class DatabaseIndex(Index):
    """An index in a database: the generation that is in use when it is opened, until it is closed.

    A few numbers are looked up as an IN list, many through a temporary table of the session. The option ``in_list``
    draws the line, because the best place depends on the server.
    """

    def __init__(self, address: str) -> None:
        self.address, self._where = address, Address.parse(address)
        self.pool = SessionPool(self._where)
        self.in_list = self._where.in_list
        self._mutex = Lock()
        self._widths_at: tuple[int, Ids] | None = None
        try:
            number, change, text = self._published()
            self._change = int(change)
            self.manifest = Manifest.from_json(text, str(self._where))
        except BaseException:
            self.close()
            raise
        self.generation = generation_of(self._where, number, self.manifest)

    def _published(self) -> Sequence[Any]:
        """Return number, last change and manifest of the generation in use."""
        try:
            for record in self._manifests("ORDER BY load_id DESC LIMIT 1"):
                return record
        except MissingError:
            pass
        invisible = f", or {self._where.user} may not see it" if self._where.user else ""
        advice = "build one with: mate index PATH --store ADDRESS"
        raise MissingError(f"there is no index at {self._where}{invisible}; {advice}")

    def _manifests(self, which: str) -> list[Sequence[Any]]:
        statement = f"SELECT load_id, change_id, manifest FROM {self._where.schema}.{MANIFEST} {which}"
        return self.pool.ask(lambda session: session.execute(statement))

    @property
    def change(self) -> int:
        """Number of the last change that any search has noticed."""
        return self._change

    def last_change(self) -> int:
        """Look up the number of the last change of its tables; what changed with it is read again."""
        for _, change, manifest in self._manifests(f"WHERE load_id = {self.generation.number}"):
            with self._mutex:
                if change > self._change:
                    # The manifest first: a search that begins in between takes the old number, and notices.
                    self.manifest = Manifest.from_json(manifest, str(self._where))
                    self._change = int(change)
            return int(change)
        raise ChangedError(f"{self._where} was built again, twice, since it was opened: open it again")

    # Questions

    def ask(self, question: Callable[[Session], _Answer]) -> _Answer:
        """Put a question; tell if its tables are gone because later builds have replaced them."""
        try:
            return self.pool.ask(question)
        except MissingError:
            self.last_change()
            raise

    def among(self, session: Session, column: str, ids: Ids) -> str:
        """Return the condition that a column is one of these numbers."""
        if len(ids) <= self.in_list:
            return among(column, ids)
        session.fill(_IDS, [Column("id")], [pa.array(ids)])
        return f"{column} IN (SELECT id FROM {_IDS})"

    def select(
        self, selected: str, tables: str, column: str = "", ids: Ids | None = None, more: str = ""
    ) -> list[Sequence[Any]]:
        """Return what a query finds, for certain numbers if given; `more` stands behind the condition."""
        if ids is not None and not len(ids):
            return []

        def question(session: Session) -> list[Sequence[Any]]:
            where = "" if ids is None else f" WHERE {self.among(session, column, ids)}"
            return session.execute(f"SELECT {selected} FROM {tables}{where}{more}")

        return self.ask(question)

    def records(self, table: str, column: str = "", ids: Ids | None = None, more: str = "") -> list[Sequence[Any]]:
        """Return records of a table, of certain numbers if given; `more` stands behind the condition."""
        return self.select(self._all_columns(table), self.generation.name(table), column, ids, more)

    def _records_of_sources(self, table: str, sources: Sequence[str] | None, more: str = "") -> list[Sequence[Any]]:
        """Return the records of a table, of certain sources if given; `more` stands behind the condition."""
        if sources is None:
            return self.records(table, more=more)
        selected = f"SELECT {self._all_columns(table)} FROM {self.generation.name(table)}"
        records: list[Sequence[Any]] = []
        for where, part in among_sources(sources, self.in_list):
            statement = f"{selected} WHERE {where}{more}"
            records += self.ask(lambda session, s=statement, p=part: session.execute(s, p))  # type: ignore[misc]
        return records

    def _all_columns(self, table: str) -> str:
        return ", ".join(column.name for column in self.generation.columns(table))

    # What a search asks for

    def posting_counts(self, ids: Ids, texts: pa.StringArray) -> Ids:
        """Look tokens up by number and compare their texts."""
        counts = {text: count for _, text, count in self.records("tokens", "token_id", distinct(ids))}
        return np.array([counts.get(text, 0) for text in texts.to_pylist()], np.int64)

    def search_segments(self, search: Search) -> Iterator[SearchSegment]:
        """Yield the rows that pass the row filter, block after block."""
        return Blocks(self, search).segments()

    def table_segment(self, search: Search, table_id: int) -> TableSegment | None:
        """Return the rows of a table that pass the row filter."""
        return Blocks(self, search).table(table_id)

    def whole_tables(self, search: Search, tables: Sequence[int]) -> list[TableSegment]:
        """Return all rows of tables: those that the search has read already, or as many as one statement may read."""
        if found := Blocks(self, search).whole_tables(tables):
            return found
        raise self._no_table(tables[0])

    def tables_found(self, search: Search, tables: Sequence[int]) -> list[TableInfo]:
        """Return tables, those that the search has looked up already and others."""
        return Blocks(self, search).infos(tables)

    def widths(self) -> Ids:
        """Return the numbers of columns that tables have, looked up once after every change."""
        change = self._change
        if self._widths_at is None or self._widths_at[0] != change:
            counts = f"(SELECT COUNT(*) AS width FROM {self.generation.name('columns')} GROUP BY table_id) AS counts"
            records = self.select("DISTINCT width", counts)
            self._widths_at = change, np.array([width for (width,) in records], np.int64)
        return self._widths_at[1]

    # What people ask for

    def tables(self, table_ids: Sequence[int] | Ids | None = None) -> list[TableInfo]:
        """Return tables by number."""
        ids, name = None if table_ids is None else distinct(table_ids), self.generation.name
        own = [f"t.{column.name}" for column in self.generation.columns("tables")]
        joined = f"{name('tables')} AS t LEFT JOIN {name('columns')} AS c ON c.table_id = t.table_id"
        selected = f"{', '.join(own)}, c.column_id, c.column_name"
        records = self.select(selected, joined, "t.table_id", ids, " ORDER BY t.table_id, c.column_id")
        tables = []
        for table, columns in groupby(records, key=lambda record: tuple(record[: len(own)])):
            number, title, source, position, line, rows = table
            header = tuple(text or "" for *_, column, text in columns if column is not None)
            tables.append(TableInfo(number, title or "", source, position, line, header, rows))
        return tables

    def tables_from(self, sources: Sequence[str]) -> list[int]:
        """Return the numbers of the tables that were read from these sources."""
        return sorted({record[0] for record in self._records_of_sources("tables", sources)})

    def cells(self, table_id: int, rows: Ids) -> list[list[str | None]]:
        """Return rows of a table as they were read."""
        wanted = distinct(rows)
        if not len(wanted):
            return []
        more = f" AND table_id = {int(table_id)} ORDER BY row_id, column_id, piece"
        cells: dict[int, list[str | None]] = {}
        for _, row, _, piece, token, text in self.records("cells", "row_id", wanted, more):
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
        return _named(self._records_of_sources("sources", names, " ORDER BY source"), SOURCES_SCHEMA)

    def rejects(self, limit: int | None = None, sources: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return what was not indexed; a reject without a line comes before those of its file that have one."""
        more = _REJECTS_ORDER if limit is None else f"{_REJECTS_ORDER} LIMIT {int(limit)}"
        return _named(self._records_of_sources("rejects", sources, more), REJECTS_SCHEMA)[:limit]

    def sizes(self) -> dict[str, int]:
        """Return the bytes of its tables, whatever the database keeps for them included."""
        generation = self.generation
        tables = {f"{table.name}_{generation.number}": table.name for table in generation.kept_tables()}
        statement = dialect_of(self._where.kind).sizes(self._where.schema, list(tables))
        records = self.ask(lambda session: session.execute(statement))
        sizes = {tables[name.lower()]: int(size or 0) for name, size in records if name.lower() in tables}
        return {name: sizes[name] for name in tables.values() if name in sizes}

    def close(self) -> None:
        """Close the sessions."""
        self.pool.close()


def generation_of(address: Address, number: int, manifest: Manifest) -> Generation:
    """Return the tables of an index with this manifest."""
    keys = [key_form(spec.function()).column(place) for place, spec in enumerate(manifest.hashes)]
    buckets = dialect_of(address.kind).buckets
    return Generation(address.schema, number, tuple(keys), manifest.layout, manifest.cell_characters, buckets)


def distinct(ids: Sequence[int] | Ids) -> Ids:
    """Return numbers once each, without negative ones: they stand for nothing, and -2^63 is NULL in Vertica."""
    numbers = np.unique(np.asarray(ids, np.int64))
    return numbers[numbers >= 0]


def _named(records: list[Sequence[Any]], schema: pa.Schema) -> list[dict[str, Any]]:
    """Return records as dictionaries; an empty text was loaded as null."""
    texts = [pa.types.is_string(kind) for kind in schema.types]
    return [
        {name: value or "" if text else value for name, text, value in zip(schema.names, texts, record, strict=True)}
        for record in records
    ]
