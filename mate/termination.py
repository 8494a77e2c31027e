"""Clean up on SIGTERM and SIGHUP as on Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt in the main thread, unless they are handled otherwise."""
    main = threading.current_thread() is threading.main_thread()
    ours = [number for number in _SIGNALS if main and signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
