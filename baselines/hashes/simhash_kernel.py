"""SimHash compiled: pack the shingles of many values, and let their digests vote, 64 bits at a time."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from mate.hashing.superkey import Keys
from mate.values.parallel import in_parts

Shingles = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]


def pack_shingles(points: npt.NDArray[np.uint32], bounds: Offsets) -> tuple[Shingles, Offsets]:
    """Return the 3-character shingles of the values ``points[bounds[i]:bounds[i + 1]]``, and the offsets of each's.

    A shingle is three code points of 21 bits each; the only one of a shorter value is padded with zeros.
    """
    offsets = np.zeros(len(bounds), np.int64)
    np.cumsum(np.maximum(np.diff(bounds) - 2, 1), out=offsets[1:])
    packed = np.empty(offsets[-1], np.uint64)
    in_parts(lambda a, b: _pack(points, bounds[a : b + 1], packed[offsets[a] :]), len(bounds) - 1)
    return packed, offsets


def majorities(features: npt.NDArray[np.int32], offsets: Offsets, digests: Keys) -> Keys:
    """Return a key for each value: the bits set in more than half of the digests of its features."""
    keys = np.zeros((len(offsets) - 1, digests.shape[1]), np.uint64)
    in_parts(lambda a, b: _vote(features, offsets[a : b + 1], digests, keys[a:b]), len(keys))
    return keys


@numba.njit(cache=True, nogil=True)
def _pack(points, bounds, packed):
    count = 0
    for i in range(len(bounds) - 1):
        start, end = bounds[i], bounds[i + 1]
        for first in range(start, max(end - 2, start + 1)):
            shingle = np.uint64(0)
            for p in range(first, first + 3):
                shingle = shingle << np.uint64(21) | np.uint64(points[p] if p < end else 0)
            packed[count] = shingle
            count += 1


@numba.njit(cache=True, nogil=True)
def _vote(features, offsets, digests, keys):
    """Count all 64 bits of a word at once: bit b of ``counter[d]`` is binary digit d of the count of bit b.

    A count starts so far below a power of two that it overflows just when more than half of the votes are in;
    what is carried out of the counter is the result.
    """
    words = keys.shape[1]
    counter = np.empty((words, 64), np.uint64)
    for i in range(len(keys)):
        needed = (offsets[i + 1] - offsets[i]) // 2 + 1
        digits = 0
        while needed >> digits:
            digits += 1
        for d in range(digits):
            counter[:, d] = -np.uint64(((1 << digits) - needed) >> d & 1)
        for f in range(offsets[i], offsets[i + 1]):
            for word in range(words):
                carry = digests[features[f], word]
                for d in range(digits):
                    counter[word, d], carry = counter[word, d] ^ carry, counter[word, d] & carry
                keys[i, word] |= carry
