"""The progress of long work, and its cancellation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mate.errors import CancelledError


@dataclass
class Work:
    """A search or suggestion that other threads may observe and cancel."""

    done: int = 0
    """Finished steps: segments searched, tables compared."""
    total: int = 0
    """Known steps; a ranking may add more."""
    flag: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(1, np.uint8), repr=False)
    """One number: 1 once it is cancelled. Native loops check it."""

    def cancel(self) -> None:
        """Ask it to end soon."""
        self.flag[0] = 1

    def expect(self, steps: int) -> None:
        """Add steps to the total."""
        self.total += steps

    def advance(self, steps: int = 1) -> None:
        """Add finished steps; raise CancelledError if it is cancelled."""
        self.check()
        self.done += steps

    def check(self) -> None:
        """Raise CancelledError if it is cancelled."""
        if self.flag[0]:
            raise CancelledError("the search was cancelled before it came to its end; start it again to have an answer")


_current: ContextVar[Work | None] = ContextVar("work", default=None)


def current_work() -> Work:
    """Return the work of this thread: that of the enclosing `doing`, or an unobserved one."""
    return _current.get() or Work()


@contextmanager
def doing(work: Work) -> Iterator[Work]:
    """Run a block as this work."""
    token = _current.set(work)
    try:
        yield work
    finally:
        _current.reset(token)
