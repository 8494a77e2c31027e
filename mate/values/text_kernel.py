"""The compiled part of tokenisation: ASCII text, one pass over the bytes."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from mate.values.arrow import Bytes, Offsets


def normalise_ascii(data: Bytes, offsets: Offsets) -> tuple[Bytes, Offsets, npt.NDArray[np.bool_]]:
    """Lower-case, trim and collapse white space of each ASCII string.

    Returns the new bytes and offsets and which strings are ASCII; the others come out empty.
    """
    count = len(offsets) - 1
    text = np.empty(int(offsets[-1] - offsets[0]), np.uint8)
    bounds = np.zeros(count + 1, np.int64)
    ascii_only = np.ones(count, np.bool_)
    length = _normalise_ascii(data, offsets, text, bounds, ascii_only)
    return text[:length], bounds, ascii_only


@numba.njit(cache=True, nogil=True)
def _normalise_ascii(data, offsets, text, bounds, ascii_only):
    end = 0
    for i in range(len(offsets) - 1):
        start = end
        gap = False
        for p in range(offsets[i], offsets[i + 1]):
            byte = data[p]
            if byte >= 0x80:
                ascii_only[i] = False
                end = start
                break
            if byte == 0x20 or 0x09 <= byte <= 0x0D or 0x1C <= byte <= 0x1F:
                gap = end > start
            else:
                if gap:
                    text[end] = 0x20
                    end += 1
                    gap = False
                if 0x41 <= byte <= 0x5A:
                    byte += 0x20
                text[end] = byte
                end += 1
        bounds[i + 1] = end
    return end
