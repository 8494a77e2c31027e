"""The order of numbers. One plain merge sort: numba's own sorts take ten seconds to compile."""

from __future__ import annotations

import numpy as np

from mate.values.kernels import inner


@inner
def _merge(keys, order, merged, start, middle, stop):
    """Merge two ordered ranges of `order` that follow each other into `merged`."""
    left, right = start, middle
    for place in range(start, stop):
        if right == stop or (left < middle and keys[order[left]] <= keys[order[right]]):
            merged[place] = order[left]
            left += 1
        else:
            merged[place] = order[right]
            right += 1


@inner
def ascending(keys):
    """Return the places of numbers in ascending order, equal ones in the order in which they are."""
    count = len(keys)
    order, merged = np.arange(count), np.empty(count, np.int64)
    size = 1
    while size < count:
        for start in range(0, count, 2 * size):
            _merge(keys, order, merged, start, min(start + size, count), min(start + 2 * size, count))
        order, merged = merged, order
        size *= 2
    return order
