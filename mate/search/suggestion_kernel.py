"""The loop of `mate.search.suggestion_cover` over the directory."""

from __future__ import annotations

import numpy as np

from mate.values.kernels import kernel


@kernel
def add_weights(entry_first, entry_column, places, weights, found):
    """Add the weight of every token to the columns that hold it; a negative place stands for a token that is not."""
    for number in range(len(places)):
        if places[number] >= 0:
            start, stop = np.int64(entry_first[places[number]]), np.int64(entry_first[places[number] + 1])
            for entry in range(start, stop):
                found[entry_column[entry]] += weights[number]
