"""The columns of a query table, each with its distinct values numbered: what keys are suggested from."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.errors import QueryError
from mate.lake.base import Ids
from mate.search.query import QueryTable, key_columns
from mate.values.text import tokens
from mate.values.token_ids import token_ids

SAMPLED = 2_048
"""Rows of the query that keys are tried on; what is suggested is answered with all of them."""


@dataclass(frozen=True)
class QueryColumn:
    """A column that has values."""

    name: str
    values: pa.StringArray
    """Its distinct tokens."""
    ids: Ids
    rows: Ids
    """How many rows have each of them."""
    number: Ids
    """For each row the number of its value, -1 for none."""

    @classmethod
    def of(cls, name: str, cells: pa.ChunkedArray, nulls: Set[str]) -> Self:
        """Return a column with its values numbered."""
        encoded = tokens(cells, nulls).dictionary_encode()
        number = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        values = encoded.dictionary
        return cls(name, values, token_ids(values), np.bincount(number[number >= 0], minlength=len(values)), number)


class TuplePool:
    """The distinct key tuples of keys of one length, one key after the other."""

    def __init__(self, width: int) -> None:
        self.tuples = np.empty((0, width), np.int32)
        self.places: dict[tuple[int, ...], tuple[int, int]] = {}
        self._used = 0

    def add(self, key: tuple[int, ...], tuples: Ids) -> None:
        """Add those of a key."""
        first, self._used = self._used, self._used + len(tuples)
        if self._used > len(self.tuples):
            larger = np.empty((max(self._used, 2 * first), len(key)), np.int32)
            larger[:first] = self.tuples[:first]
            self.tuples = larger
        self.tuples[first : self._used] = tuples
        self.places[key] = first, self._used


class SampledPlaces(NamedTuple):
    """Where a segment has the values of a sample, column after column and ascending within each."""

    first: Ids
    """Where a column's begin; one more at the end."""
    place: Ids
    value: Ids
    """Which value of the column it is."""

    @classmethod
    def of(cls, places: Sequence[Ids]) -> Self:
        """Return the places of columns' values in order, without those that are not known."""
        order = [np.argsort(own, kind="stable")[np.count_nonzero(own < 0) :] for own in places]
        first = np.cumsum([0, *map(len, order)])
        return cls(
            first, np.concatenate([own[at] for own, at in zip(places, order, strict=True)]), np.concatenate(order)
        )


@dataclass(frozen=True)
class QueryColumns:
    """The columns that keys may be made of, and the distinct key tuples of keys that were asked for."""

    columns: list[QueryColumn]
    sampled: int = SAMPLED
    """Rows, at most, that key tuples are taken from."""
    _pools: dict[int, TuplePool] = field(default_factory=dict, repr=False)
    _compacted: dict[int, tuple[Ids, Ids]] = field(default_factory=dict, repr=False)
    _placed: dict[int, tuple[list[Ids], SampledPlaces]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, query: QueryTable, wanted: Sequence[str] | None, nulls: Set[str]) -> Self:
        """Return the columns of a table, or only some, without those that have no value."""
        names = query.header if wanted is None else key_columns(query, wanted)
        every = [QueryColumn.of(name, query.columns.column(name), nulls) for name in names]
        columns = [column for column in every if len(column.values)]
        if not columns:
            raise QueryError(f"no column of {query.name} has a value to join by")
        return cls(columns)

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def _sample(self) -> Ids:
        """Rows that joint checks look at, at even distances."""
        rows = len(self.columns[0].number)
        return np.unique(np.linspace(0, rows - 1, min(rows, self.sampled)).astype(np.int64))

    @property
    def rows(self) -> int:
        """Rows that joint checks look at."""
        return len(self._sample)

    def names(self, key: tuple[int, ...]) -> tuple[str, ...]:
        """Return the names of a key's columns."""
        return tuple(self.columns[column].name for column in key)

    def sampled_values(self, column: int) -> Ids:
        """Return the values of a column that the sample has: key tuples are made of places among them."""
        return self._compact(column)[0]

    @cached_property
    def most_sampled(self) -> int:
        """Values, at most, that the sample has of a column."""
        return max(len(self.sampled_values(column)) for column in range(len(self)))

    def tuples(self, key: tuple[int, ...]) -> npt.NDArray[np.int32]:
        """Return the distinct key tuples of a key, of a sample of rows.

        They are places of values: one row per tuple, one column per key column.
        """
        start, stop = self.place(key)
        return self.pool(len(key))[start:stop]

    def pool(self, width: int) -> npt.NDArray[np.int32]:
        """Return the key tuples of all keys of some length that were asked for."""
        return self._pools[width].tuples

    def place(self, key: tuple[int, ...]) -> tuple[int, int]:
        """Return from where to where the tuples of a key are in the pool of its length."""
        pool = self._pools.setdefault(len(key), TuplePool(len(key)))
        if key not in pool.places:
            pool.add(key, self._distinct(key))
        return pool.places[key]

    def _distinct(self, key: tuple[int, ...]) -> Ids:
        numbers = np.stack([self._compact(column)[1] for column in key], axis=1)
        numbers = numbers[(numbers >= 0).all(axis=1)]
        code = numbers[:, 0]
        for place, column in enumerate(key[1:], start=1):
            # Numbered without gaps after each column, so that long keys do not overflow.
            code = code * len(self.sampled_values(column)) + numbers[:, place]
            if place < len(key) - 1:
                code = np.unique(code, return_inverse=True)[1]
        return numbers[np.unique(code, return_index=True)[1]]

    def _compact(self, column: int) -> tuple[Ids, Ids]:
        """Return the values that the sample has, and for each of its rows the place among them, -1 for none."""
        if column not in self._compacted:
            values, places = np.unique(self.columns[column].number[self._sample], return_inverse=True)
            missing = int(np.searchsorted(values, 0))  # the first is -1 if a row has no value
            self._compacted[column] = values[missing:], places - missing
        return self._compacted[column]

    def sampled_places(self, places: list[Ids]) -> SampledPlaces:
        """Return where a segment has the values of the sample, given where it has those of all columns."""
        key = id(places)  # places are kept along, so that no others get their identity
        if key not in self._placed:
            self._placed[key] = (
                places,
                SampledPlaces.of([own[self.sampled_values(at)] for at, own in enumerate(places)]),
            )
        return self._placed[key][1]
