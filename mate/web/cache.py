"""An LRU cache of answers that took long to compute."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from mate.work import current_work

T = TypeVar("T")

MOST_ANSWERS = 100
CANCEL_SECONDS = 0.1
"""How often a thread that waits for the answer of another one checks whether it was cancelled."""


class AnswerCache(Generic[T]):
    """The most recently used answers; an answer that several threads ask for at the same time is computed once."""

    def __init__(self, most: int = MOST_ANSWERS) -> None:
        self._most = most
        self._answers: OrderedDict[str, T] = OrderedDict()
        self._computing: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, question: str) -> T | None:
        """Return a cached answer."""
        with self._lock:
            if question in self._answers:
                self._answers.move_to_end(question)
            return self._answers.get(question)

    def get_or_compute(self, question: str, compute: Callable[[], T]) -> T:
        """Return the answer to a question; if computing it fails, the next thread that waits for it tries."""
        with self._lock:
            computing = self._computing.setdefault(question, threading.Lock())
        while not computing.acquire(timeout=CANCEL_SECONDS):
            current_work().check()
        try:
            answer = self.get(question)
            if answer is None:
                answer = compute()
                self._add(question, answer)
            return answer
        finally:
            with self._lock:
                self._computing.pop(question, None)
            computing.release()

    def _add(self, question: str, answer: T) -> None:
        with self._lock:
            self._answers[question] = answer
            if len(self._answers) > self._most:
                self._answers.popitem(last=False)
