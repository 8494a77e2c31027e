"""Google's CityHash (section 7.1.2), 128 bits."""

from __future__ import annotations

from cityhash import CityHash128

from baselines.hashes.digest import DigestHash


class City(DigestHash):
    """The CityHash of a value as its key, most significant bit leftmost."""

    name = "city"

    @staticmethod
    def digest(data: bytes, /) -> bytes:
        """Return the CityHash as 16 bytes."""
        value: int = CityHash128(data)
        return value.to_bytes(16, "big")
