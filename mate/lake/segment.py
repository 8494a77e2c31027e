"""A segment, open for reading: arrays that a search works on, and the folder with the cells that they follow from.

A segment never changes. Tables of it that a later one supersedes are marked by whoever opens it (`live`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from mate.hashing import Keys
from mate.lake._arrays import SegmentView, count_postings, find_places
from mate.lake.arrays import Array, ArrayFile, damaged
from mate.lake.columns import column_codes
from mate.lake.layout import NO_PLACE, SegmentArrays
from mate.lake.segment_folder import SegmentFolder
from mate.lake.soundness import check_shapes, check_values
from mate.values.arrow import string_buffers

ARRAYS = "arrays"
FORMAT = 2


@dataclass(frozen=True, eq=False)
class SearchSegment:
    """What a search needs of a segment, wherever its arrays are."""

    arrays: SegmentArrays
    keys: Sequence[Keys]
    """The super keys of its rows, by hash function."""
    live: Array
    """Which of its tables are in use: bool, one per table."""
    row_number: Array | None
    """Number in its table of each row, where a segment holds some rows of its tables only."""

    @cached_property
    def native(self) -> SegmentView:
        """The arrays as native loops read them."""
        return SegmentView(self.arrays)

    def places(self, ids: Array, texts: pa.StringArray | None = None) -> Array:
        """Return the places of tokens, `NO_PLACE` for those that it does not have.

        Without texts the ids are trusted, as a database's are that has compared the texts itself.
        """
        token_id = self.arrays.token_id
        if not len(token_id) or not len(ids):
            return np.full(len(ids), NO_PLACE)
        if texts is not None:
            return find_places(self.native, np.ascontiguousarray(ids, np.int64), *string_buffers(texts))
        place = np.minimum(np.searchsorted(token_id, ids), len(token_id) - 1)
        return np.where(token_id[place] == ids, place, NO_PLACE)

    def texts(self, places: Array) -> pa.LargeStringArray:
        """Return the texts of tokens."""
        return self._texts.take(pa.array(places))

    def filled(self, columns: Array) -> Array:
        """Return how many cells of columns are not empty; counted once, as suggestions ask for the same ones."""
        known = self._filled
        for column in columns[known[columns] < 0].tolist():
            known[column] = np.count_nonzero(column_codes(self.arrays, column))
        found: Array = known[columns]
        return found

    @cached_property
    def _filled(self) -> Array:
        return np.full(len(self.arrays.column_table), -1)

    @cached_property
    def _texts(self) -> pa.LargeStringArray:
        first = self.arrays.text_first.astype(np.int64, copy=False)
        return pa.LargeStringArray.from_buffers(len(first) - 1, pa.py_buffer(first), pa.py_buffer(self.arrays.text))

    def for_search(self) -> SearchSegment:
        """Return the segment, if its arrays can be trusted, as those are that were made in this process."""
        return self

    def posting_counts(self, places: Array) -> Array:
        """Return how many postings tokens have in the tables that are in use; 0 for `NO_PLACE`."""
        return count_postings(self.native, np.ascontiguousarray(places, np.int64), self.live.view(np.uint8))


@dataclass(frozen=True, eq=False)
class Segment(SearchSegment):
    """A segment of a lake on disk."""

    folder: SegmentFolder
    file: ArrayFile

    @classmethod
    def open(cls, path: Path, hashes: int, superseded: Sequence[int] = ()) -> Segment:
        """Map the segment in a folder; tables that are superseded, by their numbers in the lake, are not in use."""
        file = ArrayFile(path / ARRAYS)
        if file.notes.get("format") != FORMAT:
            raise damaged(file.path, f"it has the format {file.notes.get('format')}, not {FORMAT}")
        arrays = SegmentArrays(*(file[name] for name in SegmentArrays._fields))
        keys = [file[f"keys{number}"] for number in range(hashes)]
        wrong = check_shapes(arrays, keys)
        if wrong:
            raise damaged(file.path, f"the array {wrong} does not fit the others")
        live = ~np.isin(arrays.table_id, np.asarray(superseded, np.int64))
        return cls(arrays, keys, live, None, SegmentFolder.open(path), file)

    def for_search(self) -> Segment:
        """Return the segment itself, verified unless this was done before on this machine."""
        return self if self.file.trusted else self.verified()

    def verified(self) -> Segment:
        """Return the segment itself, having made sure that its arrays are sound: the values, and their checksums."""
        wrong = check_values(self.arrays)
        if wrong:
            raise damaged(self.file.path, f"the array {wrong} leads outside of another one")
        changed = next(self.file.problems(), None)
        if changed:
            raise damaged(self.file.path, f"the array {changed} does not have its checksum")
        self.file.remember()
        return self
