"""A segment as records of the tables of a database, in batches of bounded size.

Tables that a later segment supersedes are left out. Rows are counted within their table, columns too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.lake.arrays import Array
from mate.lake.columns import ranges
from mate.lake.layout import WIDE_ROWS, SegmentArrays
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
                own = keys(row_places(segment.arrays, table.to_numpy(), row.to_numpy()))
            yield [*bucket, token, table, row, column, *own]

    folder = segment.folder
    yield "tokens", (batch.columns for batch in token_batches(segment))
    yield "tables", (batch.select(_TABLE_COLUMNS).columns for batch in table_batches(segment))
    yield "columns", (column_records(batch).columns for batch in table_batches(segment))
    yield "sources", (batch.columns for batch in folder.sources_file.iter_batches())
    yield "rejects", (batch.columns for batch in folder.rejects_file.iter_batches())
    yield "postings", postings()
    yield "cells", map(_cell_records, cell_batches(segment))
    if generation.has_super_keys:
        yield "super_keys", ([*batch.columns, *keys(rows)] for batch, rows in row_batches(segment))


def _cell_records(cells: pa.RecordBatch) -> Columns:
    """Return one record per cell, more for one that is long."""
    token, table, column, row, cell = cells.columns
    tokens = pc.if_else(cell.is_null(), NULL_CELL, token)
    return _in_pieces([table, row, column, pa.array(np.zeros(len(cell), np.int64)), tokens, cell])


def _in_pieces(records: Columns) -> Columns:
    """Return records of cells (table, row, column, piece, token, text) with long texts cut between characters."""
    *place, _, token, text = records
    is_long = pc.greater(pc.binary_length(text), PIECE).fill_null(False).to_numpy(zero_copy_only=False)
    if not is_long.any():
        return records
    long = np.flatnonzero(is_long).tolist()
    pieces = [(at, n, piece) for at in long for n, piece in enumerate(cut(text[at].as_py()))]
    at = pa.array([at for at, _, _ in pieces])
    number = pa.array([n for _, n, _ in pieces], pa.int64())
    cells = pa.array([piece for _, _, piece in pieces], text.type)
    added = [*(column.take(at) for column in place), number, token.take(at), cells]
    is_short = pa.array(~is_long)
    return [pa.concat_arrays([a.filter(is_short), b]) for a, b in zip(records, added, strict=True)]


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


def posting_batches(segment: SearchSegment, size: int = BATCH) -> Iterator[pa.RecordBatch]:
    """Yield postings as token_id, table_id, column_id and row, ascending by token."""
    arrays = segment.arrays
    start, end = 0, len(arrays.postings)
    while start < end:
        stop = _whole_postings(arrays, min(start + size, end))
        entry, row = _postings_between(arrays, start, stop)
        column = arrays.entry_column[entry].astype(np.int64)
        table = arrays.column_table[column]
        token = np.searchsorted(arrays.entry_first, entry.astype(arrays.entry_first.dtype), "right") - 1
        within = column - arrays.table_column_first[table]
        columns = [arrays.token_id[token], arrays.table_id[table], within, row]
        if not segment.live.all():
            live = segment.live[table]
            columns = [values[live] for values in columns]
        yield _batch(columns)
        start = stop


def _batch(columns: list[Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(values, pa.int64()) for values in columns], names=list(NAMES))


def _entry_at(arrays: SegmentArrays, unit: int) -> int:
    """Return the directory entry that a unit of `postings` belongs to."""
    first = arrays.posting_first
    return int(np.searchsorted(first, first.dtype.type(unit), "right")) - 1


def _units(arrays: SegmentArrays, entries: Array | int) -> Array:
    """Return how many units of `postings` a row takes in the tables of directory entries."""
    table = arrays.column_table[arrays.entry_column[entries]].astype(np.int64)
    return np.where(arrays.table_row_first[table + 1] - arrays.table_row_first[table] >= WIDE_ROWS, 2, 1)


def _whole_postings(arrays: SegmentArrays, unit: int) -> int:
    """Return the unit, or the next one if it lies inside a posting of two units."""
    if unit == len(arrays.postings):
        return unit
    entry = _entry_at(arrays, unit)
    return unit + (unit - int(arrays.posting_first[entry])) % int(_units(arrays, entry))


def _postings_between(arrays: SegmentArrays, start: int, stop: int) -> tuple[Array, Array]:
    """Return the directory entry and the row of each posting in a range of units."""
    entries = np.arange(_entry_at(arrays, start), _entry_at(arrays, stop - 1) + 1)
    first = np.maximum(arrays.posting_first[entries].astype(np.int64), start)
    last = np.minimum(arrays.posting_first[entries + 1].astype(np.int64), stop)
    units = _units(arrays, entries)
    sizes = (last - first) // units
    number, owner = ranges(np.zeros(len(entries), np.int64), sizes)
    place = first[owner] + number * units[owner]
    row = arrays.postings[place].astype(np.int64)
    wide = np.flatnonzero(units[owner] == 2)
    row[wide] |= arrays.postings[place[wide] + 1].astype(np.int64) << 16
    return entries[owner], row


def row_places(arrays: SegmentArrays, table_id: Array, row: Array) -> Array:
    """Return rows, given by the number of their table and within it, as numbered through the segment."""
    places: Array = arrays.table_row_first[np.searchsorted(arrays.table_id, table_id)] + row
    return places


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


def row_batches(segment: SearchSegment, size: int = BATCH) -> Iterator[tuple[pa.RecordBatch, Array]]:
    """Yield rows as table_id and row, and as numbered through the segment."""
    arrays = segment.arrays
    first = arrays.table_row_first
    for start in range(0, int(first[-1]), size):
        row = np.arange(start, min(start + size, int(first[-1])))
        table = np.searchsorted(first, row, "right") - 1
        row, table = row[segment.live[table]], table[segment.live[table]]
        places = [pa.array(arrays.table_id[table]), pa.array(row - first[table])]
        yield pa.RecordBatch.from_arrays(places, names=["table_id", "row"]), row


def token_batches(segment: SearchSegment, size: int = BATCH) -> Iterator[pa.RecordBatch]:
    """Yield the dictionary as token_id, token and postings; these count superseded tables, too."""
    arrays = segment.arrays
    for start in range(0, len(arrays.token_id), size):
        places = np.arange(start, min(start + size, len(arrays.token_id)))
        counts = segment.posting_counts(places)
        columns = [pa.array(arrays.token_id[places]), segment.texts(places), pa.array(counts)]
        yield pa.RecordBatch.from_arrays(columns, names=["token_id", "token", "postings"])


def table_batches(segment: Segment) -> Iterator[pa.RecordBatch]:
    """Yield the records of tables (`TABLES_SCHEMA`)."""
    place = 0
    for batch in segment.folder.tables_file.iter_batches():
        yield batch.filter(pa.array(segment.live[place : place + len(batch)]))
        place += len(batch)


def column_records(tables: pa.RecordBatch) -> pa.RecordBatch:
    """Return the columns of tables, given as by `table_batches`: table_id, column_id and name."""
    widths = pc.list_value_length(tables.column("columns")).to_numpy(zero_copy_only=False).astype(np.int64)
    column, table = ranges(np.zeros(len(widths), np.int64), widths)
    columns = [tables.column("table_id").take(pa.array(table)), pa.array(column), tables.column("columns").flatten()]
    return pa.RecordBatch.from_arrays(columns, names=["table_id", "column_id", "name"])
