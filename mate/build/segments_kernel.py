"""The loop of `mate.build.segments`."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def differing(data, bounds, representative):
    """Tell for every text whether it differs from the one that represents it."""
    flags = np.zeros(len(bounds) - 1, np.bool_)
    for place in range(len(bounds) - 1):
        other = representative[place]
        if other == place:
            continue
        length = bounds[place + 1] - bounds[place]
        same = bounds[other + 1] - bounds[other] == length
        start, against = bounds[place], bounds[other]
        for at in range(length if same else 0):
            if data[start + at] != data[against + at]:
                same = False
                break
        flags[place] = not same
    return flags
