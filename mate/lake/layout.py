"""What a segment is made of: its arrays, and how they follow from the tokens of its cells.

Within a segment tables, columns, rows and tokens are numbered from 0: columns and rows through all its tables, tokens
by the order of their ids. A *directory entry* is a token in one table column; its *postings* are the rows there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mate.hashing import Keys
from mate.lake import layout_reference as plain
from mate.lake.arrays import Array, offset_type
from mate.values.compiled import is_worth

WIDE_ROWS = 65_536
"""Tables with at least this many rows have postings of 4 bytes, others of 2."""

SMALL = 50_000
"""Below this many cells the plain reference is done before a compiler is loaded."""

NO_PLACE = -1
"""Stands for a cell without a token."""


class SegmentArrays(NamedTuple):
    """The arrays that a search reads, in a form that compiled kernels take as one argument.

    Postings are counted in units of 2 bytes: those of entry e are ``postings[posting_first[e]:posting_first[e + 1]]``,
    one unit per row in a narrow table, two (low half first) in a wide one. A column's codes are in `codes` from byte
    ``code_first[c]`` on, ``code_bytes[c]`` bytes per row: 0 for a cell without a token, else 1 + the number of its
    token among those of the column, ``column_token[column_entry_first[c]:column_entry_first[c + 1]]``, which ascend.
    """

    token_id: Array
    """int64, ascending; equal only where two texts share an id."""
    text_first: Array
    """Where a token's text begins in `text`; one more at the end."""
    text: Array
    """UTF-8 bytes of all tokens."""
    entry_first: Array
    """Where a token's directory entries begin; one more at the end."""
    entry_column: Array
    """uint32: column of each directory entry; ascending within a token."""
    posting_first: Array
    """Where an entry's postings begin; one more at the end."""
    postings: Array
    """uint16: rows, counted within their table, ascending within an entry."""
    column_table: Array
    """uint32: table of each column."""
    column_entry_first: Array
    """Where a column's tokens begin; one more at the end."""
    column_token: Array
    """uint32: tokens of each column, ascending."""
    code_first: Array
    """int64: byte of `codes` where a column's codes begin, a multiple of 4."""
    code_bytes: Array
    """uint8: 1, 2 or 4 bytes per code, 0 for a column without a token."""
    codes: Array
    """uint8: the codes of all columns."""
    table_column_first: Array
    """int64: a table's first column; one more at the end."""
    table_row_first: Array
    """int64: a table's first row; one more at the end."""
    table_id: Array
    """int64, ascending: the number of each table in the lake."""


class Shapes(NamedTuple):
    """Tables by their number in the lake, rows and columns."""

    table_id: Array
    rows: Array
    columns: Array


class Texts(NamedTuple):
    """Tokens, ascending by id, with their texts as one buffer."""

    token_id: Array
    text_first: Array
    text: Array


class _Columns(NamedTuple):
    """What follows from the cells of every column."""

    column_entry_first: Array
    column_token: Array
    code_bytes: Array
    code_first: Array
    codes: Array
    entry_first: Array
    entry_column: Array
    posting_first: Array
    postings: Array


def make_arrays(shapes: Shapes, tokens: Texts, cells: Array) -> SegmentArrays:
    """Return the arrays of a segment.

    `cells` has the tokens of all cells as places in `tokens`, `NO_PLACE` for none: table after table, and in a table
    column after column.
    """
    rows, columns = shapes.rows.astype(np.int64), shapes.columns.astype(np.int64)
    column_table = np.repeat(np.arange(len(rows), dtype=np.uint32), columns)
    make = _compiled if is_worth(len(cells), SMALL) else _plain
    found = make(cells, rows, columns, len(tokens.token_id))
    return SegmentArrays(
        token_id=tokens.token_id,
        text_first=tokens.text_first,
        text=tokens.text,
        entry_first=_narrow(found.entry_first),
        entry_column=found.entry_column,
        posting_first=_narrow(found.posting_first),
        postings=found.postings,
        column_table=column_table,
        column_entry_first=_narrow(found.column_entry_first),
        column_token=found.column_token,
        code_first=found.code_first[:-1],
        code_bytes=found.code_bytes,
        codes=found.codes,
        table_column_first=_offsets(columns),
        table_row_first=_offsets(rows),
        table_id=np.asarray(shapes.table_id, np.int64),
    )


