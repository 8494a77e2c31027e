"""A change in the making: what an operation does in terms of tables and rows.

Finishing a draft computes tokens, super keys and postings of whatever is new, by the steps of the build, and looks up
what the change means for the dictionary. The result is a `Change`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mate.values.arrow import string_array
from mate.corpus import Limits
from mate.errors import StoreError
from mate.build.change import Change, RowsSource, TokenCounts, Writer, info_table
from mate.build.cut import cut_sources, large_files
from mate.build.engine import Engine
from mate.build.keys import KeySettings
from mate.build.progress import Progress, Silent
from mate.build.sources import Source, Unit, plan
from mate.build.stage import Oversized, Staged, StageSettings
from mate.build.steps import Numbering, key_units, placed, stage_units
from mate.store.base import Ids, IndexStore, TableInfo, as_ids
from mate.values.text import characters, tokens
from mate.values.token_ids import NO_TOKEN

CHUNK_ROWS = 20_000
"""Rows of the index that are read at a time."""


class Draft:
    """A change in the making, on the index as a writer holds it."""

    def __init__(self, writer: Writer, engine: Engine, told: Progress | None = None) -> None:
        self._writer, self._engine, self._told = writer, engine, told or Silent()
        self.store, self.contiguous = writer.store, writer.contiguous
        self._manifest = writer.store.manifest
        self._gone_rows: list[Ids] = []
        self._gone_owners: list[Ids] = []
        self._gone_tables: dict[int, TableInfo] = {}
        self._tables: dict[int, TableInfo] = {}
        self._gone_sources: list[str] = []
        self._sources: list[dict[str, Any]] = []
        self._rejects: list[dict[str, Any]] = []
        self.staged: list[Staged] = []
        self._parts: list[Any] = []
        self._next_table, self._next_row = writer.next_table, writer.next_row
        characters = {"cell_characters": self._manifest.cell_characters}
        self._limits = Limits(**{**self._manifest.limits, **characters})

    # What goes

    def remove_tables(self, tables: list[TableInfo]) -> None:
        """Take tables out, with their rows."""
        self._gone_tables.update((table.table_id, table) for table in tables)
        places = self.store.row_ids(as_ids([table.table_id for table in tables]))
        self.remove_rows(places.row_id, places.table_id)

    def remove_rows(self, row_ids: Ids, table_ids: Ids) -> None:
        """Take rows out."""
        self._gone_rows.append(row_ids)
        self._gone_owners.append(table_ids)

    def remove_sources(self, names: list[str]) -> None:
        """Forget sources and what was rejected of them."""
        self._gone_sources += names

    # What comes

    def put_table(self, old: TableInfo, new: TableInfo) -> None:
        """Replace the record of a table."""
        self._gone_tables[old.table_id] = old
        self._tables[new.table_id] = new

    def put_source(self, record: dict[str, Any], rejects: list[dict[str, Any]]) -> None:
        """Add a source or replace its record, with what was rejected of it."""
        self._gone_sources.append(record["source"])
        self._sources.append(record)
        self._rejects += rejects

    def put_rows(
        self, table: TableInfo, rows: list[list[str | None]], row_ids: Ids | None = None, *, known: bool = False
    ) -> Ids:
        """Add rows to a table, under these numbers or new ones; return the numbers.

        What is wrong with cells of rows that are known was reported when they came.
        """
        numbers = np.arange(self._next_row, self._next_row + len(rows)) if row_ids is None else row_ids
        if row_ids is None:
            self._next_row += len(rows)
        source = RowsSource(table.source, table.columns, rows)
        staged = self._stage([Unit(len(self.staged), (source,))])
        self._key(staged, Numbering(as_ids([table.table_id]), numbers), 0)
        self._rejects += [] if known else _rejects(staged)
        return numbers

    def report_long(self, table: TableInfo, rows: Sequence[int], values: Sequence[str | None]) -> None:
        """Report those of new values, one a row, that are too long to be indexed."""
        limit = self._limits.cell_characters
        lengths = characters(tokens(string_array(list(values)), frozenset(self._manifest.nulls)))
        long = np.flatnonzero(lengths > limit).tolist()
        if long:
            self._rejects.append(asdict(Oversized(table.source, rows[long[0]], len(long)).reject(limit)))

    def add_sources(self, sources: list[Source], known: Mapping[tuple[str, int], int]) -> list[TableInfo]:
        """Read sources and add their tables; a table at a known place of a known source keeps its number."""
        if large_files(sources, self._engine.parallelism):
            sources = cut_sources(sources, self._engine, self._limits, self._told)
        staged = self._stage(plan(sources, self._engine.parallelism))
        tables = _tables(staged)
        numbers = []
        for table in tables:
            number = known.get((table["source"], table["position"]))
            if number is None:
                number, self._next_table = self._next_table, self._next_table + 1
            numbers.append(number)
        first_row, self._next_row = self._next_row, self._next_row + sum(s.rows for s in staged)
        self._key(staged, Numbering(as_ids(numbers)), first_row)
        infos, row = [], first_row
        for number, table in zip(numbers, tables, strict=True):
            infos.append(
                TableInfo(**{**table, "table_id": number, "first_row": row, "columns": tuple(table["columns"])})
            )
            row += table["rows"]
        self._tables.update((info.table_id, info) for info in infos)
        rejects = _rejects(staged)
        for record in _records(staged, "sources"):
            self.put_source(record, [])
        self._rejects += rejects
        return infos

    def _stage(self, units: list[Unit]) -> list[Staged]:
        manifest = self._manifest
        settings = StageSettings(frozenset(manifest.nulls), self._limits, manifest.token_seed)
        directory = self._writer.directory / f"stage-{len(self.staged)}"
        directory.mkdir()
        staged = stage_units(self._engine, units, str(directory), settings, self._told)
        self.staged += staged
        return staged

    def _key(self, staged: list[Staged], numbering: Numbering, first_row: int) -> None:
        settings = KeySettings(self._manifest.hashes, self._manifest.layout)
        store = self._writer.task(settings.schemas())
        self._parts += key_units(self._engine, placed(staged, first_row), settings, store, self._told, numbering)

    # What follows from it

    def finish(self) -> Change:
        """Work out what the change means for the dictionary and the counts."""
        gone_rows, gone_owners = _together(self._gone_rows), _together(self._gone_owners)
        order = np.argsort(gone_rows, kind="stable")
        gone_rows, gone_owners = gone_rows[order], gone_owners[order]
        gone = postings_of(self.store, gone_rows, gone_owners)
        added = self._merged()
        dictionary, distinct = self._dictionary(added, gone)
        old = self.store.rejects_from(self._gone_sources) if self._gone_sources else []
        manifest = replace(
            self._manifest,
            tables=self._manifest.tables + len(self._tables) - len(self._gone_tables),
            columns=self._manifest.columns + _width(self._tables) - _width(self._gone_tables),
            rows=self._manifest.rows + sum(s.rows for s in self.staged) - len(gone_rows),
            cells=self._manifest.cells + sum(s.cells for s in self.staged) - int(gone.postings.sum()),
            distinct_tokens=self._manifest.distinct_tokens + distinct,
            rejects=self._manifest.rejects + _counted(self._rejects) - _counted(old),
            josie=False,
        )
        return Change(
            gone_rows=gone_rows,
            gone_postings=gone,
            gone_tables=as_ids(sorted(self._gone_tables)),
            gone_sources=sorted(set(self._gone_sources)),
            parts=self._parts,
            added=added,
            dictionary=dictionary,
            tables=info_table(self._tables.values()),
            sources=self._sources,
            rejects=self._rejects,
            manifest=manifest,
            next_table=self._next_table,
            next_row=self._next_row,
        )

    def _merged(self) -> pa.Table:
        """Return the dictionary of all new rows."""
        parts = [staged.path("dictionary") for staged in self.staged if staged.cells]
        path = str(self._writer.directory / "dictionary")
        if not parts:
            return pa.table({"token_id": as_ids([]), "token": pa.array([], pa.string()), "postings": as_ids([])})
        if not self._engine.merge(parts, path).unique:
            raise _collision(self.store.address)
        return pq.read_table(path, columns=["token_id", "token", "postings"]).sort_by("token_id").combine_chunks()

    def _dictionary(self, added: pa.Table, gone: TokenCounts) -> tuple[pa.Table, int]:
        """Return the tokens that the change touches, with their postings afterwards, and how many more there are."""
        new = added.column("token_id").to_numpy()
        ids = np.union1d(new, gone.token_id)
        before = self.store.dictionary(ids)
        counts = np.zeros(len(ids), np.int64)
        counts[np.searchsorted(ids, before.token_id)] = before.postings
        known = counts > 0
        shared = np.isin(before.token_id, new)
        own = added.column("token").take(pa.array(np.searchsorted(new, before.token_id[shared])))
        if not pc.all(pc.equal(own, before.token.filter(pa.array(shared)))).as_py() and shared.any():
            raise _collision(self.store.address)
        counts[np.searchsorted(ids, new)] += added.column("postings").to_numpy()
        np.subtract.at(counts, np.searchsorted(ids, gone.token_id), gone.postings)
        if (counts < 0).any():
            raise StoreError(f"{self.store.address}: its dictionary does not agree with its rows; see: mate check")
        texts = pa.concat_arrays([before.token, *added.column("token").chunks])
        first = np.unique(np.concatenate([before.token_id, new]), return_index=True)[1]
        distinct = int((counts > 0).sum() - known.sum())
        return pa.table({"token_id": ids, "token": texts.take(pa.array(first)), "postings": counts}), distinct


def postings_of(store: IndexStore, row_ids: Ids, owners: Ids) -> TokenCounts:
    """Count the postings of rows, which are ascending, by token and table."""
    pieces = []
    for start in range(0, len(row_ids), CHUNK_ROWS):
        rows = store.rows(row_ids[start : start + CHUNK_ROWS])
        table = owners[np.searchsorted(row_ids, rows.row_id)]
        valid = rows.token_id != NO_TOKEN
        names = {"token_id": rows.token_id[valid], "table_id": np.repeat(table, np.diff(rows.offsets))[valid]}
        pieces.append(pa.table(names).group_by(["token_id", "table_id"]).aggregate([([], "count_all")]))
    if not pieces:
        return TokenCounts(*(as_ids([]) for _ in range(3)))
    grouped = pa.concat_tables(pieces).group_by(["token_id", "table_id"]).aggregate([("count_all", "sum")])
    return TokenCounts(*(grouped.column(n).to_numpy() for n in ("token_id", "table_id", "count_all_sum")))


def _collision(address: str) -> StoreError:
    return StoreError(
        f"a new token has the number of another one of {address}, which no change can cure: build the index again"
    )


def _together(pieces: list[Ids]) -> Ids:
    return np.concatenate(pieces) if pieces else as_ids([])


def _width(tables: Mapping[int, TableInfo]) -> int:
    return sum(len(table.columns) for table in tables.values())


def _counted(rejects: list[dict[str, Any]]) -> int:
    return sum(reject["count"] for reject in rejects)


def _records(staged: list[Staged], part: str) -> list[dict[str, Any]]:
    return [record for unit in staged for record in pq.read_table(unit.path(part)).to_pylist()]


def _rejects(staged: list[Staged]) -> list[dict[str, Any]]:
    return _records([unit for unit in staged if unit.rejects], "rejects")


def _tables(staged: list[Staged]) -> list[dict[str, Any]]:
    records = _records(staged, "tables")
    for record in records:
        del record["table_no"]
    return records
