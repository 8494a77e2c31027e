"""The loop of `SearchSegment.places`. Ids are hashes: where one stands among all of them is guessed, nearly right.

The id that stands there tells how far that is off, so that the second guess is hardly ever off by more than a hundred.
What a step reads is asked for in the step before, for all tokens: each is somewhere else in a large file.
"""

from __future__ import annotations

import numpy as np

from mate.values.kernels import inner, kernel, prefetch

_IDS = 2.0**63


@inner
def _guess(wanted, count):
    """Return about the place of an id among so many."""
    return min(np.int64(wanted / _IDS * count), count - 1)


@inner
def _second_guess(ids, wanted, guess):
    """Return the place of an id by what stands at the first guess."""
    count = np.int64(len(ids))
    return min(max(guess + np.int64((wanted - ids[guess]) / _IDS * count), np.int64(0)), count - 1)


@inner
def _lower_bound(ids, wanted, guess):
    """Return the first place of an id that is not less than the one wanted, which is near the guess."""
    count = np.int64(len(ids))
    low = high = guess
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
def _same(text, start, stop, given):
    if stop - start != len(given):
        return False
    for at in range(len(given)):  # noqa: SIM110
        if text[start + at] != given[at]:
            return False
    return True


@kernel
def find_places(token_id, text_first, text, ids, data, bounds):
    """Return the place of each token, given by its id and its text ``data[bounds[i]:bounds[i + 1]]``; -1 for none."""
    count = np.int64(len(token_id))
    found = np.empty(len(ids), np.int64)
    for i in range(len(ids)):
        found[i] = _guess(ids[i], count)
        prefetch(token_id, found[i])
    for i in range(len(ids)):
        found[i] = _second_guess(token_id, ids[i], found[i])
        prefetch(token_id, found[i])
        prefetch(text_first, found[i])
    for i in range(len(ids)):
        found[i] = _lower_bound(token_id, ids[i], found[i])
        if found[i] < count:
            prefetch(text, np.int64(text_first[found[i]]))
    for i in range(len(ids)):
        found[i] = _with_text(token_id, text_first, text, ids[i], found[i], data[bounds[i] : bounds[i + 1]])
    return found


@inner
def _with_text(token_id, text_first, text, wanted, place, given):
    """Return the place of the token that has this id and this text, from `place` on; -1 for none."""
    while place < len(token_id) and token_id[place] == wanted:
        if _same(text, np.int64(text_first[place]), np.int64(text_first[place + 1]), given):
            return place
        place += 1  # two texts that share an id follow each other
    return np.int64(-1)
