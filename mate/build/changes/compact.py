"""Compaction: small segments and those that hold superseded tables are merged into new ones; others stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mate.build.build import MEMORY, failure_explained
from mate.build.changes.change import Records, put_records
from mate.build.changes.lake_writer import LakeWriter, stored_table
from mate.build.dictionary import count_distinct
from mate.build.engine import Engine
from mate.build.segments import LEAST_SEGMENT, group_units, most_cells, plan_segments, segment_task, stage_settings
from mate.build.sources import Source, Unit
from mate.build.stage import Staged, stage_sources, stage_unit
from mate.corpus import Limits
from mate.lake.arrays import Array
from mate.lake.manifest import Manifest, SegmentRecord
from mate.lake.segment import Segment
from mate.lake.segment_folder import SegmentFolder

if TYPE_CHECKING:
    from mate.build.changes.updates import Updates

PHASE = "merge segments"


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
        merged = {record.name for record in worth_merging(before, updates.memory)}
        if not merged:
            return before, before
        pairs = zip(writer.index.segments, before.segments, strict=True)
        chosen = [(segment, record) for segment, record in pairs if record.name in merged]
        unmerged = [record for record in before.segments if record.name not in merged]
        sources, table_ids = _live_tables(chosen)
        distinct = before.distinct_tokens
        with updates.engine(sum(source.size for source in sources)) as engine:
            staged = _stage(writer, engine, updates, sources)
            put_records(
                staged, _live_records(chosen, SegmentFolder.sources), _live_records(chosen, SegmentFolder.rejects)
            )
            if not unmerged:
                distinct = count_distinct(engine, staged, updates.progress)
            ids = np.split(table_ids, np.cumsum([lot.tables for lot in staged])[:-1])
            plans = plan_segments(group_units(staged, updates.memory, engine.parallelism), ids)
            written = engine.run(plans, segment_task(writer.directory, before.hashes), updates.progress, PHASE)
        segments = (*unmerged, *(segment.record for segment in written))
        after = replace(before, segments=segments, operations=0, distinct_tokens=distinct)
        writer.publish_segments(written, after)
        return before, after


def _live_tables(chosen: list[tuple[Segment, SegmentRecord]]) -> tuple[list[Source], Array]:
    """Return the tables in use of segments, by number; and these numbers."""
    tables = []
    for segment, _ in chosen:
        places = np.flatnonzero(segment.live)
        for place, info in zip(places.tolist(), segment.folder.tables(places), strict=True):
            tables.append((info.table_id, stored_table(segment.folder, place, info)))
    tables.sort(key=lambda pair: pair[0])
    return [source for _, source in tables], np.array([number for number, _ in tables], np.int64)


def _stage(writer: LakeWriter, engine: Engine, updates: Updates, sources: list[Source]) -> list[Staged]:
    """Read tables again; no tables at all give an empty unit."""
    manifest, folder = writer.index.manifest, writer.directory / "staged"
    settings = stage_settings(manifest.nulls, Limits(**manifest.limits), updates.memory)
    folder.mkdir()
    staged = stage_sources(engine, sources, folder, settings, updates.progress)
    return staged or stage_unit(Unit(0, ()), str(folder), settings)


def _live_records(chosen: list[tuple[Segment, SegmentRecord]], read: Callable[[SegmentFolder], Records]) -> Records:
    """Return the records of sources that are not superseded."""
    live: Records = []
    for segment, noted in chosen:
        superseded = set(noted.superseded_sources)
        live += (record for record in read(segment.folder) if record["source"] not in superseded)
    return live
