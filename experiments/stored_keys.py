"""Super keys as a lake stores them, against the values of its rows: whether the row filter can miss any."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.hashing import Keys, SuperKeyHash
from mate.hashing.by_width import WORD
from mate.lake.base import Ids
from mate.lake.columns import ranges
from mate.lake.layout import WIDE_ROWS
from mate.lake.segment import SearchSegment
from mate.lake.super_keys import by_function, key_offsets, key_words

_ENTRIES = 200_000
"""Directory entries whose postings are looked at in one go."""


def missed(function: SuperKeyHash, segment: SearchSegment, keys: Keys) -> tuple[int, int]:
    """Return the number of postings of a segment, and of those whose value the super key of the row does not cover."""
    checked = wrong = 0
    stored = _Stored(function, segment, keys)
    for row, token in postings(segment):
        checked += len(row)
        wrong += int(np.count_nonzero(~stored.cover(row, token)))
    return checked, wrong


class _Stored:
    """The super keys of one hash function in a segment."""

    def __init__(self, function: SuperKeyHash, segment: SearchSegment, keys: Keys) -> None:
        arrays = segment.arrays
        self._segment, self._by_column = segment, function.by_column
        self._columns = np.diff(arrays.table_column_first).astype(np.int64)
        self._row_first = arrays.table_row_first.astype(np.int64)
        self._functions, self._kind = by_function(function, self._columns)
        if function.by_column:  # one function, but a row has as many words as its width asks for
            self._kind = self._columns
        self._words = key_words(function, self._columns)
        self._first = key_offsets(self._words, np.diff(self._row_first))
        self._keys = keys.reshape(-1)

    def cover(self, row: Ids, token: Ids) -> npt.NDArray[np.bool_]:
        """Tell which rows have super keys that cover a token, each row one of its own."""
        table = np.searchsorted(self._row_first, row, side="right") - 1
        start = self._first[table] + (row - self._row_first[table]) * self._words[table]
        found = np.zeros(len(row), np.bool_)
        for kind in np.unique(self._kind[table]).tolist():
            here = np.flatnonzero(self._kind[table] == kind)
            function = self._functions[0 if self._by_column else kind]
            used, place = np.unique(token[here], return_inverse=True)
            hashes = function.hash(self._segment.texts(used).cast(pa.string()))[place]
            own = self._keys[start[here][:, None] + np.arange(self._words[table[here[0]]])]
            if self._by_column:
                found[here] = _listed(own, kind, function.bits, hashes[:, 0])
            else:
                found[here] = ~(hashes & ~own).any(axis=1)
        return found


def _listed(keys: Keys, columns: int, bits: int, fingerprint: Keys) -> npt.NDArray[np.bool_]:
    """Tell which rows of fingerprints have a given one."""
    found = np.zeros(len(keys), np.bool_)
    for column in range(columns):
        word, shift = divmod(column * bits, WORD)
        value = keys[:, word] >> np.uint64(shift)
        if shift + bits > WORD:
            value |= keys[:, word + 1] << np.uint64(WORD - shift)
        found |= (value & np.uint64((1 << bits) - 1)) == fingerprint
    return found


def postings(segment: SearchSegment) -> Iterator[tuple[Ids, Ids]]:
    """Yield the row, counted through the segment, and the token of every posting, some at a time."""
    arrays = segment.arrays
    entry_first = arrays.entry_first.astype(np.int64)
    entry_token = np.repeat(np.arange(len(entry_first) - 1), np.diff(entry_first))
    table = arrays.column_table[arrays.entry_column]
    wide = (np.diff(arrays.table_row_first) >= WIDE_ROWS)[table]
    for start in range(0, len(entry_token), _ENTRIES):
        for is_wide in (False, True):
            entry = start + np.flatnonzero(wide[start : start + _ENTRIES] == is_wide)
            unit, owner = ranges(
                arrays.posting_first[entry].astype(np.int64), arrays.posting_first[entry + 1].astype(np.int64)
            )
            if is_wide:
                unit, owner = unit[::2], owner[::2]
            row = arrays.postings[unit].astype(np.int64)
            if is_wide:
                row += arrays.postings[unit + 1].astype(np.int64) << 16
            yield arrays.table_row_first[table[entry[owner]]] + row, entry_token[entry[owner]]
