"""Progress protocol."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Something that shows progress."""

    def start(self, phase: str, total: int) -> None:
        """Begin a phase of `total` units of work."""

    def update(self, done: int, **counts: int) -> None:
        """Report how many units are done, and other counts worth showing."""


class Silent:
    """Shows nothing."""

    def start(self, phase: str, total: int) -> None:
        """Say nothing."""

    def update(self, done: int, **counts: int) -> None:
        """Say nothing."""
