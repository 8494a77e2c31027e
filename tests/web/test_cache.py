"""Answers that are kept: worked out once, as many as there is room for, and again after an error."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mate.errors import CancelledError
from mate.web.cache import AnswerCache
from mate.work import Work, doing


def test_a_question_is_worked_out_once_also_while_it_is_under_way() -> None:
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


def test_an_error_is_not_kept() -> None:
    cache: AnswerCache[int] = AnswerCache()
    with pytest.raises(ZeroDivisionError):
        cache.get_or_compute("a", lambda: 1 // 0)
    assert cache.get_or_compute("a", lambda: 7) == 7


def test_the_answer_that_was_not_asked_for_longest_goes() -> None:
    cache: AnswerCache[str] = AnswerCache(2)
    for question in "ab":
        cache.get_or_compute(question, lambda question=question: question)  # type: ignore[misc]
    assert cache.get("a") == "a"
    cache.get_or_compute("c", lambda: "c")
    assert [cache.get(question) for question in "abc"] == ["a", None, "c"]


def test_who_waits_for_the_answer_of_another_can_be_cancelled() -> None:
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
