"""Building a lake: the segments that tasks write are moved into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mate.build.build import BuildSettings
from mate.build.build_directory import BuildDirectory
from mate.build.segments import Written
from mate.lake.manifest import Manifest


class LakeTarget(BuildDirectory):
    """A build of one lake."""

    def check(self, settings: BuildSettings) -> None:
        """Accept all settings."""

    def task(self, manifest: Manifest) -> Callable[[Written], Any]:
        """Return what a task does with a segment: nothing more."""
        return lambda written: None

    def publish(self, manifest: Manifest, written: list[Written], stored: list[Any]) -> None:
        """Publish the segments."""
        self.publish_segments(written, manifest)
