"""Hash table (HT, section 7.1.2): the same as the Bloom filter with one hash function, so one bit a value."""

from __future__ import annotations

import pyarrow as pa

from baselines.hashes.bloom import bloom_keys
from mate.hashing.base import SuperKeyHash
from mate.hashing.superkey import Keys


class HashTable(SuperKeyHash):
    """One Murmur3 hash names the bucket, a bit, of a value."""

    name = "ht"

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Hash a batch."""
        return bloom_keys(tokens, self.bits, hashes=1)
