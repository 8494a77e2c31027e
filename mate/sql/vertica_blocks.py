"""What a search reads of a database: blocks of tables, each as a small segment with the rows that may join.

The row filter runs in the database. Tables are visited by falling bound, so that the k-th score, which is read again
before each step, ends the search early: by their postings of the initial column (L_t of section 6.2) before anything of
them is fetched, and by how many of their rows passed the filter before these rows are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from mate.hashing import Keys
from mate.index.base import Ids, Sought
from mate.index.counting import ranges
from mate.index.manifest import Manifest
from mate.index.memory import RowBlock, memory_segment
from mate.index.segment import SearchSegment
from mate.sql import vertica_sql as sql
from mate.sql.vertica_copy import hexadecimal
from mate.sql.vertica_reader import Reader, distinct
from mate.sql.vertica_session import Session

MOST_PAIRS = 50_000_000
"""Pairs of posting and key tuple that one look-up may run through the row filter."""
MOST_POSTINGS = 5_000_000
"""Postings that one look-up without a row filter may return."""

FIRST_ROWS = 4_000
"""Rows of the first block; each one is `GROWTH` times the last, up to `MOST_ROWS`. A table is never divided."""
GROWTH = 4
MOST_ROWS = 100_000

ROWS_PER_QUERY = 20_000
"""Rows that are read in one query: what bounds the memory that its answer takes."""


class TableCounts(NamedTuple):
    """Tables that have the initial column's values, by falling number of postings."""

    table_id: Ids
    postings: Ids
    work: Ids
    """What a look-up has to go through: pairs of posting and key tuple if it filters rows, else postings."""


class CandidateRows(NamedTuple):
    """Rows that may join, ascending by table, then by row."""

    table_id: Ids
    row_id: Ids
    keys: Keys
    """Their super keys; no word of bits if rows are not filtered."""


