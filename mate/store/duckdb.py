"""The embedded default: one DuckDB file.

Everything that is looked up by number is sorted by that number and cut into small row groups, so that DuckDB's
zone maps skip almost all of it; a look-up joins with an unnested list, which is what makes DuckDB use them. Where the
index has its flat file beside it, look-ups are answered from there instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock, local
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.errors import StoreError
from mate.hashing import Keys
from mate.store.base import (
    Candidates,
    Dictionary,
    Ids,
    IndexStore,
    Manifest,
    Postings,
    Probes,
    Rows,
    TableCounts,
    TableInfo,
    TokenEntries,
)
from mate.store.duckdb_josie import DuckDBJosie
from mate.store.flat import open_flat
from mate.store.josie import JosieIndex
from mate.values.token_ids import NO_TOKEN, token_ids

ROW_GROUP_SIZE = 4_096
"""Small enough for sparse look-ups; measured against DuckDB's default of 122,880."""

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    # Above this many values a join no longer skips row groups by their exact values; the default is 50.
    "dynamic_or_filter_threshold": 500,
}


DICTIONARY_LOOK_UP = 100_000
"""Numbers of tokens that are looked up in one query."""

_ATTACHED = "lake"
"""The name of the index among the databases of a connection."""

_TABLES = ("tokens", "postings", "rows", "cells", "tables", "rejects", "sources")
_JOSIE_TABLES = ("josie_tokens", "josie_postings", "josie_members", "josie_sets")


def key_column(hash_number: int, word: int) -> str:
    """Return the name of the column that holds one word of one super key."""
    return f"key{hash_number}_{word}"


