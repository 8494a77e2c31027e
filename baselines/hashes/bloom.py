"""Bloom filter (BF, section 7.1.2): a value sets the bits that H hash functions of the Murmur3 family name.

The paper takes H = |a| / V * ln 2, with V the mean number of columns of the corpus: the number that is best for a
filter of V values. It gives a value far more bits than XASH does (18 instead of 6 for web tables at 128 bits);
``BloomFilter(bits, hashes=alpha)`` is the fair variant, which sets as many bits a value as XASH.
"""

from __future__ import annotations

from math import isfinite, log
from typing import Any, Self

import mmh3
import numpy as np
import pyarrow as pa

from baselines.hashes._digests import bloom_filters
from mate.errors import HashError
from mate.hashing.base import CorpusStatistics, SuperKeyHash
from mate.hashing.superkey import Keys
from mate.values.arrow import string_buffers
from mate.values.parallel import in_parts

WEB_TABLE_COLUMNS = 5.0
"""V of the paper's web tables."""


def hashes_for(bits: int, mean_columns: float) -> int:
    """Return the paper's number of hash functions, H = |a| / V * ln 2, at least one.

    >>> hashes_for(128, 5), hashes_for(128, 26)
    (18, 3)
    """
    if not isfinite(mean_columns) or mean_columns < 0:
        raise HashError(f"a corpus cannot have {mean_columns} columns a table")
    columns = max(mean_columns, 1.0)  # a corpus without any table has a mean of 0
    return max(1, round(bits / columns * log(2)))


def bloom(value: str, bits: int, hashes: int) -> int:
    """Return the filter of one value as an integer whose most significant bit is the leftmost of the array."""
    key = 0
    for seed in range(hashes):
        key |= 1 << (bits - 1 - mmh3.hash(value, seed, signed=False) % bits)
    return key


def bloom_keys(tokens: pa.StringArray, bits: int, hashes: int) -> Keys:
    """Return `bloom` of every token."""
    data, offsets = string_buffers(tokens)
    keys = np.zeros((len(tokens), bits // 64), np.uint64)
    in_parts(lambda a, b: bloom_filters(data, offsets[a : b + 1], hashes, keys[a:b]), len(tokens))
    return keys


class BloomFilter(SuperKeyHash):
    """Bloom filter with `hashes` hash functions; by default as many as the paper takes for its web tables."""

    name = "bf"

    def __init__(self, bits: int = 128, hashes: int | None = None) -> None:
        super().__init__(bits)
        if hashes is None:
            hashes = hashes_for(bits, WEB_TABLE_COLUMNS)
        if isinstance(hashes, bool) or not isinstance(hashes, int) or not 1 <= hashes <= bits:
            raise HashError(f"hashes must be a whole number from 1 to {bits} (the bits), not {hashes!r}")
        self.hashes = hashes

    @classmethod
    def for_corpus(cls, bits: int, corpus: CorpusStatistics) -> Self:
        """Return the filter with the paper's number of hash functions for this corpus."""
        return cls(bits, hashes_for(bits, corpus.mean_columns))

    @property
    def parameters(self) -> dict[str, Any]:
        """The number of hash functions."""
        return {"hashes": self.hashes}

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Hash a batch."""
        return bloom_keys(tokens, self.bits, self.hashes)
