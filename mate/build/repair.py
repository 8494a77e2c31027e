"""Repair: what follows from the cells is rebuilt from them, and published as a change is."""

from __future__ import annotations

from dataclasses import replace

from mate.build.build import failure_explained, now
from mate.build.build_directory import BuildDirectory
from mate.build.check import Findings, check, live_counts, rewrite
from mate.build.progress import Progress, Silent
from mate.errors import StoreError
from mate.lake.folder import SEGMENTS, open_folder, read_manifest
from mate.lake.manifest import Counts
from mate.lake.segment_folder import SegmentFolder


def repair(address: str, findings: Findings, wait: float = 10.0, progress: Progress | None = None) -> Findings:
    """Rebuild the damaged segments of a lake from their cells; return what a check then finds."""
    if not findings.repairable:
        raise StoreError(f"{address} cannot be repaired: cells or records are damaged; build the index again")
    progress = progress or Silent()
    wrong = {problem.segment for problem in findings.problems}
    with BuildDirectory(address, wait, "build or change") as workspace, failure_explained("repair"):
        path = workspace.path
        manifest = read_manifest(path)
        # Somebody may have compacted since the check.
        names = [record.name for record in manifest.segments if record.name in wrong]
        progress.start("rebuild segments", len(names))
        written = {}
        for number, name in enumerate(names):
            folder = SegmentFolder.open(path / SEGMENTS / name)
            written[name] = rewrite(folder, manifest, str(workspace.directory))
            progress.update(number + 1)
        segments = tuple(
            replace(record, name=written[record.name].record.name, files=written[record.name].record.files)
            if record.name in written
            else record
            for record in manifest.segments
        )
        manifest = replace(manifest, segments=segments, changed=now())
        workspace.publish((segment.folder for segment in written.values()), manifest)
        lake = open_folder(path)
        counts = sum((live_counts(segment) for segment in lake.segments), Counts())
        counts += Counts(rejects=sum(reject["count"] for reject in lake.rejects()))
        workspace.publish((), replace(manifest, counts=counts))
    return check(address, progress)
