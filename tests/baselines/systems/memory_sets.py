"""Python sets as the columns of a segment, each of a table of its own."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from baselines.systems.column_sets import ColumnSets
from mate.lake.base import Ids
from mate.lake.segment import SearchSegment, memory_segment


class MemorySets(ColumnSets):
    """Set i is the only column of table i."""

    def __init__(self, sets: Sequence[AbstractSet[int]]) -> None:
        self.segment = segment_of(sets)
        super().__init__(self.segment)

    def places(self, tokens: Sequence[int]) -> Ids:
        """Return the places of the tokens that some set has."""
        found = self.segment.places(np.array(tokens, np.int64))
        return found[found >= 0]


def segment_of(sets: Sequence[AbstractSet[int]]) -> SearchSegment:
    """Return a segment with a table per set, one row for each token; an empty set is an empty cell."""
    rows = [(number, token) for number, tokens in enumerate(sets) for token in sorted(tokens) or [-1]]
    table, token = np.array(rows, np.int64).T
    return memory_segment(table, np.arange(len(rows)), np.zeros(len(rows), np.int64), token)
