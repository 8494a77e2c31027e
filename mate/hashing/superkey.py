"""Super keys: the OR of a row's cell hashes (section 5), as ``uint64[n, bits / 64]``.

Bit 0 is the leftmost: the most significant bit of the first word, so that the big-endian bytes of a key read
as the bit array of the paper's figures.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Keys: TypeAlias = npt.NDArray[np.uint64]
Index: TypeAlias = npt.NDArray[np.integer]

_SMALL = 50_000
"""Below this many pairs NumPy is done before the compiled kernel is loaded."""


def or_aggregate(hashes: Keys, offsets: Index) -> Keys:
    """Return one super key a row: the OR of ``hashes[offsets[r]:offsets[r + 1]]``; an empty row sets no bit."""
    rows, words = len(offsets) - 1, hashes.shape[1]
    keys = np.zeros((rows, words), np.uint64)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        keys[filled] = np.bitwise_or.reduceat(hashes, offsets[filled], axis=0)
    return keys


def covers(
    query: Keys, rows: Keys, query_index: Index | None = None, row_index: Index | None = None
) -> npt.NDArray[np.bool_]:
    """Tell for each pair whether the row's super key has every bit of the query's key (section 6.3).

    Pairs are ``(query[i], rows[i])``, or ``(query[query_index[i]], rows[row_index[i]])`` where an index is given.
    """
    pairs = len(query if query_index is None else query_index)
    if pairs < _SMALL:
        return _covers_numpy(query, rows, query_index, row_index)
    from mate.hashing.superkey_kernel import covers_indexed, covers_pairs

    if query_index is None and row_index is None:
        return covers_pairs(query, rows)
    every = np.arange(pairs)
    return covers_indexed(
        query, rows, every if query_index is None else query_index, every if row_index is None else row_index
    )


def _covers_numpy(query: Keys, rows: Keys, query_index: Index | None, row_index: Index | None) -> npt.NDArray[np.bool_]:
    wanted = query if query_index is None else query[query_index]
    present = rows if row_index is None else rows[row_index]
    missing: npt.NDArray[np.bool_] = np.any(wanted & ~present, axis=1)
    return ~missing


def bits_set(keys: Keys) -> npt.NDArray[np.int64]:
    """Return the number of 1-bits of each key."""
    counts: npt.NDArray[np.int64] = np.bitwise_count(keys).sum(axis=1, dtype=np.int64)
    return counts


def from_positions(positions: npt.NDArray[np.integer], bits: int) -> Keys:
    """Return keys with the bits ``positions[i, :]`` set, bit 0 being the leftmost."""
    keys = np.zeros((len(positions), bits // 64), np.uint64)
    every = np.arange(len(positions))
    for column in positions.T.astype(np.int64):
        keys[every, column >> 6] |= np.uint64(1) << (63 - (column & 63)).astype(np.uint64)
    return keys


def from_ints(values: list[int], bits: int) -> Keys:
    """Return keys from Python integers whose most significant bit is the leftmost."""
    return from_bytes(b"".join(value.to_bytes(bits // 8, "big") for value in values), bits)


def to_ints(keys: Keys) -> list[int]:
    """Inverse of `from_ints`."""
    size = keys.shape[1] * 8
    data = to_bytes(keys)
    return [int.from_bytes(data[i : i + size], "big") for i in range(0, len(data), size)]


def from_bytes(data: bytes, bits: int) -> Keys:
    """Return keys from their concatenated big-endian bytes."""
    return np.frombuffer(data, ">u8").astype(np.uint64).reshape(-1, bits // 64)


def to_bytes(keys: Keys) -> bytes:
    """Return the concatenated big-endian bytes of the keys."""
    return keys.astype(">u8").tobytes()
