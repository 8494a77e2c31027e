"""The columns of a query table, each with its distinct values numbered: what keys are suggested from."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
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


@dataclass(frozen=True)
class QueryColumns:
    """The columns that keys may be made of, and the distinct key tuples of keys that were asked for."""

    columns: list[QueryColumn]
    sampled: int = SAMPLED
    """Rows, at most, that key tuples are taken from."""
    _tuples: dict[tuple[int, ...], Ids] = field(default_factory=dict, repr=False)

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

    def tuples(self, key: tuple[int, ...]) -> Ids:
        """Return the distinct key tuples of a key, of a sample of rows.

        They are numbers of values: one row per tuple, one column per key column.
        """
        if key not in self._tuples:
            numbers = np.stack([self.columns[column].number[self._sample] for column in key], axis=1)
            numbers = numbers[(numbers >= 0).all(axis=1)]
            code = numbers[:, 0]
            for place, column in enumerate(key[1:], start=1):
                # Numbered without gaps after each column, so that long keys do not overflow.
                code = code * len(self.columns[column].values) + numbers[:, place]
                code = np.unique(code, return_inverse=True)[1]
            self._tuples[key] = numbers[np.unique(code, return_index=True)[1]]
        return self._tuples[key]
