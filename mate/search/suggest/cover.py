"""Which tables of a lake hold values of a query table's columns, by the directory alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.lake.folder import LakeFolder
from mate.lake.layout import SegmentArrays
from mate.lake.segment import SearchSegment
from mate.search.suggest._suggest import add_weights
from mate.search.suggest.columns import QueryColumns

Shares = npt.NDArray[np.float64]

LEAST = 0.3
"""Share of a column's rows whose values a lake column must hold for the two to be tried."""


class Covered(NamedTuple):
    """A segment, and what of the query's columns its columns hold."""

    segment: SearchSegment
    places: list[Ids]
    """For each column of the query the places in the segment of its values, -1 for those that it does not have."""
    share: Shares
    """Share of the query column's rows whose value a column holds: one row per column of the segment."""


@dataclass(frozen=True)
class PromisingTable:
    """A table that holds values of the query's columns."""

    covered: Covered
    place: int
    """Its place in the segment."""

    @property
    def arrays(self) -> SegmentArrays:
        """The arrays of its segment."""
        return self.covered.segment.arrays

    @property
    def table_id(self) -> int:
        """Its number in the lake."""
        return int(self.arrays.table_id[self.place])

    @property
    def rows(self) -> int:
        """Its rows."""
        return int(self.arrays.table_row_first[self.place + 1] - self.arrays.table_row_first[self.place])

    @property
    def first_column(self) -> int:
        """Its first column in the segment."""
        return int(self.arrays.table_column_first[self.place])

    @property
    def distinct(self) -> Ids:
        """How many distinct values each of its columns has."""
        last = int(self.arrays.table_column_first[self.place + 1])
        first: Ids = self.arrays.column_entry_first[self.first_column : last + 1].astype(np.int64)
        return first[1:] - first[:-1]

    def filled(self, columns: Ids) -> Ids:
        """Return how many cells of its columns are not empty."""
        return self.covered.segment.filled(self.first_column + columns)

    @property
    def share(self) -> Shares:
        """Shares of the query columns' rows whose values its columns hold: one row per column of the table."""
        return self.covered.share[self.first_column : int(self.arrays.table_column_first[self.place + 1])]


def promising_tables(lake: LakeFolder, own: QueryColumns, exclude: frozenset[int]) -> list[PromisingTable]:
    """Return the tables that hold enough of a column's values, the least likely coincidences first.

    How little a table's share in a column surprises is the part of all tables that have as much of it; columns count
    as if they were independent.
    """
    covered = [_cover(segment, own) for segment in lake.search_segments()]
    wanted = [_wanted(part, exclude) for part in covered]
    tables = [(part, place) for part, places in zip(covered, wanted, strict=True) for place in places.tolist()]
    if not tables:
        return []
    best = np.concatenate([_best_shares(part)[places] for part, places in zip(covered, wanted, strict=True)])
    surprise = np.zeros(len(tables))
    for share in best.T:
        as_much = as_high(share)
        surprise += np.where(share >= LEAST, np.log((len(share) + 1) / as_much), 0.0)
    numbers = np.concatenate(
        [part.segment.arrays.table_id[places] for part, places in zip(covered, wanted, strict=True)]
    )
    order = np.lexsort((numbers, -surprise))
    return [PromisingTable(*tables[place]) for place in order[surprise[order] > 0].tolist()]


def as_high(values: Shares) -> Ids:
    """Return for each value how many are as high, itself included."""
    found: Ids = len(values) - np.searchsorted(np.sort(values), values, "left")
    return found


def _wanted(part: Covered, exclude: frozenset[int]) -> Ids:
    """Return the places of the tables that are in use, not excluded, and have a column."""
    arrays = part.segment.arrays
    wanted = part.segment.live & (np.diff(arrays.table_column_first) > 0)
    return np.flatnonzero(wanted & ~np.isin(arrays.table_id, list(exclude)))


def _best_shares(part: Covered) -> Shares:
    """Return the share of the best column for each column of the query: one row per table, 0 without columns."""
    first = part.segment.arrays.table_column_first.astype(np.int64)
    found = np.zeros((len(first) - 1, part.share.shape[1]))
    has_columns = np.diff(first) > 0
    if has_columns.any():
        found[has_columns] = np.maximum.reduceat(part.share, first[:-1][has_columns])
    return found


def _cover(segment: SearchSegment, own: QueryColumns) -> Covered:
    """Count for each column of a segment the rows of the query's columns whose values it holds."""
    places = [segment.places(column.ids, column.values) for column in own.columns]
    weights = [column.rows for column in own.columns]
    rows = np.stack([add_weights(segment.native, p, w) for p, w in zip(places, weights, strict=True)], axis=1)
    return Covered(segment, places, rows / np.array([weight.sum() for weight in weights]))
