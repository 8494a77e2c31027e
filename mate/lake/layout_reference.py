"""The arrays of a segment, written plainly with NumPy, column by column: what `mate.lake.layout` must equal.

It is also what makes small segments, such as those of most changes: they are done before a compiler is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from mate.hashing import Keys
from mate.lake.arrays import Array


def columns_of(cells: Array, rows: Array, columns: Array) -> Iterator[Array]:
    """Yield the tokens of every column of every table, as places, -1 for none."""
    start = 0
    for height, width in zip(rows.tolist(), columns.tolist(), strict=True):
        for _ in range(width):
            yield cells[start : start + height]
            start += height


def encoded(tokens: Array) -> tuple[Array, Array]:
    """Return the distinct tokens of a column, ascending, and its codes: 0 for none, else 1 + the token's number."""
    distinct, numbers = np.unique(tokens, return_inverse=True)
    if len(distinct) and distinct[0] < 0:
        return distinct[1:], numbers
    return distinct, numbers + 1


def code_bytes(distinct: int) -> int:
    """Return the bytes that a code of a column with so many distinct tokens takes."""
    return 0 if distinct == 0 else 1 if distinct < 2**8 else 2 if distinct < 2**16 else 4


def packed(codes: Array, size: int) -> bytes:
    """Return codes of that many bytes, filled up to a multiple of 4."""
    data = codes.astype(f"<u{size}").tobytes() if size else b""
    return data + bytes(-len(data) % 4)


def directory(dictionaries: list[Array], tokens: int) -> list[list[int]]:
    """Return the columns of every token, ascending."""
    found: list[list[int]] = [[] for _ in range(tokens)]
    for column, distinct in enumerate(dictionaries):
        for token in distinct.tolist():
            found[token].append(column)
    return found


def posted(codes: Array, distinct: int, wide: bool) -> list[Array]:
    """Return the rows of each token of a column: 2 bytes per row, or 4, low half first, in a wide table."""
    rows = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[rows], np.arange(1, distinct + 2)).tolist()
    units = 2 if wide else 1
    data = rows.astype("<u4").view("<u2") if wide else rows.astype(np.uint16)
    return [data[units * start : units * stop] for start, stop in pairwise(bounds)]


def or_rows(cells: Array, rows: Array, columns: Array, hashes: Keys) -> Keys:
    """Return the super key of every row."""
    keys = np.zeros((int(rows.sum()), hashes.shape[1]), np.uint64)
    with_none = np.concatenate([hashes, np.zeros((1, hashes.shape[1]), np.uint64)])  # for a cell without a token
    each = columns_of(cells, rows, columns)
    start = 0
    for height, width in zip(rows.tolist(), columns.tolist(), strict=True):
        for _ in range(width):
            keys[start : start + height] |= with_none[next(each)]
        start += height
    return keys
