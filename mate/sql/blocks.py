"""What a search reads of a database: blocks of tables, each as a small segment with the rows that may join.

The row filter runs in the database. Tables are visited by falling bound, so that the k-th score ends the search early.
Column-first search bounds a table by the key tuples that its rows hold, counted in the database, so that hardly more
than the answers is read. The paper's systems go by the postings of the initial column (L_t of section 6.2), and then by
how many rows passed the filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa

from mate.lake.base import Ids
from mate.lake.manifest import Manifest
from mate.lake.segment import RowBlock, SearchSegment, memory_segment
from mate.search.search import Search
from mate.sql.dialects.session import Session
from mate.sql.lookup import Lookup, constant_probes, probe_columns
from mate.sql.reader import Reader
from mate.sql.search_cache import SearchCache, TableBounds
from mate.sql.super_keys import CandidateRows, KeyForm, key_form

FEW_PROBES = 16
"""Up to so many records of key tuples stand in a statement as constants; more go through a temporary table."""

FIRST_PAGE = 200
"""Tables whose bounds are asked for at first; more only if these do not decide the search."""

FIRST_ROWS, GROWTH, MOST_ROWS = 4_000, 4, 100_000
"""Rows of the first block, where tables are visited by their rows; factor to the next one; rows of the largest. A table
is never divided."""

MOST_MAPPINGS = 1_000
"""Up to so many mappings of the key to its columns, a table is read by mappings: a row has at most one key tuple for
each. With two key columns these are tables of up to 31 columns. Wider ones are read row by row, which takes fewer
records where one value is in many columns."""

MOST_CELLS = 1_000_000
"""Cells of whole tables that are read at a time, unless one table has more."""

_Statement = Callable[[Lookup, str], str]
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of one search."""

    reader: Reader
    manifest: Manifest
    search: Search
    widths: Callable[[], Ids]
    """Returns the numbers of columns that tables of the index have."""

    @property
    def hash_number(self) -> int | None:
        """Which hash function filters rows: none in an index that was built without."""
        return self.search.hash_number if self.manifest.hashes else None

    @cached_property
    def form(self) -> KeyForm | None:
        """Form of its keys, None if rows are not filtered."""
        return None if self.hash_number is None else key_form(self.manifest.hashes[self.hash_number].function())

    @property
    def _cache(self) -> SearchCache:
        return SearchCache.of(self.search)

    def segments(self) -> Iterator[SearchSegment]:
        """Yield segments with every row that may be part of an answer."""
        if not len(self.search.token_ids):
            return iter(())
        return self._by_bound() if self.search.column_first and self.search.table_filters else self._by_postings()

    def table(self, table_id: int) -> SearchSegment | None:
        """Return the segment of one table's rows, if any may join."""
        if not len(self.search.token_ids):
            return None
        tables = np.array([table_id])
        rows = None if self.search.column_first or self.form is None else self._rows(tables)
        return self._read_rows(tables, rows)

    def whole(self, tables: Ids) -> SearchSegment | None:
        """Return the segment of all rows of tables, without super keys."""
        query = f"SELECT table_id, row_id, column_id, token_id FROM {self.reader.generation.name('cells')}"

        def question(session: Session) -> list[Ids]:
            among_tables = self.reader.among(session, "table_id", tables)
            return session.numbers(f"{query} WHERE {among_tables} AND piece = 0", [8] * 4)

        return self._segment(self.reader.ask(question), None)

    def _portions(self, bounds: Ids, sizes: Ids, tables: int, size: int, most: int) -> Iterator[slice]:
        """Cut tables, best first, into portions, until none can be among the answers.

        A portion has at most so many tables, and is of at most this size unless one table is larger; the next one is
        GROWTH times as large, up to the most.
        """
        ends = np.cumsum(sizes)
        start = done = 0
        while start < (end := self._may_enter(bounds)):
            stop = min(start + tables, end, int(np.searchsorted(ends, done + size, "right")))
            stop = max(start + 1, stop)
            yield slice(start, stop)
            start, done = stop, int(ends[stop - 1])
            tables, size = tables * GROWTH, min(size * GROWTH, most)

    def _may_enter(self, bounds: Ids) -> int:
        """Return how many tables, given by falling bounds, may be among the answers."""
        return int(np.count_nonzero(bounds > self.search.kth)) if self.search.table_filters else len(bounds)

    # By the key tuples that rows hold

    def _by_bound(self) -> Iterator[SearchSegment]:
        """Yield the best tables, at first just as many as there is room for among the answers.

        The database counts all tables in one statement, which is repeated with a higher limit in the rare case that the
        first page does not decide the search: with more tables than that above the k-th score.
        """
        bounds = self._cache.bounds or self._bounds(FIRST_PAGE)
        seen, room = self.search.exclude, self.search.k
        while True:
            left = bounds.without(seen)
            sizes, most = (left.cells, MOST_CELLS) if self.search.measures else (left.rows, MOST_ROWS)
            for chosen in self._portions(left.bound, sizes, room, most, most):
                yield from self._tables(left, chosen)
            if len(bounds.table) < bounds.limit or self._may_enter(bounds.bound) < len(bounds.bound):
                return
            seen, room = seen.union(bounds.table.tolist()), len(bounds.table)
            bounds = self._bounds(10 * bounds.limit)

    def _bounds(self, limit: int) -> TableBounds:
        """Ask for the bounds of the best tables, and keep them for further rounds."""
        columns = self._numbers(lambda lookup, where: lookup.bounds(where, limit), 5)
        order = np.lexsort((columns[0], -columns[1]))
        table, bound, rows, height, width = (column[order] for column in columns)
        bounds = self._cache.bounds = TableBounds(table, bound, rows, height, width, limit)
        return bounds

    def _tables(self, bounds: TableBounds, chosen: slice) -> Iterator[SearchSegment]:
        """Read what may join of tables, narrow and wide ones; all of them if they are to be measured, too."""
        tables = bounds.table[chosen]
        if self.search.measures:
            if segment := self.whole(tables):
                self._cache.add_whole_tables(segment)
                yield segment
            return
        narrow = bounds.width[chosen] ** float(self.search.token_ids.shape[1]) <= MOST_MAPPINGS
        for own, read in ((tables[narrow], self._mappings), (tables[~narrow], self._read_rows)):
            if len(own) and (segment := read(own)):
                yield segment

    def _mappings(self, tables: Ids) -> SearchSegment | None:
        """Read the key tuples of tables and the columns that hold them; make a row of each, in place of real ones."""
        keys = self.search.token_ids.shape[1]
        table, number, *columns = self._numbers(lambda lookup, where: lookup.mappings(where), 2 + keys, tables)
        row = np.repeat(np.arange(len(table)), keys)
        tokens = self.search.token_ids[number].ravel()
        return self._segment([np.repeat(table, keys), row, np.ravel(columns, "F"), tokens], None)

    # By postings, as in the paper

    def _by_postings(self) -> Iterator[SearchSegment]:
        """Yield the tables that hold values of the initial column, those with most rows that may join first."""
        if self.form is None:
            rows, (tables, sizes) = None, self._table_counts()
        else:
            rows = self._all_rows().without(self.search.exclude)
            tables, sizes = np.unique(rows.table_id, return_counts=True)
        order = np.lexsort((tables, -sizes))
        tables, sizes = tables[order], sizes[order]
        first = MOST_ROWS if self.search.measures else FIRST_ROWS  # further rounds want more of them anyway
        for chosen in self._portions(sizes, sizes, len(tables), first, MOST_ROWS):
            if segment := self._read_rows(tables[chosen], rows):
                yield segment

    def _table_counts(self) -> tuple[Ids, Ids]:
        """Return tables, and how many postings of the initial column's values they have."""
        tables, postings = self._numbers(lambda lookup, where: lookup.table_counts(where), 2)
        return tables, postings

    def _all_rows(self) -> CandidateRows:
        """Return the rows of all tables that pass the row filter, which are kept if further rounds may follow."""
        rows = self._cache.rows or self._rows(None)
        self._cache.rows = rows if self.search.measures else None
        return rows

    def _rows(self, tables: Ids | None) -> CandidateRows:
        """Return the rows that pass the row filter, of certain tables if given."""
        assert self.form is not None
        return self._ask(self.form.candidates, lambda lookup, where: lookup.rows(where), tables)

    def _read_rows(self, tables: Ids, rows: CandidateRows | None = None) -> SearchSegment | None:
        """Read the rows of tables that pass the row filter; with candidates given, take just these and their keys."""
        return self._segment(self._numbers(lambda lookup, where: lookup.cells(where), 4, tables), rows)

    # Segments

    def _segment(self, cells: list[Ids], rows: CandidateRows | None) -> SearchSegment | None:
        """Make a segment of cells, given as table, row, column and token."""
        order = np.lexsort((cells[1], cells[0]))
        table, row, column, token = (values[order] for values in cells)
        is_first = np.ones(len(row), np.bool_)
        is_first[1:] = (np.diff(table) != 0) | (np.diff(row) != 0)
        first = np.flatnonzero(is_first)
        if not len(first):
            return None
        nothing = np.zeros((len(first), 0), np.uint64)
        widths, keys = np.zeros(len(first), np.int64), nothing
        if rows is not None and self.form is not None:
            known, wanted = rows.table_id << 32 | rows.row_id, table[first] << 32 | row[first]
            place = np.searchsorted(known, wanted)
            if not np.isin(wanted, known).all():  # changed between two statements
                return None
            widths, keys = self.form.read(rows.keys[place])
        offsets, tokens = _row_tokens(table, np.cumsum(is_first) - 1, column, token, widths)
        all_keys = [keys if number == self.hash_number else nothing for number in range(len(self.manifest.hashes))]
        return memory_segment(RowBlock(table[first], row[first], offsets, tokens), all_keys)

    # Questions

    def _numbers(self, statement: _Statement, columns: int, tables: Ids | None = None) -> list[Ids]:
        """Put a question about the key tuples that is answered by columns of whole numbers."""
        return self._ask(lambda session, text: session.numbers(text, [8] * columns), statement, tables)

    def _ask(self, read: Callable[[Session, str], _Answer], statement: _Statement, tables: Ids | None) -> _Answer:
        """Put a question about the key tuples, and certain tables if given."""
        _ = self._probes, self.search.initial  # these may ask, too, which takes a session of its own

        def question(session: Session) -> _Answer:
            where = ""
            if tables is not None:
                where = self.reader.among(session, "p.table_id", tables)
            elif self.search.exclude:
                where = f"p.table_id NOT IN ({', '.join(map(str, sorted(self.search.exclude)))})"
            return read(session, statement(self.lookup(session), where))

        return self.reader.ask(question)

    def lookup(self, session: Session) -> Lookup:
        """Return the look-ups, with the key tuples where the session can reach them."""
        keys = self.search.token_ids.shape[1]
        columns, relation = probe_columns(keys, self.form), f"mate_probes_{keys}_{self.hash_number}"
        if len(self._probes[0]) <= FEW_PROBES:
            relation = constant_probes(session.dialect, columns, self._probes)
        else:
            session.fill(relation, columns, self._probes)
        return Lookup(session.dialect, self.reader.generation, self.search, self.form, relation, self.reader.in_list)

    @cached_property
    def _probes(self) -> list[pa.Array]:
        """The records of the key tuples: number, tokens, and what rows are filtered by."""
        tokens = self.search.token_ids
        numbers: Ids = np.arange(len(tokens))
        keys: list[pa.Array] = []
        if self.form is not None:
            numbers, keys = self.form.probes(self.search.tuple_hashes, self.widths)
        return [pa.array(numbers), *map(pa.array, tokens[numbers].T), *keys]


def _row_tokens(table: Ids, row: Ids, column: Ids, token: Ids, least: Ids) -> tuple[Ids, Ids]:
    """Return where rows begin and their tokens, given cells by row: no token where a cell was left out.

    A row has at least so many columns: those that its super key is made for.
    """
    tables, place = np.unique(table, return_inverse=True)
    widths = np.zeros(len(tables), np.int64)
    np.maximum.at(widths, place, np.maximum(column + 1, least[row]))
    width_of_row = np.zeros(row[-1] + 1, np.int64)
    width_of_row[row] = widths[place]
    offsets = np.concatenate([[0], np.cumsum(width_of_row)])
    tokens = np.full(offsets[-1], -1, np.int64)
    tokens[offsets[row] + column] = token
    return offsets, tokens
