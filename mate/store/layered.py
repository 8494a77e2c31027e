"""An embedded index and its changes, read as one.

Both are opened when the store is and stay as they were, whatever is published meanwhile. A look-up asks the base and
the changes, and leaves out of the base's answer what is dead (`mate.store.changes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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
    RowPlaces,
    Rows,
    TableCounts,
    TableInfo,
    TokenEntries,
)
from mate.store.changes import ChangesStore, changes_path
from mate.store.duckdb import DuckDBStore
from mate.store.josie import JosieIndex


def build_of(manifest: Manifest) -> str:
    """Return what tells one build of an index from any other; older ones have no name for it."""
    return manifest.build or f"{manifest.built} {manifest.tables} {manifest.rows} {manifest.cells}"


def open_embedded(address: str | Path, *, flat: bool = True) -> IndexStore:
    """Open the index in a DuckDB file, with its changes if it has any; without its flat file if so asked.

    The changes are opened first. If the base turns out to be another build's, it was compacted or built anew
    after they were written, and it is complete by itself.
    """
    changes = _changes(address)
    try:
        base = DuckDBStore(address, flat)
    except BaseException:
        if changes:
            changes.close()
        raise
    if changes and changes.base == build_of(base.manifest):
        return LayeredStore(base, changes)
    if changes:
        changes.close()
    return base


def _changes(address: str | Path) -> ChangesStore | None:
    path = changes_path(address)
    try:
        return ChangesStore(path) if path.is_file() else None
    except StoreError:
        if path.is_file():
            raise
        return None  # gone in this very moment


class LayeredStore(IndexStore):
    """A base that never changes, and the changes to it."""

    def __init__(self, base: DuckDBStore, changes: ChangesStore) -> None:
        self.base, self.added = base, changes
        self.address, self.manifest, self.changes = base.address, changes.manifest, changes.summary
        self.flat = base.flat
        self.flat_lacks = np.union1d(changes.dead_tables, changes.own_tables)

    def in_base(self, row_ids: Ids) -> npt.NDArray[np.bool_]:
        """Tell for each row whether it is one of the base, and not dead."""
        return (row_ids < self.base.manifest.rows) & ~self.added.dead.has(row_ids)

    def tokens(self, texts: pa.StringArray) -> TokenEntries:
        """Look tokens up; one whose postings are all dead is unknown."""
        ids, counts = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
        old, new = self.base.tokens(texts), self.added.tokens(texts)
        ids[old.place], counts[old.place] = old.token_id, old.postings - self.added.dead_counts(old.token_id)
        ids[new.place] = new.token_id
        counts[new.place] += new.postings
        place = np.flatnonzero(counts > 0)
        return TokenEntries(place, ids[place], counts[place])

    def dictionary(self, token_ids: Ids) -> Dictionary:
        """Look tokens up by number."""
        old, new = self.base.dictionary(token_ids), self.added.dictionary(token_ids)
        ids = np.union1d(old.token_id, new.token_id)
        counts = np.zeros(len(ids), np.int64)
        counts[np.searchsorted(ids, old.token_id)] = old.postings - self.added.dead_counts(old.token_id)
        counts[np.searchsorted(ids, new.token_id)] += new.postings
        texts = pa.concat_arrays([old.token, new.token])
        first = np.unique(np.concatenate([old.token_id, new.token_id]), return_index=True)[1]
        return Dictionary(ids, texts.take(pa.array(first)), counts)

    def postings(self, token_ids: Ids) -> Postings:
        """Return all postings of these tokens that are not dead."""
        old = self.base.postings(token_ids)
        alive = self.in_base(old.row_id)
        new = self.added.postings(token_ids)
        return Postings(*(np.concatenate([a[alive], b]) for a, b in zip(old, new, strict=True)))

    def candidates(self, probes: Probes, hash_number: int | None, tables: Ids | None = None) -> Candidates:
        """Return the candidates of both that are not dead."""
        old = self.base.candidates(probes, hash_number, tables)
        alive = self.in_base(old.row_id)
        new = self.added.candidates(probes, hash_number, tables)
        return Candidates(*(np.concatenate([a[alive], b]) for a, b in zip(old, new, strict=True)))

    def count_by_table(self, token_ids: Ids, weights: Ids | None = None) -> TableCounts:
        """Count the postings of both by table, less those that are dead."""
        old, new = self.base.count_by_table(token_ids, weights), self.added.count_by_table(token_ids, weights)
        dead = self.added.dead_by_table(token_ids, weights)
        parts = (old.postings, new.postings, -dead.postings)
        tables, place = np.unique(np.concatenate([old.table_id, new.table_id, dead.table_id]), return_inverse=True)
        counts = np.zeros(len(tables), np.int64)
        np.add.at(counts, place, np.concatenate(parts))
        return TableCounts(tables[counts > 0], counts[counts > 0])

    def rows(self, row_ids: Ids) -> Rows:
        """Return the tokens of rows."""
        old, new = self.base.rows(row_ids[self.in_base(row_ids)]), self.added.rows(row_ids)
        if not len(new.row_id) or not len(old.row_id):
            return new if len(new.row_id) else old
        numbers = np.concatenate([old.row_id, new.row_id])
        order = np.argsort(numbers, kind="stable")
        starts = np.concatenate([old.offsets[:-1], new.offsets[:-1] + len(old.token_id)])[order]
        widths = np.concatenate([np.diff(old.offsets), np.diff(new.offsets)])[order]
        offsets = np.concatenate([[0], np.cumsum(widths)])
        place = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], widths)
        return Rows(numbers[order], offsets, np.concatenate([old.token_id, new.token_id])[place])

    def cells(self, row_ids: Ids) -> dict[int, list[str | None]]:
        """Return rows as they were read or written."""
        return {**self.base.cells(row_ids[self.in_base(row_ids)]), **self.added.cells(row_ids)}

    def super_keys(self, row_ids: Ids, hash_number: int = 0) -> Keys:
        """Return the super keys of rows, in the order asked for."""
        keys = self.added.super_keys(row_ids, hash_number)
        old = self.in_base(row_ids)
        keys[old] = self.base.super_keys(row_ids[old], hash_number)
        return keys

    def tables(self, table_ids: Ids | None = None) -> list[TableInfo]:
        """Return tables by number, in their present form."""
        dead = set(self.added.dead_tables.tolist())
        old = [table for table in self.base.tables(table_ids) if table.table_id not in dead]
        return sorted(old + self.added.tables(table_ids), key=lambda table: table.table_id)

    def tables_from(self, sources: Sequence[str]) -> Ids:
        """Return the tables of these sources."""
        return self._present(self.base.tables_from(sources), self.added.tables_from(sources))

    def tables_named(self, name: str) -> Ids:
        """Return the tables of this name."""
        return self._present(self.base.tables_named(name), self.added.tables_named(name))

    def _present(self, old: Ids, new: Ids) -> Ids:
        return np.union1d(np.setdiff1d(old, self.added.dead_tables), new)

    def row_ids(self, table_ids: Ids) -> RowPlaces:
        """Return the rows of tables: what is left of the base's, and those that were added or replaced."""
        old, new = self.base.row_ids(table_ids), self.added.row_ids(table_ids)
        alive = self.in_base(old.row_id)
        rows, tables = np.concatenate([old.row_id[alive], new.row_id]), np.concatenate([old.table_id[alive], new[1]])
        order = np.lexsort((rows, tables))
        return RowPlaces(rows[order], tables[order])

    def rejects(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return what was not indexed."""
        every = self._records(self.base.rejects(), self.added.rejects())
        every.sort(key=lambda r: (r["source"], r["line"] is not None, r["line"], r["reason"]))
        return every[:limit]

    def rejects_from(self, sources: Sequence[str]) -> list[dict[str, Any]]:
        """Return what was not indexed of some files."""
        return self._records(self.base.rejects_from(sources), self.added.rejects_from(sources))

    def sources(self) -> list[dict[str, Any]]:
        """Return the files that were read."""
        return sorted(self._records(self.base.sources(), self.added.sources()), key=lambda r: str(r["source"]))

    def sources_named(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return some of the files that were read."""
        return self._records(self.base.sources_named(names), self.added.sources_named(names))

    def _records(self, old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [record for record in old if record["source"] not in self.added.dead_sources] + new

    def sizes(self) -> dict[str, int]:
        """Return the size of the base and its parts, and of the changes."""
        sizes, more = self.base.sizes(), self.added.summary.bytes
        return {**sizes, "file": sizes["file"] + more, "changes": more}

    def josie(self) -> JosieIndex:
        """Refuse: the JOSIE index knows nothing of the changes."""
        if self.base.manifest.josie:
            raise StoreError(
                f"the JOSIE index of {self.address} is older than the changes to it: "
                f"mate compact --store {self.address} builds it anew"
            )
        return super().josie()

    def close(self) -> None:
        """Close both files."""
        self.added.close()
        self.base.close()
