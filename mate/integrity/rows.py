"""Some rows of an index checked: cells, tokens, super keys, and what was posted of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.build.batches import make_batch
from mate.build.keys import super_keys
from mate.corpus import Chunk, Table
from mate.hashing import Keys
from mate.integrity.layer import Layer, Problem, Sums, fingerprint
from mate.store.base import Ids
from mate.values.token_ids import NO_TOKEN

_MOST_DETAILS = 100
"""Rows whose postings are looked at one by one, to say what is wrong."""


class _Rows(NamedTuple):
    """Rows of one part, ascending by number, with lists of values."""

    row_id: Ids
    table_id: Ids
    starts: Ids
    values: Any


class SomeRows:
    """Some rows of a file."""

    def __init__(self, layer: Layer, low: int, high: int) -> None:
        self._layer = layer
        self._where = f"WHERE row_id >= {low} AND row_id < {high} ORDER BY row_id"
        self.rows = self._lists("rows", "tokens", "table_id")
        self.cells = self._lists("cells", "cells", "-1")
        self.ids, self.keys = self._computed()

    def _lists(self, name: str, column: str, table: str) -> _Rows:
        found = self._layer.table(
            f"SELECT row_id, {table} AS table_id, {column} FROM {self._layer.name}.{name} {self._where}"
        )
        lists = found.column(2)
        lists = lists.chunk(0) if lists.num_chunks else pa.array([], lists.type)
        rows, tables = (np.asarray(found.column(place).to_numpy()).astype(np.int64) for place in range(2))
        return _Rows(rows, tables, lists.offsets.to_numpy().astype(np.int64), lists.values)

    def _computed(self) -> tuple[Ids, list[Keys]]:
        """Return the tokens of the cells and the super keys of the rows, computed anew by the pipeline's own code."""
        manifest, cells = self._layer.manifest, self.cells
        values = cells.values.slice(cells.starts[0], cells.starts[-1] - cells.starts[0]).cast(pa.string())
        flat = Chunk(Table("", 0, 1, "", ("",)), 0, values)
        batch = make_batch([(0, flat)], frozenset(manifest.nulls), manifest.token_seed, manifest.cell_characters)
        ids = batch.rows.column("tokens").values.to_numpy()
        valid = ids != NO_TOKEN
        starts = np.concatenate([[0], np.cumsum(valid)])[cells.starts - cells.starts[0]]
        functions = [spec.function() for spec in manifest.hashes]
        return ids, super_keys(pa.Table.from_batches([batch.dictionary]), ids[valid], starts, functions)

    def problems(self, sums: Sums, counts: Ids) -> Iterator[Problem]:
        """Yield what is wrong with these rows; `sums` and `counts` are what was posted of them."""
        rows, cells = self.rows, self.cells
        yield from _twice(rows.row_id, "rows")
        yield from _twice(cells.row_id, "cells")
        distinct, place = np.unique(rows.row_id, return_index=True)
        tables = rows.table_id[place]
        for row, table in (
            zip(distinct.tolist(), tables.tolist(), strict=True) if len(cells.row_id) < len(distinct) else ()
        ):
            if row not in set(cells.row_id.tolist()):
                yield Problem("cells", "the cells of the row are missing", table, row)
        for row in np.setdiff1d(cells.row_id, distinct).tolist():
            yield Problem("rows", "the row is missing, its cells are there", None, row)
        both, of_row, of_cells = np.intersect1d(rows.row_id, cells.row_id, return_indices=True)
        yield from self._wrong_tokens(both, of_row, of_cells)
        wrong = self._wrongly_posted(both, of_row, of_cells, sums, counts)
        yield from self._explained(wrong)
        if self._layer.manifest.layout == "per_row":
            yield from self._wrong_keys(both, of_row, of_cells)

    def _wrong_tokens(self, both: Ids, of_row: Ids, of_cells: Ids) -> Iterator[Problem]:
        rows, cells = self.rows, self.cells
        own, other = np.diff(rows.starts)[of_row], np.diff(cells.starts)[of_cells]
        same = own == other
        for place in np.flatnonzero(~same).tolist():
            text = f"it has {other[place]} cells and {own[place]} tokens"
            yield Problem("rows", text, int(rows.table_id[of_row[place]]), int(both[place]))
        noted = rows.values.fill_null(NO_TOKEN).to_numpy(zero_copy_only=False)
        left, right = rows.starts[of_row[same]], (cells.starts - cells.starts[0])[of_cells[same]]
        widths = own[same]
        within = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths)
        differs = noted[np.repeat(left, widths) + within] != self.ids[np.repeat(right, widths) + within]
        owner = np.repeat(np.flatnonzero(same), widths)[differs]
        for place in np.unique(owner).tolist():
            columns = ", ".join(str(c + 1) for c in within[differs][owner == place].tolist())
            text = f"its tokens are not those of its cells (column {columns})"
            yield Problem("rows", text, int(rows.table_id[of_row[place]]), int(both[place]))

    def _expected(self, of_row: Ids, of_cells: Ids) -> tuple[list[npt.NDArray[Any]], Ids]:
        """Return the postings that these rows must have: token, table, column and words of keys; and whose they are."""
        starts = self.cells.starts - self.cells.starts[0]
        widths = np.diff(starts)[of_cells]
        owner = np.repeat(np.arange(len(of_cells)), widths)
        column = np.arange(len(owner)) - np.repeat(np.cumsum(widths) - widths, widths)
        token = self.ids[np.repeat(starts[of_cells], widths) + column]
        valid = token != NO_TOKEN
        owner = owner[valid]
        words = [key[of_cells[owner], word] for key in self.keys for word in range(key.shape[1])]
        per_cell = self._layer.manifest.layout == "per_cell"
        columns = [token[valid], self.rows.table_id[of_row][owner], column[valid], *(words if per_cell else [])]
        return columns, owner

    def _wrongly_posted(self, both: Ids, of_row: Ids, of_cells: Ids, sums: Sums, counts: Ids) -> Ids:
        columns, owner = self._expected(of_row, of_cells)
        expected = np.zeros(len(both), np.uint64)
        np.add.at(expected, owner, fingerprint(columns))
        number = np.bincount(owner, minlength=len(both))
        place = np.searchsorted(np.unique(self.rows.row_id), both)
        wrong = (sums[place] != expected) | (counts[place] != number)
        return np.flatnonzero(wrong)

    def _explained(self, wrong: Ids) -> Iterator[Problem]:
        """Say what is wrong with the postings of rows: missing, too many, or with another super key."""
        both, of_row, of_cells = np.intersect1d(self.rows.row_id, self.cells.row_id, return_indices=True)
        for place in wrong[_MOST_DETAILS:].tolist():
            yield Problem(
                "postings", "are not those of its cells", int(self.rows.table_id[of_row[place]]), int(both[place])
            )
        chosen = wrong[:_MOST_DETAILS]
        if not len(chosen):
            return
        columns, owner = self._expected(of_row[chosen], of_cells[chosen])
        expected: dict[int, set[tuple[int, ...]]] = {int(both[place]): set() for place in chosen.tolist()}
        for at, *record in zip(owner.tolist(), *(c.tolist() for c in columns), strict=True):
            expected[int(both[chosen[at]])].add(tuple(record))
        keys = self._layer.key_columns if self._layer.manifest.layout == "per_cell" else []
        names = ", ".join(["row_id", "token_id", "table_id", "column_id", *keys])
        found: dict[int, list[tuple[int, ...]]] = {row: [] for row in expected}
        for row, *record in self._layer.database.execute(
            f"SELECT {names} FROM {self._layer.name}.postings WHERE row_id IN (SELECT unnest($1::BIGINT[]))",
            [list(expected)],
        ).fetchall():
            found[row].append(tuple(record))
        owners = {int(both[place]): int(self.rows.table_id[of_row[place]]) for place in chosen.tolist()}
        for row, wanted in expected.items():
            yield Problem("postings", _difference(wanted, found[row]), owners[row], row)

    def _wrong_keys(self, both: Ids, of_row: Ids, of_cells: Ids) -> Iterator[Problem]:
        """Compare the table of super keys with those that the cells give."""
        names = ", ".join(["row_id", *self._layer.key_columns])
        found = self._layer.table(f"SELECT {names} FROM {self._layer.name}.super_keys {self._where}")
        numbers, *words = (np.asarray(column.to_numpy()) for column in found.columns)
        yield from _twice(numbers, "super keys")
        tables = dict(zip(self.rows.row_id.tolist(), self.rows.table_id.tolist(), strict=True))
        for row in np.setdiff1d(self.rows.row_id, numbers).tolist():
            yield Problem("super keys", "the super keys of the row are missing", tables[row], row)
        for row in np.setdiff1d(numbers, self.rows.row_id).tolist():
            yield Problem("super keys", "of a row that is not there", None, row)
        shared, of_both, of_keys = np.intersect1d(both, numbers, return_indices=True)
        noted = np.column_stack(words)[of_keys] if words else np.zeros((len(shared), 0), np.uint64)
        computed = np.column_stack(self.keys)[of_cells[of_both]] if self.keys else noted
        for place in np.flatnonzero((noted != computed).any(axis=1)).tolist():
            row = int(shared[place])
            yield Problem("super keys", "its super keys are not those of its cells", tables[row], row)


def _twice(numbers: Ids, part: str) -> Iterator[Problem]:
    for place in np.flatnonzero(np.diff(numbers) == 0).tolist():
        yield Problem(part, "the row is there twice", None, int(numbers[place]))


def _difference(wanted: set[tuple[int, ...]], found: list[tuple[int, ...]]) -> str:
    places, here = {record[:3] for record in wanted}, [record[:3] for record in found]
    missing, more = places - set(here), len(here) - len(places & set(here))
    parts = [f"{len(missing)} of {len(places)} are missing"] if missing else []
    parts += [f"{more} too many"] if more else []
    other = len(set(found) - wanted) - len(set(here) - places)
    parts += [f"{other} with another super key"] if other > 0 else []
    return ", ".join(parts) or "are not those of its cells"
