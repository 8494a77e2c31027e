"""Progress of downloads on standard error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich import progress

from mate.cli.terminal import console

if TYPE_CHECKING:
    from experiments.corpora.download import DownloadResult


class DownloadBars:
    """One bar for all files and one per file under way; failures are printed as lines."""

    def __init__(self, files: int) -> None:
        screen = console(stderr=True)
        self._bars = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.DownloadColumn(),
            progress.TransferSpeedColumn(),
            progress.TimeRemainingColumn(),
            console=screen,
            transient=True,
            disable=not screen.is_terminal,
        )
        self._files = files
        self._done = 0
        self._sizes: dict[str, int] = {}
        self._tasks: dict[str, progress.TaskID] = {}
        self._all = self._bars.add_task(self._title(), total=None)

    def __enter__(self) -> DownloadBars:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def follow(self, results: Iterable[DownloadResult]) -> list[DownloadResult]:
        """Collect the results; print each failure at once."""
        done = []
        for result in results:
            done.append(result)
            self._done += 1
            self._bars.update(self._all, description=self._title())
            if result.status == "failed":
                line = f"{result.file.name}: {result.reason}"
                self._bars.console.print(line, markup=False, soft_wrap=True)
        return done

    def started(self, name: str, done: int, total: int | None) -> None:
        """Show the bar of a file."""
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=total)
        self._bars.reset(self._tasks[name], completed=done, total=total)
        if total is not None:
            self._sizes[name] = total
            sizes = list(self._sizes.values())
            self._bars.update(self._all, total=sum(sizes) / len(sizes) * self._files)  # an estimate that gets better

    def received(self, name: str, size: int) -> None:
        """Advance the bar of a file, and that of all files."""
        self._bars.advance(self._tasks[name], size)
        self._bars.advance(self._all, size)

    def ended(self, name: str) -> None:
        """Remove the bar of a file."""
        if name in self._tasks:
            self._bars.remove_task(self._tasks.pop(name))

    def _title(self) -> str:
        return f"{self._done} of {self._files} files"
