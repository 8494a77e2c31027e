"""Sets of small numbers, such as key tuples, as bits of 64-bit words."""

from __future__ import annotations

import numpy as np

from mate.values.kernels import inner


@inner
def popcount(word):
    """Return the number of bits that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def set_bit(bits, number):
    """Put a number into a bit set."""
    bits[number >> 6] |= np.uint64(1) << np.uint64(number & 63)


@inner
def has_bit(bits, number):
    """Tell whether a number is in a bit set."""
    return (bits[number >> 6] >> np.uint64(number & 63)) & np.uint64(1)


@inner
def size(bits):
    """Return how many numbers a bit set has."""
    count = np.int64(0)
    for word in bits:
        count += popcount(word)
    return count


@inner
def members(bits):
    """Return the numbers of a bit set, ascending."""
    found = np.empty(size(bits), np.int64)
    at = 0
    for place in range(len(bits)):
        left = bits[place]
        while left:
            lowest = left & (~left + np.uint64(1))
            found[at] = (place << 6) + popcount(lowest - np.uint64(1))
            left ^= lowest
            at += 1
    return found
