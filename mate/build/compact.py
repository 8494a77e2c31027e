"""Compaction: small segments and those that hold superseded tables are merged into new ones; others stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mate.build.build import (
    LEAST_SEGMENT,
    MEMORY,
    failure_explained,
    group_units,
    most_cells,
    plan_segments,
    stage_settings,
    stage_sources,
)
from mate.build.distinct import count_distinct
from mate.build.engine import Engine
from mate.build.lake_writer import LakeWriter, stored_table
from mate.build.segments import segment_task
from mate.build.sources import Source, Unit
from mate.build.stage import Staged, stage_unit
from mate.corpus import Limits
from mate.lake.arrays import Array
from mate.lake.manifest import Manifest, SegmentRecord
from mate.lake.records import REJECTS_SCHEMA, SOURCES_SCHEMA
from mate.lake.segment import Segment
from mate.lake.segment_folder import SegmentFolder

if TYPE_CHECKING:
    from mate.build.updates import Updates

PHASE = "merge segments"


def worth_merging(manifest: Manifest, memory: int = MEMORY) -> list[SegmentRecord]:
    """Return the segments that compaction merges: all that are not whole and large, if that makes fewer of them."""
    small = min(LEAST_SEGMENT, most_cells(memory) // 2)
    chosen = [record for record in manifest.segments if _superseded(record) or record.counts.cells < small]
    return chosen if len(chosen) > 1 or any(map(_superseded, chosen)) else []


def _superseded(record: SegmentRecord) -> bool:
    return bool(record.superseded_tables or record.superseded_sources)


def compact(updates: Updates) -> tuple[Manifest, Manifest]:
    """Compact a lake; return its manifest before and after."""
    with LakeWriter(updates.address, updates.wait) as writer, failure_explained("compact"):
        lake = writer.index
        merged = {record.name for record in worth_merging(lake.manifest, updates.memory)}
        if not merged:
            return lake.manifest, lake.manifest
        pairs = zip(lake.segments, lake.manifest.segments, strict=True)
        chosen = [(segment, record) for segment, record in pairs if record.name in merged]
        sources, ids = _stored(chosen)
        kept = [record for record in lake.manifest.segments if record.name not in merged]
        distinct = lake.manifest.distinct_tokens
        with updates.engine(sum(source.size for source in sources)) as engine:
            staged = _stage(writer, engine, updates, sources)
            _move_records(staged, chosen)
            if not kept:
                distinct = count_distinct(engine, staged, updates.progress)
            plans = plan_segments(group_units(staged, updates.memory, engine.parallelism), _numbers(staged, ids))
            task = segment_task(str(writer.directory), lake.manifest.hashes)
            written = engine.run(plans, task, updates.progress, PHASE)
        segments = (*kept, *(segment.record for segment in written))
        manifest = replace(lake.manifest, segments=segments, operations=0, distinct_tokens=distinct)
        writer.workspace.publish((segment.folder for segment in written), manifest)
        return lake.manifest, manifest


def _stored(chosen: list[tuple[Segment, SegmentRecord]]) -> tuple[list[Source], Array]:
    """Return the tables in use of segments, by number; and these numbers."""
    tables = [
        (info, stored_table(segment.folder, int(place), info))
        for segment, _ in chosen
        for place, info in zip(
            np.flatnonzero(segment.live), segment.folder.tables(np.flatnonzero(segment.live)), strict=True
        )
    ]
    tables.sort(key=lambda pair: pair[0].table_id)
    return [source for _, source in tables], np.array([info.table_id for info, _ in tables], np.int64)


def _stage(writer: LakeWriter, engine: Engine, updates: Updates, sources: list[Source]) -> list[Staged]:
    """Read tables again; also no table at all gives a unit."""
    manifest, folder = writer.index.manifest, writer.directory / "staged"
    settings = stage_settings(manifest.nulls, Limits(**manifest.limits), updates.memory)
    folder.mkdir()
    staged = stage_sources(engine, sources, folder, settings, updates.progress)
    return staged or stage_unit(Unit(0, ()), str(folder), settings)


def _numbers(staged: list[Staged], ids: Array) -> list[Array]:
    """Return the numbers of each unit's tables."""
    return np.split(ids, np.cumsum([unit.tables for unit in staged])[:-1])


def _move_records(staged: list[Staged], chosen: list[tuple[Segment, SegmentRecord]]) -> None:
    """Let the first unit hold what is known of the segments' sources, and the others nothing."""
    for part, schema, read in (
        ("sources", SOURCES_SCHEMA, SegmentFolder.sources),
        ("rejects", REJECTS_SCHEMA, SegmentFolder.rejects),
    ):
        records = _live_records(chosen, read)
        for number, unit in enumerate(staged):
            pq.write_table(pa.Table.from_pylist([] if number else records, schema), unit.path(f"{part}.parquet"))


def _live_records(
    chosen: list[tuple[Segment, SegmentRecord]], read: Callable[[SegmentFolder], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for segment, noted in chosen:
        gone = set(noted.superseded_sources)
        found += (record for record in read(segment.folder) if record["source"] not in gone)
    return found
