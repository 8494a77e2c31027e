"""What a search reads of a database: blocks of tables, each as a small segment with the rows that may join.

The row filter runs in the database. Tables are visited by falling bound, so that the k-th score, which is read again
before each step, ends the search early. The bound is what the search asks for: the key tuples that some row of a table
holds, counted in the database, so that hardly more than the answers is read; or, as in the paper, the postings of the
initial column (L_t of section 6.2), and then how many rows passed the filter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa

from mate.lake.base import Ids, SearchView
from mate.lake.manifest import Manifest
from mate.lake.segment import RowBlock, SearchSegment, memory_segment
from mate.sql import statements as sql
from mate.sql.reader import Reader
from mate.sql.rounds import Bounds, ReadBlock, Rounds
from mate.sql.row_keys import CandidateRows, KeyForm, form_of
from mate.sql.session import Session

FEW_PROBES = 16
"""Up to so many records of key tuples stand in a statement as constants; more go through a temporary table."""

FIRST_PAGE = 200
"""Tables whose bounds are asked for at first; more only if these do not decide the search."""

MOST_POSTINGS = 5_000_000
"""Postings that one look-up may go through, where tables are visited by their postings."""

FIRST_ROWS = 4_000
"""Rows of the first block, where tables are visited by their rows; each is `GROWTH` times the last, up to `MOST_ROWS`.
A table is never divided."""
GROWTH = 4
MOST_ROWS = 100_000

MOST_MAPPINGS = 1_000
"""Mappings of the key to columns of a table, up to which it is read by mappings: a row has at most one key tuple for
each. With two key columns these are tables of up to 31 columns; those of wider ones are read row by row, which takes
fewer records where one value is in many columns."""

MOST_CELLS = 1_000_000
"""Cells of whole tables that are read at a time; one table is read in any case."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of one search."""

    reader: Reader
    manifest: Manifest
    search: SearchView
    widths: Callable[[], Ids]
    """Numbers of columns that tables of the index have."""

    @property
    def hash_number(self) -> int | None:
        """Which hash function filters rows: none in an index that was built without."""
        return self.search.hash_number if self.manifest.hashes else None

    @cached_property
    def form(self) -> KeyForm | None:
        """Form of its keys, None if rows are not filtered."""
        return None if self.hash_number is None else form_of(self.manifest.hashes[self.hash_number])

    @property
    def _kept(self) -> Rounds:
        """What earlier rounds have read."""
        return Rounds.of(self.search)

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
        rows = None if self.search.column_first or self.hash_number is None else self._rows(tables)
        return self._segment(tables, rows)

    def whole(self, tables: Ids) -> SearchSegment | None:
        """Return the segment of all rows of tables, without super keys."""
        places = "table_id, row_id, column_id, token_id"
        return self._made(self.reader.numbers(places, "cells", "table_id", tables, " AND piece = 0"), None)

    def _cannot_enter(self, bound: int) -> bool:
        """Tell whether a table with this bound cannot be among the answers."""
        return self.search.table_filters and bound <= self.search.kth

    # By the key tuples that rows hold

    def _by_bound(self) -> Iterator[SearchSegment]:
        """Yield the best tables, at first just as many as there is room for among the answers.

        The database counts all tables in one statement, which is repeated with a higher limit in the rare case that the
        first page does not decide the search: with more tables than that above the k-th score.
        """
        bounds = self._kept.bounds or self._bounds(FIRST_PAGE)
        seen, room = self.search.exclude, self.search.k
        while True:
            left = bounds.without(seen)
            start = 0
            while start < len(left.table) and not self._cannot_enter(int(left.bound[start])):
                stop = start + min(room, self._portion(left, start))
                yield from self._tables(left, slice(start, stop))
                start, room = stop, room * GROWTH
            if len(bounds.table) < bounds.limit or self._cannot_enter(int(bounds.bound[-1])):
                return
            seen = seen.union(bounds.table.tolist())
            bounds = self._bounds(10 * bounds.limit)

    def _bounds(self, limit: int) -> Bounds:
        """Ask for the bounds of the best tables, and keep them for further rounds."""
        found = self._ask(lambda look, where: look.bounds(where, limit), [8] * 5)
        order = np.lexsort((found[0], -found[1]))
        table, bound, rows, height, width = (column[order] for column in found)
        bounds = self._kept.bounds = Bounds(table, bound, rows, height, width, limit)
        return bounds

    def _portion(self, left: Bounds, start: int) -> int:
        """Return how many tables may enter and are read by one statement: at least one."""
        may_enter = int(np.count_nonzero(left.bound[start:] > self.search.kth))
        sizes, most = (left.cells, MOST_CELLS) if self.search.measures else (left.rows, MOST_ROWS)
        return max(1, min(may_enter, int(np.searchsorted(np.cumsum(sizes[start:]), most, "right"))))

    def _tables(self, bounds: Bounds, chosen: slice) -> Iterator[SearchSegment]:
        """Read what may join of tables, narrow and wide ones; all of them if they are to be measured, too."""
        tables = bounds.table[chosen]
        if self.search.measures:
            segment = self.whole(tables)
            if segment is not None:
                self._kept.whole.keep(segment)
                yield segment
            return
        narrow = bounds.width[chosen] ** float(self.search.token_ids.shape[1]) <= MOST_MAPPINGS
        for own, read in ((tables[narrow], self._mappings), (tables[~narrow], self._segment)):
            segment = read(own) if len(own) else None
            if segment is not None:
                yield segment

    def _mappings(self, tables: Ids) -> SearchSegment | None:
        """Read the key tuples of tables and the columns that hold them; make a row of each, in place of real ones."""
        keys = self.search.token_ids.shape[1]
        table, number, *columns = self._ask(lambda look, where: look.mappings(where), [8] * (2 + keys), tables)
        row = np.arange(len(table))
        cells = [
            np.repeat(table, keys),
            np.repeat(row, keys),
            np.ravel(columns, "F"),
            self.search.token_ids[number].ravel(),
        ]
        return self._made(cells, None)

    # By postings, as in the paper

    def _by_postings(self) -> Iterator[SearchSegment]:
        """Yield the tables that hold values of the initial column, those with most of them first."""
        blocks = self._kept.blocks
        done = self.search.exclude.union(blocks.tables)
        yield from (block.segment for block in list(blocks.kept) if not self._cannot_enter(block.bound))
        if self.form is None:
            yield from self._blocks(*self._table_counts(done), None)
        elif self.search.initial_postings <= MOST_POSTINGS:
            yield from self._row_blocks(self._all_rows().without(done))
        else:
            table, postings = self._table_counts(done)
            for part in self._portions(table, postings, (MOST_POSTINGS, MOST_POSTINGS)):
                yield from self._row_blocks(self._rows(part))

    def _table_counts(self, done: frozenset[int]) -> tuple[Ids, Ids]:
        """Return the tables that are left, and how many postings of the initial column's values they have."""
        table, postings = self._ask(lambda look, where: look.table_counts(where), [8, 8])
        left = ~np.isin(table, list(done))
        return table[left], postings[left]

    def _row_blocks(self, rows: CandidateRows) -> Iterator[SearchSegment]:
        """Yield the rows that passed the filter, of the tables with most of them first."""
        tables, sizes = np.unique(rows.table_id, return_counts=True)
        yield from self._blocks(tables, sizes, rows)

    def _blocks(self, tables: Ids, sizes: Ids, rows: CandidateRows | None) -> Iterator[SearchSegment]:
        """Yield tables, so many rows at a time; more of them at first where a further round is sure to want more."""
        size = dict(zip(tables.tolist(), sizes.tolist(), strict=True))
        first = FIRST_ROWS * GROWTH if self.search.measures else FIRST_ROWS
        for part in self._portions(tables, sizes, (first, MOST_ROWS)):
            segment = self._segment(part, rows)
            if segment is not None:
                if self.search.measures:
                    self._kept.blocks.keep(ReadBlock(frozenset(part.tolist()), size[int(part[0])], segment))
                yield segment

    def _portions(self, tables: Ids, sizes: Ids, limits: tuple[int, int]) -> Iterator[Ids]:
        """Yield tables, the largest first, so many rows at first and then more, until none can be among the answers."""
        order = np.lexsort((tables, -sizes))
        for start, stop in _cut(sizes[order], *limits, GROWTH):
            if self._cannot_enter(int(sizes[order[start]])):
                return
            yield tables[order[start:stop]]

    def _all_rows(self) -> CandidateRows:
        """Return the rows of all tables that pass the row filter, which are kept if further rounds may follow."""
        rows = self._kept.rows or self._rows(None)
        self._kept.rows = rows if self.search.measures else None
        return rows

    def _rows(self, tables: Ids | None) -> CandidateRows:
        """Return the rows that pass the row filter, of certain tables if given."""
        assert self.form is not None
        return self._put(self.form.candidates, lambda look, where: look.rows(where), tables)

    # Segments

    def _segment(self, tables: Ids, rows: CandidateRows | None = None) -> SearchSegment | None:
        """Read the rows of tables that passed and make a segment; with candidates given, of these and their keys."""
        return self._made(self._ask(lambda look, where: look.cells(where), [8] * 4, tables), rows)

    def _made(self, cells: list[Ids], rows: CandidateRows | None) -> SearchSegment | None:
        """Make a segment of cells, given as table, row, column and token."""
        order = np.lexsort((cells[1], cells[0]))
        table, row, column, token = (values[order] for values in cells)
        begins = np.ones(len(row), np.bool_)
        begins[1:] = (np.diff(table) != 0) | (np.diff(row) != 0)
        first = np.flatnonzero(begins)
        place, widths = np.zeros(len(first), np.int64), np.zeros(len(first), np.int64)
        if rows is not None:
            known, asked = _pairs(rows.table_id, rows.row_id), _pairs(table[first], row[first])
            place = np.minimum(np.searchsorted(known, asked), max(0, len(known) - 1))
            if not len(known) or (known[place] != asked).any():  # changed between two statements
                return None
            widths = rows.keys.width[place]
        if not len(first):
            return None
        offsets, tokens = _rows_of(table, np.cumsum(begins) - 1, column, token, widths)
        block = RowBlock(table[first], row[first], offsets, tokens)
        nothing = np.zeros((len(first), 0), np.uint64)
        mine = nothing if rows is None or self.form is None else self.form.of_rows(rows.keys, place)
        keys = [mine if number == self.hash_number else nothing for number in range(len(self.manifest.hashes))]
        return memory_segment(block, keys)

    # Questions

    def _ask(self, statement: _Statement, octets: list[int], tables: Ids | None = None) -> list[Ids]:
        """Put a question about the key tuples that is answered by whole numbers."""
        return self._put(lambda session, text: session.numbers(text, octets), statement, tables)

    def _put(self, ask: Callable[[Session, str], _Answer], statement: _Statement, tables: Ids | None) -> _Answer:
        """Put a question about the key tuples, and certain tables if given."""
        records = self._probes  # may ask for widths, which takes a session of its own

        def question(session: Session) -> _Answer:
            if tables is not None:
                where = self.reader.among(session, "p.table_id", tables)
            elif self.search.exclude:
                where = f"p.table_id NOT IN ({', '.join(map(str, sorted(self.search.exclude)))})"
            else:
                where = ""
            return ask(session, statement(self._lookup(session, records), where))

        return self.reader.ask(question)

    def _lookup(self, session: Session, records: list[pa.Array]) -> sql.Lookup:
        """Return the look-ups, their key tuples being where the session can reach them."""
        tokens, initial, shape = self.search.token_ids, self.search.initial, self.reader.shape
        columns = sql.probe_columns(tokens.shape[1], self.form)
        if len(records[0]) <= FEW_PROBES:
            relation = sql.constant_probes(session.dialect, columns, records)
        else:
            relation = f"mate_probes_{tokens.shape[1]}_{'none' if self.hash_number is None else self.hash_number}"
            session.fill(relation, columns, records, content=self._content)
        buckets = np.unique(sql.bucket_of(tokens[:, initial])) if shape.buckets else np.empty(0, np.int64)
        few = buckets.tolist() if len(buckets) <= self.reader.in_list else []
        intersects, listed = self.search.intersects, self.reader.in_list
        probes = sql.Probes(relation, tokens, initial, self.hash_number, self.form, few, intersects, listed)
        return sql.Lookup(session.dialect, self.reader.generation, shape, probes)

    @cached_property
    def _probes(self) -> list[pa.Array]:
        """The records of the key tuples: number, tokens, and what rows are filtered by."""
        tokens = self.search.token_ids
        if self.form is None:
            return [pa.array(np.arange(len(tokens))), *map(pa.array, tokens.T)]
        number, keys = self.form.probes(self.search.tuple_hashes, self.widths)
        return [pa.array(number), *map(pa.array, tokens[number].T), *keys]

    @cached_property
    def _content(self) -> bytes:
        """What tells the records from those of other searches, and of this one before the index was changed."""
        names = [str(number) for number in range(len(self._probes))]
        return hashlib.sha256(pa.RecordBatch.from_arrays(self._probes, names=names).serialize()).digest()


_Statement = Callable[[sql.Lookup, str], str]
_Answer = TypeVar("_Answer")


def _pairs(table: Ids, row: Ids) -> Ids:
    """Return table and row as one number each."""
    return table << 32 | row


def _rows_of(table: Ids, row: Ids, column: Ids, token: Ids, least: Ids) -> tuple[Ids, Ids]:
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


def _cut(sizes: Ids, size: int, most: int, growth: int) -> Iterator[tuple[int, int]]:
    """Cut things of these sizes into ranges of so much at first, then more; at least one thing each."""
    ends = np.cumsum(sizes)
    start = done = 0
    while start < len(sizes):
        stop = max(start + 1, int(np.searchsorted(ends, done + size, "right")))
        yield start, stop
        start, done, size = stop, int(ends[stop - 1]), min(size * growth, most)
