"""Second step of a build, one task per segment: staged lots become one immutable segment.

Everything that a segment holds follows from its own cells. Only the parameters of hash functions depend on the whole
corpus, so they are given.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mate.build.dictionary import merge_dictionaries
from mate.build.engine import Task
from mate.build.stage import Lot, StageSettings
from mate.corpus import Limits
from mate.errors import CorpusError
from mate.files import file_crc32
from mate.lake.arrays import Array, write_arrays
from mate.lake.folder import sync_folder
from mate.lake.layout import SegmentArrays, Shapes, make_arrays
from mate.lake.manifest import Counts, HashSpec, SegmentRecord
from mate.lake.records import TABLES_SCHEMA
from mate.lake.segment import ARRAYS, FORMAT
from mate.lake.segment_folder import CELLS, PIECES, REJECTS, SOURCES, TABLE_GROUP, TABLES, Pieces
from mate.lake.super_keys import super_keys

PHASE = "write segments"
BYTES_PER_CELL = 40
"""Memory that writing a segment takes, per cell of it."""
MOST_NUMBERED = 2**31 - 1
"""Distinct tokens of a segment, and rows of a table in it: their numbers have 31 bits."""
LEAST_SEGMENT = 2_000_000
"""Cells below which another segment is not worth its task."""
LOTS_PER_SEGMENT = 4
"""Lots that the tables of a large unit are staged in, for each segment that memory allows: so that segments fill up."""
_HASHED_AT_A_TIME = 1_000_000
"""Tokens."""


# Planning: which lots make which segment


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """Lots whose tables make one segment."""

    number: int
    lots: tuple[Lot, ...]
    table_ids: tuple[Array, ...]
    """Numbers in the lake of each lot's tables; a table that begins in the lot before comes first."""


