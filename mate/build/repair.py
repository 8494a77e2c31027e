"""An index made anew from its own cells (`mate check --repair`): what can be computed is, by the steps of the build.

The cells and the records of tables are taken for the truth. Rows whose cells are lost are restored from their tokens,
which have the value but not the spelling; rows of which neither is left are lost. The sources of such tables are
marked, so that the next `mate sync` reads them again.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mate.corpus import Chunk, Limits, Table
from mate.errors import StoreError
from mate.build import duckdb_josie
from mate.build.change import info_table, now
from mate.build.duckdb_changes import NEXT_TABLE
from mate.build.duckdb_target import DuckDBTarget
from mate.build.engine import LocalEngine
from mate.build.flat import write_flat
from mate.build.keys import KeySettings
from mate.build.progress import Progress, Silent
from mate.build.sources import Unit
from mate.build.stage import REJECTS_SCHEMA, SOURCES_SCHEMA, Staged, StageSettings
from mate.build.steps import Numbering, key_units, placed, stage_units
from mate.build.workshop import quoted, replace_file
from mate.store.base import Ids, IndexStore, Manifest, RowPlaces, TableInfo, as_ids
from mate.store.duckdb import DuckDBStore
from mate.store.flat import flat_path
from mate.store.layered import LayeredStore, open_embedded
from mate.values.token_ids import NO_TOKEN
from mate.build.updates import explained

_ROWS = 20_000
_UNIT_ROWS = 200_000


@dataclass
class Repaired:
    """What a repair had to do without."""

    restored: dict[int, int] = field(default_factory=dict)
    """Rows by table that were restored from their tokens."""
    lost: dict[int, int] = field(default_factory=dict)
    """Rows by table of which nothing was left."""


@dataclass(frozen=True)
class StoredTable:
    """A table of the index, read from its stored cells."""

    store: IndexStore
    info: TableInfo
    row_ids: Ids
    repaired: Repaired
    format: str = "stored"
    size: int = 0

    @property
    def name(self) -> str:
        """The file that it came from."""
        return self.info.source

    def read(self, _: Limits) -> Iterator[Chunk]:
        """Yield its rows."""
        info, first = self.info, 0
        # The number stands in for the position, so that no two tables of the index are taken for one.
        table = Table(info.source, info.table_id, info.line, info.name, info.columns)
        for start in range(0, len(self.row_ids), _ROWS):
            rows = self._rows(self.row_ids[start : start + _ROWS])
            yield Chunk(table, first, pa.array([cell for row in rows for cell in row], pa.string()))
            first += len(rows)

    def _rows(self, row_ids: Ids) -> list[list[str | None]]:
        cells = self.store.cells(row_ids)
        missing = as_ids([row for row in row_ids.tolist() if row not in cells])
        cells |= self._restored(missing) if len(missing) else {}
        width = len(self.info.columns)
        return [[*cells[row], *[None] * width][:width] for row in row_ids.tolist() if row in cells]

    def _restored(self, row_ids: Ids) -> dict[int, list[str | None]]:
        rows = self.store.rows(row_ids)
        known = self.store.dictionary(rows.token_id[rows.token_id != NO_TOKEN])
        texts = dict(zip(known.token_id.tolist(), known.token.to_pylist(), strict=True))
        found: dict[int, list[str | None]] = {}
        for row, start, stop in zip(rows.row_id.tolist(), rows.offsets[:-1], rows.offsets[1:], strict=True):
            found[row] = [texts.get(token) for token in rows.token_id[start:stop].tolist()]
        table = self.info.table_id
        self.repaired.restored[table] = self.repaired.restored.get(table, 0) + len(found)
        return found

    def checksum(self) -> str:
        """Not asked for."""
        return ""


class _Remade(DuckDBTarget):
    """An index made from stored tables: their records, sources and rejects are taken over."""

    def take_over(self, store: IndexStore, tables: list[StoredTable], repaired: Repaired) -> None:
        """Note what is not computed."""
        self._store, self._tables, self._repaired = store, tables, repaired
        self.josie = (store.base if isinstance(store, LayeredStore) else store).manifest.josie

    def _create(
        self,
        database: duckdb.DuckDBPyConnection,
        stored: list[dict[str, str]],
        dictionary: str,
        staged: list[Staged],
        manifest: Manifest,
    ) -> None:
        super()._create(database, stored, dictionary, staged, manifest)
        rows = {record["position"]: record["rows"] for record in _records(staged, "tables")}
        infos = records_of(self._tables, rows)
        for old, new in zip(self._tables, infos, strict=True):
            if new.rows < old.info.rows:
                self._repaired.lost[new.table_id] = old.info.rows - new.rows
        parts = {
            "tables": info_table(infos),
            "sources": pa.Table.from_pylist(self._sources(infos), SOURCES_SCHEMA),
            "rejects": pa.Table.from_pylist(self._store.rejects(), REJECTS_SCHEMA),
        }
        for name, records in parts.items():
            database.register("given", records)
            database.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given")
        following = max([info.table_id for info in infos]) + 1
        if isinstance(self._store, LayeredStore):
            following = max(following, self._store.added.next_table)
        database.execute("INSERT INTO manifest VALUES ($1, $2)", [NEXT_TABLE, str(following)])
        if self.josie:
            duckdb_josie.create(database, "postings")

    def _sources(self, infos: list[TableInfo]) -> list[dict[str, Any]]:
        """Return the sources with the tables that there are; what lost something has no checksum any more."""
        found = Counter(info.source for info in infos)
        short = {info.source for info in infos if info.table_id in {**self._repaired.lost, **self._repaired.restored}}
        records = []
        for record in self._store.sources():
            name, whole = record["source"], record["format"] == "synthetic"
            if not whole and (found[name] != record["tables"] or name in short):
                record = {**record, "tables": found[name], "sha256": ""}
            records.append(record)
        return records


def repair(address: str, wait: float, told: Progress | None = None) -> Repaired:
    """Make an index anew from its cells and publish it in the place of the old one and its changes."""
    progress, repaired = told or Silent(), Repaired()
    if not Path(address).is_file():
        raise StoreError(f"there is no index at {address}")
    with _Remade(address, wait=wait) as target, explained("repair"), open_embedded(address, flat=False) as store:
        tables = _stored(store, repaired)
        target.take_over(store, tables, repaired)
        full = [table for table in tables if len(table.row_ids)]
        staged = _staged(store.manifest, full, str(target.directory), progress)
        if not sum(unit.cells for unit in staged):
            raise StoreError(f"{address} has no cell left to be made anew from: build the index again")
        held = {record["position"] for record in _records(staged, "tables")}
        numbers = as_ids([table.info.table_id for table in full if table.info.table_id in held])
        engine, keys = LocalEngine(), KeySettings(store.manifest.hashes, store.manifest.layout)
        stored = key_units(engine, placed(staged), keys, target.task({}), progress, Numbering(numbers))
        dictionary = str(target.directory / "dictionary")
        merged = engine.merge([unit.path("dictionary") for unit in staged if unit.cells], dictionary)
        if not merged.unique:
            raise StoreError(f"two tokens of {address} share a number: build the index again")
        manifest = replace(
            store.manifest,
            tables=len(tables),
            columns=sum(len(table.info.columns) for table in tables),
            rows=sum(unit.rows for unit in staged),
            cells=sum(unit.cells for unit in staged),
            distinct_tokens=merged.distinct,
            rejects=sum(reject["count"] for reject in store.rejects()),
            josie=target.josie,
            build=uuid.uuid4().hex,
            built=now(),
        )
        target.load(stored, dictionary, staged, manifest)
        target.publish()
    return repaired


def rewrite_flat(address: str, wait: float) -> None:
    """Write the flat file of an index anew, and nothing else."""
    with DuckDBTarget(address, wait=wait) as target, open_embedded(address, flat=False) as store:
        base = store.base if isinstance(store, LayeredStore) else store
        new = target.directory / "flat"
        with duckdb.connect() as database:
            database.execute(f"ATTACH '{quoted(address)}' AS base (TYPE duckdb, READ_ONLY)")
            database.execute("USE base")
            written = write_flat(database, base.manifest, new)
        if written:
            replace_file(new, flat_path(address))
        else:
            flat_path(address).unlink(missing_ok=True)


def _stored(store: IndexStore, repaired: Repaired) -> list[StoredTable]:
    """Return the tables with the rows that they have."""
    tables = store.tables()
    rows, owners = _places(store, tables)
    bounds = np.searchsorted(owners, [table.table_id for table in tables], "left")
    ends = np.searchsorted(owners, [table.table_id for table in tables], "right")
    return [
        StoredTable(store, table, np.unique(rows[start:stop]), repaired)
        for table, start, stop in zip(tables, bounds.tolist(), ends.tolist(), strict=True)
    ]


def _places(store: IndexStore, tables: list[TableInfo]) -> RowPlaces:
    """Return the rows of all tables: by the tables' records if these fit together, else by what the rows say."""
    base = store.base if isinstance(store, LayeredStore) else store
    assert isinstance(base, DuckDBStore)
    records = sorted(base.tables(), key=lambda table: (table.first_row, table.rows))
    [last] = base._numbers(
        "SELECT coalesce(max(row_id), -1) FROM (SELECT row_id FROM rows UNION SELECT row_id FROM cells)"
    )
    ends = accumulate((table.rows for table in records), initial=0)
    fit = all(table.first_row == end for table, end in zip(records, ends, strict=False))
    if fit and sum(table.rows for table in records) == int(last[0]) + 1:
        found = [base.row_ids(as_ids([table.table_id for table in records]))]
    else:
        found = [_of_rows(base)]
    if isinstance(store, LayeredStore):
        alive = store.in_base(found[0].row_id)
        found = [RowPlaces(*(column[alive] for column in found[0])), _of_rows(store.added)]
    row, table = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.lexsort((row, table))
    return RowPlaces(row[order], table[order])


