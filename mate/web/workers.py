"""Threads with a bounded queue, time limits, and cancellation when the client disconnects."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mate.web.replies import WebError
from mate.work import Work, doing

T = TypeVar("T")


class ClientGoneError(Exception):
    """The client has disconnected."""


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

    A request may wait for `seconds`, and then run for `seconds`. A request whose client disconnects, or whose time is
    over, leaves the queue or is cancelled: then it keeps its thread until its next step.
    """

    def __init__(self, threads: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mate-web")
        self._threads = asyncio.Semaphore(threads)
        self._most_waiting = waiting
        self._seconds = seconds
        self._waiting: list[Ticket] = []

    async def run(self, task: Callable[[], T], disconnected: Callable[[], Awaitable[None]], ticket: Ticket) -> T:
        """Run a task in a thread and return its result, unless the client disconnects or time is over."""
        leaving = asyncio.ensure_future(disconnected())
        try:
            arrived = time.monotonic()
            await self._wait(ticket, leaving)
            started = time.monotonic()
            result = await self._run(task, ticket, leaving)
            ticket.seconds_waited, ticket.seconds_run = started - arrived, time.monotonic() - started
            return result
        finally:
            leaving.cancel()

    async def _wait(self, ticket: Ticket, leaving: asyncio.Future[None]) -> None:
        """Wait for a thread."""
        if self._threads.locked() and len(self._waiting) >= self._most_waiting:
            raise WebError("too many searches are waiting; try again in a moment", 503)
        ticket.before = len(self._waiting)
        self._waiting.append(ticket)
        free = asyncio.ensure_future(self._threads.acquire())
        try:
            await self._first(free, leaving, f"waited {self._seconds:g} s for others to end; try again in a moment")
        except BaseException:
            if not free.cancel():  # it came at the last moment
                self._threads.release()
            raise
        finally:
            self._waiting.remove(ticket)
            for place, other in enumerate(self._waiting):
                other.before = place
        ticket.before = None

    async def _run(self, task: Callable[[], T], ticket: Ticket, leaving: asyncio.Future[None]) -> T:
        """Run a task in the thread that is free."""

        def work() -> T:
            with doing(ticket.work):
                return task()

        answer = asyncio.wrap_future(self._pool.submit(work))
        answer.add_done_callback(self._free_thread)
        try:
            late = f"no answer after {self._seconds:g} s: search with fewer rows or key columns"
            return await self._first(answer, leaving, late)
        finally:
            ticket.work.cancel()

    async def _first(self, answer: asyncio.Future[T], leaving: asyncio.Future[None], late: str) -> T:
        """Return an answer if it comes in time and the client is still there."""
        both: list[asyncio.Future[Any]] = [answer, leaving]
        done, _ = await asyncio.wait(both, timeout=self._seconds, return_when="FIRST_COMPLETED")
        if answer in done:
            return answer.result()
        if leaving in done:
            raise ClientGoneError
        raise WebError(late, 503)

    def _free_thread(self, answer: asyncio.Future[Any]) -> None:
        self._threads.release()
        answer.exception()  # asyncio logs errors that nobody asks for

    def close(self) -> None:
        """Start nothing more; what is running continues to its end."""
        self._pool.shutdown(wait=False)
