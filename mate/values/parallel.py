"""Run a compiled kernel over the parts of a large batch at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

_WORTH_A_THREAD = 50_000
"""Fewer values than this are done before a thread has started."""


def in_parts(kernel: Callable[[int, int], None], count: int) -> None:
    """Call ``kernel(start, stop)`` for parts that make up ``range(count)``; the kernel must release the GIL."""
    threads = max(1, min(os.cpu_count() or 1, count // _WORTH_A_THREAD))
    bounds = [count * part // threads for part in range(threads + 1)]
    if threads == 1:
        kernel(0, count)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(kernel, *part) for part in pairwise(bounds)]:
            done.result()
