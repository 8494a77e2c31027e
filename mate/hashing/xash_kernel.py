"""XASH compiled: straight from UTF-8 to bits, one pass over each value.

The sets of characters seen once and more than once are kept as 37-bit masks in lexicographical order, so that
"the least frequent, ties in lexicographical order" is mostly "the lowest bits of the first mask".
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.hashing.superkey import Keys
from mate.hashing.xash import SEGMENTS, Features, FoldTable, Layout, Rotation, fold_table
from mate.values.arrow import string_buffers
from mate.values.parallel import in_parts

Order: TypeAlias = npt.NDArray[np.uint64]

_ONE = np.uint64(1)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT_INDEX = np.zeros(64, np.uint8)
for _bit in range(64):
    _BIT_INDEX[int((int(_DE_BRUIJN) << _bit) & (2**64 - 1)) >> 58] = _bit


def hash_strings(values: pa.StringArray, layout: Layout, alpha: int, features: Features) -> Keys:
    """Return the XASH of every string; nulls and empty strings set no bit."""
    data, offsets = string_buffers(values)
    keys = np.zeros((len(values), layout.bits // 64), np.uint64)
    ranks, order = _ranks(), _order(features.rare_first)

    def hash_part(start: int, stop: int) -> None:
        _hash_strings(
            data,
            offsets[start : stop + 1],
            ranks,
            order,
            keys[start:stop],
            alpha - 1 if features.characters else 0,
            layout.beta,
            layout.length_bits,
            features.length,
            features.location,
            1 - features.first_place,
            list(Rotation).index(features.rotation),
        )

    in_parts(hash_part, len(values))
    return keys


@cache
def _ranks() -> FoldTable:
    """Return the rank of every code point: segments are in the order 0-9, a-z, space; ranks have the space first."""
    return (fold_table() + np.uint8(1)) % np.uint8(len(SEGMENTS))


def _order(rare_first: str) -> Order:
    """Return the ranks of all characters in the order of choice; none: by how often the value has them."""
    return np.array([(SEGMENTS.index(character) + 1) % len(SEGMENTS) for character in rare_first], np.uint64)


@numba.njit(cache=True, nogil=True, inline="always")
def _lowest(mask):
    return np.uint64(_BIT_INDEX[((mask & (~mask + _ONE)) * _DE_BRUIJN) >> np.uint64(58)])


@numba.njit(cache=True, nogil=True, inline="always")
def _code_point(data, p):
    """Return the non-ASCII code point at `p` and the position after it; Arrow has checked that it is valid."""
    lead = np.int64(data[p])
    if lead < 0xE0:
        return ((lead & 0x1F) << 6) | (np.int64(data[p + 1]) & 0x3F), p + 2
    if lead < 0xF0:
        tail = ((np.int64(data[p + 1]) & 0x3F) << 6) | (np.int64(data[p + 2]) & 0x3F)
        return ((lead & 0x0F) << 12) | tail, p + 3
    tail = ((np.int64(data[p + 2]) & 0x3F) << 6) | (np.int64(data[p + 3]) & 0x3F)
    return ((lead & 0x07) << 18) | ((np.int64(data[p + 1]) & 0x3F) << 12) | tail, p + 4


@numba.njit(cache=True, nogil=True, inline="always")
def _next_rank(data, p, ranks):
    """Return the rank of the character at `p` in the folded alphabet, and the position after it."""
    byte = data[p]
    if byte < 0x80:
        return np.uint64(ranks[byte]), p + 1
    code, p = _code_point(data, p)
    return np.uint64(ranks[code] if code < len(ranks) else (code % 37 + 1) % 37), p


@numba.njit(cache=True, nogil=True, inline="always")
def _set_bit(keys, i, position):
    keys[i, position >> 6] |= _ONE << np.uint64(63 - (position & 63))


@numba.njit(cache=True, nogil=True)
def _tally(data, p, end, ranks, count, place_sum):
    """Count every character of a value and sum up its places."""
    count[:] = 0
    place_sum[:] = 0
    length = 0
    while p < end:
        rank, p = _next_rank(data, p, ranks)
        length += 1
        count[rank] += 1
        place_sum[rank] += length


@numba.njit(cache=True, nogil=True)
def _least_frequent(mask, count):
    least = _lowest(mask)
    while mask:
        rank = _lowest(mask)
        mask &= mask - _ONE
        if count[rank] < count[least]:
            least = rank
    return least


@numba.njit(cache=True, nogil=True)
def _rarest_of_all(mask, order):
    """Return the first rank of an order that a mask has."""
    for rank in order:
        if mask >> rank & _ONE:
            return rank
    return np.uint64(0)


@numba.njit(cache=True, nogil=True, inline="always")
def _shift(length, rotation, character_bits, length_bits):
    """Return by how many bits characters rotate; `rotation` is the place of one among `Rotation`."""
    if rotation == 0:
        return length % character_bits
    return character_bits * (length % length_bits) // length_bits if rotation == 1 else 0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _hash_strings(
    data, offsets, ranks, order, keys, wanted, beta, length_bits, with_length, with_location, before, rotation
):
    alphabet = 37
    character_bits = alphabet * beta
    place = np.zeros(alphabet, np.int64)
    count = np.zeros(alphabet, np.int64)
    place_sum = np.zeros(alphabet, np.int64)
    for i in range(len(offsets) - 1):
        present = np.uint64(0)
        repeated = np.uint64(0)
        length = 0
        p, end = offsets[i], offsets[i + 1]
        while p < end:
            rank, p = _next_rank(data, p, ranks)
            length += 1
            bit = _ONE << rank
            repeated |= present & bit
            present |= bit
            place[rank] = length
        if length == 0:
            continue
        if with_length:
            _set_bit(keys, i, (length - 1) % length_bits)
        shift = _shift(length, rotation, character_bits, length_bits)
        singles = present & ~repeated
        # ceil(a / b) - 1 = floor((a - 1/2) / b) for whole a, b, and the half keeps rounding errors harmless.
        per_length = 1.0 / length
        tallied = False
        for _ in range(wanted):
            if len(order) and singles | repeated:
                rank = _rarest_of_all(singles | repeated, order)
                single = singles >> rank & _ONE
            elif singles:
                rank, single = _lowest(singles), _ONE
            elif repeated:
                if not tallied:
                    _tally(data, offsets[i], end, ranks, count, place_sum)
                    tallied = True
                rank, single = _least_frequent(repeated, count), np.uint64(0)
            else:
                break
            if single:
                singles &= ~(_ONE << rank)
                offset = ((place[rank] - before) * beta - 0.5) * per_length
            else:
                if not tallied:
                    _tally(data, offsets[i], end, ranks, count, place_sum)
                    tallied = True
                repeated &= ~(_ONE << rank)
                offset = ((place_sum[rank] - before * count[rank]) * beta - 0.5) / (count[rank] * length)
            position = (np.int64(rank) - 1 if rank else alphabet - 1) * beta - shift
            if with_location:
                position += np.int64(offset)
            if position < 0:
                position += character_bits
            _set_bit(keys, i, position + length_bits)
