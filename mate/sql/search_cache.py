"""What a search has read of a database and keeps: for its further rounds, and until tables are measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from mate.lake.base import Ids, TableSegment
from mate.lake.records import TableInfo
from mate.lake.segment import SearchSegment
from mate.search.search import Search
from mate.sql.super_keys import CandidateRows

MOST_OCTETS = 4_000_000
"""Size of the codes of whole tables that are kept; others are read again."""


class TableBounds(NamedTuple):
    """The tables whose rows hold the most key tuples, best first."""

    table: Ids
    bound: Ids
    """Key tuples that rows of the table hold."""
    rows: Ids
    """These rows, one that holds several key tuples counted for each."""
    height: Ids
    """All rows of the table."""
    width: Ids
    """Its columns."""
    limit: int
    """How many tables were asked for."""

    def without(self, tables: frozenset[int]) -> TableBounds:
        """Return the other tables."""
        left = ~np.isin(self.table, list(tables))
        table, bound, rows, height, width = (values[left] for values in self[:5])
        return TableBounds(table, bound, rows, height, width, self.limit)

    @property
    def cells(self) -> Ids:
        """All cells of the table."""
        return self.height * self.width


@dataclass
class SearchCache:
    """What one search keeps."""

    bounds: TableBounds | None = None
    rows: CandidateRows | None = None
    """Rows of all tables that passed the row filter."""
    infos: dict[int, TableInfo] = field(default_factory=dict)
    """Tables that were looked up to see how large they are."""
    whole_tables: dict[int, TableSegment] = field(default_factory=dict)
    """Tables of which every row was read."""
    octets: int = 0
    """Size of the codes of these tables."""

    @classmethod
    def of(cls, search: Search) -> SearchCache:
        """Return the cache of a search."""
        cache: SearchCache = search.cache.setdefault("database", cls())
        return cache

    def add_whole_tables(self, segment: SearchSegment) -> None:
        """Keep the tables of a segment, and those before them unless that is too much."""
        size = len(segment.arrays.codes)
        if self.octets + size > MOST_OCTETS:
            self.whole_tables, self.octets = {}, 0
        self.octets += size
        for place, number in enumerate(segment.arrays.table_id.tolist()):
            self.whole_tables[number] = TableSegment(segment, place)

    def first_whole_tables(self, tables: Sequence[int]) -> list[TableSegment]:
        """Return the first of these tables, up to one that is not kept."""
        return [self.whole_tables[number] for number in takewhile(self.whole_tables.__contains__, tables)]

    def cell_counts(self) -> dict[int, int]:
        """Return how many cells tables have, if their bounds or themselves were looked up."""
        counts = {number: info.rows * len(info.columns) for number, info in self.infos.items()}
        if self.bounds is not None:
            counts |= zip(self.bounds.table.tolist(), self.bounds.cells.tolist(), strict=True)
        return counts
