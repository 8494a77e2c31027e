"""Progress on standard error: a bar on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
from typing import Any, Self


class Bar:
    """Shows how far a build or change is."""

    def __init__(self, beginning: str = "begin") -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        from mate.cli.terminal import console

        self._beginning = beginning
        self._progress = Progress(
            TextColumn("{task.description:18}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[counts]}"),
            TimeElapsedColumn(),
            console=console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task: Any = None
        self._waiting: Any = None

    def __enter__(self) -> Self:
        self._progress.start()
        self._waiting = self._progress.add_task(self._beginning, total=None, counts="")
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def start(self, phase: str, total: int) -> None:
        """Begin a phase."""
        if self._waiting is not None:
            self._progress.remove_task(self._waiting)
            self._waiting = None
        self._task = self._progress.add_task(phase, total=total, counts="")
        self._began = self._progress.get_time()

    def update(self, done: int, **counts: int) -> None:
        """Show how far it is, and the rate."""
        seconds = max(self._progress.get_time() - self._began, 1e-3)
        text = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        if counts.get("cells"):
            text += f" ({counts['cells'] / seconds / 1e3:,.0f} k/s)"
        self._progress.update(self._task, completed=done, counts=text)
