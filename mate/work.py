"""Work that takes long: how far it is, and whether it is still wanted."""

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
    """A search or suggestion that another thread may look at, and cancel."""

    done: int = 0
    """Steps that are behind: segments that were searched, tables that were compared."""
    total: int = 0
    """Steps that are known of; a ranking may ask for more of them."""
    flag: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(1, np.uint8), repr=False)
    """One number: 1 once it is cancelled. Native loops look at it."""

    @property
    def cancelled(self) -> bool:
        """Whether nobody wants it any more."""
        return bool(self.flag[0])

    def cancel(self) -> None:
        """Let it end soon."""
        self.flag[0] = 1

    def expect(self, steps: int) -> None:
        """Note that there is more to do."""
        self.total += steps

    def advance(self, steps: int = 1) -> None:
        """Note what was done, unless nobody wants it any more."""
        self.check()
        self.done += steps

    def check(self) -> None:
        """Raise an error if nobody wants it any more."""
        if self.cancelled:
            raise CancelledError("the search was cancelled before it came to its end; start it again to have an answer")


_current: ContextVar[Work | None] = ContextVar("work", default=None)


def current_work() -> Work:
    """Return the work that this thread does; one that nobody looks at unless it was begun with `doing`."""
    return _current.get() or Work()


@contextmanager
def doing(work: Work) -> Iterator[Work]:
    """Let what is done inside count, and be cancelled, as a piece of work."""
    token = _current.set(work)
    try:
        yield work
    finally:
        _current.reset(token)
