"""`mate.search.best.offer`, compiled for kernels to call."""

from __future__ import annotations

import numpy as np

from mate.values.kernels import inner


@inner
def kth_score(best):
    """Return the score that a table needs to exceed: 0 while there is room."""
    return best.score[0] if best.size[0] == len(best.score) else np.int64(0)


@inner
def _worse(best, one, other):
    if best.score[one] != best.score[other]:
        return best.score[one] < best.score[other]
    return best.table[one] > best.table[other]


@inner
def _swap(best, one, other):
    best.score[one], best.score[other] = best.score[other], best.score[one]
    best.table[one], best.table[other] = best.table[other], best.table[one]
    for key in range(best.mapping.shape[1]):
        best.mapping[one, key], best.mapping[other, key] = best.mapping[other, key], best.mapping[one, key]


@inner
def offer(best, score, table, mapping):
    """Put a table into the heap, in the place of the worst one if it is full and the table is better."""
    place = np.int64(0)
    if best.size[0] < len(best.score):
        place = best.size[0]
        best.size[0] += 1
    elif score < best.score[0] or (score == best.score[0] and table > best.table[0]):
        return
    best.score[place] = score
    best.table[place] = table
    best.mapping[place, :] = mapping
    while place > 0 and _worse(best, place, (place - 1) // 2):
        _swap(best, place, (place - 1) // 2)
        place = (place - 1) // 2
    while True:
        least = place
        for child in range(2 * place + 1, min(2 * place + 3, best.size[0])):
            if _worse(best, child, least):
                least = child
        if least == place:
            return
        _swap(best, place, least)
        place = least
