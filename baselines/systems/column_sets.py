"""The columns of a segment as sets of tokens, and the directory as their inverted index: what JOSIE searches.

JOSIE wants tokens in one global order, rarest first, and with each item of a posting list the position of the token in
its set. Neither is part of a segment: both follow from its directory, and are made when a segment is first searched.
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from baselines.systems._systems import order_sets
from mate.lake.arrays import Array
from mate.lake.base import Ids
from mate.lake.columns import ranges
from mate.lake.segment import SearchSegment


class ListItems(NamedTuple):
    """Items of posting lists: which list, which set, the token's position in the set, the set's size."""

    list_id: Ids
    set_id: Ids
    position: Ids
    size: Ids


class SetMembers(NamedTuple):
    """Members of sets, as numbers of posting lists."""

    set_id: Ids
    list_id: Ids


class ColumnSets:
    """The sets of a segment: number c is the segment's column c, list r that of the token with rank r."""

    def __init__(self, segment: SearchSegment) -> None:
        self._arrays = arrays = segment.arrays
        lengths = np.diff(arrays.entry_first.astype(np.int64))
        self._token = np.argsort(lengths, kind="stable")
        self._rank = np.empty(len(lengths), np.int64)
        self._rank[self._token] = np.arange(len(lengths))
        self._position, self._members = order_sets(segment.native, self._token)
        first = arrays.column_entry_first.astype(np.int64)
        self._size: Ids = first[1:] - first[:-1]

    @property
    def lists(self) -> int:
        """Number of posting lists: one for each token."""
        return len(self._token)

    @property
    def sets(self) -> int:
        """Number of sets."""
        return len(self._size)

    def lists_of(self, tokens: Ids) -> Ids:
        """Return the posting lists of tokens, given by their places."""
        return self._rank[tokens]

    def lengths(self, list_ids: Ids) -> Ids:
        """Return how many sets lists have."""
        token = self._token[list_ids]
        first = self._arrays.entry_first
        found: Ids = first[token + 1].astype(np.int64) - first[token].astype(np.int64)
        return found

    def items(self, list_ids: Ids) -> ListItems:
        """Read posting lists."""
        token = self._token[list_ids]
        first = self._arrays.entry_first
        entry, owner = ranges(first[token].astype(np.int64), first[token + 1].astype(np.int64))
        column = self._arrays.entry_column[entry].astype(np.int64)
        return ListItems(list_ids[owner], column, self._position[entry].astype(np.int64), self._size[column])

    def members(self, set_ids: Ids, position: Ids) -> SetMembers:
        """Read sets, each from a position on."""
        first = self._arrays.column_entry_first
        place, owner = ranges(first[set_ids].astype(np.int64) + position, first[set_ids + 1].astype(np.int64))
        return SetMembers(set_ids[owner], self._members[place].astype(np.int64))

    def tables(self, set_ids: Ids) -> Ids:
        """Return the places of the tables that sets are columns of, each table once."""
        found: Ids = np.unique(self._arrays.column_table[set_ids]).astype(np.int64)
        return found

    def in_tables(self, flags: Array) -> npt.NDArray[np.bool_]:
        """Return which sets are columns of the tables that are flagged."""
        found: npt.NDArray[np.bool_] = flags[self._arrays.column_table]
        return found


_made: WeakKeyDictionary[SearchSegment, ColumnSets] = WeakKeyDictionary()
_lock = Lock()


def column_sets(segment: SearchSegment) -> ColumnSets:
    """Return the sets of a segment, made when they are first asked for and kept as long as the segment is."""
    with _lock:
        if segment not in _made:
            _made[segment] = ColumnSets(segment)
        return _made[segment]
