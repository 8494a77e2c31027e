"""An index in a database, open for reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from mate.errors import ChangedError
from mate.lake.base import Ids, Index, SearchView, TableSegment
from mate.lake.manifest import Manifest
from mate.lake.records import REJECTS_SCHEMA, SOURCES_SCHEMA, TableInfo
from mate.lake.segment import SearchSegment
from mate.sql import statements as sql
from mate.sql.address import Address
from mate.sql.blocks import MOST_CELLS, Blocks
from mate.sql.dialects import dialect_of
from mate.sql.failures import MissingError
from mate.sql.reader import Reader, distinct
from mate.sql.rounds import Rounds
from mate.sql.row_keys import key_columns
from mate.sql.schema import NO_CELL, Generation, Shape
from mate.sql.session import Sessions


class DatabaseIndex(Index):
    """An index in a database: the generation that is published when it is opened, until it is closed."""

    def __init__(self, address: str) -> None:
        self._where = Address.parse(address)
        self.address = address
        self._sessions = Sessions(self._where)
        try:
            number, self._change, self.manifest = self._published()
            self._guard = Lock()
            self._known_widths: tuple[int, Ids] | None = None
        except BaseException:
            self.close()
            raise
        self._reader = Reader(
            self._sessions, Generation(self._where.schema, number), shape_of(self.manifest, self._where.kind)
        )

    def _published(self) -> tuple[int, int, Manifest]:
        whose = f", or {self._where.user} may not see it" if self._where.user else ""
        missing = MissingError(
            f"there is no index at {self._where}{whose}; build one with: mate index PATH --store ADDRESS"
        )
        try:
            found = self._sessions.ask(lambda session: session.execute(f"{sql.published(self._where.schema)} LIMIT 1"))
        except MissingError:
            raise missing from None
        if not found:
            raise missing
        number, change, text = found[0]
        return number, change, Manifest.from_json(text, str(self._where))

    @property
    def reader(self) -> Reader:
        """What looks things up in its tables."""
        return self._reader

    @property
    def change(self) -> int:
        """Number of the last change that any search has noticed."""
        return self._change

    def last_change(self) -> int:
        """Look up the number of the last change of its tables; what changed with it is read again."""
        [change] = self._reader.change()
        if change == self._change:
            return self._change
        change, text = self._reader.change(", manifest")
        with self._guard:
            if change > self._change:
                # The manifest first: a search that begins in between takes the old number, and notices.
                self.manifest = Manifest.from_json(text, str(self._where))
                self._change = change
        return int(change)

    # What a search asks for

    def posting_counts(self, ids: Ids, texts: pa.StringArray) -> Ids:
        """Look tokens up by number and compare their texts."""
        counts = {text: count for _, text, count in self._reader.records("tokens", "token_id", distinct(ids))}
        return np.array([counts.get(text, 0) for text in texts.to_pylist()], np.int64)

    def search_segments(self, search: SearchView) -> Iterator[SearchSegment]:
        """Yield the rows that pass the row filter, block after block."""
        return self._blocks(search).segments()

    def table_segment(self, search: SearchView, table_id: int) -> TableSegment | None:
        """Return the rows of a table that pass the row filter."""
        segment = self._blocks(search).table(table_id)
        return None if segment is None else TableSegment(segment, 0)

    def whole_tables(self, search: SearchView, tables: Sequence[int]) -> list[TableSegment]:
        """Return all rows of tables: those that the search has read already, or as many as one statement may read."""
        kept = Rounds.of(search)
        if found := kept.whole.first_of(tables):
            return found
        known = kept.cells()
        if not known.keys() >= set(tables):
            kept.infos |= {table.table_id: table for table in self.tables([n for n in tables if n not in kept.infos])}
            known = {number: info.rows * len(info.columns) for number, info in kept.infos.items()}
        cells = np.cumsum([known.get(number, 0) for number in tables])
        wanted = tables[: max(1, int(np.searchsorted(cells, MOST_CELLS, "right")))]
        segment = self._blocks(search).whole(np.unique(wanted))
        present = [] if segment is None else segment.arrays.table_id.tolist()
        if segment is None or wanted[0] not in present:
            raise self._no_table(wanted[0])
        return [TableSegment(segment, present.index(number)) for number in takewhile(present.__contains__, wanted)]

    def tables_found(self, search: SearchView, tables: Sequence[int]) -> list[TableInfo]:
        """Return tables, those that the search has looked up already and others."""
        known = Rounds.of(search).infos
        return [*(known[n] for n in tables if n in known), *self.tables([n for n in tables if n not in known])]

    def _blocks(self, search: SearchView) -> Blocks:
        return Blocks(self._reader, self.manifest, search, self._widths)

    def _widths(self) -> Ids:
        """Return the numbers of columns that tables have, looked up once after every change."""
        change = self._change
        if self._known_widths is None or self._known_widths[0] != change:
            records = self._reader.records_of(sql.widths(self._reader.generation))
            self._known_widths = change, np.array([width for (width,) in records], np.int64)
        return self._known_widths[1]

    # What people ask for

    def tables(self, table_ids: Sequence[int] | Ids | None = None) -> list[TableInfo]:
        """Return tables by number."""
        ids = None if table_ids is None else distinct(table_ids)
        found = groupby(self._reader.with_columns(ids), key=lambda record: tuple(record[:6]))
        return [
            TableInfo(number, name or "", source, position, line, _header(columns), rows)
            for (number, name, source, position, line, rows), columns in found
        ]

    def tables_from(self, sources: Sequence[str]) -> list[int]:
        """Return the numbers of the tables that were read from these sources."""
        return sorted({record[0] for record in self._reader.by_source("tables", sources)})

    def cells(self, table_id: int, rows: Ids) -> list[list[str | None]]:
        """Return rows of a table as they were read."""
        wanted = distinct(rows)
        if not len(wanted):
            return []
        more = f" AND table_id = {int(table_id)} ORDER BY row_id, column_id, piece"
        found: dict[int, list[str | None]] = {}
        for _, row, _, piece, token, text in self._reader.records("cells", "row_id", wanted, more):
            if piece:
                found[row][-1] = (found[row][-1] or "") + text
            else:
                # An empty text was loaded as no text at all; only the number of a token that is none tells them apart.
                found.setdefault(row, []).append(None if token == NO_CELL else text or "")
        if len(found) < len(wanted):
            left = self.table(table_id).rows  # tells if there is none
            raise ChangedError(f"{self._where}: table {table_id} has {left:,} rows, and row {wanted[-1]:,} no more")
        return [list(found[row]) for row in rows.tolist()]

    def sources(self) -> list[dict[str, Any]]:
        """Return the files that were read."""
        return _named(self._reader.records("sources", more=" ORDER BY source"), SOURCES_SCHEMA)

    def sources_named(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return what `sources` tells of some files only."""
        return _named(self._reader.by_source("sources", names), SOURCES_SCHEMA)

    def rejects(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return what was not indexed; a reject without a line comes before those of its file that have one."""
        upto = "" if limit is None else f" LIMIT {int(limit)}"
        return _named(self._reader.records("rejects", more=_REJECTS_ORDER + upto), REJECTS_SCHEMA)

    def rejects_from(self, sources: Sequence[str]) -> list[dict[str, Any]]:
        """Return what `rejects` tells of some files only."""
        return _named(self._reader.by_source("rejects", sources, _REJECTS_ORDER), REJECTS_SCHEMA)

    def sizes(self) -> dict[str, int]:
        """Return the bytes of its tables, whatever the database keeps for them included."""
        names = [table.name for table in self._reader.shape.kept_tables()]
        tables = [f"{name}_{self._reader.generation.number}" for name in names]
        question = dialect_of(self._where.kind).sizes(self._where.schema, tables)
        found = self._reader.records_of(question)
        mine = {name.lower(): int(size or 0) for name, size in found}
        return {name: mine[table] for name, table in zip(names, tables, strict=True) if table in mine}

    def close(self) -> None:
        """Close the sessions."""
        self._sessions.close()


_REJECTS_ORDER = " ORDER BY source, COALESCE(line_number, -1), reason"


def shape_of(manifest: Manifest, kind: str) -> Shape:
    """Return what the tables of an index depend on."""
    return Shape(key_columns(manifest.hashes), manifest.layout, manifest.cell_characters, dialect_of(kind).buckets)


def _header(records: Iterable[Sequence[Any]]) -> tuple[str, ...]:
    """Return the names of a table's columns; a table without any has one record that tells of none."""
    return tuple(name or "" for *_, column, name in records if column is not None)


def _named(records: list[Sequence[Any]], schema: pa.Schema) -> list[dict[str, Any]]:
    """Return records by name; an empty text was loaded as none."""
    texts = [pa.types.is_string(kind) for kind in schema.types]
    return [
        {name: value or "" if text else value for name, text, value in zip(schema.names, texts, record, strict=True)}
        for record in records
    ]
