"""The table that asks for keys: its columns, the key tuples of its rows, and the lake's columns that hold its own."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mate.errors import QueryError
from mate.lake.base import Ids
from mate.lake.columns import column_codes, column_dictionary
from mate.lake.segment import SearchSegment
from mate.search.query import QueryTable, key_columns, unique_names
from mate.search.suggest._suggest import distinct_tuples
from mate.values.text import tokens
from mate.values.token_ids import token_ids

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SAMPLED = 2_048
"""Rows that keys are tried on; what is suggested is answered with all of them."""

LETTERLESS = r"^[^\p{L}]*$"
SMALL = r"^-?[0-9]{1,3}$"
COUNTER = r"^[0-9]{1,6}$"
MOSTLY = 0.9
"""Share of a column's distinct values that make it a column of numbers, of small integers, or of counters."""


def value_kinds(texts: pa.Array) -> Flags:
    """Return, in a row each, which values have no letter, are small integers, and are what a counter gives."""
    flags = (pc.match_substring_regex(texts, pattern) for pattern in (LETTERLESS, SMALL, COUNTER))
    return np.stack([flag.to_numpy(zero_copy_only=False) for flag in flags])


@dataclass(frozen=True)
class AskingColumn:
    """A column that has values."""

    place: int
    """Where it is in the table."""
    name: str
    ids: Ids
    """Of its distinct tokens."""
    texts: pa.StringArray | None
    """These tokens, unless they are known to be the lake's."""
    rows: Ids
    """How many rows have each of them."""
    number: npt.NDArray[np.int32]
    """For each row the number of its value, -1 for none."""
    is_letterless: bool
    """Whether its values are numbers, dates and the like."""
    is_small: bool
    """Whether its values are small integers."""
    is_counter: bool
    """Whether its values are whole numbers such as a counter gives."""

    @classmethod
    def of(cls, place: int, name: str, ids: Ids, texts: pa.StringArray | None, number: Ids, kinds: Flags) -> Self:
        """Return a column, given the number of each row's value and of which kind values are."""
        rows = np.bincount(number[number >= 0], minlength=len(ids))
        return cls(place, name, ids, texts, rows, number.astype(np.int32), *(kinds.mean(axis=1) >= MOSTLY).tolist())


@dataclass(frozen=True)
class KeyRows:
    """Rows of a table, a number for each value, and their distinct key tuples."""

    values: Sequence[npt.NDArray[np.signedinteger[Any]]]
    """For each column the values that the rows have, as numbers; key tuples are made of places among these."""
    places: list[npt.NDArray[np.int32]]
    """For each column the place of each row's value, -1 for none."""
    _tuples: dict[tuple[int, ...], npt.NDArray[np.int32]] = field(default_factory=dict, repr=False)

    def tuples(self, key: tuple[int, ...]) -> npt.NDArray[np.int32]:
        """Return the distinct tuples of some columns: one row per tuple, one place per column."""
        if key not in self._tuples:
            self._tuples[key] = distinct_tuples(np.stack([self.places[column] for column in key]))
        return self._tuples[key]


@dataclass(frozen=True)
class AskingTable:
    """A table, with those of its columns that keys may be made of and that have values."""

    columns: list[AskingColumn]

    @classmethod
    def of_query(cls, query: QueryTable, wanted: Sequence[str] | None, nulls: Set[str]) -> Self:
        """Return a table of the user's, or some of its columns."""
        columns = []
        for place, name in enumerate(query.header if wanted is None else key_columns(query, wanted)):
            encoded = tokens(query.columns.column(name), nulls).dictionary_encode()
            if len(texts := encoded.dictionary):
                number = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
                columns.append(AskingColumn.of(place, name, token_ids(texts), texts, number, value_kinds(texts)))
        if not columns:
            raise QueryError(f"no column of {query.name} has a value to join by")
        return cls(columns)

    @classmethod
    def of_lake(cls, segment: SearchSegment, place: int, names: Sequence[str], kinds: Flags) -> Self:
        """Return a table of a lake; of which kind tokens are is known for all of its segment."""
        arrays, columns = segment.arrays, []
        first = int(arrays.table_column_first[place])
        for at, name in enumerate(unique_names(names)):
            known = column_dictionary(arrays, first + at)
            if len(known):
                number = column_codes(arrays, first + at).astype(np.int64) - 1
                columns.append(AskingColumn.of(at, name, arrays.token_id[known], None, number, kinds[:, known]))
        return cls(columns)

    def names(self, key: Sequence[int]) -> tuple[str, ...]:
        """Return the names of a key's columns."""
        return tuple(self.columns[column].name for column in key)

    @cached_property
    def sample(self) -> KeyRows:
        """Rows at even distances, that keys are tried on."""
        count = len(self.columns[0].number)
        rows = np.unique(np.linspace(0, count - 1, min(count, SAMPLED)).astype(np.int64))
        values, places = [], []
        for column in self.columns:
            own, place = np.unique(column.number[rows], return_inverse=True)
            missing = int(np.searchsorted(own, 0))  # the first is -1 if a row has no value
            values.append(own[missing:])
            places.append((place - missing).astype(np.int32))
        return KeyRows(values, places)

    @cached_property
    def whole(self) -> KeyRows:
        """All rows."""
        return KeyRows([np.arange(len(column.ids)) for column in self.columns], [c.number for c in self.columns])


@dataclass(frozen=True)
class Pairs:
    """Columns of the lake that hold enough of an asking column: parallel arrays, by table, own and other column."""

    table: Ids
    """The table's number in the finder."""
    own: Ids
    other: Ids
    """Counted within the table."""
    share: Floats
    """Share of the own column's rows whose value the other holds."""
    values: Ids
    """Distinct values that both have."""
    distinct: Ids
    """Distinct values of the other."""
    rows: Ids
    """Of the table."""
    fit: Floats
    """How well the columns' names fit, 0 to 1."""
    names: Floats
    """How well the own column's name fits both the other's and the table's."""

    def __len__(self) -> int:
        return len(self.table)

    def chosen(self, places: npt.NDArray[np.generic] | slice) -> Pairs:
        """Return some of them."""
        return Pairs(*(getattr(self, name)[places] for name in self.__dataclass_fields__))

    @cached_property
    def tables(self) -> Ids:
        """The tables, ascending."""
        return np.unique(self.table)

    @cached_property
    def holders(self) -> Ids:
        """For each pair, how many tables hold as much of its own column."""
        found = np.zeros(len(self), np.int64)
        for own in np.unique(self.own).tolist():
            places = np.flatnonzero(self.own == own)
            tables, first = np.unique(self.table[places], return_index=True)
            best = np.sort(np.maximum.reduceat(self.share[places], first))
            found[places] = len(tables) - np.searchsorted(best, self.share[places], "left")
        return found
