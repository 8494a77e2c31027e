"""Checking a lake (`mate check`), and repairing it: files against their checksums, arrays against the cells.

The cells as they were read are taken for the truth. Everything else in a segment follows from them and the manifest:
each segment is written again beside the lake, and compared with what is there. A repair publishes what was written.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mate.build.build import now
from mate.build.engine import NoProgress, Progress, failure_explained
from mate.build.lake_target import LakeTarget, table_counts
from mate.build.segments import NewSegment, SegmentPlan, write_segment
from mate.build.sources import SYNTHETIC
from mate.build.stage import StageSettings, stage_unit
from mate.build.stored_tables import StoredTable
from mate.corpus import Limits
from mate.errors import StoreError
from mate.files import file_crc32
from mate.lake.arrays import ArrayFile
from mate.lake.folder import MANIFEST, SEGMENTS, LakeFolder, open_folder, read_manifest
from mate.lake.layout import SegmentArrays
from mate.lake.manifest import Counts, Manifest, OtherVersionError, SegmentRecord
from mate.lake.remote import local_folder
from mate.lake.segment import ARRAYS, Segment
from mate.lake.segment_folder import SegmentFolder


class Problem(NamedTuple):
    """Something that is wrong."""

    part: str
    text: str
    segment: str = ""
    table_id: int | None = None
    repairable: bool = False
    """Whether it can be rebuilt from the cells."""


@dataclass
class Findings:
    """What a check found."""

    problems: list[Problem] = field(default_factory=list)
    cells: int = 0

    @property
    def counts(self) -> Counter[str]:
        """Problems by part."""
        return Counter(problem.part for problem in self.problems)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def repairable(self) -> bool:
        """Whether everything that is wrong can be rebuilt."""
        return not self.sound and all(problem.repairable for problem in self.problems)

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "sound": self.sound,
            "repairable": self.repairable,
            "counts": dict(self.counts),
            "problems": [
                {"part": p.part, "segment": p.segment, "table_id": p.table_id, "problem": p.text} for p in self.problems
            ],
        }


def check(address: str, progress: Progress | None = None) -> Findings:
    """Check the lake at an address and return what is wrong with it."""
    progress, path = progress or NoProgress(), local_folder(address)
    findings = Findings()
    try:
        manifest = read_manifest(path)
    except StoreError as error:
        if not (path / MANIFEST).exists() or isinstance(error, OtherVersionError):
            raise
        return Findings([Problem("manifest", str(error))])
    progress.start("check segments", len(manifest.segments))
    for number, record in enumerate(manifest.segments):
        findings.problems += check_segment(path, record, manifest)
        findings.cells += record.counts.cells
        progress.update(number + 1, cells=findings.cells)
    if findings.sound:
        findings.problems += _check_lake(open_folder(path))
    return findings


def check_segment(path: Path, record: SegmentRecord, manifest: Manifest) -> Iterator[Problem]:
    """Yield what is wrong with a segment."""
    folder = path / SEGMENTS / record.name
    bad = dict(_bad_files(folder, record))
    for text in bad.values():
        yield Problem("file", text, record.name, None, set(bad) == {ARRAYS})
    if not bad:
        yield from _compare(folder, record, manifest)


def _bad_files(folder: Path, record: SegmentRecord) -> Iterator[tuple[str, str]]:
    """Yield the files of a segment that are not what they were, each with what is wrong."""
    for name, (size, crc) in record.files.items():
        path = folder / name
        try:
            found = path.stat().st_size
            if found != size:
                yield name, f"{path} has {found:,} bytes, it was written with {size:,}"
            elif file_crc32(path) != crc:
                yield name, f"{path} does not have its checksum"
        except FileNotFoundError:
            yield name, f"{path} is missing"
        except OSError as error:
            yield name, f"{path} cannot be read: {error.strerror}"


def _compare(folder: Path, record: SegmentRecord, manifest: Manifest) -> Iterator[Problem]:
    """Write a segment again and compare arrays, tables and counts."""
    try:
        segment = Segment.open(folder, len(manifest.hashes))
        segment.verify()
    except StoreError as error:
        yield Problem("arrays", str(error), record.name, None, True)
        return
    with tempfile.TemporaryDirectory(prefix="mate-check-") as scratch:
        rewritten = _rewrite(segment.folder, manifest, scratch)
        expected = ArrayFile(Path(rewritten.folder, ARRAYS))
        for name in (*SegmentArrays._fields, *(f"keys{number}" for number in range(len(manifest.hashes)))):
            own, right = segment.file[name], expected[name]
            if own.dtype != right.dtype or own.shape != right.shape or not np.array_equal(own, right):
                part = "super keys" if name.startswith("keys") else name.replace("_", " ")
                yield Problem(part, f"{name} does not follow from the cells", record.name, None, True)
        tables = SegmentFolder(Path(rewritten.folder)).tables()
        for info, table in zip(segment.folder.tables(), tables, strict=True):
            if info != table:
                text = f"noted with {info.rows:,} rows, it has {table.rows:,}"
                yield Problem("tables", text, record.name, info.table_id)
        if rewritten.record.counts != record.counts:
            yield Problem("manifest", f"the counts of segment {record.name} are not those of its tables", record.name)


def _rewrite(folder: SegmentFolder, manifest: Manifest, directory: str | Path) -> NewSegment:
    """Write a segment again from its own cells."""
    infos = folder.tables()
    sources = [StoredTable(str(folder.path), place, info) for place, info in enumerate(infos)]
    settings = StageSettings(frozenset(manifest.nulls), Limits(**manifest.limits))
    [lot] = stage_unit(sources, str(directory), settings)
    lot.replace_records(folder.sources_file.read(), folder.rejects_file.read())
    ids = np.array([info.table_id for info in infos], np.int64)
    return write_segment(SegmentPlan(0, (lot,), (ids,)), str(directory), manifest.hashes)


def _check_lake(lake: LakeFolder) -> Iterator[Problem]:
    """Check that segments and manifest fit each other."""
    owners: dict[int, str] = {}
    for segment, record in zip(lake.segments, lake.manifest.segments, strict=True):
        unknown = set(record.superseded_tables) - set(segment.arrays.table_id.tolist())
        if unknown:
            text = f"segment {record.name} does not have the superseded table {min(unknown)}"
            yield Problem("manifest", text, record.name)
        for number in segment.arrays.table_id[segment.live].tolist():
            if number in owners:
                text = f"it is in use in the segments {owners[number]} and {record.name}"
                yield Problem("tables", text, record.name, number)
            owners[number] = record.name
            if number >= lake.manifest.next_table:
                yield Problem("manifest", "a table has a number that was not given yet", record.name, number)
    for name, found in asdict(_live_counts(lake)).items():
        noted = getattr(lake.manifest.counts, name)
        if found != noted:
            yield Problem("manifest", f"the manifest has {noted:,} {name}, the index {found:,}", "", None, True)
    yield from _check_sources(lake)


def _check_sources(lake: LakeFolder) -> Iterator[Problem]:
    """Compare how many tables each source has; tables of a synthetic lake name no single source."""
    found = Counter(table.source for table in lake.tables())
    noted = {record["source"]: record for record in lake.sources()}
    for source, record in noted.items():
        if record["format"] != "synthetic" and record["tables"] != found[source]:
            text = f"{source} is noted with {record['tables']:,} tables, the index has {found[source]:,} of it"
            yield Problem("sources", text)
    for source in sorted(set(found) - set(noted)):
        if not source.startswith(SYNTHETIC):
            yield Problem("sources", f"{source} is missing")


def _live_counts(lake: LakeFolder) -> Counts:
    """Count what the tables in use hold, and the rejects."""
    tables = [table_counts(segment, int(place)) for segment in lake.segments for place in np.flatnonzero(segment.live)]
    return sum(tables, Counts(rejects=sum(reject["count"] for reject in lake.rejects())))


def repair(address: str, findings: Findings, wait: float = 10.0, progress: Progress | None = None) -> Findings:
    """Rebuild the damaged segments of a lake from their cells; return what a check then finds."""
    if not findings.repairable:
        raise StoreError(f"{address} cannot be repaired: cells or records are damaged; build the index again")
    progress = progress or NoProgress()
    damaged = {problem.segment for problem in findings.problems}
    with LakeTarget(address, wait) as target, failure_explained("repair"):
        manifest = read_manifest(target.path)
        progress.start("rebuild segments", len(manifest.segments))
        records, new_segments = [], []
        for number, record in enumerate(manifest.segments):
            if record.name in damaged:
                segment = _rewrite(SegmentFolder(target.path / SEGMENTS / record.name), manifest, target.directory)
                record = replace(record, name=segment.record.name, files=segment.record.files)
                new_segments.append(segment)
            records.append(record)
            progress.update(number + 1)
        manifest = replace(manifest, segments=tuple(records), changed=now())
        target.publish(manifest, new_segments)
        target.publish(replace(manifest, counts=_live_counts(open_folder(target.path))), [])
    return check(address, progress)
