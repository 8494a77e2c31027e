"""Small segments in memory, made of rows: what a database hands to the engine, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mate.hashing import Keys
from mate.lake.arrays import Array
from mate.lake.layout import NO_PLACE, Shapes, Texts, make_arrays
from mate.lake.segment import SearchSegment


class RowBlock(NamedTuple):
    """Some rows of some tables, ascending by table: row i has the tokens ``token_id[offsets[i]:offsets[i + 1]]``."""

    table_id: Array
    row_number: Array
    """Number of each row in its table."""
    offsets: Array
    token_id: Array
    """Ids of the tokens, negative for a cell without one."""


def memory_segment(block: RowBlock, keys: Sequence[Keys] = ()) -> SearchSegment:
    """Return a segment that holds just these rows; `keys` are their super keys, by hash function."""
    table_id, first, rows = np.unique(block.table_id, return_index=True, return_counts=True)
    widths = np.diff(block.offsets)
    columns = widths[first]
    token_id, place = np.unique(block.token_id, return_inverse=True)
    tokens = int(np.searchsorted(token_id, 0))
    place = np.where(place < tokens, NO_PLACE, place - tokens)
    arrays = make_arrays(
        Shapes(table_id, rows, columns), _without_texts(token_id[tokens:]), _by_column(place, rows, columns)
    )
    live = np.ones(len(table_id), np.bool_)
    return SearchSegment(arrays, keys, live, block.row_number)


def _without_texts(ids: Array) -> Texts:
    return Texts(ids.astype(np.int64), np.zeros(len(ids) + 1, np.uint32), np.zeros(0, np.uint8))


def _by_column(cells: Array, rows: Array, columns: Array) -> Array:
    """Return cells that are given row by row column after column, in each table."""
    sizes = rows * columns
    start = np.repeat(np.cumsum(sizes) - sizes, sizes)
    within = np.arange(len(cells)) - start
    width, height = np.repeat(columns, sizes), np.repeat(rows, sizes)
    found = np.empty(len(cells), np.int32)
    found[start + within % width * height + within // width] = cells
    return found
