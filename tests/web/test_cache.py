"""Cached answers: computed once, the most recently used ones kept, and computed again after an error."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mate.errors import CancelledError
from mate.web.cache import AnswerCache
from mate.work import Work, doing


def test_an_answer_is_computed_once_also_for_threads_that_ask_meanwhile() -> None:
    cache: AnswerCache[int] = AnswerCache()
    begun, free, calls = threading.Event(), threading.Event(), []

    def work() -> int:
        calls.append(1)
        begun.set()
        assert free.wait(30)
        return 7

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(cache.get_or_compute, "a", work)
        assert begun.wait(30)
        others = [pool.submit(cache.get_or_compute, "a", work) for _ in range(2)]
        assert cache.get("a") is None
        assert cache.get_or_compute("b", lambda: 8) == 8  # another question does not wait
        free.set()
        assert [one.result() for one in (first, *others)] == [7, 7, 7]
    assert (cache.get("a"), len(calls)) == (7, 1)


def test_an_error_is_not_cached() -> None:
    cache: AnswerCache[int] = AnswerCache()
    with pytest.raises(ZeroDivisionError):
        cache.get_or_compute("a", lambda: 1 // 0)
    assert cache.get_or_compute("a", lambda: 7) == 7


def test_the_least_recently_used_answer_is_dropped() -> None:
    cache: AnswerCache[str] = AnswerCache(2)
    for question in "ab":
        cache.get_or_compute(question, lambda question=question: question)  # type: ignore[misc]
    assert cache.get("a") == "a"
    cache.get_or_compute("c", lambda: "c")
    assert [cache.get(question) for question in "abc"] == ["a", None, "c"]


def test_a_thread_that_waits_for_another_can_be_cancelled() -> None:
    cache: AnswerCache[int] = AnswerCache()
    begun, free = threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        free.wait(30)
        return 7

    work = Work()
    work.cancel()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(cache.get_or_compute, "a", slow)
        assert begun.wait(30)
        with doing(work), pytest.raises(CancelledError):
            cache.get_or_compute("a", lambda: 8)
        free.set()
        assert running.result() == 7
