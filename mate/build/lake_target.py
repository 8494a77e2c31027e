"""Building into a lake: the tasks' segments are its segments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from mate.build.build import BuildSettings
from mate.build.build_directory import BuildDirectory
from mate.build.segments import Written
from mate.lake.manifest import Manifest


class LakeTarget:
    """A build of one lake."""

    def __init__(self, address: str | Path, wait: float = 0.0) -> None:
        self._workspace = BuildDirectory(address, wait)
        self.directory = self._workspace.directory

    def __enter__(self) -> Self:
        self._workspace.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._workspace.__exit__(*error)

    def check(self, settings: BuildSettings) -> None:
        """Accept all settings."""

    def task(self, manifest: Manifest) -> Callable[[Written], Any]:
        """Return what a task does with a segment: nothing more."""
        return _nothing

    def publish(self, manifest: Manifest, written: list[Written], stored: list[Any]) -> None:
        """Publish the segments."""
        self._workspace.publish((segment.folder for segment in written), manifest)


def _nothing(written: Written) -> None:
    """Leave a segment as it is."""
