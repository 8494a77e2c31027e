"""`mate.values.token_ids.token_id` compiled, over the buffers of a string array."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from mate.values.arrow import Bytes, Offsets

_PRIME = np.uint64(0x100000001B3)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_33 = np.uint64(33)
_1 = np.uint64(1)


def hash_bytes(data: Bytes, offsets: Offsets, basis: np.uint64) -> npt.NDArray[np.int64]:
    """Return one number a string."""
    out = np.empty(len(offsets) - 1, np.int64)
    _hash_bytes(data, offsets, basis, out)
    return out


@numba.njit(cache=True, nogil=True)
def _hash_bytes(data, offsets, basis, out):
    for i in range(len(out)):
        h = basis
        for p in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(data[p])) * _PRIME
        h = (h ^ (h >> _33)) * _MIX_1
        h = (h ^ (h >> _33)) * _MIX_2
        out[i] = np.int64((h ^ (h >> _33)) >> _1)
