"""What a search has read of a database and keeps: for its further rounds, and until tables are measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from mate.lake.base import Ids, SearchView, TableSegment
from mate.lake.records import TableInfo
from mate.lake.segment import SearchSegment
from mate.sql.row_keys import CandidateRows

MOST_KEPT = 4_000_000
"""Octets of the codes of whole tables that are kept; what is more is read again."""


class Bounds(NamedTuple):
    """The tables with the most key tuples in their rows, best first."""

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

    def without(self, tables: frozenset[int]) -> Bounds:
        """Return the other tables."""
        left = ~np.isin(self.table, list(tables))
        table, bound, rows, height, width = (values[left] for values in self[:5])
        return Bounds(table, bound, rows, height, width, self.limit)

    @property
    def cells(self) -> Ids:
        """All cells of the table."""
        return self.height * self.width


class WholeTables:
    """Whole tables that were read to be searched, kept until they are measured, too."""

    def __init__(self) -> None:
        self._kept: dict[int, TableSegment] = {}
        self._octets = 0

    def keep(self, segment: SearchSegment) -> None:
        """Keep the tables of a segment, and those before them if it is not too much."""
        octets = len(segment.arrays.codes)
        if self._octets + octets > MOST_KEPT:
            self._kept, self._octets = {}, 0
        self._octets += octets
        self._kept |= {number: TableSegment(segment, at) for at, number in enumerate(segment.arrays.table_id.tolist())}

    def first_of(self, tables: Sequence[int]) -> list[TableSegment]:
        """Return the first of these tables, up to one that is not kept."""
        return [self._kept[number] for number in takewhile(self._kept.__contains__, tables)]


class ReadBlock(NamedTuple):
    """Tables whose rows were read, as far as they passed the row filter."""

    tables: frozenset[int]
    bound: int
    """The most that one of them may join."""
    segment: SearchSegment


class ReadBlocks:
    """The first blocks of a search, kept for its further rounds, which are for other tables of them."""

    def __init__(self) -> None:
        self.kept: list[ReadBlock] = []
        self._octets = 0

    @property
    def tables(self) -> frozenset[int]:
        """The tables in them."""
        return frozenset().union(*(block.tables for block in self.kept))

    def keep(self, block: ReadBlock) -> None:
        """Keep a block if it is not too much."""
        self._octets += len(block.segment.arrays.codes)
        if self._octets <= MOST_KEPT:
            self.kept.append(block)


@dataclass
class Rounds:
    """What a search keeps."""

    bounds: Bounds | None = None
    rows: CandidateRows | None = None
    blocks: ReadBlocks = field(default_factory=ReadBlocks)
    whole: WholeTables = field(default_factory=WholeTables)
    infos: dict[int, TableInfo] = field(default_factory=dict)
    """Tables that were looked up to see how large they are."""

    @classmethod
    def of(cls, search: SearchView) -> Rounds:
        """Return what a search has kept so far."""
        kept: Rounds = search.cache.setdefault("rounds", cls())
        return kept

    def cells(self) -> dict[int, int]:
        """Return how many cells tables have, of those whose bounds were asked for."""
        known = self.bounds
        return {} if known is None else dict(zip(known.table.tolist(), known.cells.tolist(), strict=True))
