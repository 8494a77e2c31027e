"""Work in threads: so much at a time, so much waiting, and nothing for those who have gone."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from mate.web.errors import BusyError
from mate.work import Work, doing

T = TypeVar("T")


class GoneError(Exception):
    """Nobody waits for the answer any more."""


@dataclass(eq=False)
class Ticket:
    """The place of a request in a queue, and how far its work is."""

    work: Work = field(default_factory=Work)
    before: int = 0
    """Requests that wait before it."""
    came: float = field(default_factory=time.monotonic)
    began: float | None = None
    ended: float | None = None

    @property
    def waited(self) -> float:
        """Seconds that it waited for a thread."""
        return (self.began or time.monotonic()) - self.came

    @property
    def ran(self) -> float:
        """Seconds that it has had a thread."""
        return 0.0 if self.began is None else (self.ended or time.monotonic()) - self.began


class Workers:
    """A few threads and a queue with an end.

    A request may wait for a thread as long as it may then have it. Work that waits is dropped when its client has gone
    or its time is over. What runs is cancelled then: it keeps its thread until its next step, so that there is never
    more of it than threads.
    """

    def __init__(self, threads: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mate-web")
        self._most = threads + waiting
        self._seconds = seconds
        self._lock = threading.Lock()
        self._pending = 0
        self._waiting: list[Ticket] = []

    async def run(self, task: Callable[[], T], gone: Callable[[], Awaitable[None]], ticket: Ticket | None = None) -> T:
        """Run a task in a thread and return what it returns, unless the client goes or time is over."""
        ticket = ticket or Ticket()
        future = self._submit(task, ticket)
        answer: asyncio.Future[T] = asyncio.wrap_future(future)
        leaving: asyncio.Future[None] = asyncio.ensure_future(gone())
        try:
            first: list[asyncio.Future[Any]] = [answer, leaving]
            while True:
                # Looks again where the request began to run meanwhile: its time is then counted from there on.
                done, _ = await asyncio.wait(first, timeout=self._left(ticket), return_when="FIRST_COMPLETED")
                if answer in done:
                    return answer.result()
                if leaving in done:
                    raise GoneError
        finally:
            leaving.cancel()
            if not future.done():
                ticket.work.cancel()
            future.cancel()
            answer.cancel()

    def _left(self, ticket: Ticket) -> float:
        """Return the seconds that a request may go on to wait, or to run; raise an error if there are none."""
        left = self._seconds - (ticket.waited if ticket.began is None else ticket.ran)
        if left > 0:
            return left
        if ticket.began is None:
            raise BusyError(f"waited {self._seconds:g} s for others to end; try again in a moment")
        raise BusyError(f"no answer after {self._seconds:g} s: search with fewer rows or key columns")

    def _submit(self, task: Callable[[], T], ticket: Ticket) -> Future[T]:
        with self._lock:
            if self._pending >= self._most:
                raise BusyError("too many searches wait already; try again in a moment")
            self._pending += 1
            ticket.before = len(self._waiting)
            self._waiting.append(ticket)
        future = self._pool.submit(self._do, task, ticket)
        future.add_done_callback(partial(self._done, ticket))
        return future

    def _do(self, task: Callable[[], T], ticket: Ticket) -> T:
        with self._lock:
            ticket.began = time.monotonic()
            self._leave_queue(ticket)
        try:
            with doing(ticket.work):
                return task()
        finally:
            ticket.ended = time.monotonic()

    def _done(self, ticket: Ticket, _: Future[T]) -> None:
        with self._lock:
            self._pending -= 1
            self._leave_queue(ticket)

    def _leave_queue(self, ticket: Ticket) -> None:
        """Let those who wait behind a request move up."""
        if ticket in self._waiting:
            self._waiting.remove(ticket)
            for place, other in enumerate(self._waiting):
                other.before = place

    def close(self) -> None:
        """Begin nothing more; what runs goes on to its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
