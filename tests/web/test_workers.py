"""Work in threads: limits, time, and requests that are cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from mate.web.replies import WebError
from mate.web.workers import Ticket, Workers
from mate.work import current_work

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def ask(workers: Workers, task: Callable[[], Any], ticket: Ticket | None = None) -> asyncio.Task[Any]:
    """Start a request."""
    return asyncio.create_task(workers.run(task, ticket or Ticket()))


async def test_results_and_errors_come_through() -> None:
    workers, ticket = Workers(1, 1, 60), Ticket()
    assert await ask(workers, lambda: 7, ticket) == 7
    assert ticket.before is None
    assert min(ticket.seconds_waited, ticket.seconds_run) > 0
    with pytest.raises(ZeroDivisionError):
        await ask(workers, lambda: 1 // 0)
    workers.close()


async def test_a_full_queue_refuses_and_recovers() -> None:
    workers, free = Workers(1, 1, 60), threading.Event()
    running, waiting = ask(workers, free.wait), ask(workers, free.wait)
    await asyncio.sleep(0.01)
    with pytest.raises(WebError, match="too many") as caught:
        await ask(workers, lambda: 7)
    assert caught.value.status == 503
    free.set()
    assert await asyncio.gather(running, waiting) == [True, True]
    assert await ask(workers, lambda: 7) == 7


@pytest.mark.parametrize("seconds", [0.05, 60])
async def test_cancelled_work_frees_its_thread(seconds: float) -> None:
    """Whether time is over or the request is cancelled: a search without an end stops at its next step."""
    workers, started, ended = Workers(1, 5, seconds), threading.Event(), threading.Event()

    def search() -> None:
        work = current_work()
        try:
            while True:
                work.advance()
                started.set()
        finally:
            ended.set()

    running = ask(workers, search)
    if seconds == 60:
        await until(started.is_set)
        running.cancel()
    with pytest.raises(asyncio.CancelledError if seconds == 60 else WebError):
        await running
    await until(ended.is_set)
    assert await ask(workers, lambda: 7) == 7


async def test_requests_know_their_place_and_one_that_is_cancelled_is_not_started() -> None:
    workers, free, last, started = Workers(1, 5, 60), threading.Event(), Ticket(), threading.Event()
    first, leaves, waits = ask(workers, free.wait), ask(workers, started.set), ask(workers, lambda: 7, last)
    await until(lambda: last.before == 1)  # one has the thread, one waits
    leaves.cancel()
    await until(lambda: last.before == 0)
    free.set()
    assert await first
    assert await waits == 7
    assert not started.is_set()


async def test_waiting_takes_nothing_of_the_time_to_run() -> None:
    workers, free = Workers(1, 5, 0.5), threading.Event()
    first, second = ask(workers, lambda: free.wait(0.4)), ask(workers, lambda: free.wait(0.4))
    assert await asyncio.gather(first, second) == [False, False]


async def test_time_is_limited_and_the_thread_stays_taken() -> None:
    workers, free = Workers(1, 5, 0.05), threading.Event()
    with pytest.raises(WebError, match=r"no answer after 0\.05 s"):
        await ask(workers, free.wait)
    with pytest.raises(WebError, match=r"waited 0\.05 s"):  # for the only thread
        await ask(workers, lambda: 7)
    free.set()
    await asyncio.sleep(0.01)
    assert await ask(workers, lambda: 7) == 7
