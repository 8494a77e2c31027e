"""The tables of a lake that are compared with each other: one asks with its columns, others hold its values."""

from __future__ import annotations

import numpy as np

from mate.lake.base import Ids
from mate.lake.columns import column_codes, column_dictionary
from mate.lake.records import TableInfo
from mate.lake.segment import SearchSegment
from mate.search.evidence import KeyCounts
from mate.search.graph.directory import LakeDirectory, TablePlace
from mate.search.query import unique_names
from mate.search.suggest.columns import QueryColumn, QueryColumns

KEPT = 20_000_000
"""Values of tables in which keys were measured last, and of which what was counted is kept: some 200 MB."""


class TableColumns:
    """One table's columns as a query has them, and their places in the segments of the lake."""

    def __init__(self, table: TablePlace, info: TableInfo) -> None:
        arrays = table.segment.arrays
        self.table, names = table, unique_names(info.columns)
        first = int(arrays.table_column_first[table.place])
        self.numbers: list[int] = []
        """Which columns of the table have values."""
        columns: list[QueryColumn] = []
        self._tokens: list[Ids] = []
        for place in range(table.width):
            tokens = column_dictionary(arrays, first + place)
            if len(tokens):
                number = column_codes(arrays, first + place).astype(np.int64) - 1
                rows = np.bincount(number[number >= 0], minlength=len(tokens))
                texts = table.segment.texts(tokens)
                columns.append(QueryColumn(names[place], texts, arrays.token_id[tokens], rows, number))
                self.numbers.append(place)
                self._tokens.append(tokens.astype(np.int64))
        self.sample = QueryColumns(columns)
        self.whole = QueryColumns(columns, sampled=max(1, table.rows))
        self._places: dict[int, list[Ids]] = {}

    def places(self, segment: SearchSegment) -> list[Ids]:
        """Return for each column the places of its values in a segment."""
        if segment is self.table.segment:
            return self._tokens
        if id(segment) not in self._places:
            self._places[id(segment)] = [segment.places(column.ids) for column in self.whole.columns]
        return self._places[id(segment)]


class KeyCountsCache:
    """The tables in which keys were measured last: tables that are like each other ask the same ones the same."""

    def __init__(self, directory: LakeDirectory) -> None:
        self._directory = directory
        self._kept: dict[int, KeyCounts] = {}
        self._values = 0

    def of(self, number: int) -> KeyCounts:
        """Return a table, by its number in the directory."""
        found = self._kept.pop(number, None)
        if found is None:
            table = self._directory.tables[number]
            found = KeyCounts(table.segment.arrays, table.place)
            self._values += self._size(number)
        self._kept[number] = found  # the last one to be dropped
        while self._values > KEPT and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._values -= self._size(oldest)
        return found

    def _size(self, number: int) -> int:
        """Return how many values the columns of a table have."""
        table = self._directory.tables[number]
        first = self._directory.column_first
        return int(first[table.first + table.width] - first[table.first])
