"""Timing on a noisy machine: rounds over all contestants, the best of each, compared as ratios."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def best_of(contestants: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the least seconds of each contestant, all of them timed in turn in every round.

    A first call that is not timed loads modules and maps files.
    """
    for run in contestants.values():
        run()
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best
