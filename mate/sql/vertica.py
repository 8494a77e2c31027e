"""An index in a Vertica database, open for reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from mate.errors import StoreError
from mate.index.base import Ids, Index, Sought, TableSegment
from mate.index.manifest import Manifest
from mate.index.records import REJECTS_SCHEMA, SOURCES_SCHEMA, TableInfo
from mate.index.segment import SearchSegment
from mate.sql import vertica_sql as sql
from mate.sql.vertica_address import VerticaAddress
from mate.sql.vertica_blocks import Blocks
from mate.sql.vertica_reader import Reader, Sessions, distinct
from mate.sql.vertica_session import MissingError


class VerticaIndex(Index):
    """An index in Vertica: the generation that is published when it is opened, until it is closed."""

    def __init__(self, address: str) -> None:
        self._where = VerticaAddress.parse(address)
        self.address = address
        self._sessions = Sessions(self._where)
        try:
            number, self.manifest = self._published()
            self._check_tables(number)
        except BaseException:
            self.close()
            raise
        self._reader = Reader(self._sessions, sql.Generation(self._where.schema, number), self._where.in_list)

    def _published(self) -> tuple[int, Manifest]:
        missing = StoreError(f"there is no index at {self._where}; build one with: mate index PATH --store ADDRESS")
        try:
            found = self._sessions.ask(lambda session: session.execute(sql.published(self._where.schema)))
        except MissingError:
            raise missing from None
        if not found:
            raise missing
        number, text = found[0]
        return number, Manifest.from_json(text, str(self._where))

    def _check_tables(self, number: int) -> None:
        found = self._sessions.ask(lambda session: session.execute(sql.TABLE_NAMES, [self._where.schema]))
        present = {name.lower() for (name,) in found}
        for name in sql.tables_in_use(self.manifest.layout, len(self.manifest.hashes)):
            if f"{name}_{number}" not in present:
                raise StoreError(f"{self._where} lacks the table {name}_{number}: build the index again")

    @property
    def reader(self) -> Reader:
        """What looks things up in its tables."""
        return self._reader

    # What a search asks for

    def posting_counts(self, ids: Ids, texts: pa.StringArray) -> Ids:
        """Look tokens up by number and compare their texts."""
        counts = {text: count for _, text, count in self._reader.records("tokens", "token_id", distinct(ids))}
        return np.array([counts.get(text, 0) for text in texts.to_pylist()], np.int64)

    def search_segments(self, search: Sought) -> Iterator[SearchSegment]:
        """Yield the rows that pass the row filter, block after block."""
        return Blocks(self._reader, self.manifest, search).segments()

    def table_segment(self, search: Sought, table_id: int) -> TableSegment | None:
        """Return the rows of a table that pass the row filter."""
        segment = Blocks(self._reader, self.manifest, search).table(table_id)
        return None if segment is None else TableSegment(segment, 0)

    # What people ask for

    def tables(self, table_ids: Sequence[int] | Ids | None = None) -> list[TableInfo]:
        """Return tables by number."""
        ids = None if table_ids is None else distinct(table_ids)
        headers: dict[int, list[str]] = {}
        order = " ORDER BY table_id, column_id"
        for number, _, name in self._reader.records("columns", "table_id", ids, order):
            headers.setdefault(number, []).append(name or "")
        found = self._reader.records("tables", "table_id", ids, " ORDER BY table_id")
        return [
            TableInfo(number, name or "", source, position, line, tuple(headers.get(number, ())), rows)
            for number, name, source, position, line, _, rows in found
        ]

    def tables_from(self, sources: Sequence[str]) -> list[int]:
        """Return the numbers of the tables that were read from these sources."""
        return sorted({record[0] for record in self._reader.by_source("tables", sources)})

    def first_rows(self, table_ids: Ids) -> tuple[Ids, Ids]:
        """Return where rows of tables begin, and how many there are, in the order asked for."""
        found = self._reader.numbers("table_id, first_row, row_count", "tables", "table_id", distinct(table_ids))
        order = np.argsort(found[0])
        tables, first, rows = (column[order] for column in found)
        missing = np.setdiff1d(table_ids, tables)
        if len(missing):
            raise StoreError(f"{self._where} has no table {missing[0]}; see: mate stats --tables")
        place = np.searchsorted(tables, table_ids)
        return first[place], rows[place]

    def cells(self, table_id: int, rows: Ids) -> list[list[str | None]]:
        """Return rows of a table as they were read."""
        [first], _ = self.first_rows(np.array([table_id]))
        order = " ORDER BY row_id, column_id, piece"
        found: dict[int, list[str | None]] = {}
        for row, _, piece, token, text in self._reader.records("cells", "row_id", distinct(first + rows), order):
            if piece:
                found[row][-1] = (found[row][-1] or "") + text
            else:
                # An empty text was loaded as no text at all; only the number of a token that is none tells them apart.
                found.setdefault(row, []).append(None if token == sql.NO_CELL else text or "")
        return [list(found[row]) for row in (first + rows).tolist()]

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
        """Return the bytes of all projections, by table."""
        suffix = f"_{self._reader.generation.number}"
        found = self._sessions.ask(lambda session: session.execute(sql.BYTES, [self._where.schema]))
        mine = {name.lower(): int(size or 0) for name, size in found}
        return {name: mine[name + suffix] for name in sql.TABLES if name + suffix in mine}

    def close(self) -> None:
        """Close the sessions."""
        self._sessions.close()


_REJECTS_ORDER = " ORDER BY source, COALESCE(line_number, -1), reason"


def _named(records: list[list[Any]], schema: pa.Schema) -> list[dict[str, Any]]:
    """Return records by name; an empty text was loaded as none."""
    texts = [pa.types.is_string(kind) for kind in schema.types]
    return [
        {name: value or "" if text else value for name, text, value in zip(schema.names, texts, record, strict=True)}
        for record in records
    ]
