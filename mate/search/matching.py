"""Which rows of a table hold which key tuples under a mapping: what a join is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mate.lake.base import Ids
from mate.lake.layout import SegmentArrays
from mate.search.evidence import HeldTable, tuple_codes


def matches(arrays: SegmentArrays, table: int, tuples: Ids, mapping: Sequence[int]) -> tuple[Ids, Ids]:
    """Return the pairs of key tuple and row that join, ordered by tuple, then by row."""
    number = HeldTable(arrays, table).tuples_of_rows(mapping, tuple_codes(arrays, table, tuples, mapping))
    rows = np.flatnonzero(number >= 0)
    rows = rows[np.argsort(number[rows], kind="stable")]
    return number[rows], rows
