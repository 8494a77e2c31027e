"""Keys found for a table: which of its columns, alone or together, join with which tables of a lake.

1. *Cover*: one pass over the directory entries of each column's values tells how many rows of the query table have a
   value that a lake column holds.
2. *Promise*: tables that share values of several columns that few other tables have come first
   (`mate.search.suggestion_cover`).
3. *Joint check*: in such a table keys grow column by column, the most useful first, as long as a longer one is more
   unique; what counts is measured as evidence is (`mate.search.suggestion_table`).
4. What is left is answered as a search is, with the best mapping and exact evidence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from mate.errors import QueryError
from mate.lake.base import Index
from mate.lake.columns import column_codes
from mate.lake.folder import LakeFolder
from mate.search.engine import as_query, match_table, rank_of
from mate.search.evidence import measure_codes
from mate.search.query import QueryTable
from mate.search.results import Result
from mate.search.suggestion_columns import QueryColumns
from mate.search.suggestion_cover import promising_tables
from mate.search.suggestion_table import Candidate, TableKeys
from mate.work import current_work

if TYPE_CHECKING:
    from mate.search.engine import AnyQuery

MOST_WORK = 80_000_000
"""What joint checks may cost, about in rows that are read: what keeps it interactive."""

TABLES_PER_KEY = 3
"""Tables that are suggested for one key: the others are in the answer of a search for it."""

COMMON = 10
"""Tables that a single column may join with equally well: more of them are a coincidence unless names say otherwise."""

FITTING = 0.5
"""Similarity of names from which they say so."""

ANSWERED = 2
"""How many times more suggestions are answered exactly than are wanted."""

SHORTEST, LONGEST = 1, 4


@dataclass(frozen=True)
class Suggestion:
    """A key of the query table, and a table that it joins with."""

    key: tuple[str, ...]
    result: Result
    unique_part: tuple[str, ...] | None
    """A part of the key that is unique in the table without the rest, under the same mapping."""


def suggest(
    index: Index,
    table: AnyQuery,
    *,
    k: int = 10,
    most_columns: int = LONGEST,
    exclude: frozenset[int] = frozenset(),
    columns: Sequence[str] | None = None,
) -> list[Suggestion]:
    """Return keys of a table, of up to `most_columns` columns, and tables that they join with, the most useful first.

    Only some columns are tried if they are given. Joins that chance may give are left out, and so are keys with a part
    that is as useful with the same table.
    """
    query = as_query(table)
    lake = _checked(index, k, most_columns)
    own = QueryColumns.of(query, columns, frozenset(index.manifest.nulls))
    found = _candidates(lake, own, exclude, most_columns)
    return _answers(lake, query, own, _chosen(found, k * ANSWERED))[:k]


def _candidates(lake: LakeFolder, own: QueryColumns, exclude: frozenset[int], most_columns: int) -> list[Candidate]:
    """Return keys with the tables that they join with, as far as the work allows."""
    tables = promising_tables(lake, own, exclude)
    infos = {info.table_id: info for info in lake.tables([table.table_id for table in tables])}
    searches = [TableKeys(table, infos[table.table_id], own) for table in tables]
    found = list(_telling([keys.single(pair) for keys in searches for pair in keys.pairs]))
    work, progress = 0, current_work()
    progress.expect(len(searches))
    for keys in searches:
        progress.advance()
        if work > MOST_WORK:
            break
        found += keys.grow(most_columns)
        work += keys.work
    return found


def _telling(singles: list[Candidate]) -> Iterator[Candidate]:
    """Leave out single columns that join as well with very many tables, such as small numbers, unless names fit."""
    useful: dict[tuple[int, ...], list[float]] = {}
    for candidate in singles:
        useful.setdefault(candidate.key, []).append(-candidate.usefulness)
    for values in useful.values():
        values.sort()
    for candidate in singles:
        as_useful = bisect_right(useful[candidate.key], -candidate.usefulness)
        if as_useful <= COMMON or candidate.names >= FITTING:
            yield candidate


def _checked(index: Index, k: int, most_columns: int) -> LakeFolder:
    """Refuse what cannot be asked for."""
    if not isinstance(index, LakeFolder):
        raise QueryError(f"keys are suggested by the directory of a lake in a folder, which {index.address} is not")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise QueryError(f"k must be a whole number of at least 1, not {k!r}")
    if not SHORTEST <= most_columns <= LONGEST:
        raise QueryError(f"a suggested key has {SHORTEST} to {LONGEST} columns, not {most_columns!r}")
    return index


def _chosen(found: list[Candidate], most: int) -> list[Candidate]:
    """Return the best candidates, a few tables for each key, and of keys that include each other just one."""
    chosen: list[Candidate] = []
    tables: Counter[tuple[int, ...]] = Counter()
    for candidate in sorted(found, key=lambda candidate: candidate.order):
        nested = any(candidate.is_nested(other) for other in chosen)
        if not nested and tables[candidate.key] < TABLES_PER_KEY and len(chosen) < most:
            tables[candidate.key] += 1
            chosen.append(candidate)
    return chosen


def _answers(lake: LakeFolder, query: QueryTable, own: QueryColumns, chosen: list[Candidate]) -> list[Suggestion]:
    """Answer the candidates exactly, best first."""
    keys = [(own.names(candidate.key), candidate.table_id) for candidate in chosen]
    progress = current_work()
    progress.expect(len(keys))
    results: list[tuple[tuple[str, ...], Result]] = []
    for key, table_id in keys:
        progress.advance()
        results += [(key, result) for result in match_table(lake, query, key, table_id)]
    found = [Suggestion(key, r, _unique_part(lake, key, r)) for key, r in results if not r.evidence.is_chance]
    return sorted(found, key=_order)


def _order(suggestion: Suggestion) -> tuple[float, float, int, int, int]:
    """Return what suggestions are ordered by: more columns that agree are less likely to be a coincidence."""
    rank = rank_of(suggestion.result)
    return rank.useless, rank.unlike, -len(suggestion.key), rank.unjoined, rank.table_id


def _unique_part(lake: LakeFolder, key: tuple[str, ...], result: Result) -> tuple[str, ...] | None:
    """Return the shortest part of a key that is unique in the table under the same mapping."""
    segment, place = lake.whole_table(result.table_id)
    first = int(segment.arrays.table_column_first[place])
    codes = [column_codes(segment.arrays, first + column) for column in result.column_ids]
    nothing = np.zeros(0, np.int64)
    for size in range(1, len(key)):
        for part in combinations(range(len(key)), size):
            if measure_codes([codes[p] for p in part], [nothing] * size).uniqueness == 1:
                return tuple(key[p] for p in part)
    return None
