"""Rejects of one file, counted by reason: a million bad rows make one line in a report."""

from __future__ import annotations

from collections.abc import Iterator

from mate.corpus.table import Reject


class Tally:
    """Collects rejects of one kind; each reason keeps its first line and its count."""

    def __init__(self, source: str, kind: str) -> None:
        self._source = source
        self._kind = kind
        self._found: dict[str, tuple[int, int]] = {}

    def add(self, line: int, reason: str, count: int = 1) -> None:
        """Count one more (or ``count`` more) of this reason."""
        first, seen = self._found.get(reason, (line, 0))
        self._found[reason] = (min(first, line), seen + count)

    def merge(self, other: Tally, lines_before: int = 0) -> None:
        """Take in what was counted elsewhere, in lines that follow so many others."""
        for reason, (line, count) in other._found.items():
            self.add(lines_before + line, reason, count)

    def rejects(self) -> Iterator[Reject]:
        """Yield one reject a reason, in order of line."""
        for reason, (line, count) in sorted(self._found.items(), key=lambda item: item[1]):
            yield Reject(self._source, line, self._kind, reason, count)