@dataclass(frozen=True)
class Blocks:
    """The blocks of one search."""

    reader: Reader
    manifest: Manifest
    search: Sought

    @property
    def hash_number(self) -> int | None:
        """Which hash function filters rows: none in an index that was built without."""
        return self.search.hash_number if self.manifest.hashes else None

    def segments(self) -> Iterator[SearchSegment]:
        """Yield segments with every row that may be part of an answer."""
        if not len(self.search.token_ids):
            return
        counts = self._table_counts()
        most = MOST_POSTINGS if self.hash_number is None else MOST_PAIRS
        for first, stop in _cut(counts.work, most, most, 1):
            if self._cannot_enter(int(counts.postings[first])):
                return
            chosen = counts.table_id[first:stop]
            rows = self._candidates(None if len(chosen) == len(counts.table_id) else chosen)
            yield from self._blocks(rows, chosen)

    def table(self, table_id: int) -> SearchSegment | None:
        """Return the segment of one table's rows, if any may join."""
        if not len(self.search.token_ids):
            return None
        return self._segment(self._candidates(np.array([table_id])))

    def _cannot_enter(self, bound: int) -> bool:
        """Tell whether a table with this bound cannot be among the answers."""
        return self.search.table_filters and bound <= self.search.kth

    def _table_counts(self) -> TableCounts:
        values, tuples = np.unique(self.search.token_ids[:, self.search.initial], return_counts=True)

        def question(session: Session) -> list[Ids]:
            session.fill(sql.WEIGHTED, [pa.array(values), pa.array(tuples)])
            return session.numbers(sql.table_counts(self.reader.generation), 3)

        table, postings, pairs = self.reader.sessions.ask(question)
        kept = np.flatnonzero(~np.isin(table, list(self.search.exclude)))
        order = kept[np.lexsort((table[kept], -postings[kept]))]
        work = postings if self.hash_number is None else pairs
        return TableCounts(table[order], postings[order], work[order])

    def _candidates(self, tables: Ids | None) -> CandidateRows:
        """Return the rows that pass the row filter, of certain tables if given."""
        number = self.hash_number
        found = self._unfiltered(tables) if number is None else self._filtered(number, tables)
        order = np.lexsort((found[1], found[0]))
        table, row, *words = (column[order] for column in found)
        keys = np.stack(words, axis=1) if words else np.zeros((len(row), 0), np.int64)
        return CandidateRows(table, row, keys.view(np.uint64))

    def _unfiltered(self, tables: Ids | None) -> list[Ids]:
        """Return table and number of all rows with a value of the initial column."""
        values = distinct(self.search.token_ids[:, self.search.initial])

        def question(session: Session) -> list[Ids]:
            session.prepare(sql.IDS, sql.CHOSEN)
            where, bound = self.reader.among(session, "token_id", values)
            if tables is not None:
                chosen, more = self.reader.among(session, "table_id", tables, sql.CHOSEN)
                where, bound = f"{where} AND {chosen}", bound + more
            statement = f"SELECT DISTINCT table_id, row_id FROM {self.reader.table('postings')} WHERE {where}"
            return session.numbers(statement, 2, bound)

        return self.reader.sessions.ask(question)

    def _filtered(self, number: int, tables: Ids | None) -> list[Ids]:
        """Return table and number of the rows whose super key covers a key tuple's, and the words of these keys."""
        octets = self.manifest.hashes[number].bits // 8
        values, keys = self.search.token_ids[:, self.search.initial], self.search.tuple_keys()
        probe = np.unique(np.column_stack([values.view(np.uint64), keys]), axis=0)

        def question(session: Session) -> list[Ids]:
            session.prepare(sql.probes(octets), sql.CHOSEN)
            session.fill(sql.probes(octets), [pa.array(probe[:, 0].view(np.int64)), hexadecimal(probe[:, 1:])])
            chosen, bound = "", list[int]()
            if tables is not None:
                chosen, bound = self.reader.among(session, "p.table_id", tables, sql.CHOSEN)
            layout = self.manifest.layout
            statement = sql.candidate_rows(self.reader.generation, number, octets, layout, chosen)
            return session.numbers(statement, 2 + octets // 8, bound)

        return self.reader.sessions.ask(question)

    def _blocks(self, rows: CandidateRows, chosen: Ids) -> Iterator[SearchSegment]:
        """Yield the rows of the chosen tables, those with most rows first."""
        tables, first, sizes = np.unique(rows.table_id, return_index=True, return_counts=True)
        kept = np.flatnonzero(np.isin(tables, chosen))
        order = kept[np.lexsort((tables[kept], -sizes[kept]))]
        for start, stop in _cut(sizes[order], FIRST_ROWS, MOST_ROWS, GROWTH):
            if self._cannot_enter(int(sizes[order[start]])):
                return
            inside = np.sort(order[start:stop])
            places, _ = ranges(first[inside], first[inside] + sizes[inside])
            segment = self._segment(CandidateRows(rows.table_id[places], rows.row_id[places], rows.keys[places]))
            if segment is not None:
                yield segment

    def _segment(self, rows: CandidateRows) -> SearchSegment | None:
        """Read rows and make a segment of them; what was removed meanwhile is left out."""
        tables, first_row = self.reader.numbers("table_id, first_row", "tables", "table_id", np.unique(rows.table_id))
        begins = dict(zip(tables.tolist(), first_row.tolist(), strict=True))
        row_id, widths, tokens = self._read(np.sort(rows.row_id))
        kept = np.flatnonzero(np.isin(rows.row_id, row_id) & np.isin(rows.table_id, tables))
        if not len(kept):
            return None
        table_id = rows.table_id[kept]
        begin = np.array([begins[table] for table in table_id.tolist()], np.int64)
        place = np.searchsorted(row_id, rows.row_id[kept])
        ends = np.cumsum(widths)
        cells, _ = ranges((ends - widths)[place], ends[place])
        offsets = np.concatenate([[0], np.cumsum(widths[place])])
        block = RowBlock(table_id, rows.row_id[kept] - begin, offsets, tokens[cells])
        return memory_segment(block, self._keys(rows.keys[kept]))

    def _keys(self, keys: Keys) -> list[Keys]:
        """Return the keys by hash function: none of those that the search does not use."""
        nothing = np.zeros((len(keys), 0), np.uint64)
        return [keys if number == self.hash_number else nothing for number in range(len(self.manifest.hashes))]

    def _read(self, row_ids: Ids) -> tuple[Ids, Ids, Ids]:
        """Return the numbers of rows that are there, ascending, their widths, and their tokens one after the other."""
        found = [np.empty((3, 0), np.int64)]
        for start in range(0, len(row_ids), ROWS_PER_QUERY):
            part = row_ids[start : start + ROWS_PER_QUERY]
            cells = self.reader.numbers("row_id, column_id, token_id", "cells", "row_id", part, " AND piece = 0")
            found.append(np.stack(cells)[:, np.lexsort((cells[1], cells[0]))])
        rows, _, tokens = np.concatenate(found, axis=1)
        numbers, widths = np.unique(rows, return_counts=True)
        return numbers, widths, tokens


def _cut(sizes: Ids, size: int, most: int, growth: int) -> Iterator[tuple[int, int]]:
    """Cut things of these sizes into ranges of so much at first, then more; at least one thing each."""
    ends = np.cumsum(sizes)
    start = done = 0
    while start < len(sizes):
        stop = max(start + 1, int(np.searchsorted(ends, done + size, "right")))
        yield start, stop
        start, done, size = stop, int(ends[stop - 1]), min(size * growth, most)
