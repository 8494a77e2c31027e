"""Changing an embedded index: a new changes file is made from the old one and takes its place by a rename.

The work is that of copying the changes so far and adding the new ones; the base is only read, and only where the change
touches it.
"""

from __future__ import annotations

import shutil
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa

from mate.errors import StoreError
from mate.build.change import Change, now
from mate.build.keys import KeySettings
from mate.build.stage import REJECTS_SCHEMA, SOURCES_SCHEMA
from mate.build.workshop import Workshop, parquet, replace_file, selected
from mate.store.base import IndexStore
from mate.store.changes import DEAD_TABLES, Ranges, changes_path
from mate.store.layered import LayeredStore, build_of, open_embedded

NEXT_TABLE = "next_table"
"""Noted in the manifest of a compacted index: the first number that no table ever had."""


class DuckDBWriter(Workshop):
    """Changes an index in a DuckDB file. Holds the lock of the store, which builds take as well."""

    work = "build or change"
    contiguous = False
    store: IndexStore

    def __init__(self, address: str | Path, wait: float) -> None:
        super().__init__(address, wait=wait)
        self._address = str(address)

    def __enter__(self) -> Self:
        if not self.path.is_file():
            open_embedded(self._address)  # tells that there is none
        super().__enter__()
        try:
            self.store = open_embedded(self._address)
        except BaseException:
            super().__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()
        super().__exit__()

    def _check_memory(self) -> None:
        """Nobody can have asked for an impossible size."""

    @property
    def next_table(self) -> int:
        """The first number that no table ever had."""
        if isinstance(self.store, LayeredStore):
            return self.store.added.next_table
        found = self.store._records("SELECT value FROM manifest WHERE name = $1", NEXT_TABLE)  # type: ignore[attr-defined]
        return int(found[0]["value"]) if found else self.store.manifest.tables

    @property
    def next_row(self) -> int:
        """The first number that no row ever had."""
        return self.store.added.next_row if isinstance(self.store, LayeredStore) else self.store.manifest.rows

    def apply(self, change: Change) -> None:
        """Write a new changes file and publish it."""
        new = self.directory / "changes.duckdb"
        layered = self.store if isinstance(self.store, LayeredStore) else None
        if layered:
            shutil.copyfile(layered.added.address, new)
        with self.building(new) as database:
            database.execute("BEGIN")
            if not layered:
                _create(database, change)
            _remove(database, change, layered)
            _add(database, change)
            _note(database, change, layered, build_of(self.store.manifest))
            database.execute("COMMIT")
        self._publish(new)

    def _publish(self, new: Path) -> None:
        try:
            replace_file(new, changes_path(self.path))
        except OSError as error:
            raise StoreError(f"cannot write to {self.path.parent}: {error.strerror}") from error


def _create(database: duckdb.DuckDBPyConnection, change: Change) -> None:
    schemas = KeySettings(change.manifest.hashes, change.manifest.layout).schemas()
    more = {"tokens": change.added.schema, "sources": SOURCES_SCHEMA, "rejects": REJECTS_SCHEMA}
    for name, schema in {**schemas, **more}.items():
        _given(database, schema.empty_table())
        database.execute(f"CREATE TABLE {name} AS SELECT {selected(name)} FROM given")
    for name, columns in {**DEAD_TABLES, "manifest": "name VARCHAR, value VARCHAR"}.items():
        database.execute(f"CREATE TABLE {name} ({columns})")


def _given(database: duckdb.DuckDBPyConnection, records: pa.Table) -> None:
    database.register("given", records)


