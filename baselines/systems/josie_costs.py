"""What reading costs on the segment at hand: the constants of JOSIE's cost model, measured once for a segment.

The paper fits a line to the time of reading a posting list by its length and another to that of reading a set by its
size. Here many lists, or many sets, are read by one look-up, so that a line has two slopes: by list and by item.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from baselines.systems.column_sets import ColumnSets
from mate.lake.base import Ids

Seconds = npt.NDArray[np.float64]

_NUMBERS = (1, 8, 64)
"""How many lists or sets the sampled look-ups read."""
_LEAST = (1e-6, 1e-9, 1e-10)
"""No cost is taken for less than this, however lucky the measurement."""
_REPEATS = 3


@dataclass(frozen=True, slots=True)
class Line:
    """Seconds of a look-up: ``call + each * (lists or sets) + item * (items in them)``."""

    call: float
    each: float
    item: float

    def slope(self, items: Ids) -> Seconds:
        """Return what reading each list or set of so many items costs, apart from the look-up as such."""
        return self.each + self.item * items.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of reading posting lists, and that of reading sets."""

    lists: Line
    sets: Line


_measured: WeakKeyDictionary[ColumnSets, Costs] = WeakKeyDictionary()


def costs_of(sets: ColumnSets) -> Costs:
    """Return the costs of a segment's sets, measured when they are first asked for."""
    if sets not in _measured:
        _measured[sets] = calibrate(sets)
    return _measured[sets]


def calibrate(sets: ColumnSets, seed: int = 1) -> Costs:
    """Measure a few look-ups of random lists, of the longest lists, and of random sets."""
    dice = np.random.default_rng(seed)
    longest = np.arange(sets.lists)[-max(1, sets.lists // 50) :]
    lists = [_sample(dice, np.arange(sets.lists), n) for n in _NUMBERS] + [_sample(dice, longest, n) for n in _NUMBERS]
    some = [_sample(dice, np.arange(sets.sets), n) for n in _NUMBERS for _ in range(2)]
    return Costs(
        fit(lists, lambda ids: len(sets.items(ids).set_id)),
        fit(some, lambda ids: len(sets.members(ids, np.zeros(len(ids), np.int64)).set_id)),
    )


def _sample(dice: np.random.Generator, numbers: Ids, count: int) -> Ids:
    return dice.choice(numbers, min(count, len(numbers)), replace=False)


def fit(samples: list[Ids], read: Callable[[Ids], int]) -> Line:
    """Fit the line to the times of some look-ups, each the best of a few: the machine may have other work."""
    facts, seconds = [], []
    for ids in samples:
        times = []
        for _ in range(_REPEATS):
            start = time.perf_counter()
            items = read(ids)
            times.append(time.perf_counter() - start)
        facts.append((1.0, len(ids), items))
        seconds.append(min(times))
    # Relative errors: a long look-up must not drown what is known of the short ones.
    found = _least_squares(np.array(facts) / np.array(seconds)[:, None])
    return Line(*(float(value) for value in np.maximum(found, _LEAST)))


def _least_squares(facts: Seconds) -> Seconds:
    """Return the coefficients, none of them negative, that bring the weighted facts closest to 1."""
    kept = np.ones(facts.shape[1], np.bool_)
    found = np.zeros(facts.shape[1])
    while kept.any():
        found[:] = 0
        found[kept] = np.linalg.lstsq(facts[:, kept], np.ones(len(facts)), rcond=None)[0]
        if (found >= 0).all():
            break
        kept &= found > 0
    return found
