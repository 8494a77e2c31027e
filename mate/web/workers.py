"""Threads with a bounded queue, time limits, and cancellation."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mate.web.replies import WebError
from mate.work import Work, doing

T = TypeVar("T")


@dataclass(eq=False)
class Ticket:
    """The place of a request in the queue, and the progress of its work."""

    work: Work = field(default_factory=Work)
    before: int | None = 0
    """Requests that wait before it; None once it runs."""
    seconds_waited: float = 0.0
    seconds_run: float = 0.0


class Workers:
    """A few threads and a bounded queue, used by one event loop.

    A request may wait for `seconds`, and then run for `seconds`. One that is cancelled, or whose time is over, leaves
    the queue; if it runs, its work is cancelled and keeps its thread until its next step.
    """

    def __init__(self, threads: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mate-web")
        self._threads = asyncio.Semaphore(threads)
        self._most_waiting = waiting
        self._seconds = seconds
        self._waiting: list[Ticket] = []

    async def run(self, task: Callable[[], T], ticket: Ticket) -> T:
        """Run a task in a thread and return its result."""
        arrived = time.monotonic()
        await self._wait(ticket)
        started = time.monotonic()

        def work() -> T:
            with doing(ticket.work):
                return task()

        answer = asyncio.wrap_future(self._pool.submit(work))
        answer.add_done_callback(self._free_thread)
        try:
            await asyncio.wait([answer], timeout=self._seconds)
            if not answer.done():
                raise WebError(f"no answer after {self._seconds:g} s: search with fewer rows or key columns", 503)
            return answer.result()
        finally:
            if not answer.done():
                ticket.work.cancel()
            ticket.seconds_waited, ticket.seconds_run = started - arrived, time.monotonic() - started

    async def _wait(self, ticket: Ticket) -> None:
        """Wait for a thread."""
        if self._threads.locked() and len(self._waiting) >= self._most_waiting:
            raise WebError("too many searches are waiting; try again in a moment", 503)
        ticket.before = len(self._waiting)
        self._waiting.append(ticket)
        try:
            async with asyncio.timeout(self._seconds):
                await self._threads.acquire()
        except TimeoutError:
            raise WebError(f"waited {self._seconds:g} s for others to end; try again in a moment", 503) from None
        finally:
            self._waiting.remove(ticket)
            for place, other in enumerate(self._waiting):
                other.before = place
        ticket.before = None

    def _free_thread(self, answer: asyncio.Future[Any]) -> None:
        self._threads.release()
        answer.exception()  # asyncio logs errors that nobody asks for

    def close(self) -> None:
        """Start nothing more; what is running continues to its end."""
        self._pool.shutdown(wait=False)
