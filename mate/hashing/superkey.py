"""Super keys: the OR of a row's cell hashes (section 5), as ``uint64[n, bits / 64]``.

Bit 0 is the most significant bit of the first word, so that the big-endian bytes of a key read like the bit arrays of
the paper's figures.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Keys: TypeAlias = npt.NDArray[np.uint64]


def or_aggregate(hashes: Keys, offsets: npt.NDArray[np.integer]) -> Keys:
    """Return one super key per row: the OR of ``hashes[offsets[r]:offsets[r + 1]]``; an empty row sets no bit."""
    rows, words = len(offsets) - 1, hashes.shape[1]
    keys = np.zeros((rows, words), np.uint64)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        keys[filled] = np.bitwise_or.reduceat(hashes, offsets[filled], axis=0)
    return keys


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


def from_bytes(data: bytes, bits: int) -> Keys:
    """Return keys from their concatenated big-endian bytes."""
    return np.frombuffer(data, ">u8").astype(np.uint64).reshape(-1, bits // 64)


def to_bytes(keys: Keys) -> bytes:
    """Return the concatenated big-endian bytes of the keys."""
    return keys.astype(">u8").tobytes()
