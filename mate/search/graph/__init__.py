"""The lake against itself: which tables join with which, on which columns, and how well.

1. *Overlaps*: one pass over the directory of the whole lake (`mate.search.graph.directory`) tells for every column
   which others hold its values. No table is read, and no pair of tables is looked at that shares too little.
2. *Keys*: with the tables that hold enough of a table's columns, keys are looked for as `mate.search.suggest` does:
   single columns by the directory, longer ones by joint checks in the `PARTNERS` least likely of these tables.
3. *Coincidences* are left out: what chance may give, single columns that join as well with very many tables, and
   numbers whose names say nothing.
4. What is left is measured with all rows, under its mapping.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.lake.records import TableInfo
from mate.search.evidence import LIKELY, Evidence, are_likely, codes_of
from mate.search.evidence.names import is_among, similarity, words
from mate.search.graph.directory import LakeDirectory
from mate.search.graph.tables import KeyCountsCache, TableColumns
from mate.search.query import unique_names
from mate.search.suggest import COMMON, FITTING
from mate.search.suggest.cover import LEAST, Covered, PromisingTable, Shares, as_high
from mate.search.suggest.pairs import Pair
from mate.search.suggest.tables import Candidate, TableKeys

PARTNERS = 20
"""Tables in which longer keys are looked for, for each table: the least likely coincidences."""

MOST_WORK = 10_000_000
"""What joint checks may cost for each table, about in rows that are read: a few tables of millions of rows reach it."""

KEYS = 3
"""Keys that are kept for a pair of tables."""

LONGEST = 3
"""Columns that a key may have."""


USUAL = 0.01
"""Share of all tables, at least `COMMON` tables, from which on a word in the names of their columns tells nothing."""

NAMED = 200
"""Columns whose names are compared, for each column: the most useful ones."""


class Holders(NamedTuple):
    """Columns that hold values of a column, ascending: parallel arrays."""

    column: Ids
    """In the directory."""
    table: Ids
    share: Shares
    """Of the rows of that column whose values they hold."""

    def chosen(self, flags: npt.NDArray[np.bool_]) -> Holders:
        """Return some of them."""
        return Holders(self.column[flags], self.table[flags], self.share[flags])


class Edge(NamedTuple):
    """A join: key columns of one table, and where another table holds them."""

    child: int
    """Number of the table in the lake whose rows look for partners."""
    parent: int
    key: tuple[str, ...]
    columns: tuple[str, ...]
    evidence: Evidence


class Joins(NamedTuple):
    """The joins of some tables with all others, and what was done to find them."""

    edges: list[Edge]
    sharing: int
    """Other tables that hold enough of two columns or more, added up over the tables."""
    checked: int
    """Those of them in which keys of several columns were looked for."""


@dataclass(frozen=True)
class SharedTable(PromisingTable):
    """A table that holds values of another one's columns; shares are known of its own columns only."""

    own_share: Shares

    @property
    def share(self) -> Shares:
        """Shares of the other table's rows whose values its columns hold: one row per column of this table."""
        return self.own_share


