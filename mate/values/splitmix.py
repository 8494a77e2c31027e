"""Well-mixed bits: splitmix64 as a hash of numbers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Hashes: TypeAlias = npt.NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mixed(x: Hashes) -> Hashes:
    """Scramble the bits of each number."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def stream(key: Hashes, place: Any) -> Hashes:
    """Return the hash at a place of each key's stream."""
    return mixed(key + (np.atleast_1d(place).astype(np.uint64) + np.uint64(1)) * _GOLDEN)
