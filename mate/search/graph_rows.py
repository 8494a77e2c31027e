"""Tables with the same columns: copies and near-copies (the same rows), and those that could be united (other rows)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from mate.lake.base import Ids
from mate.lake.columns import column_codes, column_dictionary
from mate.lake.records import TableInfo
from mate.search.graph_directory import LakeDirectory, TablePlace

NEAR = 0.8
"""Share of the distinct rows of two tables together that both have, from which on they are near-duplicates."""

SHARED_BY = 50
"""Tables with the same columns that may share a row: one that more have is not compared by it."""

_MIX = np.uint64(0x9E3779B97F4A7C15)


class Copy(NamedTuple):
    """Two tables with the same columns and mostly the same rows."""

    one: int
    other: int
    """Numbers of the tables in the directory, the first one lower."""
    shared: float
    """Distinct rows that both have per distinct row that one of them has."""
    shared_rows: int


def same_columns(tables: Sequence[TableInfo]) -> list[list[int]]:
    """Return groups of two and more tables that have the same named columns, in any order; tables by their places."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, table in enumerate(tables):
        if table.columns and all(name.strip() for name in table.columns):
            groups[tuple(sorted(_folded(table)))].append(number)
    return [group for group in groups.values() if len(group) > 1]


def copies(directory: LakeDirectory, tables: Sequence[TableInfo]) -> list[Copy]:
    """Return the pairs of tables that are copies or near-copies of each other."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, table in enumerate(tables):
        groups[tuple(sorted(_folded(table)))].append(number)
    return [copy for group in groups.values() if len(group) > 1 for copy in _copies(directory, tables, group)]


def _folded(table: TableInfo) -> list[str]:
    return [name.strip().casefold() for name in table.columns]


def _copies(directory: LakeDirectory, tables: Sequence[TableInfo], group: Sequence[int]) -> list[Copy]:
    rows = {number: _rows(directory.tables[number], _folded(tables[number])) for number in group}
    hashes = np.concatenate(list(rows.values()))
    owner = np.repeat(np.array(group), [len(own) for own in rows.values()])
    order = np.lexsort((owner, hashes))
    bounds = np.flatnonzero(np.diff(hashes[order], prepend=~hashes[order[:1]], append=~hashes[order[-1:]]))
    shared: Counter[tuple[int, int]] = Counter()
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if 2 <= stop - start <= SHARED_BY:
            shared.update(combinations(owner[order[start:stop]].tolist(), 2))
    found = []
    for (one, other), count in sorted(shared.items()):
        share = count / (len(rows[one]) + len(rows[other]) - count)
        if share >= NEAR:
            found.append(Copy(one, other, share, count))
    return found


def _rows(table: TablePlace, names: Sequence[str]) -> Ids:
    """Return a hash of each distinct row of a table; columns count in the order of their names."""
    arrays = table.segment.arrays
    first = int(arrays.table_column_first[table.place])
    mixed = np.zeros(table.rows, np.uint64)
    for column in sorted(range(table.width), key=lambda column: (names[column], column)):
        ids = np.append(-1, arrays.token_id[column_dictionary(arrays, first + column)]).astype(np.uint64)
        mixed = (mixed ^ ids[column_codes(arrays, first + column)]) * _MIX
        mixed ^= mixed >> np.uint64(29)
    return np.unique(mixed)
