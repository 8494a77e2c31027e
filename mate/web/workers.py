"""Threads with a bounded queue, time limits, and cancellation when the client disconnects."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from mate.web.errors import OverloadError
from mate.work import Work, doing

T = TypeVar("T")


class ClientGoneError(Exception):
    """The client has disconnected."""


@dataclass(eq=False)
class Ticket:
    """The place of a request in the queue, and the progress of its work."""

    work: Work = field(default_factory=Work)
    before: int = 0
    """Requests that wait before it."""
    arrived: float = field(default_factory=time.monotonic)
    started: float | None = None
    ended: float | None = None

    @property
    def seconds_waited(self) -> float:
        """Seconds that it waited for a thread."""
        return (self.started or time.monotonic()) - self.arrived

    @property
    def seconds_run(self) -> float:
        """Seconds that it has had a thread."""
        return 0.0 if self.started is None else (self.ended or time.monotonic()) - self.started


class Workers:
    """A few threads and a bounded queue.

    A request may wait for `seconds`, and then run for `seconds`. A request whose client disconnects, or whose time is
    over, leaves the queue or is cancelled: then it keeps its thread until its next step.
    """

    def __init__(self, threads: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mate-web")
        self._most = threads + waiting
        self._seconds = seconds
        self._lock = threading.Lock()
        self._pending = 0
        self._waiting: list[Ticket] = []

    async def run(
        self, task: Callable[[], T], disconnected: Callable[[], Awaitable[None]], ticket: Ticket | None = None
    ) -> T:
        """Run a task in a thread and return its result, unless the client disconnects or time is over."""
        ticket = ticket or Ticket()
        future = self._submit(task, ticket)
        answer: asyncio.Future[T] = asyncio.wrap_future(future)
        leaving: asyncio.Future[None] = asyncio.ensure_future(disconnected())
        try:
            first: list[asyncio.Future[Any]] = [answer, leaving]
            while True:
                # After a timeout, the request may have started meanwhile: then its time to run counts from that point.
                done, _ = await asyncio.wait(first, timeout=self._seconds_left(ticket), return_when="FIRST_COMPLETED")
                if answer in done:
                    return answer.result()
                if leaving in done:
                    raise ClientGoneError
        finally:
            leaving.cancel()
            if not future.done():
                ticket.work.cancel()
            future.cancel()
            answer.cancel()

    def _seconds_left(self, ticket: Ticket) -> float:
        """Return the seconds that a request may continue to wait, or to run; raise an error if there are none."""
        left = self._seconds - (ticket.seconds_waited if ticket.started is None else ticket.seconds_run)
        if left > 0:
            return left
        if ticket.started is None:
            raise OverloadError(f"waited {self._seconds:g} s for others to end; try again in a moment")
        raise OverloadError(f"no answer after {self._seconds:g} s: search with fewer rows or key columns")

    def _submit(self, task: Callable[[], T], ticket: Ticket) -> Future[T]:
        with self._lock:
            if self._pending >= self._most:
                raise OverloadError("too many searches are waiting; try again in a moment")
            self._pending += 1
            ticket.before = len(self._waiting)
            self._waiting.append(ticket)
        future = self._pool.submit(self._run, task, ticket)
        future.add_done_callback(partial(self._finish, ticket))
        return future

    def _run(self, task: Callable[[], T], ticket: Ticket) -> T:
        with self._lock:
            ticket.started = time.monotonic()
            self._leave_queue(ticket)
        try:
            with doing(ticket.work):
                return task()
        finally:
            ticket.ended = time.monotonic()

    def _finish(self, ticket: Ticket, _: Future[T]) -> None:
        with self._lock:
            self._pending -= 1
            self._leave_queue(ticket)

    def _leave_queue(self, ticket: Ticket) -> None:
        if ticket in self._waiting:
            self._waiting.remove(ticket)
            for place, other in enumerate(self._waiting):
                other.before = place

    def close(self) -> None:
        """Start nothing more; what is running continues to its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
