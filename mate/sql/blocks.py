"""What a search reads of a database: blocks of tables, each as a small segment with the rows that may join.

The row filter runs in the database. Tables are visited by falling bound, so that the k-th score ends the search early.
Column-first search bounds a table by the key tuples that its rows hold, counted in the database, so that hardly more
than the answers is read. The paper's systems go by postings of the initial column (L_t of section 6.2): by the rows
with one that passed the filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.lake.base import Ids, TableSegment
from mate.lake.records import TableInfo
from mate.lake.segment import SearchSegment, first_of_rows, memory_segment
from mate.search.search import Search
from mate.sql.dialects.session import Session
from mate.sql.lookup import Lookup, constant_probes, probe_columns
from mate.sql.super_keys import KeyForm, key_form

if TYPE_CHECKING:
    from mate.sql.index import DatabaseIndex

FEW_PROBES = 16
"""Up to so many records of key tuples stand in a statement as constants; more go through a temporary table."""

FIRST_PAGE = 200
"""Tables whose bounds column-first search asks for at first; more only if these do not decide the search."""

GROWTH, MOST_ROWS = 4, 100_000
"""How many times more tables each block may have; rows of a block. A table is never divided."""

MOST_MAPPINGS = 1_000
"""Up to so many mappings of the key to its columns, a table is read by mappings: a row has at most one key tuple for
each. With two key columns these are tables of up to 31 columns. Wider ones are read row by row, which takes fewer
records where one value is in many columns."""

MOST_CELLS = 1_000_000
"""Cells of whole tables that are read at a time, unless one table has more."""

MOST_OCTETS = 4_000_000
"""Size of the codes of whole tables that are kept; others are read again."""

_Statement = Callable[[Lookup, str], str]
_Answer = TypeVar("_Answer")


class TableBounds(NamedTuple):
    """Tables that may join, best first."""

    table: Ids
    bound: Ids
    """What their score is at most."""
    rows: Ids
    """Rows to read; in column-first search one that holds several key tuples counts for each."""
    height: Ids
    """All rows of the table; like `width` only known in column-first search."""
    width: Ids
    """Its columns."""

    def without(self, tables: frozenset[int]) -> TableBounds:
        """Return the other tables."""
        left = ~np.isin(self.table, list(tables))
        return TableBounds(*(values[left] for values in self))


@dataclass
class SearchCache:
    """What a search has read and keeps: for its further rounds, and until tables are measured."""

    bounds: tuple[TableBounds, int | None] | None = None
    """The best tables, and how many were asked for."""
    infos: dict[int, TableInfo] = field(default_factory=dict)
    whole_tables: dict[int, TableSegment] = field(default_factory=dict)
    """Tables of which every row was read."""
    octets: int = 0
    """Size of the codes of these tables."""

    def keep(self, segment: SearchSegment) -> None:
        """Keep the tables of a segment, and those before them unless that is too much."""
        size = len(segment.arrays.codes)
        if self.octets + size > MOST_OCTETS:
            self.whole_tables, self.octets = {}, 0
        self.octets += size
        for place, number in enumerate(segment.arrays.table_id.tolist()):
            self.whole_tables[number] = TableSegment(segment, place)


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of one search."""

    index: DatabaseIndex
    search: Search

    @property
    def hash_number(self) -> int | None:
        """Which hash function filters rows: none in an index that was built without."""
        return self.search.hash_number if self.index.manifest.hashes else None

    @cached_property
    def form(self) -> KeyForm | None:
        """Form of its keys, None if rows are not filtered."""
        number = self.hash_number
        return None if number is None else key_form(self.index.manifest.hashes[number].function())

    @property
    def _cache(self) -> SearchCache:
        cache: SearchCache = self.search.cache.setdefault("database", SearchCache())
        return cache

    @property
    def _by_rows(self) -> bool:
        """Whether tables are bounded by whole rows."""
        return self.search.column_first and self.search.table_filters

    def segments(self) -> Iterator[SearchSegment]:
        """Yield segments with every row that may be part of an answer.

        At first there are just as many tables as there is room for among the answers, and a few times as many where
        their bounds are loose. The database counts all tables in one statement. Column-first search repeats it with a
        higher limit in the rare case that the first page does not decide the search: with more tables than that above
        the k-th score.
        """
        if not len(self.search.token_ids):
            return
        bounds, limit = self._cache.bounds or self._bounds(FIRST_PAGE if self._by_rows else None)
        seen, room = self.search.exclude, self.search.k * (1 if self._by_rows else GROWTH)
        while True:
            left = bounds.without(seen)
            for chosen in self._portions(left, room):
                yield from self._read(TableBounds(*(values[chosen] for values in left)))
            if limit is None or len(bounds.table) < limit or self._may_enter(bounds) < len(bounds.table):
                return
            seen, room = seen.union(bounds.table.tolist()), len(bounds.table)
            bounds, limit = self._bounds(10 * limit)

    def _bounds(self, limit: int | None) -> tuple[TableBounds, int | None]:
        """Ask for the bounds of the best tables, and keep them for further rounds."""
        columns = self._numbers(
            lambda lookup, where: lookup.row_counts(where) if limit is None else lookup.bounds(where, limit)
        )
        order = np.lexsort((columns[0], -columns[1]))
        self._cache.bounds = TableBounds(*(column[order] for column in columns)), limit
        return self._cache.bounds

    def _portions(self, bounds: TableBounds, tables: int) -> Iterator[slice]:
        """Cut tables into portions, at first of so many, until no more can be among the answers."""
        whole = self._by_rows and self.search.measures
        sizes, most = (bounds.height * bounds.width, MOST_CELLS) if whole else (bounds.rows, MOST_ROWS)
        ends = np.cumsum(sizes)
        start = done = 0
        while start < (end := self._may_enter(bounds)):
            stop = min(start + tables, end, int(np.searchsorted(ends, done + most, "right")))
            stop = max(start + 1, stop)
            yield slice(start, stop)
            start, done, tables = stop, int(ends[stop - 1]), tables * GROWTH

    def _may_enter(self, bounds: TableBounds) -> int:
        """Return how many tables may be among the answers."""
        return int(np.count_nonzero(bounds.bound > self.search.kth)) if self.search.table_filters else len(bounds.bound)

    def _read(self, bounds: TableBounds) -> Iterator[SearchSegment]:
        """Read what may join of tables; all of them if they are to be measured, too."""
        if not self._by_rows:
            found = [self._rows(bounds.table)]
        elif self.search.measures:
            found = [self._whole(bounds.table)]
        else:
            narrow = bounds.width ** float(self.search.token_ids.shape[1]) <= MOST_MAPPINGS
            found = [self._mappings(bounds.table[narrow]), self._rows(bounds.table[~narrow])]
        yield from filter(None, found)

    def _mappings(self, tables: Ids) -> SearchSegment | None:
        """Read the key tuples of tables and the columns that hold them; make a row of each, in place of real ones."""
        if not len(tables):
            return None
        table, number, *columns = self._numbers(Lookup.mappings, tables)
        row = np.repeat(np.arange(len(table)), len(columns))
        tokens = self.search.token_ids[number].ravel()
        return self._segment([np.repeat(table, len(columns)), row, np.ravel(columns, "F"), tokens])

    def _rows(self, tables: Ids) -> SearchSegment | None:
        """Read the rows of tables that pass the row filter."""
        if not len(tables):
            return None
        if self.form is None or self.search.column_first:
            return self._segment(self._numbers(Lookup.cells, tables))
        records = self._ask(Session.execute, partial(Lookup.cells, with_keys=True), tables)
        cells = np.array(records, object).reshape(-1, 5).T
        return self._segment(cells[:4].astype(np.int64), cells[4])

    def _segment(self, cells: Sequence[Ids] | Ids, keys: npt.NDArray[Any] | None = None) -> SearchSegment | None:
        """Make a segment of cells, given as table, row, column and token, and the super keys of their rows."""
        order = np.lexsort((cells[1], cells[0]))
        table, row, column, token = (values[order] for values in cells)
        if not len(order):
            return None
        is_first, width = first_of_rows(table, row), column + 1
        nothing = np.zeros((np.count_nonzero(is_first), 0), np.uint64)
        all_keys = [nothing] * len(self.index.manifest.hashes)
        if keys is not None and self.form is not None and self.hash_number is not None:
            widths, all_keys[self.hash_number] = self.form.read(keys[order][is_first])
            width = np.maximum(width, widths[np.cumsum(is_first) - 1])
        return memory_segment(table, row, column, token, width, all_keys)

    # Single tables

    def table(self, table_id: int) -> TableSegment | None:
        """Return the segment of one table's rows, if any may join."""
        segment = self._rows(np.array([table_id])) if len(self.search.token_ids) else None
        return None if segment is None else TableSegment(segment, 0)

    def whole_tables(self, tables: Sequence[int]) -> list[TableSegment]:
        """Return all rows of tables: those that the search has read already, or as many as one statement may read."""
        kept = self._cache.whole_tables
        if tables[0] not in kept:
            sizes = {info.table_id: info.rows * len(info.columns) for info in self.infos(tables)}
            cells = np.cumsum([sizes.get(number, 0) for number in tables])
            wanted = tables[: max(1, int(np.searchsorted(cells, MOST_CELLS, "right")))]
            self._whole(np.unique(wanted))
            kept = self._cache.whole_tables
        return [kept[number] for number in takewhile(kept.__contains__, tables)]

    def infos(self, tables: Sequence[int]) -> list[TableInfo]:
        """Return what tables are called and how large they are, each looked up once."""
        known = self._cache.infos
        if unknown := [number for number in tables if number not in known]:
            known |= {info.table_id: info for info in self.index.tables(unknown)}
        return [known[number] for number in tables if number in known]

    def _whole(self, tables: Ids) -> SearchSegment | None:
        """Read all rows of tables, without super keys, and keep them."""
        query = f"SELECT table_id, row_id, column_id, token_id FROM {self.index.generation.name('cells')}"

        def question(session: Session) -> list[Ids]:
            return session.numbers(f"{query} WHERE {self.index.among(session, 'table_id', tables)} AND piece = 0")

        segment = self._segment(self.index.ask(question))
        if segment is not None:
            self._cache.keep(segment)
        return segment

    # Questions

    def _numbers(self, statement: _Statement, tables: Ids | None = None) -> list[Ids]:
        """Put a question about the key tuples that is answered by columns of whole numbers."""
        return self._ask(Session.numbers, statement, tables)

    def _ask(self, read: Callable[[Session, str], _Answer], statement: _Statement, tables: Ids | None) -> _Answer:
        """Put a question about the key tuples, and certain tables if given."""
        _ = self._probes, self.search.initial  # these may ask, too, which takes a session of its own

        def question(session: Session) -> _Answer:
            where = ""
            if tables is not None:
                where = self.index.among(session, "p.table_id", tables)
            elif self.search.exclude:
                where = f"p.table_id NOT IN ({', '.join(map(str, sorted(self.search.exclude)))})"
            return read(session, statement(self.lookup(session), where))

        return self.index.ask(question)

    def lookup(self, session: Session) -> Lookup:
        """Return the look-ups, with the key tuples where the session can reach them."""
        keys = self.search.token_ids.shape[1]
        columns, relation = probe_columns(keys, self.form), f"mate_probes_{keys}_{self.hash_number}"
        if len(self._probes[0]) <= FEW_PROBES:
            relation = constant_probes(session.dialect, columns, self._probes)
        else:
            session.fill(relation, columns, self._probes)
        return Lookup(session.dialect, self.index.generation, self.search, self.form, relation, self.index.in_list)

    @cached_property
    def _probes(self) -> list[pa.Array]:
        """The records of the key tuples: number, tokens, and what rows are filtered by."""
        tokens = self.search.token_ids
        numbers: Ids = np.arange(len(tokens))
        keys: list[pa.Array] = []
        if self.form is not None:
            numbers, keys = self.form.probes(self.search.tuple_hashes, self.index.widths)
        return [pa.array(numbers), *map(pa.array, tokens[numbers].T), *keys]
