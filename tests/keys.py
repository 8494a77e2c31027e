"""Super keys and tokens as numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mate.hashing.superkey import Keys, from_bytes, to_bytes


def to_ints(keys: Keys) -> list[int]:
    """Return keys as Python integers whose most significant bit is the leftmost."""
    size = keys.shape[1] * 8
    data = to_bytes(keys)
    return [int.from_bytes(data[i : i + size], "big") for i in range(0, len(data), size)]


def from_ints(values: list[int], bits: int) -> Keys:
    """Return keys from Python integers whose most significant bit is the leftmost."""
    return from_bytes(b"".join(value.to_bytes(bits // 8, "big") for value in values), bits)


def token_id(token: str) -> int:
    """Return the id of one token: FNV-1a over its bytes, then the finaliser of MurmurHash3, top bit cleared."""
    mask = 2**64 - 1
    h = 0xCBF29CE484222325
    for byte in token.encode():
        h = ((h ^ byte) * 0x100000001B3) & mask
    h = ((h ^ (h >> 33)) * 0xFF51AFD7ED558CCD) & mask
    h = ((h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53) & mask
    return (h ^ (h >> 33)) >> 1


def unpacked(key: npt.NDArray[np.uint64], columns: int, bits: int) -> list[int]:
    """Inverse of `mate.hashing.by_width.packed` for one row."""
    whole = sum(int(word) << (64 * place) for place, word in enumerate(key))
    return [(whole >> (column * bits)) & ((1 << bits) - 1) for column in range(columns)]