def _remove(database: duckdb.DuckDBPyConnection, change: Change, layered: LayeredStore | None) -> None:
    """Take rows, tables and sources out: of the changes by deleting them, of the base by calling them dead."""
    rows = change.gone_rows
    old = rows[layered.in_base(rows)] if layered else rows
    database.execute("CREATE TEMP TABLE gone AS SELECT unnest($1::BIGINT[]) AS row_id", [rows])
    _given(database, pa.table(dict(zip(("token_id", "table_id", "postings"), change.gone_postings, strict=True))))
    database.execute("CREATE TEMP TABLE gone_postings AS FROM given")
    # What of it is in the changes; the rest is in the base.
    database.execute(
        "CREATE TEMP TABLE deleted AS SELECT token_id, table_id, count(*) AS postings FROM postings"
        " WHERE row_id IN (FROM gone) GROUP BY ALL"
    )
    database.execute(
        "INSERT INTO dead_postings SELECT g.token_id, g.table_id, g.postings - coalesce(d.postings, 0) AS rest"
        " FROM gone_postings AS g LEFT JOIN deleted AS d USING (token_id, table_id) WHERE rest > 0 ORDER BY 1"
    )
    if len(rows) > len(old):
        for name in ("postings", "rows", "cells", *(["super_keys"] if change.manifest.layout == "per_row" else [])):
            database.execute(f"DELETE FROM {name} WHERE row_id IN (FROM gone)")
    if len(old):
        dead = (layered.added.dead if layered else Ranges.of(old[:0])).with_(Ranges.of(old))
        database.execute("DELETE FROM dead_rows")
        database.execute(
            "INSERT INTO dead_rows SELECT unnest($1::BIGINT[]), unnest($2::BIGINT[])", [dead.first, dead.stop]
        )
    _remove_records(database, "tables", "table_id", change.gone_tables.tolist(), "INTEGER")
    _remove_records(database, "sources", "source", change.gone_sources, "VARCHAR")
    database.execute("DELETE FROM rejects WHERE source IN (SELECT unnest($1::VARCHAR[]))", [change.gone_sources])


def _remove_records(database: duckdb.DuckDBPyConnection, name: str, key: str, gone: list[Any], type_: str) -> None:
    """Delete records; those that the changes do not have are the base's, and called dead."""
    database.execute(f"CREATE TEMP TABLE gone_{name} AS SELECT DISTINCT unnest($1::{type_}[]) AS {key}", [gone])
    database.execute(f"INSERT INTO dead_{name} FROM gone_{name} ANTI JOIN {name} USING ({key})")
    database.execute(f"DELETE FROM {name} WHERE {key} IN (FROM gone_{name})")


def _add(database: duckdb.DuckDBPyConnection, change: Change) -> None:
    """Put in what is new."""
    for name in change.parts[0] if change.parts else ():
        if name != "tables":
            order = " ORDER BY token_id, row_id, column_id" if name == "postings" else ""
            source = parquet(part[name] for part in change.parts)
            database.execute(f"INSERT INTO {name} SELECT {selected(name)} FROM {source}{order}")
    records = (
        ("tables", change.tables),
        ("sources", pa.Table.from_pylist(change.sources, SOURCES_SCHEMA)),
        ("rejects", pa.Table.from_pylist(change.rejects, REJECTS_SCHEMA)),
    )
    for name, table in records:
        _given(database, table)
        database.execute(f"INSERT INTO {name} FROM given")
    _given(database, change.added)
    database.execute(
        "CREATE TEMP TABLE counted AS SELECT token_id, any_value(token) AS token, sum(postings)::BIGINT AS postings"
        " FROM (FROM tokens UNION ALL FROM given"
        " UNION ALL SELECT token_id, NULL, -postings FROM deleted)"
        " WHERE token_id IN (SELECT token_id FROM given UNION SELECT token_id FROM deleted) GROUP BY token_id"
    )
    database.execute("DELETE FROM tokens WHERE token_id IN (SELECT token_id FROM counted)")
    database.execute("INSERT INTO tokens FROM counted WHERE postings > 0 ORDER BY token_id")


def _note(database: duckdb.DuckDBPyConnection, change: Change, layered: LayeredStore | None, base: str) -> None:
    if layered:
        base = layered.added.base
    operations = (layered.added.summary.operations if layered else 0) + 1
    manifest = replace(change.manifest, build=uuid.uuid4().hex)
    notes = {
        "manifest": manifest.to_json(),
        "base": base,
        "next_table": change.next_table,
        "next_row": change.next_row,
        "operations": operations,
        "last": now(),
    }
    database.execute("DELETE FROM manifest")
    database.execute(
        "INSERT INTO manifest SELECT unnest($1::VARCHAR[]), unnest($2::VARCHAR[])",
        [list(notes), [str(value) for value in notes.values()]],
    )
