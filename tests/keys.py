"""Super keys as numbers."""

from __future__ import annotations

from mate.hashing.superkey import Keys, from_bytes, to_bytes


def to_ints(keys: Keys) -> list[int]:
    """Return keys as Python integers whose most significant bit is the leftmost."""
    size = keys.shape[1] * 8
    data = to_bytes(keys)
    return [int.from_bytes(data[i : i + size], "big") for i in range(0, len(data), size)]


def from_ints(values: list[int], bits: int) -> Keys:
    """Return keys from Python integers whose most significant bit is the leftmost."""
    return from_bytes(b"".join(value.to_bytes(bits // 8, "big") for value in values), bits)
