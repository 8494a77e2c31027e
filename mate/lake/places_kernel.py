"""The loop of `SearchSegment.places`. Ids are hashes: where one stands among all of them is guessed, nearly right.

The id that stands there tells how far that is off, so that the second guess is hardly ever off by more than a hundred.
"""

from __future__ import annotations

import numpy as np

from mate.values.kernels import inner, kernel

_IDS = 2.0**63


@inner
def _lower_bound(ids, wanted):
    """Return the first place of an id that is not less than the one wanted."""
    count = np.int64(len(ids))
    low = min(np.int64(wanted / _IDS * count), count - 1)
    low = high = min(max(low + np.int64((wanted - ids[low]) / _IDS * count), np.int64(0)), count - 1)
    step = np.int64(1)
    while high < count and ids[high] < wanted:
        low = high + 1
        high += step
        step *= 2
    step = np.int64(1)
    while low > 0 and ids[low - 1] >= wanted:
        high = low - 1
        low -= step
        step *= 2
    low, high = max(low, np.int64(0)), min(high, count)
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _same(one, start, stop, other, other_start, other_stop):
    if stop - start != other_stop - other_start:
        return False
    for at in range(stop - start):  # noqa: SIM110
        if one[start + at] != other[other_start + at]:
            return False
    return True


@kernel
def find_places(token_id, text_first, text, ids, data, bounds):
    """Return the place of each token, given by its id and its text ``data[bounds[i]:bounds[i + 1]]``; -1 for none."""
    found = np.full(len(ids), -1, np.int64)
    for i in range(len(ids)):
        place = _lower_bound(token_id, ids[i])
        while place < len(token_id) and token_id[place] == ids[i]:
            start, stop = np.int64(text_first[place]), np.int64(text_first[place + 1])
            if _same(text, start, stop, data, bounds[i], bounds[i + 1]):
                found[i] = place
                break
            place += 1  # two texts that share an id follow each other
    return found
