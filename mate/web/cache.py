"""An LRU cache, for uploaded tables and for answers that take long to compute."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class LruCache(Generic[T]):
    """The most recently used values; several threads may use it."""

    def __init__(self, most: int, most_bytes: float = math.inf, size: Callable[[T], int] = lambda _: 0) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._size = size
        self._values: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> T | None:
        """Return a value, or None."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def add(self, key: str, value: T) -> None:
        """Add a value, and drop the least recently used ones beyond the limits; the new one always stays."""
        with self._lock:
            self._values[key] = value
            while len(self._values) > 1 and self._is_too_large():
                self._values.popitem(last=False)

    def _is_too_large(self) -> bool:
        return len(self._values) > self._most or sum(map(self._size, self._values.values())) > self._most_bytes