class DuckDBStore(IndexStore):
    """An index in a DuckDB file, opened read-only."""

    def __init__(self, address: str | Path, flat: bool = True) -> None:
        self.address = str(address)
        if not Path(address).is_file():
            raise StoreError(f"there is no index at {address}; build one with: mate index PATH --store {address}")
        self._cursors = local()
        self._lock = Lock()
        self._database = duckdb.connect(config=SETTINGS)
        try:
            self.manifest = self._open()
            self.flat = open_flat(address, self.manifest) if flat else None
        except StoreError:
            self.close()
            raise

    def _open(self) -> Manifest:
        """Attach the file and read its manifest.

        A connection to the file itself would be served by whatever database this process opened before under that
        name, even after another index was published there.
        """
        try:
            quoted = self.address.replace("'", "''")
            self._database.execute(f"ATTACH '{quoted}' AS {_ATTACHED} (TYPE duckdb, READ_ONLY)")
            found = self._cursor.execute("SELECT value FROM manifest WHERE name = 'manifest'").fetchall()
            present = {name for (name,) in self._cursor.execute("SHOW TABLES").fetchall()}
        except duckdb.CatalogException:
            raise StoreError(f"{self.address} is a DuckDB file but holds no MATE index") from None
        except duckdb.Error as error:
            raise StoreError(f"{self.address} cannot be opened as an index: {str(error).splitlines()[0]}") from error
        if not found:
            raise StoreError(f"{self.address} holds an index without a manifest")
        manifest = Manifest.from_json(found[0][0], self.address)
        more = (["super_keys"] if manifest.layout == "per_row" else []) + list(_JOSIE_TABLES if manifest.josie else ())
        for name in (*_TABLES, *more):
            if name not in present:
                raise StoreError(f"{self.address} lacks the table {name}: build the index again")
        return manifest

    @property
    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of this thread's own: DuckDB serves one query a connection at a time."""
        cursor = getattr(self._cursors, "cursor", None)
        if cursor is None:
            with self._lock:
                cursor = self._database.cursor()
            cursor.execute(f"USE {_ATTACHED}")
            self._cursors.cursor = cursor
        return cursor

    def _numbers(self, sql: str, *parameters: Any) -> list[Ids]:
        """Run a query whose columns are numbers and never null; return them as arrays."""
        result = self._cursor.execute(sql, list(parameters)).fetchnumpy()
        return [np.asarray(column).astype(np.int64, copy=False) for column in result.values()]

    def tokens(self, texts: pa.StringArray) -> TokenEntries:
        """Look tokens up by number and compare their text."""
        if self.flat is not None:
            return self.flat.tokens(texts)
        wanted = token_ids(texts, self.manifest.token_seed)
        found = self._cursor.sql(
            "SELECT q.place, t.token_id, t.postings, t.token FROM (SELECT unnest($1::BIGINT[]) AS token_id,"
            " unnest($2::BIGINT[]) AS place) AS q JOIN tokens AS t ON t.token_id = q.token_id ORDER BY q.place",
            params=[wanted, np.arange(len(texts))],
        ).to_arrow_table()
        same = found.filter(pc.equal(found.column("token"), texts.take(found.column("place").combine_chunks())))
        return TokenEntries(*(same.column(i).to_numpy().astype(np.int64) for i in range(3)))

    def postings(self, token_ids: Ids) -> Postings:
        """Return all postings of these tokens."""
        if self.flat is not None:
            return self.flat.postings(token_ids)
        return Postings(
            *self._numbers(
                "SELECT p.token_id, p.table_id, p.column_id, p.row_id"
                " FROM (SELECT unnest($1::BIGINT[]) AS token_id) AS q JOIN postings AS p ON p.token_id = q.token_id",
                token_ids,
            )
        )

    def candidates(self, probes: Probes, hash_number: int | None, tables: Ids | None = None) -> Candidates:
        """Join the probes with the postings, masking included."""
        if self.flat is not None:
            return self.flat.candidates(probes, hash_number, tables)
        words = 0 if hash_number is None else self.manifest.hashes[hash_number].bits // 64
        sql = "SELECT q.tuple_id, p.table_id, p.column_id, p.row_id FROM (SELECT unnest($1::BIGINT[]) AS token_id"
        sql += ", unnest($2::BIGINT[]) AS tuple_id"
        sql += "".join(f", unnest(${3 + w}::UBIGINT[]) AS word{w}" for w in range(words))
        sql += ") AS q JOIN postings AS p ON p.token_id = q.token_id"
        if tables is not None:
            sql += f" SEMI JOIN (SELECT unnest(${3 + words}::BIGINT[]) AS table_id) AS t ON t.table_id = p.table_id"
        if words and hash_number is not None:
            keys = "p"
            if self.manifest.layout == "per_row":
                sql += " JOIN super_keys AS s ON s.row_id = p.row_id"
                keys = "s"
            masks = (f"({keys}.{key_column(hash_number, w)} & q.word{w}) = q.word{w}" for w in range(words))
            sql += " WHERE " + " AND ".join(masks)
        parts = (np.ascontiguousarray(probes.keys[:, w]) for w in range(words))
        restriction = () if tables is None else (tables,)
        return Candidates(*self._numbers(sql, probes.token_id, probes.tuple_id, *parts, *restriction))

    def count_by_table(self, token_ids: Ids, weights: Ids | None = None) -> TableCounts:
        """Count postings by table."""
        if self.flat is not None:
            return self.flat.count_by_table(token_ids, weights)
        return TableCounts(
            *self._numbers(
                "SELECT p.table_id, sum(q.weight)::BIGINT FROM (SELECT unnest($1::BIGINT[]) AS token_id,"
                " unnest($2::BIGINT[]) AS weight) AS q JOIN postings AS p ON p.token_id = q.token_id"
                " GROUP BY p.table_id",
                token_ids,
                np.ones(len(token_ids), np.int64) if weights is None else weights,
            )
        )

    def rows(self, row_ids: Ids) -> Rows:
        """Return the tokens of rows."""
        if self.flat is not None:
            return self.flat.rows(row_ids)
        found = self._cursor.sql(
            "SELECT r.row_id, r.tokens FROM (SELECT unnest($1::BIGINT[]) AS row_id) AS q"
            " JOIN rows AS r ON r.row_id = q.row_id ORDER BY r.row_id",
            params=[np.unique(row_ids)],
        ).to_arrow_table()
        numbers = found.column(0).to_numpy().astype(np.int64, copy=False)
        lists = found.column(1).combine_chunks() if found.num_rows else pa.array([], pa.list_(pa.int64()))
        if isinstance(lists, pa.ChunkedArray):
            lists = lists.chunk(0)
        offsets = lists.offsets.to_numpy().astype(np.int64)
        values = lists.values.fill_null(NO_TOKEN).to_numpy(zero_copy_only=False)
        return Rows(numbers, offsets, values)

    def cells(self, row_ids: Ids) -> dict[int, list[str | None]]:
        """Return rows as they were read."""
        found = self._cursor.execute(
            "SELECT r.row_id, r.cells FROM (SELECT unnest($1::BIGINT[]) AS row_id) AS q"
            " JOIN cells AS r ON r.row_id = q.row_id",
            [np.unique(row_ids)],
        ).fetchall()
        return dict(found)

    def super_keys(self, row_ids: Ids, hash_number: int = 0) -> Keys:
        """Return the super keys of rows, from the postings or from the table of their own."""
        if self.flat is not None:
            return self.flat.super_keys(row_ids, hash_number)
        words = self.manifest.hashes[hash_number].bits // 64
        per_row = self.manifest.layout == "per_row"
        columns = ", ".join(f"any_value(k.{key_column(hash_number, w)})" for w in range(words))
        distinct, place = np.unique(row_ids, return_inverse=True)
        found = self._cursor.execute(
            f"SELECT k.row_id, {columns} FROM (SELECT unnest($1::BIGINT[]) AS row_id) AS q"
            f" JOIN {'super_keys' if per_row else 'postings'} AS k ON k.row_id = q.row_id GROUP BY k.row_id",
            [distinct],
        ).fetchnumpy()
        numbers, *parts = found.values()
        keys = np.zeros((len(distinct), words), np.uint64)
        # A row without a single token has no posting and no bit set.
        keys[np.searchsorted(distinct, np.asarray(numbers))] = np.column_stack([np.asarray(p) for p in parts])
        return keys[place]

    def tables(self, table_ids: Ids | None = None) -> list[TableInfo]:
        """Return tables by number."""
        if self.flat is not None and table_ids is not None:
            return self.flat.tables(table_ids)
        chosen = "" if table_ids is None else " WHERE table_id IN (SELECT unnest($1::BIGINT[]))"
        found = self._records(
            "SELECT table_id, name, source, position, line, columns, first_row, rows FROM tables"
            f"{chosen} ORDER BY table_id",
            *(() if table_ids is None else (table_ids,)),
        )
        return [TableInfo(**{**record, "columns": tuple(record["columns"])}) for record in found]

    def tables_from(self, sources: Sequence[str]) -> Ids:
        """Return the tables of these sources."""
        return self._numbers(
            "SELECT table_id FROM tables WHERE source IN (SELECT unnest($1::VARCHAR[])) ORDER BY 1", list(sources)
        )[0]

    def rejects(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return what was not indexed."""
        sql = "SELECT source, line, kind, reason, count FROM rejects ORDER BY source, line NULLS FIRST, reason"
        return self._records(sql + (f" LIMIT {int(limit)}" if limit is not None else ""))

    def sources(self) -> list[dict[str, Any]]:
        """Return the files that were read."""
        return self._records("SELECT source, format, bytes, sha256, tables FROM sources ORDER BY source")

    def tables_named(self, name: str) -> Ids:
        """Return the tables of this name."""
        return self._numbers("SELECT table_id FROM tables WHERE name = $1 ORDER BY 1", name)[0]

    def sources_named(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return some of the files that were read."""
        return self._records(
            "SELECT source, format, bytes, sha256, tables FROM sources WHERE source IN (SELECT unnest($1::VARCHAR[]))"
            " ORDER BY source",
            list(names),
        )

    def rejects_from(self, sources: Sequence[str]) -> list[dict[str, Any]]:
        """Return what was not indexed of some files."""
        return self._records(
            "SELECT source, line, kind, reason, count FROM rejects WHERE source IN (SELECT unnest($1::VARCHAR[]))"
            " ORDER BY source, line NULLS FIRST, reason",
            list(sources),
        )

    def dictionary(self, token_ids: Ids) -> Dictionary:
        """Look tokens up by number, so many at a time that row groups in between are skipped."""
        if self.flat is not None:
            return self.flat.dictionary(token_ids)
        distinct = np.unique(token_ids)
        pieces = [
            self._cursor.sql(
                "SELECT t.token_id, t.token, t.postings FROM (SELECT unnest($1::BIGINT[]) AS token_id) AS q"
                " JOIN tokens AS t ON t.token_id = q.token_id ORDER BY t.token_id",
                params=[distinct[start : start + DICTIONARY_LOOK_UP]],
            ).to_arrow_table()
            for start in range(0, max(1, len(distinct)), DICTIONARY_LOOK_UP)
        ]
        found = pa.concat_tables(pieces).combine_chunks()
        ids, texts, postings = (found.column(place) for place in range(3))
        return Dictionary(
            ids.to_numpy(),
            pa.concat_arrays(texts.cast(pa.string()).chunks or [pa.array([], pa.string())]),
            postings.to_numpy(),
        )

    def _records(self, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        result = self._cursor.execute(sql, list(parameters))
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    @cached_property
    def _block_size(self) -> int:
        sizes = {record["database_name"]: record["block_size"] for record in self._records("PRAGMA database_size")}
        return int(sizes[_ATTACHED])

    def sizes(self) -> dict[str, int]:
        """Return the size on disk, that of the flat file, and of each table in blocks that it has to itself."""
        sizes = {"file": Path(self.address).stat().st_size}
        if self.flat is not None:
            sizes["flat"] = self.flat.size
            sizes["file"] += self.flat.size
        for (name,) in self._cursor.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall():
            # All of a result is fetched: what is left of one keeps the connection from its next query.
            [(blocks,)] = self._cursor.execute(
                f"SELECT count(DISTINCT block_id) FROM pragma_storage_info('{name}') WHERE block_id >= 0"
            ).fetchall()
            sizes[name] = int(blocks) * self._block_size
        return sizes

    @cached_property
    def _josie(self) -> DuckDBJosie:
        return DuckDBJosie(self._numbers)

    def josie(self) -> JosieIndex:
        """Return the JOSIE part of the index, always the same object."""
        return self._josie if self.manifest.josie else super().josie()

    def close(self) -> None:
        """Close the file."""
        self._database.close()
