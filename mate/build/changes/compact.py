"""Compaction: small segments and those that hold superseded tables are merged into new ones; others stay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mate.build.build import MEMORY
from mate.build.changes.change import ChangeBuilder
from mate.build.changes.lake_writer import LakeWriter
from mate.build.dictionary import count_distinct
from mate.build.engine import failure_explained
from mate.build.segments import LEAST_SEGMENT, most_cells
from mate.build.stored_tables import StoredTable
from mate.lake.manifest import Manifest, SegmentRecord

if TYPE_CHECKING:
    from mate.build.changes.updates import Updates


def worth_merging(manifest: Manifest, memory: int = MEMORY) -> list[SegmentRecord]:
    """Return the segments that compaction merges: all that are small or partly superseded, if that leaves fewer."""
    small = min(LEAST_SEGMENT, most_cells(memory) // 2)
    chosen = [record for record in manifest.segments if _superseded(record) or record.counts.cells < small]
    return chosen if len(chosen) > 1 or any(map(_superseded, chosen)) else []


def _superseded(record: SegmentRecord) -> bool:
    return bool(record.superseded_tables or record.superseded_sources)


def compact(updates: Updates) -> tuple[Manifest, Manifest]:
    """Compact a lake; return its manifest before and after."""
    with LakeWriter(updates.address, updates.wait) as writer, failure_explained("compact"):
        before = writer.index.manifest
        merged = worth_merging(before, updates.memory)
        if not merged:
            return before, before
        unmerged = [record for record in before.segments if record not in merged]
        segments = [s for s, record in zip(writer.index.segments, before.segments, strict=True) if record in merged]
        tables: list[StoredTable] = []
        for segment in segments:
            places = np.flatnonzero(segment.live)
            infos = zip(places.tolist(), segment.folder.tables(places), strict=True)
            tables += (StoredTable(str(segment.folder.path), place, info) for place, info in infos)
        with updates.engine(sum(table.size for table in tables)) as engine:
            builder = ChangeBuilder(writer, engine, updates.progress, updates.memory)
            builder.copy(sorted(tables, key=lambda table: table.info.table_id))
            for segment, record in zip(segments, merged, strict=True):
                superseded = set(record.superseded_sources)
                builder.sources += (r for r in segment.folder.sources() if r["source"] not in superseded)
                builder.rejects += (r for r in segment.folder.rejects() if r["source"] not in superseded)
            new_segments = builder.finish().new_segments
            distinct = before.distinct_tokens if unmerged else count_distinct(engine, builder.lots, updates.progress)
        records = (*unmerged, *(segment.record for segment in new_segments))
        after = replace(before, segments=records, operations=0, distinct_tokens=distinct)
        writer.publish(after, new_segments)
        return before, after
