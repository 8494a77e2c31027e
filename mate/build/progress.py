"""Showing how far a build or a change is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Something that shows progress."""

    def start(self, phase: str, total: int) -> None:
        """Begin a phase of `total` units of work."""

    def update(self, done: int, **counts: int) -> None:
        """Show how many units are done, and other counts."""


class NoProgress:
    """Shows nothing."""

    def start(self, phase: str, total: int) -> None:
        """Show nothing."""

    def update(self, done: int, **counts: int) -> None:
        """Show nothing."""
