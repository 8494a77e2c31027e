"""A segment as records of the tables of a database, in batches of bounded size.

Tables that a later segment supersedes are left out. Rows are counted within their table, columns too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.lake.arrays import Array
from mate.lake.columns import cell_tokens, entry_rows, ranges
from mate.lake.segment import SearchSegment, Segment
from mate.sql.dialects.session import Columns
from mate.sql.lookup import bucket_of
from mate.sql.schema import NULL_CELL, PIECE, Generation
from mate.sql.super_keys import KeyForm

BATCH = 200_000
"""Records per batch of postings, tokens or super keys. Cells come as they were written, some 400,000 at a time."""

_TABLE_COLUMNS = ["table_id", "name", "source", "position", "line", "rows"]


def segment_records(
    segment: Segment, generation: Generation, forms: Sequence[KeyForm]
) -> Iterator[tuple[str, Iterator[Columns]]]:
    """Yield the tables of a generation and the records of a segment for each; `forms` has those of its super keys."""
    arrays, folder = segment.arrays, segment.folder

    def keys(rows: Array) -> list[pa.Array]:
        """Return the super keys of rows, numbered through the segment, by hash function."""
        own, place = np.unique(rows, return_inverse=True)
        return [form.stored(segment, n, own).take(pa.array(place)) for n, form in enumerate(forms)]

    def posting_records() -> Iterator[Columns]:
        for token, table, column, row in postings(segment):
            bucket = [bucket_of(token)] if generation.buckets else []
            first = arrays.table_row_first[np.searchsorted(arrays.table_id, table)]
            own = keys(first + row) if generation.layout == "per_cell" else []
            yield [*map(pa.array, (*bucket, token, table, row, column)), *own]

    yield "tokens", token_records(segment)
    yield "tables", (batch.select(_TABLE_COLUMNS).columns for batch in table_batches(segment))
    yield "columns", map(column_records, table_batches(segment))
    yield "sources", (batch.columns for batch in folder.sources_file.iter_batches())
    yield "rejects", (batch.columns for batch in folder.rejects_file.iter_batches())
    yield "postings", posting_records()
    yield "cells", (_cell_records(*batch) for batch in cells(segment))
    if generation.has_super_keys:
        yield "super_keys", ([pa.array(table), pa.array(row), *keys(place)] for table, row, place in rows(segment))


def cells(segment: Segment) -> Iterator[tuple[Array, pa.Array]]:
    """Yield cells as they were read: token ids (`NO_TOKEN` for none), table ids, columns and rows; and texts."""
    arrays, folder = segment.arrays, segment.folder
    pieces = folder.pieces
    width = np.diff(arrays.table_column_first)
    live = np.flatnonzero(segment.live[pieces.table] & (pieces.rows > 0))
    order = live[np.lexsort((pieces.offset[live], pieces.group[live], pieces.file[live]))]
    place = np.stack([pieces.file[order], pieces.group[order]])
    for group in np.split(order, np.flatnonzero((np.diff(place) != 0).any(axis=0)) + 1) if len(order) else ():
        file, number = int(pieces.file[group[0]]), int(pieces.group[group[0]])
        texts = folder.cell_files[file].read_row_group(number).column(0).cast(pa.large_string()).combine_chunks()
        height = pieces.rows[group]
        within, owner = ranges(np.zeros(len(group), np.int64), height * width[pieces.table[group]])
        piece, column = group[owner], within // height[owner]
        table, row = pieces.table[piece], pieces.first_row[piece] + within % height[owner]
        tokens = cell_tokens(arrays, arrays.table_column_first[table] + column, row)
        places = np.stack([tokens, arrays.table_id[table], column, row])
        yield places, texts.take(pa.array(pieces.offset[piece] + within))


def _cell_records(places: Array, text: pa.Array) -> Columns:
    """Return one record per cell, and several for a long one: a character takes up to four octets."""
    token, table, column, row = map(pa.array, places)
    token = pc.if_else(text.is_null(), NULL_CELL, token)
    records = [table, row, column, pa.array(np.zeros(len(text), np.int64)), token, text]
    is_long = pc.greater(pc.binary_length(text), PIECE).fill_null(False).to_numpy(zero_copy_only=False)
    if not is_long.any():
        return records
    pieces = [
        (at, number, whole[first : first + PIECE // 4])
        for at in np.flatnonzero(is_long).tolist()
        for whole in [text[at].as_py()]
        for number, first in enumerate(range(0, len(whole), PIECE // 4))
    ]
    at, number, texts = (pa.array(values) for values in zip(*pieces, strict=True))
    long = [table.take(at), row.take(at), column.take(at), number, token.take(at), texts.cast(text.type)]
    return [pa.concat_arrays([a.filter(pa.array(~is_long)), b]) for a, b in zip(records, long, strict=True)]


def postings(segment: SearchSegment, size: int = BATCH) -> Iterator[Array]:
    """Yield postings as token ids, table ids, columns and rows, ascending by token."""
    arrays, entry = segment.arrays, 0
    first = arrays.posting_first
    while entry < len(arrays.entry_column):
        end = first.dtype.type(min(int(first[entry]) + size, int(first[-1])))
        stop = max(entry + 1, int(np.searchsorted(first, end, "right")) - 1)
        entries, rows = entry_rows(arrays, np.arange(entry, stop))
        column = arrays.entry_column[entries].astype(np.int64)
        table = arrays.column_table[column]
        token = np.searchsorted(arrays.entry_first, entries.astype(arrays.entry_first.dtype), "right") - 1
        places = [arrays.token_id[token], arrays.table_id[table], column - arrays.table_column_first[table], rows]
        found = np.stack(places)[:, segment.live[table]]
        for start in range(0, found.shape[1], size):  # an entry of its own may be larger than a batch
            yield found[:, start : start + size]
        entry = stop


def rows(segment: SearchSegment, size: int = BATCH) -> Iterator[tuple[Array, Array, Array]]:
    """Yield rows: their tables, their numbers in them, and their numbers in the segment."""
    first = segment.arrays.table_row_first
    for start in range(0, int(first[-1]), size):
        row = np.arange(start, min(start + size, int(first[-1])))
        table = np.searchsorted(first, row, "right") - 1
        row, table = row[segment.live[table]], table[segment.live[table]]
        yield segment.arrays.table_id[table], row - first[table], row


def token_records(segment: SearchSegment, size: int = BATCH) -> Iterator[Columns]:
    """Yield the dictionary: numbers, texts, and how many postings they have in the tables in use."""
    token_id = segment.arrays.token_id
    for start in range(0, len(token_id), size):
        places = np.arange(start, min(start + size, len(token_id)))
        yield [pa.array(token_id[places]), segment.texts(places), pa.array(segment.posting_counts(places))]


def table_batches(segment: Segment) -> Iterator[pa.RecordBatch]:
    """Yield the records of tables (`TABLES_SCHEMA`)."""
    place = 0
    for batch in segment.folder.tables_file.iter_batches():
        yield batch.filter(pa.array(segment.live[place : place + len(batch)]))
        place += len(batch)


def column_records(tables: pa.RecordBatch) -> Columns:
    """Return the columns of tables: their tables, their numbers and their names."""
    widths = pc.list_value_length(tables.column("columns")).to_numpy(zero_copy_only=False).astype(np.int64)
    column, table = ranges(np.zeros(len(widths), np.int64), widths)
    return [tables.column("table_id").take(pa.array(table)), pa.array(column), tables.column("columns").flatten()]
