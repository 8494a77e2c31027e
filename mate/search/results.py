"""Answers: joinable tables, best first, with what is needed to join them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from mate.lake.base import Ids
from mate.lake.records import TableInfo
from mate.search.evidence import Evidence
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
    find_evidence: Callable[[], Evidence] = field(repr=False, compare=False)
    change: int = field(default=0, compare=False)
    """Number of the index's last change when it was searched."""

    @cached_property
    def evidence(self) -> Evidence:
        """What speaks for the join; measured when first asked for, unless the ranking needed it."""
        return self.find_evidence()

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

    found: list[Result]
    """The answers by falling joinability, or in the order of another ranking."""
    key: KeyTuples
    statistics: Statistics
    rank: str

    @cached_property
    def results(self) -> list[Result]:
        """The answers, best first.

        Of equal joinability the more unique comes first. That is found out when the answers are first read, so that it
        is no part of a search by joinability.
        """
        if self.rank != "joinability":
            return self.found
        counts = Counter(result.joinability for result in self.found)

        def order(result: Result) -> tuple[int, float]:
            ties = counts[result.joinability] > 1
            return -result.joinability, -result.evidence.uniqueness if ties else 0.0

        return sorted(self.found, key=order)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.found)
