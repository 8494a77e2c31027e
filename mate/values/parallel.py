"""Run tasks in parallel, in a pool of threads that is started once.

The calling thread takes tasks from the same queue as the pool. So a task may run tasks in parallel itself, and a call
never waits for a pool that is busy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

Out = TypeVar("Out")

_VALUES_PER_THREAD = 50_000
"""With fewer values, starting a thread takes longer than the work."""


def at_once(task: Callable[..., Out], *items: Iterable[Any]) -> list[Out]:
    """Map a task over items with all processors; the task must release the GIL."""
    calls = list(zip(*items, strict=True))
    results: dict[int, Out] = {}
    numbers = iter(range(len(calls)))  # each of them comes to one thread

    def work() -> None:
        try:
            for number in numbers:
                results[number] = task(*calls[number])
        finally:
            for _ in numbers:  # after an error, no thread begins another call
                pass

    futures = [_pool().submit(work) for _ in range(min(len(calls), os.cpu_count() or 1) - 1)]
    try:
        work()
    finally:
        started = [future for future in futures if not future.cancel()]
        wait(started)
    for future in started:
        future.result()
    return [results[number] for number in range(len(calls))]


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="mate")


os.register_at_fork(after_in_child=_pool.cache_clear)


def in_parts(loop: Callable[[int, int], None], count: int) -> None:
    """Call ``loop(start, stop)`` in parallel for parts of ``range(count)``; the loop must release the GIL."""
    parts = max(1, min(os.cpu_count() or 1, count // _VALUES_PER_THREAD))
    at_once(loop, *zip(*pairwise(count * part // parts for part in range(parts + 1)), strict=True))
