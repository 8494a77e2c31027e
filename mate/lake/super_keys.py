"""The super keys of a segment's rows: all of one size, or of a size that follows the width of their table.

Keys of one size are ``uint64[rows, words]``. Keys that follow the width (`SuperKeyHash.by_width`) are one array of
words, table after table and row after row; `key_offsets` says where each table begins.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mate.hashing import Keys, SuperKeyHash
from mate.lake._arrays import fill_keys
from mate.lake.arrays import Array
from mate.lake.columns import ranges
from mate.lake.layout import NO_PLACE, Shapes, native_cells, offsets_of, row_keys


def super_keys(function: SuperKeyHash, shapes: Shapes, cells: Array, texts: Sequence[pa.StringArray]) -> Keys:
    """Return the super keys of all rows.

    `cells` has the tokens of all cells as places in `texts`, table after table, and in a table column after column.
    """
    if not function.by_width:
        return row_keys(shapes, cells, _hashes(function, texts))
    first = key_offsets(key_words(function, shapes.columns), shapes.rows)
    keys = np.zeros(int(first[-1]), np.uint64)
    if function.by_column:
        fill_keys(*native_cells(shapes, cells), _hashes(function, texts), function.bits, first, keys)
        return keys
    functions, numbers = by_function(function, shapes.columns)
    cell_first = offsets_of(shapes.rows.astype(np.int64) * shapes.columns.astype(np.int64))
    all_texts = pa.chunked_array(list(texts), pa.string())
    for number, sized in enumerate(functions):
        tables = np.flatnonzero(numbers == number)
        own = np.concatenate([cells[cell_first[table] : cell_first[table + 1]] for table in tables.tolist()])
        places, _ = ranges(first[tables], first[tables + 1])
        keys[places] = _keys_of_one_size(sized, Shapes(*(values[tables] for values in shapes)), own, all_texts).ravel()
    return keys


def _keys_of_one_size(function: SuperKeyHash, shapes: Shapes, cells: Array, texts: pa.ChunkedArray) -> Keys:
    """Return the super keys of some tables, hashing only the tokens that they have."""
    used, place = np.unique(cells, return_inverse=True)
    empty = int(np.searchsorted(used, 0))  # 1 if there is a cell without a token
    hashes = function.hash(texts.take(pa.array(used[empty:])).combine_chunks())
    return row_keys(shapes, np.where(place < empty, NO_PLACE, place - empty), hashes)


def by_function(function: SuperKeyHash, columns: Array) -> tuple[list[SuperKeyHash], Array]:
    """Return the distinct hash functions for these widths, and the number of each table's; -1 without a column."""
    widths, place = np.unique(columns, return_inverse=True)
    numbers: dict[SuperKeyHash, int] = {}
    kinds = [numbers.setdefault(function.for_width(int(w)), len(numbers)) if w else -1 for w in widths]
    return list(numbers), np.array(kinds, np.int64)[place]


def key_words(function: SuperKeyHash, columns: Array) -> Array:
    """Return the words in a row's key, by table; 0 without a column."""
    widths, place = np.unique(columns, return_inverse=True)
    sizes = np.array([function.row_words(int(width)) if width else 0 for width in widths], np.int64)
    return sizes[place]


def key_offsets(words: Array, rows: Array) -> Array:
    """Return where the keys of each table begin; one more at the end."""
    return offsets_of(words * rows.astype(np.int64))


def _hashes(function: SuperKeyHash, texts: Sequence[pa.StringArray]) -> Keys:
    return np.concatenate([np.empty((0, function.words), np.uint64), *map(function.hash, texts)])
