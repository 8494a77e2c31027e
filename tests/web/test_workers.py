"""Work in threads: limits, time, and clients that go."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from mate.web.errors import OverloadError
from mate.web.workers import ClientGoneError, Ticket, Workers
from mate.work import current_work


async def never() -> None:
    await asyncio.Event().wait()


async def at_once() -> None:
    return


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def test_work_is_done_and_errors_come_through() -> None:
    async def both() -> None:
        workers = Workers(1, 1, 60)
        assert await workers.run(lambda: 7, never) == 7
        with pytest.raises(ZeroDivisionError):
            await workers.run(lambda: 1 // 0, never)
        workers.close()

    asyncio.run(both())


def test_a_full_queue_refuses_and_recovers() -> None:
    async def crowd() -> None:
        workers, free = Workers(1, 1, 60), threading.Event()
        waiting = [asyncio.create_task(workers.run(free.wait, never)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadError, match="too many"):
            await workers.run(lambda: 7, never)
        free.set()
        assert await asyncio.gather(*waiting) == [True, True]
        assert await workers.run(lambda: 7, never) == 7
        workers.close()

    asyncio.run(crowd())


def test_work_of_a_client_that_went_is_not_begun() -> None:
    async def leave() -> None:
        workers, free, begun = Workers(1, 5, 60), threading.Event(), []
        first = asyncio.create_task(workers.run(free.wait, never))
        await asyncio.sleep(0)
        with pytest.raises(ClientGoneError):
            await workers.run(lambda: begun.append("left"), at_once)
        free.set()
        await first
        await workers.run(lambda: begun.append("stayed"), never)
        assert begun == ["stayed"]
        workers.close()

    asyncio.run(leave())


@pytest.mark.parametrize("seconds", [0.05, 60])
def test_cancelled_work_frees_its_thread(seconds: float) -> None:
    """Whether time is over or the client goes: a search without an end stops at its next step."""

    async def endless() -> None:
        workers, begun, ended = Workers(1, 5, seconds), threading.Event(), threading.Event()

        def search() -> None:
            work = current_work()
            try:
                while True:
                    work.advance()
                    begun.set()
            finally:
                ended.set()

        async def soon() -> None:
            await (_until(begun.is_set) if seconds == 60 else never())

        with pytest.raises(ClientGoneError if seconds == 60 else OverloadError):
            await workers.run(search, soon)
        await _until(ended.is_set)
        await _until(lambda: workers._pending == 0)
        assert await workers.run(lambda: 7, never) == 7
        workers.close()

    asyncio.run(endless())


def test_those_who_wait_know_their_place() -> None:
    async def queue() -> None:
        workers, free, last = Workers(1, 5, 60), threading.Event(), Ticket()
        first = asyncio.create_task(workers.run(free.wait, never))
        leaves = asyncio.create_task(workers.run(free.wait, never))
        waits = asyncio.create_task(workers.run(lambda: 7, never, last))
        await _until(lambda: last.before == 1)  # one has the thread, one waits
        leaves.cancel()
        await _until(lambda: last.before == 0)
        assert last.started is None
        free.set()
        assert await first
        assert await waits == 7
        assert last.seconds_waited > 0
        assert last.seconds_run >= 0
        workers.close()

    asyncio.run(queue())


def test_waiting_takes_nothing_of_the_time_to_run() -> None:
    workers, now = Workers(1, 5, 60), time.monotonic()
    assert workers._seconds_left(Ticket(arrived=now - 59, started=now)) > 50
    with pytest.raises(OverloadError, match="no answer after 60 s"):
        workers._seconds_left(Ticket(arrived=now - 100, started=now - 61))
    with pytest.raises(OverloadError, match="waited 60 s"):
        workers._seconds_left(Ticket(arrived=now - 61))
    workers.close()


def test_time_is_limited_and_the_thread_stays_taken() -> None:
    async def late() -> None:
        workers, free, begun = Workers(1, 5, 0.05), threading.Event(), threading.Event()

        def search() -> None:
            begun.set()
            free.wait()

        with pytest.raises(OverloadError, match=r"no answer after 0\.05 s"):
            await workers.run(search, never)
        assert begun.is_set()
        with pytest.raises(OverloadError, match=r"waited 0\.05 s"):  # for the only thread
            await workers.run(lambda: 7, never)
        free.set()
        await _until(lambda: workers._pending == 0)
        assert await workers.run(lambda: 7, never) == 7
        workers.close()

    asyncio.run(late())
