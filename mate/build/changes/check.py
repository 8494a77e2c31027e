"""Checking a lake (`mate check`), and repairing it: files against their checksums, arrays against the cells.

The cells as they were read are taken for the truth. Every array of a segment follows from them and the manifest: each
segment is written again beside the lake, and compared with what is there. A repair publishes what was written again.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from mate.build.build import now
from mate.build.build_directory import BuildDirectory
from mate.build.changes.lake_writer import stored_table, table_counts
from mate.build.engine import failure_explained
from mate.build.progress import Progress, Silent
from mate.build.segments import SegmentPlan, Written, write_segment
from mate.build.sources import SYNTHETIC, Unit
from mate.build.stage import StageSettings, stage_unit
from mate.corpus import Limits
from mate.errors import StoreError
from mate.files import file_crc32
from mate.lake.arrays import Array, ArrayFile
from mate.lake.folder import MANIFEST, SEGMENTS, LakeFolder, open_folder, read_manifest
from mate.lake.layout import SegmentArrays
from mate.lake.manifest import Counts, Manifest, OtherVersionError, SegmentRecord
from mate.lake.remote import local_folder
from mate.lake.segment import ARRAYS, Segment
from mate.lake.segment_folder import SegmentFolder

MOST_PROBLEMS = 1_000
"""Problems of a kind that are listed; further ones are counted."""


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
    counts: Counter[str] = field(default_factory=Counter)
    """Problems by kind, also of those that are not listed."""
    cells: int = 0

    def add(self, problem: Problem) -> None:
        """Take a problem in."""
        self.counts[problem.part] += 1
        if self.counts[problem.part] <= MOST_PROBLEMS:
            self.problems.append(problem)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.counts

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
    progress, path = progress or Silent(), local_folder(address)
    findings = Findings()
    try:
        manifest = read_manifest(path)
    except StoreError as error:
        if not (path / MANIFEST).exists() or isinstance(error, OtherVersionError):
            raise
        findings.add(Problem("manifest", str(error)))
        return findings
    progress.start("check segments", len(manifest.segments))
    for number, record in enumerate(manifest.segments):
        for problem in check_segment(path, record, manifest):
            findings.add(problem)
        findings.cells += record.counts.cells
        progress.update(number + 1, cells=findings.cells)
    if findings.sound:
        for problem in _check_lake(open_folder(path)):
            findings.add(problem)
    return findings


def check_segment(path: Path, record: SegmentRecord, manifest: Manifest) -> Iterator[Problem]:
    """Yield what is wrong with a segment."""
    folder = path / SEGMENTS / record.name
    bad = dict(_bad_files(folder, record))
    for name, text in bad.items():
        damaged = _bad_arrays(folder) if name == ARRAYS else ""
        yield Problem("file", f"{text}{damaged}", record.name, None, set(bad) == {ARRAYS})
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


def _bad_arrays(folder: Path) -> str:
    """Name the arrays that are damaged, if the file can be read at all."""
    try:
        names = list(ArrayFile(folder / ARRAYS).problems())
    except StoreError:
        return ""
    return f": {', '.join(names)}" if names else ""


def _compare(folder: Path, record: SegmentRecord, manifest: Manifest) -> Iterator[Problem]:
    """Write a segment again and compare the arrays."""
    try:
        segment = Segment.open(folder, len(manifest.hashes))
        segment.verify()
    except StoreError as error:
        yield Problem("arrays", str(error), record.name, None, True)
        return
    yield from _check_shapes(segment, record)
    with tempfile.TemporaryDirectory(prefix="mate-check-") as scratch:
        again = _rewrite(segment.folder, manifest, scratch)
        other = ArrayFile(Path(again.folder, ARRAYS))
        for name in (*SegmentArrays._fields, *(f"keys{number}" for number in range(len(manifest.hashes)))):
            own, right = segment.file[name], other[name]
            if own.dtype != right.dtype or own.shape != right.shape or not np.array_equal(own, right):
                text = f"{name} does not follow from the cells"
                part = "super keys" if name.startswith("keys") else name.replace("_", " ")
                yield Problem(part, text, record.name, _table(segment, name, right), True)
        if again.record.counts != replace(record.counts, rejects=again.record.counts.rejects):
            yield Problem("manifest", f"the counts of segment {record.name} are not those of its tables", record.name)


def _table(segment: Segment, name: str, right: Array) -> int | None:
    """Return the first table that an array is wrong for, where that can be told."""
    own = segment.file[name]
    if own.shape != right.shape or not len(own):
        return None
    wrong = int(np.flatnonzero((own != right).reshape(len(own), -1).any(axis=1))[0])
    arrays = segment.arrays
    if name.startswith("keys") and own.ndim == 1:
        return None  # where a table's keys begin depends on the hash function
    owners = {
        "codes": (arrays.code_first, arrays.column_table),
        "column_token": (arrays.column_entry_first, arrays.column_table),
        "postings": (arrays.posting_first, arrays.column_table[arrays.entry_column]),
        "keys": (arrays.table_row_first, np.arange(len(arrays.table_id))),
    }
    bounds, tables = owners.get(name.rstrip("0123456789"), (None, None))
    if bounds is None or tables is None:
        return None
    return int(arrays.table_id[tables[np.searchsorted(bounds, wrong, "right") - 1]])


def _check_shapes(segment: Segment, record: SegmentRecord) -> Iterator[Problem]:
    infos = segment.folder.tables()
    arrays = segment.arrays
    rows, columns = np.diff(arrays.table_row_first), np.diff(arrays.table_column_first)
    for place, info in enumerate(infos):
        if place >= len(rows) or info.table_id != arrays.table_id[place]:
            yield Problem("tables", "its record is not that of its arrays", record.name, info.table_id)
        elif (info.rows, len(info.columns)) != (rows[place], columns[place]):
            noted = f"noted with {info.rows:,} rows and {len(info.columns):,} columns"
            text = f"{noted}, it has {rows[place]:,} and {columns[place]:,}"
            yield Problem("tables", text, record.name, info.table_id)


def _rewrite(folder: SegmentFolder, manifest: Manifest, directory: str) -> Written:
    """Write a segment again from its own cells."""
    infos = folder.tables()
    sources = tuple(stored_table(folder, place, info) for place, info in enumerate(infos))
    settings = StageSettings(frozenset(manifest.nulls), Limits(**manifest.limits))
    [unit] = stage_unit(Unit(0, sources), directory, settings)
    for part, records in (("sources", folder.sources_file), ("rejects", folder.rejects_file)):
        pq.write_table(records.read(), unit.path(f"{part}.parquet"))
    ids = np.array([info.table_id for info in infos], np.int64)
    return write_segment(SegmentPlan(0, (unit,), (ids,)), directory, manifest.hashes)


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
    progress = progress or Silent()
    damaged = {problem.segment for problem in findings.problems}
    with BuildDirectory(address, wait) as workspace, failure_explained("repair"):
        manifest = read_manifest(workspace.path)
        # Somebody may have compacted since the check.
        names = [record.name for record in manifest.segments if record.name in damaged]
        progress.start("rebuild segments", len(names))
        written: dict[str, Written] = {}
        for number, name in enumerate(names):
            folder = SegmentFolder(workspace.path / SEGMENTS / name)
            written[name] = _rewrite(folder, manifest, str(workspace.directory))
            progress.update(number + 1)
        segments = tuple(
            replace(record, name=written[record.name].record.name, files=written[record.name].record.files)
            if record.name in written
            else record
            for record in manifest.segments
        )
        manifest = replace(manifest, segments=segments, changed=now())
        workspace.publish_segments(written.values(), manifest)
        workspace.publish_segments((), replace(manifest, counts=_live_counts(open_folder(workspace.path))))
    return check(address, progress)
