"""MD5 (section 7.1.2)."""

from __future__ import annotations

from hashlib import md5

from baselines.hashes.digest import DigestHash


class Md5(DigestHash):
    """The MD5 digest of a value as its key."""

    name = "md5"

    @staticmethod
    def digest(data: bytes, /) -> bytes:
        """Return the MD5 digest."""
        return md5(data, usedforsecurity=False).digest()
