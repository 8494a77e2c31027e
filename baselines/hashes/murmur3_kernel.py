"""MurmurHash3 (x86, 32 bits) compiled, for the Bloom filters: straight from UTF-8 to bits.

A block of four bytes is scrambled in the same way whatever the seed, so one pass over a value feeds the states of
all seeds, and the loop over seeds vectorises.
"""

from __future__ import annotations

import numba
import numpy as np
import pyarrow as pa

from mate.hashing.superkey import Keys
from mate.values.arrow import string_buffers
from mate.values.parallel import in_parts

# Numba widens the sum and product of two uint32 to uint64: hence the conversions after each step.
_U32 = np.uint32
_C1, _C2 = _U32(0xCC9E2D51), _U32(0x1B873593)
_M, _N = _U32(5), _U32(0xE6546B64)
_F1, _F2 = _U32(0x85EBCA6B), _U32(0xC2B2AE35)


def bloom_filters(values: pa.StringArray, bits: int, hashes: int) -> Keys:
    """Return the Bloom filter of every string; a null counts as empty."""
    data, offsets = string_buffers(values)
    keys = np.zeros((len(values), bits // 64), np.uint64)
    in_parts(lambda a, b: _bloom_filters(data, offsets[a : b + 1], hashes, keys[a:b]), len(values))
    return keys


def less_hashing_filters(values: pa.StringArray, bits: int, probes: int) -> Keys:
    """Return the less hashing Bloom filter of every string; a null counts as empty."""
    data, offsets = string_buffers(values)
    keys = np.zeros((len(values), bits // 64), np.uint64)
    in_parts(lambda a, b: _less_hashing_filters(data, offsets[a : b + 1], probes, keys[a:b]), len(values))
    return keys


@numba.njit(cache=True, nogil=True, inline="always")
def _rotate(x, left):
    return _U32((x << _U32(left)) | (x >> _U32(32 - left)))


@numba.njit(cache=True, nogil=True, inline="always")
def _scramble(block):
    return _U32(_rotate(_U32(block * _C1), 15) * _C2)


@numba.njit(cache=True, nogil=True)
def murmur3(data, start, stop, states):
    """Put the hash of ``data[start:stop]`` with seed s into ``states[s]``, for every s."""
    for seed in range(len(states)):
        states[seed] = seed
    p = start
    while stop - p >= 4:
        low = _U32(data[p]) | _U32(data[p + 1]) << _U32(8)
        block = _scramble(_U32(low | _U32(data[p + 2]) << _U32(16) | _U32(data[p + 3]) << _U32(24)))
        for seed in range(len(states)):
            states[seed] = _U32(_rotate(_U32(states[seed] ^ block), 13) * _M + _N)
        p += 4
    tail = _U32(0)
    for q in range(stop - 1, p - 1, -1):
        tail = _U32(tail << _U32(8) | data[q])
    tail = _scramble(tail)
    for seed in range(len(states)):
        h = _U32(states[seed] ^ tail ^ _U32(stop - start))
        h = _U32((h ^ h >> _U32(16)) * _F1)
        h = _U32((h ^ h >> _U32(13)) * _F2)
        states[seed] = h ^ h >> _U32(16)


@numba.njit(cache=True, nogil=True, inline="always")
def _set_bit(keys, i, position):
    keys[i, position >> 6] |= np.uint64(1) << np.uint64(63 - (position & 63))


@numba.njit(cache=True, nogil=True)
def _bloom_filters(data, offsets, hashes, keys):
    bits = keys.shape[1] * 64
    states = np.empty(hashes, np.uint32)
    for i in range(len(keys)):
        murmur3(data, offsets[i], offsets[i + 1], states)
        for h in states:
            _set_bit(keys, i, np.int64(h) & (bits - 1))


@numba.njit(cache=True, nogil=True)
def _less_hashing_filters(data, offsets, probes, keys):
    bits = keys.shape[1] * 64
    states = np.empty(2, np.uint32)
    for i in range(len(keys)):
        murmur3(data, offsets[i], offsets[i + 1], states)
        position, step = np.int64(states[0]), 1 + np.int64(states[1]) % (bits - 1)
        for _ in range(probes):
            _set_bit(keys, i, position & (bits - 1))
            position += step
