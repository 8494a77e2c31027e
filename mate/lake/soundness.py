"""Checks that the arrays of a segment fit each other, so that no native loop reads outside of them.

`check_shapes` looks at types, lengths, ends and the arrays with an item per table or column; it takes milliseconds,
whenever a segment is opened. `check_values` goes through offsets, postings and codes, once, before their first use.
Neither tells whether values are right; checksums do (`mate check`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mate.hashing import Keys
from mate.lake.arrays import Array
from mate.lake.layout import WIDE_ROWS, SegmentArrays

_OFFSETS = ("text_first", "entry_first", "posting_first", "column_entry_first")
"""Offsets of 32 or 64 bits (`mate.lake.arrays.offset_type`)."""
_TYPES = {"text": "u1", "code_bytes": "u1", "codes": "u1", "postings": "u2"} | dict.fromkeys(
    ("entry_column", "column_table", "column_token"), "u4"
)
"""Types of arrays that are not int64."""


def check_shapes(arrays: SegmentArrays, keys: Sequence[Keys]) -> str | None:
    """Return the first array that does not fit the others, None if all do; a check relies on those before it."""
    for name, array in zip(arrays._fields, arrays, strict=True):
        types = ("u4", "i8") if name in _OFFSETS else (_TYPES.get(name, "i8"),)
        if array.ndim != 1 or array.dtype not in types:
            return name
    tokens, entries, columns = len(arrays.token_id), len(arrays.entry_column), len(arrays.column_table)
    tables = len(arrays.table_id)
    for name, items, end in (
        ("text_first", tokens, len(arrays.text)),
        ("entry_first", tokens, entries),
        ("posting_first", entries, len(arrays.postings)),
        ("column_entry_first", columns, entries),
        ("table_column_first", tables, columns),
        ("table_row_first", tables, None),
    ):
        first = getattr(arrays, name)
        if len(first) != items + 1 or first[0] != 0 or end not in (None, first[-1]):
            return name
    for name in ("column_entry_first", "table_column_first", "table_row_first"):
        if not _ascends(getattr(arrays, name)):
            return name
    if len(arrays.column_token) != entries:
        return "column_token"
    if not (np.diff(arrays.table_id) > 0).all():
        return "table_id"
    if not np.array_equal(arrays.column_table, np.repeat(np.arange(tables), np.diff(arrays.table_column_first))):
        return "column_table"
    if not _holds_codes(arrays):
        return "codes"
    for number, own in enumerate(keys):
        by_row = own.ndim == 2 and len(own) == arrays.table_row_first[-1]
        if own.dtype != np.uint64 or not (by_row or own.ndim == 1):  # the row filter checks keys of several sizes
            return f"keys{number}"
    return None


def check_values(arrays: SegmentArrays) -> str | None:
    """Return the first array that leads outside of another one, None if none does; a check relies on those before."""
    for name in ("text_first", "entry_first", "posting_first"):
        if not _ascends(getattr(arrays, name)):
            return name
    if not _below(arrays.entry_column, len(arrays.column_table)):
        return "entry_column"
    if not _below(arrays.column_token, len(arrays.token_id)):
        return "column_token"
    if not _postings_inside(arrays):
        return "postings"
    if not _codes_inside(arrays):
        return "codes"
    return None


def _ascends(first: Array) -> bool:
    return bool((first[1:] >= first[:-1]).all())


def _below(places: Array, end: int) -> bool:
    return not len(places) or int(places.max()) < end


def _column_rows(arrays: SegmentArrays) -> Array:
    rows: Array = np.diff(arrays.table_row_first)[arrays.column_table]
    return rows


def _holds_codes(arrays: SegmentArrays) -> bool:
    """Tell whether the codes of every column are inside and of a valid size."""
    first, size = arrays.code_first, arrays.code_bytes
    if not len(first) == len(size) == len(arrays.column_table):
        return False
    ends = first + size.astype(np.int64) * _column_rows(arrays)
    inside = (first >= 0) & (first % 4 == 0) & (ends <= len(arrays.codes))
    tokens = np.diff(arrays.column_entry_first.astype(np.int64))
    return bool((inside & np.isin(size, (0, 1, 2, 4)) & ((size > 0) | (tokens == 0))).all())


def _postings_inside(arrays: SegmentArrays) -> bool:
    """Tell whether every posting is a row of its table; postings of large tables are in two halves."""
    if not len(arrays.entry_column):
        return not len(arrays.postings)
    first = arrays.posting_first.astype(np.int64)
    if not (first[1:] > first[:-1]).all():
        return False
    rows = _column_rows(arrays)[arrays.entry_column]
    wide = rows >= WIDE_ROWS
    if not wide.any():
        return bool((np.maximum.reduceat(arrays.postings, first[:-1]) < rows).all())
    units = np.repeat(wide, np.diff(first))
    if (np.diff(first)[wide] % 2).any():
        return False
    most = np.repeat(rows, np.diff(first))
    narrow = arrays.postings[~units] < most[~units]
    halves = arrays.postings[units].astype(np.int64)
    return bool(narrow.all() and ((halves[::2] | halves[1::2] << 16) < most[units][::2]).all())


def _codes_inside(arrays: SegmentArrays) -> bool:
    """Tell whether every code stands for a token of its column."""
    rows = _column_rows(arrays)
    tokens = np.diff(arrays.column_entry_first.astype(np.int64))
    for size in (1, 2, 4):
        columns = np.flatnonzero((arrays.code_bytes == size) & (rows > 0))
        if not len(columns):
            continue
        codes = arrays.codes[: len(arrays.codes) // size * size].view(f"<u{size}")
        first = arrays.code_first[columns] // size
        bounds = np.column_stack([first, first + rows[columns]]).ravel()
        if not (bounds[1:] >= bounds[:-1]).all():
            return False
        most = np.maximum.reduceat(np.append(codes, codes.dtype.type(0)), bounds)[::2]
        if not (most <= tokens[columns]).all():
            return False
    return True
