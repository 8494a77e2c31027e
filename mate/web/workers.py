"""Work in threads: so much at a time, so much waiting, and nothing for those who have gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from mate.web.errors import BusyError
from mate.work import Work, doing

T = TypeVar("T")


class GoneError(Exception):
    """Nobody waits for the answer any more."""


class Workers:
    """A few threads and a queue with an end.

    Work that waits is dropped when its client has gone or its time is over. What runs is cancelled then: it keeps its
    thread until its next step, so that there is never more of it than threads.
    """

    def __init__(self, threads: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mate-web")
        self._most = threads + waiting
        self._seconds = seconds
        self._lock = threading.Lock()
        self._pending = 0

    async def run(self, task: Callable[[], T], gone: Callable[[], Awaitable[None]], work: Work | None = None) -> T:
        """Run a task in a thread and return what it returns, unless the client goes or time is over."""
        work = work or Work()
        future = self._submit(partial(_do, task, work))
        answer: asyncio.Future[T] = asyncio.wrap_future(future)
        leaving: asyncio.Future[None] = asyncio.ensure_future(gone())
        try:
            first: list[asyncio.Future[Any]] = [answer, leaving]
            done, _ = await asyncio.wait(first, timeout=self._seconds, return_when="FIRST_COMPLETED")
            if answer in done:
                return answer.result()
            if leaving in done:
                raise GoneError
            raise BusyError(f"no answer after {self._seconds:g} s: search with fewer rows or key columns")
        finally:
            leaving.cancel()
            if not future.done():
                work.cancel()
            future.cancel()
            answer.cancel()

    def _submit(self, task: Callable[[], T]) -> Future[T]:
        with self._lock:
            if self._pending >= self._most:
                raise BusyError("too many searches wait already; try again in a moment")
            self._pending += 1
        future = self._pool.submit(task)
        future.add_done_callback(self._done)
        return future

    def _done(self, _: Future[T]) -> None:
        with self._lock:
            self._pending -= 1

    def close(self) -> None:
        """Begin nothing more; what runs goes on to its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _do(task: Callable[[], T], work: Work) -> T:
    with doing(work):
        return task()
