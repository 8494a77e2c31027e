"""Answers: joinable tables, best first, with what is needed to join them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from mate.index.base import Ids
from mate.index.records import TableInfo
from mate.search.query import KeyTuples
from mate.search.statistics import Statistics


class Matches(NamedTuple):
    """Pairs of key tuple and row, counted within the table, that join: parallel arrays."""

    tuple_id: Ids
    row: Ids


@dataclass(frozen=True)
class Result:
    """One joinable table."""

    table: TableInfo
    joinability: int
    mapping: dict[str, str]
    """Key column of the query to column of the table."""
    column_ids: tuple[int, ...]
    find_matches: Callable[[], Matches] = field(repr=False, compare=False)

    @cached_property
    def matches(self) -> Matches:
        """Which key tuple of the query joins with which row of the table; found when first asked for."""
        return self.find_matches()

    @property
    def table_id(self) -> int:
        """Number of the table in the index."""
        return self.table.table_id


@dataclass(frozen=True)
class SearchResult:
    """The answer to a search, best table first."""

    results: list[Result]
    key: KeyTuples
    statistics: Statistics

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)
