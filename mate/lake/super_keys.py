"""The super keys of a segment's rows: all of one size, or each as large as the width of its table asks for.

Keys of one size are ``uint64[rows, words]``. Where the size follows the width (`SuperKeyHash.by_width`) they are one
array of words, table after table and row after row; `key_offsets` says where those of a table begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from mate.hashing import Keys, SuperKeyHash
from mate.lake._arrays import list_fingerprints
from mate.lake.arrays import Array
from mate.lake.layout import NO_PLACE, Shapes, native_cells, offsets_of, row_keys


def super_keys(function: SuperKeyHash, shapes: Shapes, cells: Array, texts: Sequence[pa.StringArray]) -> Keys:
    """Return the super keys of all rows.

    `cells` has the tokens of all cells as places in `texts`, table after table, and in a table column after column.
    """
    if not function.by_width:
        return row_keys(shapes, cells, _hashes(function, texts))
    words = key_words(function, shapes.columns)
    keys = np.zeros(int((words * shapes.rows).sum()), np.uint64)
    tables = _Tables(shapes, cells, keys, key_offsets(words, shapes.rows))
    if function.by_column:
        prints = _hashes(function, texts)
        list_fingerprints(*native_cells(shapes, cells), prints, function.bits, tables.first, keys)
    else:
        functions, kind = by_function(function, shapes.columns)
        for number, sized in enumerate(functions):
            _or(sized, tables, np.flatnonzero(kind == number), texts)
    return keys


class _Tables(NamedTuple):
    """The cells of all tables, and where their keys go."""

    shapes: Shapes
    cells: Array
    keys: Keys
    first: Array
    """Where the keys of each table begin; one more at the end."""

    def cell_offsets(self) -> Array:
        """Return where the cells of each table begin; one more at the end."""
        return offsets_of(self.shapes.rows.astype(np.int64) * self.shapes.columns.astype(np.int64))


def by_function(function: SuperKeyHash, columns: Array) -> tuple[list[SuperKeyHash], Array]:
    """Return the distinct hash functions of tables of these widths, and the number of each table's; -1: no column."""
    widths, place = np.unique(columns, return_inverse=True)
    numbers: dict[SuperKeyHash, int] = {}
    kinds = [numbers.setdefault(function.for_width(int(w)), len(numbers)) if w else -1 for w in widths]
    return list(numbers), np.array(kinds, np.int64)[place]


def key_words(function: SuperKeyHash, columns: Array) -> Array:
    """Return how many words the key of a row has, by table; none where there is no column."""
    widths, place = np.unique(columns, return_inverse=True)
    sizes = np.array([function.row_words(int(width)) if width else 0 for width in widths], np.int64)
    return sizes[place]


def key_offsets(words: Array, rows: Array) -> Array:
    """Return where the keys of each table begin; one more at the end."""
    return offsets_of(words * rows.astype(np.int64))


def _hashes(function: SuperKeyHash, texts: Sequence[pa.StringArray]) -> Keys:
    return np.concatenate([np.empty((0, function.words), np.uint64), *map(function.hash, texts)])


def _or(function: SuperKeyHash, tables: _Tables, chosen: Array, texts: Sequence[pa.StringArray]) -> None:
    """Write the keys of some tables, all of which have this hash function."""
    at = tables.cell_offsets()
    own = np.concatenate([tables.cells[at[table] : at[table + 1]] for table in chosen.tolist()])
    used, place = np.unique(own, return_inverse=True)
    none = int(np.searchsorted(used, 0))  # 1 if there is a cell without a token
    whole = pa.chunked_array(list(texts), pa.string())
    hashes = function.hash(whole.take(pa.array(used[none:])).combine_chunks())
    part = Shapes(*(values[chosen] for values in tables.shapes))
    found = row_keys(part, np.where(place < none, NO_PLACE, place - none), hashes)
    row = 0
    for table, rows in zip(chosen.tolist(), part.rows.tolist(), strict=True):
        tables.keys[tables.first[table] : tables.first[table + 1]] = found[row : row + rows].ravel()
        row += rows
