"""Segments, open for reading: those of a lake on disk, and those in memory that are made of a database's rows.

A segment never changes. Whoever opens it says which of its tables later segments supersede.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.hashing import Keys
from mate.lake._arrays import SegmentView, count_postings, find_places
from mate.lake.arrays import Array, ArrayFile, damaged
from mate.lake.columns import column_codes
from mate.lake.layout import NO_PLACE, WIDE_ROWS, SegmentArrays, Shapes, Texts, make_arrays, offsets_of
from mate.lake.segment_folder import SegmentFolder
from mate.lake.soundness import check_shapes, check_values
from mate.lake.verified import is_verified, mark_verified
from mate.values.arrow import string_buffers

ARRAYS = "arrays"
FORMAT = 2


@dataclass(frozen=True, eq=False)
class SearchSegment:
    """What a search needs of a segment, on disk or in memory."""

    arrays: SegmentArrays
    keys: Sequence[Keys]
    """The super keys of its rows, by hash function."""
    live: Array
    """Which tables are in use: bool, one per table."""
    row_number: Array | None
    """The number of each row in its table, for a segment that has only some rows of its tables."""

    @cached_property
    def native(self) -> SegmentView:
        """The arrays as native loops read them."""
        return SegmentView(self.arrays)

    def places(self, ids: Array, texts: pa.StringArray | None = None) -> Array:
        """Return the places of tokens, `NO_PLACE` for those that it does not have.

        Without texts, ids are enough: for tokens of the same lake, and where a database has compared the texts.
        """
        if texts is not None:
            return find_places(self.native, np.ascontiguousarray(ids, np.int64), *string_buffers(texts))
        known = self.arrays.token_id
        place = np.searchsorted(known, ids)
        found = np.take(known, place, mode="clip") == ids if len(known) else np.zeros(len(ids), bool)
        return np.where(found, place, NO_PLACE)

    def texts(self, places: Array) -> pa.LargeStringArray:
        """Return the texts of tokens."""
        return self._texts.take(pa.array(places))

    @cached_property
    def _texts(self) -> pa.LargeStringArray:
        return Texts(*self.arrays[:3]).strings()

    def filled(self, columns: Array) -> Array:
        """Return how many cells of columns are not empty; each column is counted once."""
        known = self._filled
        for column in columns[known[columns] < 0].tolist():
            known[column] = np.count_nonzero(column_codes(self.arrays, column))
        counts: Array = known[columns]
        return counts

    @cached_property
    def _filled(self) -> Array:
        return np.full(len(self.arrays.column_table), -1)

    def for_search(self) -> SearchSegment:
        """Return the segment itself, verified if it is on disk."""
        return self

    def posting_counts(self, places: Array) -> Array:
        """Return how many postings tokens have in the tables in use; 0 for `NO_PLACE`."""
        places = np.ascontiguousarray(places, np.int64)
        return count_postings(self.native, places, self.live.view(np.uint8), self._odd_tables)

    @cached_property
    def _odd_tables(self) -> Array:
        """Tables that are not in use or have wide postings."""
        odd: Array = np.flatnonzero(~self.live | (np.diff(self.arrays.table_row_first) >= WIDE_ROWS))
        return odd


@dataclass(frozen=True, eq=False)
class Segment(SearchSegment):
    """A segment of a lake on disk."""

    folder: SegmentFolder
    file: ArrayFile

    @classmethod
    def open(cls, path: Path, hashes: int, superseded: Sequence[int] = ()) -> Segment:
        """Map the segment in a folder; superseded tables, given by their numbers in the lake, are not in use."""
        file = ArrayFile(path / ARRAYS)
        if file.notes.get("format") != FORMAT:
            raise damaged(file.path, f"it has the format {file.notes.get('format')}, not {FORMAT}")
        arrays = SegmentArrays(*(file[name] for name in SegmentArrays._fields))
        keys = [file[f"keys{number}"] for number in range(hashes)]
        wrong = check_shapes(arrays, keys)
        if wrong:
            raise damaged(file.path, f"the array {wrong} does not fit the others")
        live = ~np.isin(arrays.table_id, np.asarray(superseded, np.int64))
        return cls(arrays, keys, live, None, SegmentFolder(path), file)

    def for_search(self) -> Segment:
        """Return the segment itself, verified now unless it was on this machine before."""
        if not is_verified(self.file.identity):
            self.verify()
        return self

    def verify(self) -> None:
        """Look at the values and checksums of all arrays."""
        wrong = check_values(self.arrays)
        if wrong:
            raise damaged(self.file.path, f"the array {wrong} leads outside of another one")
        changed = next(self.file.problems(), None)
        if changed:
            raise damaged(self.file.path, f"the array {changed} does not have its checksum")
        mark_verified(self.file.identity)


def memory_segment(
    table_id: Array, row: Array, column: Array, token_id: Array, width: Array | None = None, keys: Sequence[Keys] = ()
) -> SearchSegment:
    """Return a segment in memory that has just the rows of these cells, which ascend by table, then by row.

    A token id is negative for an empty cell. `width` says how many columns a table has at least, by cell; `keys` are
    the super keys of the rows, by hash function.
    """
    first = np.flatnonzero(first_of_rows(table_id, row))
    tables, table = np.unique(table_id, return_inverse=True)
    rows = np.bincount(table[first], minlength=len(tables))
    columns = np.zeros(len(tables), np.int64)
    np.maximum.at(columns, table, column + 1 if width is None else width)
    ids, place = np.unique(token_id, return_inverse=True)
    empty = int(np.searchsorted(ids, 0))
    cell_first, row_first = offsets_of(rows * columns), offsets_of(rows)
    row_place = np.repeat(np.arange(len(first)), np.diff(first, append=len(row))) - row_first[table]
    cells = np.full(int(cell_first[-1]), NO_PLACE, np.int32)
    cells[cell_first[table] + column * rows[table] + row_place] = np.where(place < empty, NO_PLACE, place - empty)
    ids = ids[empty:].astype(np.int64)
    no_texts = Texts(ids, np.zeros(len(ids) + 1, np.uint32), np.zeros(0, np.uint8))
    arrays = make_arrays(Shapes(tables, rows, columns), no_texts, cells)
    return SearchSegment(arrays, keys, np.ones(len(tables), np.bool_), row[first])


def first_of_rows(table_id: Array, row: Array) -> npt.NDArray[np.bool_]:
    """Return which cells are the first of their rows, given cells by ascending table and row."""
    is_first: npt.NDArray[np.bool_] = (np.diff(table_id, prepend=-1) != 0) | (np.diff(row, prepend=-1) != 0)
    return is_first
