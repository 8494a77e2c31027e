"""Murmur (section 7.1.2): MurmurHash3 for 64-bit machines, 128 bits."""

from __future__ import annotations

import mmh3

from baselines.hashes.digest import DigestHash


class Murmur(DigestHash):
    """The MurmurHash3 digest of a value as its key."""

    name = "murmur"
    digest = staticmethod(mmh3.mmh3_x64_128_digest)
