"""Where keys of a table are: the one search behind suggestions and the graph of a lake.

1. *Cover*: one pass over the directory entries of each column's values tells which lake columns hold it, and how much
   of it: the `Pairs`.
2. *Promise*: tables come first that hold several columns which few other tables hold.
3. *Growth*: in such a table keys of several columns grow from the pairs (`mate.search.suggest.keys`).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from math import ceil, inf

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.lake.folder import LakeFolder
from mate.lake.records import TableInfo
from mate.search.evidence import KeyCounts
from mate.search.evidence.names import NameIndex, common_words, words
from mate.search.suggest._suggest import cover
from mate.search.suggest.candidates import Candidate, single_support
from mate.search.suggest.columns import AskingTable, Flags, Pairs, value_kinds
from mate.search.suggest.keys import LEAST, KeyGrowth, SamplePlaces, worth_growing

PARTNERS = 3
"""Columns of a table that are tried for one column: those that hold the most of it, and whose name is its own."""

USUAL, USUAL_SHARE = 10, 0.01
"""Tables, at least, and share of the lake's, from which on a word in their names tells nothing of numbers."""

CACHED = 20_000_000
"""Values of tables in which keys were measured last, and of which what was counted is cached: some 200 MB."""


@dataclass
class Asked:
    """A table that asks for keys, and what the lake's directory says of its columns."""

    table: AskingTable
    places: list[list[Ids]]
    """For each segment, for each column, the places of its values."""
    pairs: Pairs
    _sampled: dict[int, SamplePlaces] = field(default_factory=dict)

    def sampled(self, segment: int) -> SamplePlaces:
        """Return where a segment has the values of the sample."""
        if segment not in self._sampled:
            self._sampled[segment] = SamplePlaces.of(self.table.sample, self.places[segment])
        return self._sampled[segment]


