"""Answers that took long, kept for those who ask the same next."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from mate.work import current_work

T = TypeVar("T")

MOST_KEPT = 100
"""Answers that are kept; the one that was not asked for longest goes first."""
LOOKS = 0.1
"""Seconds after which somebody who waits for another's answer looks whether it is still wanted."""


class KeptAnswers(Generic[T]):
    """The answers given last, by question. One that is asked again while it is worked out is worked out once."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[str, T] = OrderedDict()
        self._turns: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def find(self, question: str) -> T | None:
        """Return an answer that is known."""
        with self._lock:
            if question in self._kept:
                self._kept.move_to_end(question)
            return self._kept.get(question)

    def answer(self, question: str, work: Callable[[], T]) -> T:
        """Return the answer to a question, working it out if nobody has; the next one in turn does if that fails."""
        with self._lock:
            turn = self._turns.setdefault(question, threading.Lock())
        while not turn.acquire(timeout=LOOKS):
            current_work().check()
        try:
            found = self.find(question)
            return self._keep(question, work()) if found is None else found
        finally:
            with self._lock:
                self._turns.pop(question, None)
            turn.release()

    def _keep(self, question: str, found: T) -> T:
        with self._lock:
            self._kept[question] = found
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return found
