"""Compaction: small segments and those that hold superseded tables are merged into new ones; others stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mate.build.build import LEAST_SEGMENT, BuildSettings, failure_explained, group_units, stage_sources
from mate.build.distinct import count_distinct
from mate.build.engine import Engine
from mate.build.lake_writer import LakeWriter, stored_table
from mate.build.segments import Share, Written, write_segment
from mate.build.sources import Source, Unit
from mate.build.stage import Staged, StageSettings, stage_unit
from mate.corpus import Limits
from mate.lake.arrays import Array
from mate.lake.folder import LakeFolder
from mate.lake.manifest import Manifest, SegmentRecord
from mate.lake.records import REJECTS_SCHEMA, SOURCES_SCHEMA
from mate.lake.segment import Segment
from mate.lake.segment_folder import SegmentFolder

if TYPE_CHECKING:
    from mate.build.updates import Updates

PHASE = "merge segments"


def worth_merging(lake: LakeFolder) -> list[tuple[Segment, SegmentRecord]]:
    """Return the segments that compaction merges: all that are not whole and large, if that makes fewer of them."""
    pairs = list(zip(lake.segments, lake.manifest.segments, strict=True))
    chosen = [pair for pair in pairs if _superseded(pair[1]) or pair[1].counts.cells < LEAST_SEGMENT]
    return chosen if len(chosen) > 1 or any(_superseded(record) for _, record in chosen) else []


def _superseded(record: SegmentRecord) -> bool:
    return bool(record.superseded_tables or record.superseded_sources)


def compact(updates: Updates) -> tuple[Manifest, Manifest]:
    """Compact a lake; return its manifest before and after."""
    with LakeWriter(updates.address, updates.wait) as writer, failure_explained("compact"):
        lake = writer.index
        chosen = worth_merging(lake)
        if not chosen:
            return lake.manifest, lake.manifest
        sources, ids = _stored(chosen)
        size = sum(source.size for source in sources)
        with updates.engine(size) as engine:
            written, distinct = _merge(writer, engine, updates, sources, ids, chosen)
        merged = {record.name for _, record in chosen}
        kept = [record for record in lake.manifest.segments if record.name not in merged]
        manifest = replace(
            lake.manifest,
            segments=(*kept, *(segment.record for segment in written)),
            operations=0,
            distinct_tokens=lake.manifest.distinct_tokens if kept else distinct,
        )
        writer.workspace.publish((segment.folder for segment in written), manifest)
        return lake.manifest, manifest


def _stored(chosen: list[tuple[Segment, SegmentRecord]]) -> tuple[list[Source], dict[int, int]]:
    """Return the tables in use of segments, by number; and for each of the sources, which table it is."""
    tables = [
        (info, stored_table(segment.folder, int(place), info))
        for segment, _ in chosen
        for place, info in zip(
            np.flatnonzero(segment.live), segment.folder.tables(np.flatnonzero(segment.live)), strict=True
        )
    ]
    tables.sort(key=lambda pair: pair[0].table_id)
    return [source for _, source in tables], dict(enumerate(info.table_id for info, _ in tables))


def _merge(
    writer: LakeWriter,
    engine: Engine,
    updates: Updates,
    sources: list[Source],
    ids: dict[int, int],
    chosen: list[tuple[Segment, SegmentRecord]],
) -> tuple[list[Written], int]:
    """Write the tables of segments into new ones; also return how many distinct tokens these have."""
    manifest, directory = writer.index.manifest, str(writer.directory)
    settings = StageSettings(frozenset(manifest.nulls), Limits(**manifest.limits))
    folder = writer.directory / "staged"
    folder.mkdir()
    staged = stage_sources(engine, sources, folder, settings, updates.progress)
    staged = staged or [stage_unit(Unit(0, ()), str(folder), settings)]
    _move_records(staged, chosen)
    shares = _shares(group_units(staged, BuildSettings(), engine.parallelism), ids)
    hashes = manifest.hashes

    def run(share: Share) -> tuple[Written, dict[str, int]]:
        written = write_segment(share, directory, hashes)
        return written, {"cells": written.record.counts.cells}

    return engine.run(shares, run, updates.progress, PHASE), count_distinct(engine, staged, updates.progress)


def _shares(groups: list[list[Staged]], ids: dict[int, int]) -> list[Share]:
    shares, first = [], 0
    for number, units in enumerate(groups):
        numbers: list[Array] = []
        for unit in units:
            numbers.append(np.array([ids[first + place] for place in range(unit.tables)], np.int64))
            first += unit.tables
        shares.append(Share(number, tuple(units), tuple(numbers)))
    return shares


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
    return [
        record
        for segment, noted in chosen
        for record in read(segment.folder)
        if record["source"] not in set(noted.superseded_sources)
    ]
