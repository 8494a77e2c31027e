"""Folding the changes of an embedded index into a new base, by sorting both into one file.

Tables keep their numbers, with gaps where some were removed. Rows are numbered anew, table by table, so that those of a
table follow each other again.
"""

from __future__ import annotations

import uuid
from dataclasses import replace

import duckdb

from mate.build import duckdb_josie
from mate.build.change import now
from mate.build.duckdb_changes import NEXT_TABLE, DuckDBWriter
from mate.build.duckdb_target import publish_index, verify
from mate.build.flat import write_flat
from mate.build.keys import KeySettings
from mate.build.progress import Progress
from mate.build.workshop import quoted
from mate.store.base import Manifest
from mate.store.flat import flat_path
from mate.store.layered import LayeredStore

_NUMBERED = (
    "CREATE TEMP TABLE dead AS SELECT unnest(range(first, stop)) AS row_id FROM changes.dead_rows",
    "CREATE TEMP TABLE alive AS SELECT row_number() OVER (ORDER BY table_id, row_id) - 1 AS number, row_id, new"
    " FROM (SELECT row_id, table_id, FALSE AS new FROM base.rows ANTI JOIN dead USING (row_id)"
    " UNION ALL SELECT row_id, table_id, TRUE FROM changes.rows)",
    # Where a table stands, also one that has no rows.
    "CREATE TABLE tables AS SELECT table_id, name, source, position, line, columns,"
    " (sum(rows) OVER (ORDER BY table_id ROWS UNBOUNDED PRECEDING) - rows)::BIGINT AS first_row, rows FROM ("
    "FROM base.tables ANTI JOIN changes.dead_tables USING (table_id) UNION ALL FROM changes.tables) ORDER BY table_id",
    "CREATE TABLE tokens AS SELECT token_id, any_value(token) AS token, sum(postings)::BIGINT AS postings FROM ("
    "FROM base.tokens UNION ALL FROM changes.tokens"
    " UNION ALL SELECT token_id, NULL, -postings FROM changes.dead_postings)"
    " GROUP BY token_id HAVING sum(postings) > 0 ORDER BY token_id",
    *(
        f"CREATE TABLE {name} AS FROM (FROM base.{name} ANTI JOIN changes.dead_sources USING (source)"
        f" UNION ALL FROM changes.{name}) ORDER BY {order}"
        for name, order in (("sources", "source"), ("rejects", "source, line NULLS FIRST, reason"))
    ),
)


def compact(writer: DuckDBWriter, josie: bool, told: Progress) -> Manifest:
    """Publish one file in the place of a base and its changes; return its manifest."""
    store = writer.store
    assert isinstance(store, LayeredStore)
    manifest = replace(store.manifest, josie=josie, build=uuid.uuid4().hex, built=now())
    new = writer.directory / "index.duckdb"
    told.start("sort and load", 1)
    with writer.building(new) as database:
        for name, address in (("base", store.base.address), ("changes", store.added.address)):
            database.execute(f"ATTACH '{quoted(address)}' AS {name} (TYPE duckdb, READ_ONLY)")
        _fold(database, manifest, writer.next_table)
        verify(database, manifest)
        if manifest.cells:
            write_flat(database, manifest, flat_path(new))
        if josie:
            duckdb_josie.create(database, "postings")
    publish_index(new, writer.path)
    told.update(1)
    return manifest


def _fold(database: duckdb.DuckDBPyConnection, manifest: Manifest, next_table: int) -> None:
    for statement in _NUMBERED:
        database.execute(statement)
    for name, schema in KeySettings(manifest.hashes, manifest.layout).schemas().items():
        if name == "tables":
            continue
        columns = ", ".join("a.number AS row_id" if column == "row_id" else f"t.{column}" for column in schema.names)
        order = "token_id, row_id, column_id" if name == "postings" else "row_id"
        parts = " UNION ALL ".join(
            f"SELECT {columns} FROM {layer}.{name} AS t JOIN alive AS a ON a.row_id = t.row_id AND a.new = {new}"
            for layer, new in (("base", False), ("changes", True))
        )
        database.execute(f"CREATE TABLE {name} AS FROM ({parts}) ORDER BY {order}")
    database.execute("CREATE TABLE manifest (name VARCHAR, value VARCHAR)")
    database.execute(
        "INSERT INTO manifest VALUES ('manifest', $1), ($2, $3)", [manifest.to_json(), NEXT_TABLE, str(next_table)]
    )
