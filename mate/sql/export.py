"""A segment as records of the tables of a database, in batches of bounded size.

Tables that a later segment supersedes are left out. Rows are counted within their table, columns too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.lake.arrays import Array
from mate.lake.columns import entry_sizes, ranges
from mate.lake.layout import SegmentArrays
from mate.lake.segment import SearchSegment, Segment
from mate.lake.segment_folder import Pieces
from mate.sql.dialects.session import Columns
from mate.sql.lookup import bucket_of
from mate.sql.schema import NULL_CELL, PIECE, Generation
from mate.sql.super_keys import KeyForm
from mate.values.token_ids import NO_TOKEN

BATCH = 200_000
"""Records per batch of postings, tokens or super keys. Cells come as they were written, some 400,000 at a time."""

NAMES = ("token_id", "table_id", "column_id", "row")
_TABLE_COLUMNS = ["table_id", "name", "source", "position", "line", "rows"]


def segment_records(
    segment: Segment, generation: Generation, forms: Sequence[KeyForm]
) -> Iterator[tuple[str, Iterator[Columns]]]:
    """Yield the tables of a generation and the records of a segment for each; `forms` has those of its super keys."""

    def keys(rows: Array) -> list[pa.Array]:
        """Return the super keys of rows, numbered through the segment, by hash function."""
        own, place = np.unique(rows, return_inverse=True)
        return [form.stored(segment, n, own).take(pa.array(place)) for n, form in enumerate(forms)]

    def postings() -> Iterator[Columns]:
        for batch in posting_batches(segment):
            token, table, column, row = batch.columns
            bucket = [pa.array(bucket_of(token.to_numpy()))] if generation.buckets else []
            own: list[pa.Array] = []
            if generation.layout == "per_cell":
                first_rows = segment.arrays.table_row_first[np.searchsorted(segment.arrays.table_id, table.to_numpy())]
                own = keys(first_rows + row.to_numpy())
            yield [*bucket, token, table, row, column, *own]

    folder = segment.folder
    yield "tokens", token_records(segment)
    yield "tables", (batch.select(_TABLE_COLUMNS).columns for batch in table_batches(segment))
    yield "columns", map(column_records, table_batches(segment))
    yield "sources", (batch.columns for batch in folder.sources_file.iter_batches())
    yield "rejects", (batch.columns for batch in folder.rejects_file.iter_batches())
    yield "postings", postings()
    yield "cells", map(_cell_records, cell_batches(segment))
    if generation.has_super_keys:
        yield "super_keys", ([table, row, *keys(place)] for table, row, place in row_places(segment))


# Cells


def cell_batches(segment: Segment) -> Iterator[pa.RecordBatch]:
    """Yield cells as they were read: token_id (`NO_TOKEN` for none), table_id, column_id, row, cell."""
    arrays, folder = segment.arrays, segment.folder
    pieces = folder.pieces
    live = np.flatnonzero(segment.live[pieces.table] & (pieces.rows > 0))
    order = live[np.lexsort((pieces.offset[live], pieces.group[live], pieces.file[live]))]
    place = np.stack([pieces.file[order], pieces.group[order]])
    for group in np.split(order, np.flatnonzero((np.diff(place) != 0).any(axis=0)) + 1) if len(order) else ():
        file, number = int(pieces.file[group[0]]), int(pieces.group[group[0]])
        cells = folder.cell_files[file].read_row_group(number).column(0).cast(pa.large_string()).combine_chunks()
        table, column, row, at = _places(arrays, Pieces(*(values[group] for values in pieces)))
        tokens = _tokens_at(arrays, arrays.table_column_first[table] + column, row)
        batch = _batch([tokens, arrays.table_id[table], column, row])
        yield batch.append_column("cell", cells.take(pa.array(at)))


def _places(arrays: SegmentArrays, pieces: Pieces) -> tuple[Array, Array, Array, Array]:
    """Return table, column and row of all cells of pieces, and where they are in their row group."""
    width = np.diff(arrays.table_column_first)[pieces.table]
    number, owner = ranges(np.zeros(len(width), np.int64), pieces.rows * width)
    rows = pieces.rows[owner]
    row = pieces.first_row[owner] + number % rows
    return pieces.table[owner], number // rows, row, pieces.offset[owner] + number


def _tokens_at(arrays: SegmentArrays, column: Array, row: Array) -> Array:
    """Return the ids of the tokens in cells, given by column of the segment and row of its table."""
    code = np.zeros(len(column), np.int64)
    for size in (1, 2, 4):
        chosen = np.flatnonzero(arrays.code_bytes[column] == size)
        first = arrays.code_first[column[chosen]] // size
        code[chosen] = arrays.codes.view(f"<u{size}")[first + row[chosen]]
    filled = np.flatnonzero(code)
    entry = arrays.column_entry_first[column[filled]].astype(np.int64) + code[filled] - 1
    tokens = np.full(len(column), NO_TOKEN, np.int64)
    tokens[filled] = arrays.token_id[arrays.column_token[entry]]
    return tokens


def _cell_records(cells: pa.RecordBatch) -> Columns:
    """Return one record per cell, and several for one that is long: its text is cut between characters."""
    token, table, column, row, text = cells.columns
    token = pc.if_else(text.is_null(), NULL_CELL, token)
    records = [table, row, column, pa.array(np.zeros(len(text), np.int64)), token, text]
    is_long = pc.greater(pc.binary_length(text), PIECE).fill_null(False).to_numpy(zero_copy_only=False)
    if not is_long.any():
        return records
    pieces = [(at, *piece) for at in np.flatnonzero(is_long).tolist() for piece in enumerate(cut(text[at].as_py()))]
    at, number, texts = (pa.array(values) for values in zip(*pieces, strict=True))
    long = [table.take(at), row.take(at), column.take(at), number, token.take(at), texts.cast(text.type)]
    return [pa.concat_arrays([a.filter(pa.array(~is_long)), b]) for a, b in zip(records, long, strict=True)]


def cut(text: str, octets: int = PIECE) -> Iterator[str]:
    """Yield a text in pieces of at most so many octets of UTF-8."""
    data = text.encode()
    start = 0
    while start < len(data):
        end = min(start + octets, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:  # inside a character
            end -= 1
        yield data[start:end].decode()
        start = end


# Postings


def posting_batches(segment: SearchSegment, size: int = BATCH) -> Iterator[pa.RecordBatch]:
    """Yield postings as token_id, table_id, column_id and row, ascending by token."""
    arrays, entry = segment.arrays, 0
    first = arrays.posting_first
    while entry < len(arrays.entry_column):
        end = first.dtype.type(min(int(first[entry]) + size, int(first[-1])))
        stop = max(entry + 1, int(np.searchsorted(first, end, "right")) - 1)
        entries, rows = _postings(arrays, np.arange(entry, stop))
        for start in range(0, len(rows), size):  # an entry of its own may be larger than a batch
            yield _posting_batch(segment, entries[start : start + size], rows[start : start + size])
        entry = stop


def _postings(arrays: SegmentArrays, entries: Array) -> tuple[Array, Array]:
    """Return the postings of consecutive directory entries: the entry and the row of each."""
    sizes = entry_sizes(arrays, entries)
    first = arrays.posting_first[entries[0] : entries[-1] + 2].astype(np.int64)
    units = np.diff(first) // sizes
    number, owner = ranges(np.zeros(len(sizes), np.int64), sizes)
    place = first[owner] + number * units[owner]
    row = arrays.postings[place].astype(np.int64)
    wide = np.flatnonzero(units[owner] == 2)
    row[wide] |= arrays.postings[place[wide] + 1].astype(np.int64) << 16
    return entries[owner], row


def _posting_batch(segment: SearchSegment, entry: Array, row: Array) -> pa.RecordBatch:
    arrays = segment.arrays
    column = arrays.entry_column[entry].astype(np.int64)
    table = arrays.column_table[column]
    token = np.searchsorted(arrays.entry_first, entry.astype(arrays.entry_first.dtype), "right") - 1
    columns = [arrays.token_id[token], arrays.table_id[table], column - arrays.table_column_first[table], row]
    live = segment.live[table]
    return _batch(columns if live.all() else [values[live] for values in columns])


def _batch(columns: list[Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(values, pa.int64()) for values in columns], names=list(NAMES))


# Rows, tokens and tables


def row_places(segment: SearchSegment, size: int = BATCH) -> Iterator[tuple[pa.Array, pa.Array, Array]]:
    """Yield rows: their tables, their numbers in them, and their numbers in the segment."""
    arrays = segment.arrays
    first = arrays.table_row_first
    for start in range(0, int(first[-1]), size):
        row = np.arange(start, min(start + size, int(first[-1])))
        table = np.searchsorted(first, row, "right") - 1
        row, table = row[segment.live[table]], table[segment.live[table]]
        yield pa.array(arrays.table_id[table]), pa.array(row - first[table]), row


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