def most_cells(memory: int) -> int:
    """Return how many cells a task with so much memory puts into a segment of several tables."""
    return max(1, min(memory // BYTES_PER_CELL, MOST_NUMBERED))


def stage_settings(nulls: Iterable[str], limits: Limits, memory: int) -> StageSettings:
    """Return how sources are staged for segments that are written with so much memory."""
    return StageSettings(frozenset(nulls), limits, max(1, most_cells(memory) // LOTS_PER_SEGMENT))


def plan_segments(
    lots: list[Lot], table_ids: Iterable[Array], memory: int, parallelism: int, segments: int | None = None
) -> list[SegmentPlan]:
    """Put lots that follow each other together, each group for one segment; a table is never divided.

    `table_ids` has the numbers of the tables, lot after lot.
    """
    slots, most = sum(lot.slots for lot in lots), most_cells(memory)
    count = segments or max(-(-slots // most), min(parallelism, slots // LEAST_SEGMENT), 1)
    size, most = -(-slots // count), MOST_NUMBERED if segments else most
    groups: list[list[Lot]] = [[]]
    total = in_group = 0
    undivided: list[list[Lot]] = []
    for lot in lots:
        if lot.continues:
            undivided[-1].append(lot)
        else:
            undivided.append([lot])
    for together in undivided:
        more = sum(lot.slots for lot in together)
        if groups[-1] and (total + more // 2 > size * len(groups) or in_group + more > most):
            groups.append([])
            in_group = 0
        groups[-1] += together
        total, in_group = total + more, in_group + more
    ids = iter(table_ids)
    return [SegmentPlan(number, tuple(group), tuple(next(ids) for _ in group)) for number, group in enumerate(groups)]


# Writing


@dataclass(frozen=True, slots=True)
class NewSegment:
    """A segment that a task has written."""

    folder: str
    record: SegmentRecord
    number: int
    """That of the plan."""


def segment_task(
    directory: Path, hashes: Sequence[HashSpec], load: Callable[[NewSegment], object] | None = None
) -> Task[SegmentPlan, NewSegment]:
    """Return the task that writes a planned segment, loads it into a database, if any, and counts its cells."""

    def run(plan: SegmentPlan) -> tuple[NewSegment, dict[str, int]]:
        segment = write_segment(plan, str(directory), hashes)
        if load:
            load(segment)
        return segment, {"cells": segment.record.counts.cells}

    return run


def write_segment(plan: SegmentPlan, directory: str, hashes: Sequence[HashSpec]) -> NewSegment:
    """Write a planned segment into a folder of its own."""
    folder = Path(directory, f"{plan.number:04d}-{uuid.uuid4().hex[:8]}")
    folder.mkdir()
    layout = _Layout.of(plan)
    tokens, places = merge_dictionaries(plan.lots)
    _check_numbers(plan, layout.shapes, len(tokens.token_id))
    cells = _cells(plan, layout, places)
    whole, step = tokens.strings(), _HASHED_AT_A_TIME
    texts = [whole.slice(start, step).cast(pa.string()) for start in range(0, len(whole), step)]

    def arrays() -> Iterator[tuple[str, Array]]:
        yield from zip(SegmentArrays._fields, make_arrays(layout.shapes, tokens, cells), strict=True)
        for number, spec in enumerate(hashes):
            yield f"keys{number}", super_keys(spec.function(), layout.shapes, cells, texts)

    write_arrays(folder / ARRAYS, arrays(), {"format": FORMAT})
    for number, lot in enumerate(plan.lots):
        path, target = lot.path("cells.parquet"), folder / CELLS.format(number)
        try:
            target.hardlink_to(path)  # a task that is retried still finds the first name
        except OSError:
            shutil.copyfile(path, target)
    rejects = _write_records(plan, layout, folder)
    columns, rows = int(layout.shapes.columns.sum()), int(layout.shapes.rows.sum())
    counts = Counts(len(layout.shapes.rows), columns, rows, int(np.count_nonzero(cells >= 0)), rejects)
    sync_folder(folder)
    return NewSegment(str(folder), SegmentRecord(folder.name, counts, checksums(folder)), plan.number)


@dataclass(frozen=True)
class _Layout:
    """Where the rows of a segment's tables come from and go to."""

    shapes: Shapes
    pieces: Pieces
    offset: Array
    """Where the codes of each piece begin among those of its lot."""

    @classmethod
    def of(cls, plan: SegmentPlan) -> _Layout:
        """Read the lots' lists of pieces."""
        parts = []
        for number, (lot, ids) in enumerate(zip(plan.lots, plan.table_ids, strict=True)):
            table_no, rows, width, group, offset = (column.to_numpy() for column in lot.records("pieces").columns)
            sizes = rows * width
            starts = np.cumsum(sizes) - sizes
            parts.append((ids[table_no], rows, width, np.full(len(rows), number), group, offset, starts))
        columns = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        table_id, rows, width, lot_no, group, offset, starts = (column[order] for column in columns)
        known, first, table = np.unique(table_id, return_index=True, return_inverse=True)
        before = np.cumsum(rows) - rows
        shapes = Shapes(known, np.add.reduceat(rows, first) if len(first) else rows, width[first])
        return cls(shapes, Pieces(table, before - before[first][table], rows, lot_no, group, offset), starts)


def _check_numbers(plan: SegmentPlan, shapes: Shapes, tokens: int) -> None:
    """Refuse a table with more rows or distinct values than can be numbered; segments of many tables are cut."""
    if max(tokens, int(shapes.rows.max(initial=0))) <= MOST_NUMBERED:
        return
    largest = int(np.argmax(shapes.rows * shapes.columns))
    tables = pa.concat_tables(_numbered_tables(plan))
    [record] = tables.filter(pc.field("table_id") == int(shapes.table_id[largest])).to_pylist()
    raise CorpusError(
        f"{record['source']}: the table {record['name']} has {int(shapes.rows[largest]):,} rows and its segment "
        f"{tokens:,} distinct values; MATE can number {MOST_NUMBERED:,} of each. Cut the table into several files, or "
        "take in fewer rows of it (--max-rows)"
    )


def _cells(plan: SegmentPlan, layout: _Layout, places: list[list[Array]]) -> Array:
    """Return the tokens of all cells, table after table and column after column."""
    rows, columns = layout.shapes.rows, layout.shapes.columns
    ends = np.cumsum(rows * columns)
    first = ends - rows * columns
    cells = np.empty(int(ends[-1]) if len(ends) else 0, np.int32)
    codes = [lot.codes() for lot in plan.lots]
    pieces = zip(*(values.tolist() for values in (*layout.pieces[:5], layout.offset)), strict=True)
    for table, first_row, count, lot, batch, offset in pieces:
        if not count:
            continue
        width = int(columns[table])
        piece = np.asarray(codes[lot][offset : offset + count * width]).reshape(width, count)
        target = cells[int(first[table]) : int(ends[table])].reshape(width, int(rows[table]))
        target[:, first_row : first_row + count] = places[lot][batch][piece]
    return cells


def _write_records(plan: SegmentPlan, layout: _Layout, folder: Path) -> int:
    """Write what is known of tables, sources and rejects; return how many rejects there are."""
    tables = pa.concat_tables(_numbered_tables(plan)).sort_by("table_id")
    place = tables.schema.get_field_index("rows")
    tables = tables.set_column(place, TABLES_SCHEMA.field(place), pa.array(layout.shapes.rows, pa.int64()))
    _write_parquet(tables, folder / TABLES, TABLE_GROUP)
    pieces = pa.table([pa.array(values, pa.int64()) for values in layout.pieces], list(Pieces._fields))
    _write_parquet(pieces.replace_schema_metadata({"cell_files": str(len(plan.lots))}), folder / PIECES)
    _write_parquet(pa.concat_tables([lot.records("sources") for lot in plan.lots]), folder / SOURCES)
    rejects = pa.concat_tables([lot.records("rejects") for lot in plan.lots])
    _write_parquet(rejects, folder / REJECTS)
    return int(rejects.column("count").to_numpy().sum())


def _numbered_tables(plan: SegmentPlan) -> Iterator[pa.Table]:
    for lot, ids in zip(plan.lots, plan.table_ids, strict=True):
        tables = lot.records("tables")
        numbers = pa.array(ids[tables.column("table_id").to_numpy()], pa.int64())
        yield tables.set_column(0, TABLES_SCHEMA.field(0), numbers)


def _write_parquet(table: pa.Table, path: Path, group: int = 1 << 20) -> None:
    pq.write_table(table, path, row_group_size=group, compression="zstd")


def checksums(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and CRC-32 of every file of a segment, having forced them to disk."""
    found = {}
    for path in sorted(folder.iterdir()):
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
        found[path.name] = (path.stat().st_size, file_crc32(path))
    return found
