"""Plain sums: the least time in which numbers can be read."""

from __future__ import annotations

import numpy as np

from mate.values.kernels import kernel


@kernel
def add_ranges(numbers, start, stop):
    """Add up ranges of an array, one after the other."""
    total = np.int64(0)
    for place in range(len(start)):
        for at in range(start[place], stop[place]):
            total += np.int64(numbers[at])
    return total


@kernel
def add_first(numbers, count):
    """Add up so many numbers of an array, from the first on, again from the first behind the last."""
    total = np.int64(0)
    while count > 0 and len(numbers):
        for at in range(min(count, len(numbers))):
            total += np.int64(numbers[at])
        count -= len(numbers)
    return total