class KeyFinder:
    """Finds keys in the tables of a lake, each known by its number: segment after segment."""

    def __init__(self, lake: LakeFolder, *, names: bool = True, most_columns: int = 0) -> None:
        """Values that more than `most_columns` columns of a segment hold do not count, unless it is 0."""
        self.lake, self.by_names, self._most_columns = lake, names, most_columns
        self.segments = list(lake.search_segments())
        self.first_table = np.cumsum([0, *(len(segment.arrays.table_id) for segment in self.segments)])
        self.tables: Ids = np.flatnonzero(np.concatenate([np.empty(0, np.bool_), *(s.live for s in self.segments)]))
        """The tables in use."""
        self.table_id: Ids = np.concatenate([np.empty(0, np.int64), *(s.arrays.table_id for s in self.segments)])
        """For each table its number in the lake."""
        columns = [len(segment.arrays.column_table) for segment in self.segments]
        self._room = [np.zeros((3, count), np.int64) for count in columns]
        self._counts: dict[int, KeyCounts] = {}
        self._cached = 0
        self._infos: dict[int, TableInfo] = {}
        self._kinds: list[Flags] = []
        self._names = NameIndex()
        self._column_names = [np.zeros(count, np.int32) for count in columns]
        self._titles = [np.zeros(len(segment.arrays.table_id), np.int32) for segment in self.segments]

    def for_thread(self) -> KeyFinder:
        """Return a finder for another thread; the two share what they know of tables and their names."""
        other = copy(self)
        other._room = [np.zeros_like(room) for room in self._room]
        other._counts, other._cached = {}, 0
        return other

    def place(self, table: int) -> tuple[int, int]:
        """Return a table's segment and its place there."""
        segment = int(np.searchsorted(self.first_table, table, "right")) - 1
        return segment, table - int(self.first_table[segment])

    def info(self, table: int) -> TableInfo:
        """Return what is known of a table."""
        return self._infos[table]

    def load_infos(self, tables: Ids) -> None:
        """Have what is known of tables at hand."""
        wanted = {int(self.table_id[table]): table for table in tables.tolist() if table not in self._infos}
        for info in self.lake.tables(list(wanted)) if wanted else ():
            table = wanted[info.table_id]
            self._infos[table] = info
            segment, place = self.place(table)
            first = int(self.segments[segment].arrays.table_column_first[place])
            title, *columns = self._names.add([info.name, *info.columns])
            self._column_names[segment][first : first + len(columns)] = columns
            self._titles[segment][place] = title

    def counts(self, table: int) -> KeyCounts:
        """Return the counts of a table; those asked for last are cached."""
        found = self._counts.pop(table, None)
        if found is None:
            segment, place = self.place(table)
            found = KeyCounts(self.segments[segment].arrays, place)
            self._cached += found.values
        self._counts[table] = found  # the last one to be dropped
        while len(self._counts) > 1 and self._cached > CACHED:
            self._cached -= self._counts.pop(next(iter(self._counts))).values
        return found

    def asking(self, table: int) -> AskingTable:
        """Return a table of the lake as one that asks for keys."""
        self.load_infos(np.array([table]))
        self.load_kinds()
        segment, place = self.place(table)
        return AskingTable.of_lake(self.segments[segment], place, self.info(table).columns, self._kinds[segment])

    def load_kinds(self) -> None:
        """Have at hand of which kind the tokens of each segment are."""
        if not self._kinds:
            every = ((segment, np.arange(len(segment.arrays.token_id))) for segment in self.segments)
            self._kinds += [value_kinds(segment.texts(places)) for segment, places in every]

    def ask(self, asking: AskingTable, exclude: frozenset[int] = frozenset()) -> Asked:
        """Return the columns of the lake that hold enough of a table's, without those of some tables."""
        places = self.places(asking)
        pairs = self.pairs(asking, places, exclude)
        self.load_infos(pairs.tables)
        if self.by_names:
            self._compare_names(asking, pairs)
        return Asked(asking, places, self._partners(pairs))

    def places(self, asking: AskingTable) -> list[list[Ids]]:
        """Return for each segment, for each column, the places of its values, negative where they do not count."""
        found = []
        for segment in self.segments:
            places = [segment.places(column.ids, column.texts) for column in asking.columns]
            if self._most_columns:
                first = segment.arrays.entry_first.astype(np.int64)
                for own in places:
                    own[(own >= 0) & (first[own + 1] - first[own] > self._most_columns)] = -1
            found.append(places)
        return found

    def pairs(self, asking: AskingTable, places: list[list[Ids]], exclude: frozenset[int]) -> Pairs:
        """Return all columns that hold enough of a table's."""
        parts = [
            self._cover(number, column, asking, places[number][column], exclude)
            for number in range(len(self.segments))
            for column in range(len(asking.columns))
        ]
        found = Pairs(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        return found.chosen(np.lexsort((found.other, found.own, found.table)))

    def _cover(
        self, number: int, own: int, asking: AskingTable, places: Ids, exclude: frozenset[int]
    ) -> tuple[npt.NDArray[np.generic], ...]:
        """Return the pairs of an asking column in a segment, as the fields of `Pairs`."""
        segment, column = self.segments[number], asking.columns[own]
        arrays = segment.arrays
        total = int(column.rows.sum())
        columns, rows, values = cover(segment.native, places, column.rows, ceil(LEAST * total), self._room[number])
        table = arrays.column_table[columns].astype(np.int64)
        wanted = segment.live[table] & ~np.isin(arrays.table_id[table], list(exclude))
        columns, rows, values, table = columns[wanted], rows[wanted], values[wanted], table[wanted]
        first = arrays.column_entry_first
        return (
            self.first_table[number] + table,
            np.full(len(columns), own),
            columns - arrays.table_column_first[table],
            rows / total,
            values,
            first[columns + 1].astype(np.int64) - first[columns].astype(np.int64),
            arrays.table_row_first[table + 1] - arrays.table_row_first[table],
            np.zeros(len(columns)),
            np.zeros(len(columns)),
        )

    def _compare_names(self, asking: AskingTable, pairs: Pairs) -> None:
        """Fill in how well the names of each pair fit."""
        column, title = np.empty(len(pairs), np.int64), np.empty(len(pairs), np.int64)
        segment = np.searchsorted(self.first_table, pairs.table, "right") - 1
        for number, within in enumerate(self.segments):
            places = np.flatnonzero(segment == number)
            table = pairs.table[places] - self.first_table[number]
            first = within.arrays.table_column_first[table]
            column[places] = self._column_names[number][first + pairs.other[places]]
            title[places] = self._titles[number][table]
        common = common_words(asked.name for asked in asking.columns)
        for own, asked in enumerate(asking.columns):
            places = np.flatnonzero(pairs.own == own)
            usual = max(USUAL, USUAL_SHARE * len(self.tables)) if asked.is_letterless else inf
            compared = self._names.compare(words(asked.name) - common, column[places], title[places], usual)
            pairs.fit[places], pairs.names[places] = compared

    def _partners(self, pairs: Pairs) -> Pairs:
        """Return the best pairs of each own column and table."""
        group = np.cumsum((np.diff(pairs.table, prepend=-1) != 0) | (np.diff(pairs.own, prepend=-1) != 0))
        order = np.lexsort((-pairs.distinct, -pairs.fit, -pairs.share, group))
        rank = np.arange(len(group)) - np.searchsorted(group, group)  # the order leaves groups where they are
        return pairs.chosen(np.sort(order[rank < PARTNERS]))

    def singles(self, asked: Asked, least: float, most: int) -> list[Candidate]:
        """Return keys of one column that score enough: for each column the best."""
        pairs = asked.pairs
        values = np.array([len(column.ids) for column in asked.table.columns])[pairs.own]
        uniqueness = np.minimum(1.0, pairs.distinct / np.maximum(1, pairs.rows))
        support = single_support(asked.table, pairs, len(self.tables))
        score = pairs.values / values * uniqueness * support * (1 + pairs.names) / 2
        order = np.lexsort((-score, pairs.own))
        rank = np.arange(len(order)) - np.searchsorted(pairs.own[order], pairs.own[order])
        chosen = order[(rank < most) & (score[order] >= least)].tolist()
        found = []
        for at in chosen:
            table, own, other = int(pairs.table[at]), int(pairs.own[at]), int(pairs.other[at])
            measured = int(pairs.values[at]), int(values[at]), float(uniqueness[at]), 0.0
            told = float(support[at]), float(pairs.names[at])
            found.append(Candidate(table, self._infos[table], (own,), (other,), *measured, *told))
        return found

    def promising(self, asked: Asked) -> Ids:
        """Return the tables that hold two columns and more in columns of their own, the least likely ones first.

        How little a table's share in a column surprises is the part of all tables that have as much of it; columns
        count as if they were independent.
        """
        pairs = asked.pairs
        if not len(pairs):
            return pairs.table
        gain = np.log((len(self.tables) + 1) / pairs.holders) * (1 + pairs.fit)
        group = np.flatnonzero((np.diff(pairs.table, prepend=-1) != 0) | (np.diff(pairs.own, prepend=-1) != 0))
        tables, place, own = np.unique(pairs.table[group], return_inverse=True, return_counts=True)
        total = np.bincount(place, np.maximum.reduceat(gain, group))
        columns = np.unique(np.stack([np.searchsorted(tables, pairs.table), pairs.other]), axis=1)[0]
        several = np.flatnonzero((own > 1) & (np.bincount(columns) > 1))
        found: Ids = tables[several[np.lexsort((tables[several], -total[several]))]]
        return found

    def growth(self, asked: Asked, table: int) -> KeyGrowth:
        """Return the search for keys of several columns in a table."""
        pairs = asked.pairs.chosen(slice(*np.searchsorted(asked.pairs.table, [table, table + 1])))
        segment, place = self.place(table)
        within = self.segments[segment]
        first = int(within.arrays.table_column_first[place])
        uniqueness = pairs.distinct / np.maximum(1, within.filled(first + pairs.other))
        constant = np.array([len(column.ids) == 1 for column in asked.table.columns])[pairs.own]
        chosen = worth_growing(pairs, uniqueness, ~constant | (pairs.fit > 0))
        places, pairs = asked.sampled(segment), pairs.chosen(chosen)
        info, counts = self.info(table), self.counts(table)
        return KeyGrowth(asked.table, table, info, counts, first, places, pairs, uniqueness[chosen])
