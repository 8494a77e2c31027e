"""Hash functions without any post-processing (section 7.1.2): the 128-bit digest of a value is its key."""

from __future__ import annotations

from abc import abstractmethod

import pyarrow as pa

from mate.hashing.base import SuperKeyHash
from mate.hashing.superkey import Keys, from_bytes


class DigestHash(SuperKeyHash):
    """A hash function from bytes to 16 bytes, of which the first is the leftmost of the key."""

    sizes = (128,)

    @staticmethod
    @abstractmethod
    def digest(data: bytes, /) -> bytes:
        """Return the 16 bytes for the UTF-8 of a value."""

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Hash a batch."""
        digest = self.digest
        values = tokens.fill_null("").cast(pa.binary()).to_pylist()
        return from_bytes(b"".join([digest(value) for value in values]), self.bits)
