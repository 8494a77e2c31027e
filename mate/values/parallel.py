"""Do parts of some work at the same time, in threads that are kept: to start one takes as long as a small part.

Whoever has the work does parts of it, too, and helpers take those that it has not begun. So work inside a part may be
shared out again, and nobody ever waits for a thread that is not there: what no helper has time for is done as well.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

Out = TypeVar("Out")

_WORTH_A_THREAD = 50_000
"""Fewer values than this are done before a thread has begun."""


def at_once(task: Callable[..., Out], *items: Iterable[Any]) -> list[Out]:
    """Return what a task makes of items, as `map` does, with all processors; the task must release the GIL."""
    waiting = deque(enumerate(zip(*items, strict=True)))
    found: dict[int, Out] = {}

    def work() -> None:
        while waiting:
            try:
                number, arguments = waiting.popleft()
            except IndexError:  # somebody else was faster
                return
            try:
                found[number] = task(*arguments)
            except BaseException:
                waiting.clear()
                raise

    count = len(waiting)
    helpers = [_helpers().submit(work) for _ in range(min(count, os.cpu_count() or 1) - 1)]
    try:
        work()
    finally:
        begun = [helper for helper in helpers if not helper.cancel()]
        failures = [error for error in (helper.exception() for helper in begun) if error is not None]
    if failures:
        raise failures[0]
    return [found[number] for number in range(count)]


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="mate")


os.register_at_fork(after_in_child=_helpers.cache_clear)


def in_parts(loop: Callable[[int, int], None], count: int) -> None:
    """Call ``loop(start, stop)`` for parts that make up ``range(count)``; the loop must release the GIL."""
    parts = max(1, min(os.cpu_count() or 1, count // _WORTH_A_THREAD))
    at_once(loop, *zip(*pairwise(count * part // parts for part in range(parts + 1)), strict=True))