def _compiled(cells: Array, rows: Array, columns: Array, tokens: int) -> _Columns:
    """Go through the cells a few times in compiled loops."""
    from mate.lake import layout_kernel as kernel

    column_rows = np.repeat(rows, columns)
    column_first = _offsets(column_rows)
    distinct, token_entries = kernel.count_entries(cells, column_first, tokens)
    column_entry_first = _offsets(distinct)
    entries = int(column_entry_first[-1])
    code_bytes = np.select([distinct == 0, distinct < 2**8, distinct < 2**16], [0, 1, 2], 4).astype(np.uint8)
    code_first = _offsets(-(-column_rows * code_bytes // 4) * 4)
    codes = np.zeros(int(code_first[-1]), np.uint8)
    column_token, sizes = np.empty(entries, np.uint32), np.empty(entries, np.uint32)
    kernel.encode_columns(
        cells, column_first, column_entry_first, code_first, code_bytes, codes, column_token, sizes, tokens
    )
    entry_first = _offsets(token_entries)
    units = np.where(column_rows >= WIDE_ROWS, 2, 1)
    entry_column, place = np.empty(entries, np.uint32), np.empty(entries, np.int64)
    posting_first = np.zeros(entries + 1, np.int64)
    kernel.fill_directory(
        column_entry_first, column_token, sizes, units, entry_first, entry_column, place, posting_first
    )
    postings = np.empty(int(posting_first[-1]), np.uint16)
    kernel.fill_postings(
        codes, code_first, code_bytes, column_rows, column_entry_first, place, units, posting_first, postings
    )
    return _Columns(
        column_entry_first,
        column_token,
        code_bytes,
        code_first,
        codes,
        entry_first,
        entry_column,
        posting_first,
        postings,
    )


def _plain(cells: Array, rows: Array, columns: Array, tokens: int) -> _Columns:
    """Do the same column by column."""
    column_rows = np.repeat(rows, columns)
    encoded = [plain.encoded(column) for column in plain.columns_of(cells, rows, columns)]
    dictionaries = [distinct for distinct, _ in encoded]
    sizes = [plain.code_bytes(len(distinct)) for distinct in dictionaries]
    data = [plain.packed(codes, size) for (_, codes), size in zip(encoded, sizes, strict=True)]
    directory = plain.directory(dictionaries, tokens)
    wide = (column_rows >= WIDE_ROWS).tolist()
    by_column = [iter(plain.posted(codes, len(d), w)) for (d, codes), w in zip(encoded, wide, strict=True)]
    # Tokens ascend in the directory as they do in each column, so that a column's next entry is always its first left.
    postings = [next(by_column[column]) for holding in directory for column in holding]
    return _Columns(
        _offsets(np.array([len(distinct) for distinct in dictionaries], np.int64)),
        np.concatenate([np.empty(0, np.uint32), *dictionaries]).astype(np.uint32),
        np.array(sizes, np.uint8),
        _offsets(np.array([len(piece) for piece in data], np.int64)),
        np.frombuffer(b"".join(data), np.uint8),
        _offsets(np.array([len(holding) for holding in directory], np.int64)),
        np.array([column for holding in directory for column in holding], np.uint32),
        _offsets(np.array([len(rows) for rows in postings], np.int64)),
        np.concatenate([np.empty(0, np.uint16), *postings]).astype(np.uint16),
    )


def row_keys(shapes: Shapes, cells: Array, hashes: Keys) -> Keys:
    """Return the super key of every row: the OR of the hashes of its tokens (section 5)."""
    rows, columns = shapes.rows.astype(np.int64), shapes.columns.astype(np.int64)
    if not is_worth(len(cells), SMALL):
        return plain.or_rows(cells, rows, columns, hashes)
    from mate.lake import layout_kernel as kernel

    keys = np.zeros((int(rows.sum()), hashes.shape[1]), np.uint64)
    kernel.or_rows(cells, rows, columns, hashes, keys)
    return keys


def _offsets(sizes: Array) -> Array:
    found = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=found[1:])
    return found


def _narrow(offsets: Array) -> Array:
    return offsets.astype(offset_type(int(offsets[-1])))


def read_only_view(array: Array) -> Array:
    """Return a view that cannot be written to."""
    view = array.view()
    view.setflags(write=False)
    return view
