"""Changing a lake: new segments, and a manifest that says what they supersede."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np

from mate.build.build import now
from mate.build.changes.change import Change
from mate.build.lake_target import LakeTarget
from mate.build.stored_tables import StoredTable
from mate.lake.arrays import Array
from mate.lake.columns import column_codes
from mate.lake.folder import LakeFolder
from mate.lake.manifest import Counts, Manifest, SegmentRecord
from mate.lake.records import TableInfo
from mate.lake.remote import open_lake, published_manifest
from mate.lake.segment import Segment


class LakeWriter(LakeTarget):
    """The right to change a lake, and the lake as it is before the change."""

    def __enter__(self) -> Self:
        published_manifest(self.address)  # raises StoreError if there is none
        super().__enter__()
        try:
            self.index: LakeFolder = open_lake(self.address)
        except BaseException:
            self.__exit__()
            raise
        return self

    def stored(self, table: TableInfo) -> StoredTable:
        """Return a table of the lake as a source."""
        segment, place = self._place(table)
        return StoredTable(str(segment.folder.path), place, table)

    def counts_of(self, tables: list[TableInfo]) -> Counts:
        """Count what tables hold, by their codes."""
        return sum((table_counts(*self._place(table)) for table in tables), Counts())

    def _place(self, table: TableInfo) -> tuple[Segment, int]:
        place = self.index.place_of(table.table_id)
        assert place, "tables of a change are tables of the index"
        return place

    def apply(self, change: Change, counts: Counts) -> Manifest:
        """Publish the new segments, and what they supersede; return the new manifest."""
        before = self.index.manifest
        gone = np.array([table.table_id for table in change.gone_tables], np.int64)
        records = [
            _superseded(segment, record, gone, change.gone_sources)
            for segment, record in zip(self.index.segments, before.segments, strict=True)
        ]
        records += [segment.record for segment in change.new_segments]
        after = replace(
            before,
            segments=tuple(record for record in records if record is not None),
            counts=counts,
            operations=before.operations + 1,
            changed=now(),
            next_table=change.next_table,
        )
        self.publish(after, change.new_segments)
        return after


def _superseded(segment: Segment, record: SegmentRecord, gone: Array, sources: list[str]) -> SegmentRecord | None:
    """Return the record of a segment with what goes of it; None if nothing is left."""
    arrays = segment.arrays
    tables = arrays.table_id[segment.live & np.isin(arrays.table_id, gone)].tolist()
    wanted = set(sources) - set(record.superseded_sources)
    names = segment.folder.source_names(list(wanted)) if wanted else set()
    new = replace(
        record,
        superseded_tables=(*record.superseded_tables, *tables),
        superseded_sources=(*record.superseded_sources, *sorted(names)),
    )
    if new != record and len(new.superseded_tables) == len(arrays.table_id):
        return None if segment.folder.source_names() <= set(new.superseded_sources) else new
    return new


def table_counts(segment: Segment, place: int) -> Counts:
    """Count what a table of a segment holds."""
    arrays = segment.arrays
    first, last = arrays.table_column_first[place : place + 2].tolist()
    rows = int(np.diff(arrays.table_row_first[place : place + 2])[0])
    cells = sum(int(np.count_nonzero(column_codes(arrays, column))) for column in range(first, last))
    return Counts(1, last - first, rows, cells)
