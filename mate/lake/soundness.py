"""Checks that the arrays of a segment fit each other, so that no native loop reads outside of them.

`check_shapes` looks at lengths, ends and the arrays with an item per table or column; it takes milliseconds, whenever a
segment is opened. `check_values` goes through offsets, postings and codes, once, before their first use. Neither tells
whether values are right; checksums do (`mate check`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mate.hashing import Keys
from mate.lake.arrays import Array
from mate.lake.layout import WIDE_ROWS, SegmentArrays

_OFFSETS = (np.uint32, np.int64)
_TYPES: dict[str, tuple[type, ...]] = {
    "token_id": (np.int64,),
    "text_first": _OFFSETS,
    "text": (np.uint8,),
    "entry_first": _OFFSETS,
    "entry_column": (np.uint32,),
    "posting_first": _OFFSETS,
    "postings": (np.uint16,),
    "column_table": (np.uint32,),
    "column_entry_first": _OFFSETS,
    "column_token": (np.uint32,),
    "code_first": (np.int64,),
    "code_bytes": (np.uint8,),
    "codes": (np.uint8,),
    "table_column_first": (np.int64,),
    "table_row_first": (np.int64,),
    "table_id": (np.int64,),
}


def check_shapes(arrays: SegmentArrays, keys: Sequence[Keys]) -> str | None:
    """Return the first array that does not fit the others; None if all do."""
    for name, types in _TYPES.items():
        array = getattr(arrays, name)
        if array.ndim != 1 or array.dtype not in types:
            return name
    return _first(
        (
            ("text_first", lambda: _spans(arrays.text_first, arrays.token_id, len(arrays.text))),
            ("entry_first", lambda: _spans(arrays.entry_first, arrays.token_id, len(arrays.entry_column))),
            ("posting_first", lambda: _spans(arrays.posting_first, arrays.entry_column, len(arrays.postings))),
            ("column_token", lambda: len(arrays.column_token) == len(arrays.entry_column)),
            (
                "table_column_first",
                lambda: _offsets(arrays.table_column_first, arrays.table_id, len(arrays.column_table)),
            ),
            ("table_row_first", lambda: _offsets(arrays.table_row_first, arrays.table_id)),
            ("table_id", lambda: bool((np.diff(arrays.table_id) > 0).all())),
            ("column_table", lambda: _follows(arrays)),
            (
                "column_entry_first",
                lambda: _offsets(arrays.column_entry_first, arrays.column_table, len(arrays.column_token)),
            ),
            ("codes", lambda: _holds_codes(arrays)),
            *((f"keys{number}", _fits_rows(arrays, own)) for number, own in enumerate(keys)),
        )
    )


def check_values(arrays: SegmentArrays) -> str | None:
    """Return the first array that leads outside of another one; None if none does."""
    return _first(
        (
            ("text_first", lambda: _ascends(arrays.text_first)),
            ("entry_first", lambda: _ascends(arrays.entry_first)),
            ("posting_first", lambda: _ascends(arrays.posting_first)),
            ("entry_column", lambda: _below(arrays.entry_column, len(arrays.column_table))),
            ("column_token", lambda: _below(arrays.column_token, len(arrays.token_id))),
            ("postings", lambda: _postings_inside(arrays)),
            ("codes", lambda: _codes_inside(arrays)),
        )
    )


def _first(checks: Sequence[tuple[str, Callable[[], bool]]]) -> str | None:
    return next((name for name, holds in checks if not holds()), None)


def _spans(first: Array, of: Array, end: int) -> bool:
    """Tell whether offsets have the right number, start and end."""
    return len(first) == len(of) + 1 and int(first[0]) == 0 and int(first[-1]) == end


def _offsets(first: Array, of: Array, end: int | None = None) -> bool:
    return len(first) == len(of) + 1 and _spans(first, of, int(first[-1]) if end is None else end) and _ascends(first)


def _ascends(first: Array) -> bool:
    return bool((first[1:] >= first[:-1]).all())


def _below(places: Array, end: int) -> bool:
    return not len(places) or int(places.max()) < end


def _follows(arrays: SegmentArrays) -> bool:
    """Tell whether every column names the table that has it."""
    tables = np.repeat(np.arange(len(arrays.table_id)), np.diff(arrays.table_column_first))
    return np.array_equal(arrays.column_table, tables)


def _fits_rows(arrays: SegmentArrays, keys: Keys) -> Callable[[], bool]:
    """Compare keys of one size with the rows; the row filter checks the size of others."""
    rows = int(arrays.table_row_first[-1])
    return lambda: keys.dtype == np.uint64 and (keys.ndim == 1 or (keys.ndim == 2 and len(keys) == rows))


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
