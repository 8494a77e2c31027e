"""How many distinct tokens a corpus has, exactly and without bringing them together: each task counts a range of ids.

The parameters of hash functions follow from this count (equation 5). Tokens are told apart by their 63-bit ids.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mate.build.engine import Engine
from mate.build.progress import Progress
from mate.build.stage import Staged

IDS_PER_TASK = 4_000_000
"""Ids of all units that a task sorts at a time."""

_HIGHEST = 2**63
PHASE = "count distinct tokens"


def count_distinct(engine: Engine, staged: Sequence[Staged], progress: Progress) -> int:
    """Return the number of distinct tokens of all units."""
    paths = [unit.path("ids") for unit in staged if unit.cells]
    total = sum(unit.distinct for unit in staged)
    tasks = max(1, -(-total // IDS_PER_TASK))
    bounds = [_HIGHEST * task // tasks for task in range(tasks + 1)]

    def run(task: int) -> tuple[int, dict[str, int]]:
        return _count(paths, bounds[task], bounds[task + 1]), {}

    return sum(engine.run(range(tasks), run, progress, PHASE))


def _count(paths: Sequence[str], low: int, high: int) -> int:
    pieces = [np.empty(0, np.int64)]
    for path in paths:
        ids = np.memmap(path, np.int64, "r")
        start = int(np.searchsorted(ids, low))
        stop = len(ids) if high == _HIGHEST else int(np.searchsorted(ids, high))
        pieces.append(ids[start:stop])
    return len(np.unique(np.concatenate(pieces)))
