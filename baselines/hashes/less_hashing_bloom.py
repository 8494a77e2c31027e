"""Less hashing Bloom filter (LHBF, section 7.1.2): two hash functions make up any number of others.

Kirsch and Mitzenmacher: the bits of a value are g_i = h1 + i * h2 mod |a|. Section 6.4 counts a collision of two
values as 1 / C(|a|, 2), that is two bits a value; hence two probes unless told otherwise.

To make that number come out, h2 is drawn from 1 .. |a| - 1: never 0, which would set one bit instead of two, and
even as often as odd, so that every pair of bits is equally likely. With more than two probes a value whose h2
shares a large factor with |a| comes back to its own bits and sets fewer.
"""

from __future__ import annotations

from typing import Any

import mmh3
import numpy as np
import pyarrow as pa

from baselines.hashes._digests import less_hashing_filters
from mate.errors import HashError
from mate.hashing.base import SuperKeyHash
from mate.hashing.superkey import Keys
from mate.values.arrow import string_buffers
from mate.values.parallel import in_parts


def less_hashing_bloom(value: str, bits: int, probes: int) -> int:
    """Return the filter of one value as an integer whose most significant bit is the leftmost of the array."""
    h1 = mmh3.hash(value, 0, signed=False)
    h2 = 1 + mmh3.hash(value, 1, signed=False) % (bits - 1)
    key = 0
    for i in range(probes):
        key |= 1 << (bits - 1 - (h1 + i * h2) % bits)
    return key


class LessHashingBloomFilter(SuperKeyHash):
    """Bloom filter whose `probes` bits a value come from two Murmur3 hashes."""

    name = "lhbf"

    def __init__(self, bits: int = 128, probes: int = 2) -> None:
        super().__init__(bits)
        if isinstance(probes, bool) or not isinstance(probes, int) or not 1 <= probes <= bits:
            raise HashError(f"probes must be a whole number from 1 to {bits} (the bits), not {probes!r}")
        self.probes = probes

    @property
    def parameters(self) -> dict[str, Any]:
        """The number of probes."""
        return {"probes": self.probes}

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Hash a batch."""
        data, offsets = string_buffers(tokens)
        keys = np.zeros((len(tokens), self.words), np.uint64)
        in_parts(lambda a, b: less_hashing_filters(data, offsets[a : b + 1], self.probes, keys[a:b]), len(tokens))
        return keys