@dataclass(frozen=True)
class JoinGraph:
    """The search for joins in a lake."""

    directory: LakeDirectory
    infos: list[TableInfo]
    """Of the directory's tables."""
    most_columns: int = LONGEST

    def joins(self, number: int) -> Joins:
        """Return the joins of a table, by its number in the directory, with all others; it looks for partners."""
        own = TableColumns(self.directory.tables[number], self.infos[number])
        holders = [self._holders(number, own, place) for place in range(len(own.numbers))]
        found = [single for place, held in enumerate(holders) for single in self._singles(number, own, place, held)]
        keys = {other: self._keys(other, own, holders) for other in {other for other, _ in found}}
        candidates = [keys[other].single(pair) for other, pair in found]
        promising = self._promising(holders)
        work = checked = 0
        for other in promising[:PARTNERS]:
            table = keys.get(other) or self._keys(other, own, holders)
            grown = table.grow(self.most_columns)
            candidates += [key for key in grown if self._is_telling(own, key) and not key.is_chance]
            work += table.work
            checked += 1
            if work > MOST_WORK:
                break
        edges = [edge for key in _best(candidates) for edge in self._measured(number, own, key)]
        return Joins(edges, len(promising), checked)

    def joins_of(self, tables: range) -> tuple[Joins, dict[str, int]]:
        """Return the joins of a range of tables, as a task does."""
        return all_joins([self.joins(number) for number in tables]), {"tables": len(tables)}

    def _holders(self, number: int, own: TableColumns, place: int) -> Holders:
        """Return the columns of other tables that hold enough of a column."""
        columns, rows = self.directory.overlaps(own.table.first + own.numbers[place])
        share = rows / int(own.whole.columns[place].rows.sum())
        tables = self.directory.column_table[columns]
        enough = np.flatnonzero((share >= LEAST) & (tables != number))
        return Holders(columns[enough], tables[enough], share[enough])

    def _keys(self, other: int, own: TableColumns, holders: Sequence[Holders]) -> TableKeys:
        """Return the search for keys in another table."""
        table = self.directory.tables[other]
        shares = np.zeros((table.width, len(holders)))
        for place, held in enumerate(holders):
            start, stop = np.searchsorted(held.column, [table.first, table.first + table.width]).tolist()
            shares[held.column[start:stop] - table.first, place] = held.share[start:stop]
        covered = Covered(table.segment, own.places(table.segment), shares)
        shared = SharedTable(covered, table.place, shares)
        return TableKeys(shared, self.infos[other], own.sample, self._held.of(other))

    def _promising(self, holders: Sequence[Holders]) -> list[int]:
        """Return tables that hold two columns and more, the least likely coincidences first."""
        found: list[Ids] = [np.empty(0, np.int64)]
        gains: list[Shares] = [np.empty(0)]
        for held in holders:
            tables, first = np.unique(held.table, return_index=True)
            if len(tables):
                share = np.maximum.reduceat(held.share, first)
                found.append(tables)
                gains.append(np.log((len(self.infos) + 1) / as_high(share)))
        tables, place, columns = np.unique(np.concatenate(found), return_inverse=True, return_counts=True)
        surprise = np.bincount(place, np.concatenate(gains), minlength=len(tables))
        several = np.flatnonzero(columns > 1)
        order = several[np.lexsort((tables[several], -surprise[several]))]
        found_tables: list[int] = tables[order].tolist()
        return found_tables

    def _singles(self, number: int, own: TableColumns, place: int, held: Holders) -> list[tuple[int, Pair]]:
        """Return the tables and columns that join with a single column, coincidences left out."""
        useful = held.share * self._unique[held.column]
        held, useful = held.chosen(useful >= LEAST), useful[useful >= LEAST]
        likely = self._are_chance(own, place, held)
        held, useful = held.chosen(~likely), useful[~likely]
        equals = as_high(useful)
        # Tables that were read from files near each other come first: more of them than can be looked at are as useful.
        order = np.lexsort((np.abs(held.table - number), -useful))[:NAMED]
        named = []
        for at in order.tolist():
            other = int(held.table[at])
            pair = Pair(place, int(held.column[at]) - self.directory.tables[other].first)
            if self._is_told(own, pair, other, int(equals[at])):
                named.append((float(useful[at]), other, pair))
        # Names that fit very many tables as well ("rank", "year") tell as little as the values.
        as_good = as_high(np.array([score for score, _, _ in named]))
        return [(other, pair) for (_, other, pair), count in zip(named, as_good, strict=True) if count <= COMMON]

    def _is_told(self, own: TableColumns, pair: Pair, other: int, equals: int) -> bool:
        """Tell whether names, or how few tables are as useful, say that a column joins with another one."""
        name = own.whole.columns[pair.own].name
        if self._is_of_numbers(own, pair, other):
            return self._is_told_by_title(name, other) and self._names(name, pair, other) > FITTING
        return equals <= COMMON or self._names(name, pair, other) >= FITTING

    def _names(self, name: str, pair: Pair, other: int) -> float:
        return similarity([name], self.infos[other], [pair.other])

    def _is_of_numbers(self, own: TableColumns, pair: Pair, other: int) -> bool:
        """Tell whether one of two columns is of numbers: a remark in a cell of the other makes no words of them."""
        numbers, table = self.directory.column_numbers, self.directory.tables[other]
        return bool(numbers[own.table.first + own.numbers[pair.own]] or numbers[table.first + pair.other])

    def _is_told_by_title(self, name: str, other: int) -> bool:
        """Tell whether the name of a column has a word for what another table is about.

        "city id" has one for a table of cities. "Year" has none for "Dress of the Year": very many tables of a lake
        have such a column, and years and ranks of one are found in any other.
        """
        title = words(self.infos[other].name)
        return any(is_among(word, title) for word in words(name) - self._usual_words)

    @cached_property
    def _usual_words(self) -> frozenset[str]:
        """Words in the names of columns that many tables have."""
        tables = Counter(
            word for info in self.infos for word in frozenset().union(*(words(name) for name in info.columns))
        )
        most = max(COMMON, USUAL * len(self.infos))
        return frozenset(word for word, count in tables.items() if count > most)

    def _is_telling(self, own: TableColumns, key: Candidate) -> bool:
        """Tell whether a key of several columns is useful, and not just numbers whose names say nothing."""
        if key.usefulness < LEAST:
            return False
        other = self._numbers[key.table_id]
        return key.names >= FITTING or not all(self._is_of_numbers(own, pair, other) for pair in key.pairs)

    def _are_chance(self, own: TableColumns, place: int, held: Holders) -> npt.NDArray[np.bool_]:
        """Tell which columns of this size may well hold as many of the values, going by how common each is."""
        directory = self.directory
        values = directory.column_value[directory.values(own.table.first + own.numbers[place])]
        elsewhere = float((directory.columns_of(values) - 1).sum())
        sizes = directory.column_first[held.column + 1] - directory.column_first[held.column]
        chances = np.minimum(len(values), sizes * (elsewhere / max(1, len(directory.column_value))))
        likely = LIKELY / len(directory.column_table)
        return are_likely(held.share * len(values), chances, len(values), likely)

    @cached_property
    def _held(self) -> KeyCountsCache:
        return KeyCountsCache(self.directory)

    @cached_property
    def _unique(self) -> Shares:
        """Distinct values of each column per row of its table."""
        rows = np.array([max(1, table.rows) for table in self.directory.tables])
        found: Shares = np.diff(self.directory.column_first) / rows[self.directory.column_table]
        return found

    @cached_property
    def _numbers(self) -> dict[int, int]:
        """Numbers of tables in the directory by their numbers in the lake."""
        return {info.table_id: number for number, info in enumerate(self.infos)}

    def _measured(self, number: int, own: TableColumns, key: Candidate) -> Iterator[Edge]:
        """Yield the join with its evidence from all rows, unless there is nothing in it."""
        other = self._numbers[key.table_id]
        table, info = self.directory.tables[other], self.infos[other]
        tuples = own.whole.tuples(key.key)
        places = own.places(table.segment)
        mapping = [pair.other for pair in key.pairs]
        first = int(table.segment.arrays.table_column_first[table.place])
        asked = [
            codes_of(table.segment.arrays, first + pair.other, places[pair.own])[tuples[:, at]]
            for at, pair in enumerate(key.pairs)
        ]
        measured = self._held.of(other).measure(mapping, np.stack(asked, axis=1))
        evidence = Evidence.of(measured, len(tuples), key.names)
        if evidence.usefulness >= LEAST and not evidence.is_chance:
            names = unique_names(info.columns)
            columns = tuple(names[place] for place in mapping)
            yield Edge(self.infos[number].table_id, info.table_id, own.whole.names(key.key), columns, evidence)


def all_joins(parts: Sequence[Joins]) -> Joins:
    """Return the joins of all tables, given those of parts of them."""
    edges = [edge for part in parts for edge in part.edges]
    return Joins(edges, sum(part.sharing for part in parts), sum(part.checked for part in parts))


def _best(found: list[Candidate]) -> list[Candidate]:
    """Return the best keys for each table, of keys that include each other just one."""
    chosen: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in sorted(found, key=lambda candidate: candidate.order):
        kept = chosen[candidate.table_id]
        if len(kept) < KEYS and not any(candidate.is_nested(other) for other in kept):
            kept.append(candidate)
    return [candidate for kept in chosen.values() for candidate in kept]