def _of_rows(store: DuckDBStore) -> RowPlaces:
    """Return the rows of a file by what they say; one that is lost, by its postings, if its cells are there."""
    rows = store._numbers("SELECT row_id, table_id FROM rows")
    more = store._numbers(
        "SELECT DISTINCT row_id, table_id FROM postings SEMI JOIN cells USING (row_id) ANTI JOIN rows USING (row_id)"
    )
    return RowPlaces(*(np.concatenate(columns) for columns in zip(rows, more, strict=True)))


def _staged(manifest: Manifest, tables: list[StoredTable], directory: str, told: Progress) -> list[Staged]:
    """Make the tokens of all tables, some tables at a time."""
    units: list[Unit] = []
    group: list[StoredTable] = []
    for table in tables:
        group.append(table)
        if sum(len(member.row_ids) for member in group) >= _UNIT_ROWS:
            units.append(Unit(len(units), tuple(group)))
            group = []
    units += [Unit(len(units), tuple(group))] if group else []
    settings = StageSettings(frozenset(manifest.nulls), Limits(manifest.cell_characters), manifest.token_seed)
    return stage_units(LocalEngine(), units, directory, settings, told)


def _records(staged: list[Staged], part: str) -> list[dict[str, Any]]:
    return [record for unit in staged for record in pq.read_table(unit.path(part)).to_pylist()]


def records_of(tables: list[StoredTable], rows: dict[int, int]) -> list[TableInfo]:
    """Return the records of tables that have so many rows now, one after the other."""
    counts = [rows.get(table.info.table_id, 0) for table in tables]
    firsts = accumulate(counts, initial=0)
    return [
        replace(table.info, first_row=first, rows=count)
        for table, first, count in zip(tables, firsts, counts, strict=False)
    ]
