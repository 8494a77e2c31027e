"""SimHash (section 7.1.2): similar values get similar keys, by a majority vote over their 3-character shingles.

`simhash` follows the README of the simhash package, one value at a time, and is the definition. `SimHash` digests each
distinct shingle of a batch once and lets them vote in a native loop, which equals the definition bit for bit.

What a letter is and how it is lowered is up to Python, as in the package: characters that a later version of
Unicode adds may hash differently under a later version of Python.
"""

from __future__ import annotations

import re
import sys
from hashlib import md5, sha256, sha512

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from simhash import Simhash

from baselines.hashes._digests import pack_shingles, vote
from mate.hashing.base import SuperKeyHash
from mate.hashing.superkey import Keys, from_bytes
from mate.values.arrow import Offsets
from mate.values.parallel import in_parts

WIDTH = 3
"""Characters of a shingle."""


def shingles(value: str) -> list[str]:
    """Return the features of a value: all runs of three letters or digits, or the whole value if it is shorter.

    >>> shingles("New York")
    ['new', 'ewy', 'wyo', 'yor', 'ork']
    """
    text = re.sub(r"[^\w]+", "", value.lower())
    return [text[i : i + WIDTH] for i in range(max(len(text) - WIDTH + 1, 1))]


def digest(feature: bytes, bits: int) -> bytes:
    """Return as many bits as the key has, from the MD5 or SHA-2 of that size."""
    function = {128: md5, 256: sha256, 512: sha512}[bits]
    return function(feature, usedforsecurity=False).digest()


def simhash(value: str, bits: int) -> int:
    """Return the SimHash of one value as an integer whose most significant bit is the leftmost of the array."""
    key: int = Simhash(shingles(value), f=bits, hashfunc=lambda feature: digest(feature, bits)).value
    return key


class SimHash(SuperKeyHash):
    """SimHash over batches of tokens."""

    name = "simhash"

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Hash a batch."""
        packed, offsets = _packed_shingles(*_letters(tokens))
        distinct = pa.array(packed).dictionary_encode()
        return majorities(distinct.indices.to_numpy(), offsets, self._digests(distinct.dictionary.to_numpy()))

    def _digests(self, packed: npt.NDArray[np.uint64]) -> Keys:
        """Return the digest of each packed shingle."""
        points = np.stack([packed >> np.uint64(21 * i) & np.uint64(0x1FFFFF) for i in (2, 1, 0)], axis=1)
        features = points.astype(np.uint32).view(f"U{WIDTH}").ravel().tolist()
        return from_bytes(b"".join([digest(feature.encode(), self.bits) for feature in features]), self.bits)


def majorities(features: npt.NDArray[np.int32], offsets: Offsets, digests: Keys) -> Keys:
    """Return a key for each value: the bits set in more than half of the digests of its features."""
    keys = np.zeros((len(offsets) - 1, digests.shape[1]), np.uint64)
    in_parts(lambda a, b: vote(features, offsets[a : b + 1], digests, keys[a:b]), len(keys))
    return keys


def _packed_shingles(points: npt.NDArray[np.uint32], bounds: Offsets) -> tuple[npt.NDArray[np.uint64], Offsets]:
    """Return the shingles of the values ``points[bounds[i]:bounds[i + 1]]`` as numbers, and the offsets of each's."""
    offsets = np.zeros(len(bounds), np.int64)
    np.cumsum(np.maximum(np.diff(bounds) - WIDTH + 1, 1), out=offsets[1:])
    packed = np.empty(offsets[-1], np.uint64)
    in_parts(lambda a, b: pack_shingles(points, bounds[a : b + 1], packed[offsets[a] :]), len(bounds) - 1)
    return packed, offsets


def _letters(tokens: pa.StringArray) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Return the letters and digits of all values in lower case as code points, and the offsets of each value."""
    values = [(value or "").lower() for value in tokens.to_pylist()]
    points = np.frombuffer("".join(values).encode("utf-32-le"), np.uint32)
    kept = _is_letter(points)
    kept_before = np.concatenate([[0], np.cumsum(kept)])
    return points[kept], kept_before[np.cumsum([0, *map(len, values)])]


def _is_letter(points: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Tell for each code point whether a regular expression takes it for a letter, looking at each but once."""
    table = np.zeros(sys.maxunicode + 1, np.bool_)
    table[points] = True
    present = np.flatnonzero(table)
    table[present] = [re.match(r"\w", chr(point)) is not None for point in present]
    return table[points]
