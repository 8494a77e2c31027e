"""The columns of a segment, written plainly with NumPy: `mate.lake._arrays.make_columns` must equal this."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mate.lake.arrays import Array
from mate.lake.layout import WIDE_ROWS, offsets_of


def make_columns(cells: Array, rows: Array, tokens: int) -> dict[str, Array]:
    """Return what follows from the cells of columns of so many rows each."""
    encoded = [_encoded(cells[start:stop]) for start, stop in pairwise(offsets_of(rows).tolist())]
    dictionaries = [distinct for distinct, _ in encoded]
    sizes = [_code_bytes(len(distinct)) for distinct in dictionaries]
    data = [_packed(codes, size) for (_, codes), size in zip(encoded, sizes, strict=True)]
    directory = [[c for c, distinct in enumerate(dictionaries) if token in distinct] for token in range(tokens)]
    wide = (rows >= WIDE_ROWS).tolist()
    by_column = [iter(_posted(codes, len(d), w)) for (d, codes), w in zip(encoded, wide, strict=True)]
    # Tokens ascend in the directory as they do in each column, so that a column's next entry is always its first left.
    postings = [next(by_column[column]) for holding in directory for column in holding]
    return {
        "column_entry_first": offsets_of(np.array([len(distinct) for distinct in dictionaries], np.int64)),
        "column_token": np.concatenate([np.empty(0, np.uint32), *dictionaries]).astype(np.uint32),
        "code_bytes": np.array(sizes, np.uint8),
        "code_first": offsets_of(np.array([len(piece) for piece in data], np.int64))[:-1],
        "codes": np.frombuffer(b"".join(data), np.uint8),
        "entry_first": offsets_of(np.array([len(holding) for holding in directory], np.int64)),
        "entry_column": np.array([column for holding in directory for column in holding], np.uint32),
        "posting_first": offsets_of(np.array([len(own) for own in postings], np.int64)),
        "postings": np.concatenate([np.empty(0, np.uint16), *postings]).astype(np.uint16),
    }


def _encoded(tokens: Array) -> tuple[Array, Array]:
    """Return the distinct tokens of a column, ascending, and its codes: 0 for none, else 1 + the token's number."""
    distinct, numbers = np.unique(tokens, return_inverse=True)
    if len(distinct) and distinct[0] < 0:
        return distinct[1:], numbers
    return distinct, numbers + 1


def _code_bytes(distinct: int) -> int:
    """Return the bytes that a code of a column with so many distinct tokens takes."""
    return 0 if distinct == 0 else 1 if distinct < 2**8 else 2 if distinct < 2**16 else 4


def _packed(codes: Array, size: int) -> bytes:
    """Return codes of that many bytes, filled up to a multiple of 4."""
    data = codes.astype(f"<u{size}").tobytes() if size else b""
    return data + bytes(-len(data) % 4)


def _posted(codes: Array, distinct: int, wide: bool) -> list[Array]:
    """Return the rows of each token of a column: 2 bytes per row, or 4, low half first, in a wide table."""
    rows = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[rows], np.arange(1, distinct + 2)).tolist()
    units = 2 if wide else 1
    data = rows.astype("<u4").view("<u2") if wide else rows.astype(np.uint16)
    return [data[units * start : units * stop] for start, stop in pairwise(bounds)]
