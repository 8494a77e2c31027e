"""How far a run is: a bar with the time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from threading import Lock
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from mate.cli.terminal import console

SAY_EVERY = 15.0
"""Seconds between two lines where there is no terminal."""


class RunProgress:
    """Shows building and measuring; may be called from several threads."""

    def __init__(self) -> None:
        self._screen = console(stderr=True)
        self._terminal = sys.stderr.isatty()
        self._bar = Progress(
            TextColumn("{task.description:36.36}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[detail]:24.24}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._screen,
            transient=True,
            disable=not self._terminal,
        )
        self._lock = Lock()
        self._task: Any = None
        self._total = self._done = 0
        self._began = self._said = time.monotonic()

    def __enter__(self) -> RunProgress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """Say something that stays."""
        self._screen.print(text, markup=False, soft_wrap=True)

    def begin(self, what: str, total: int) -> None:
        """Begin to measure so many runs."""
        with self._lock:
            self._drop()
            self._total, self._done = total, 0
            self._began = self._said = time.monotonic()
            self._task = self._bar.add_task(what, total=total, detail="")

    def advance(self, what: str, detail: str = "", by: int = 1) -> None:
        """One run more is done."""
        with self._lock:
            self._done += by
            self._bar.update(self._task, advance=by, description=what, detail=detail)
            now = time.monotonic()
            if not self._terminal and now - self._said >= SAY_EVERY and self._done < self._total:
                self._said = now
                left = (now - self._began) / self._done * (self._total - self._done)
                self.say(f"  {self._done:,} of {self._total:,} runs, {what}; about {duration(left)} left")

    # What a build tells (`mate.build.engine.Progress`).

    def start(self, phase: str, total: int) -> None:
        """Begin a phase of a build."""
        with self._lock:
            self._drop()
            self._task = self._bar.add_task(f"index: {phase}", total=total, detail="")

    def update(self, done: int, **counts: int) -> None:
        """Show how far the phase is."""
        with self._lock:
            detail = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
            self._bar.update(self._task, completed=done, detail=detail)

    def _drop(self) -> None:
        if self._task is not None:
            self._bar.remove_task(self._task)
            self._task = None


def duration(seconds: float) -> str:
    """Return seconds as people say them.

    >>> duration(42), duration(150), duration(4000)
    ('42 s', '3 min', '1 h 7 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
