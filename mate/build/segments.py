"""Second step of a build, one task per segment: what units staged becomes one immutable segment.

Everything that a segment holds follows from its own cells. Only the parameters of hash functions depend on the whole
corpus, so they are given.
"""

from __future__ import annotations

import os
import shutil
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mate.build.stage import Staged
from mate.errors import CorpusError
from mate.lake._arrays import differing
from mate.lake.arrays import Array, ArrayWriter, offset_type
from mate.lake.folder import sync_folder
from mate.lake.layout import NO_PLACE, SegmentArrays, Shapes, Texts, make_arrays
from mate.lake.manifest import Counts, HashSpec, SegmentRecord
from mate.lake.records import TABLES_SCHEMA
from mate.lake.segment import ARRAYS, FORMAT
from mate.lake.segment_folder import CELLS, PIECES, REJECTS, SOURCES, TABLE_GROUP, TABLES, Pieces
from mate.lake.super_keys import super_keys

_HASHED = 1_000_000
"""Tokens that are hashed at a time."""
_PIECE = 1 << 24
MOST_NUMBERED = 2**31 - 1
"""Distinct tokens of a segment, and rows of a table in it, that can be told apart by the numbers that they have."""


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """Units whose tables make one segment."""

    number: int
    units: tuple[Staged, ...]
    table_ids: tuple[Array, ...]
    """Numbers in the lake of each unit's tables; a table that began in the unit before comes first."""


@dataclass(frozen=True, slots=True)
class Written:
    """A segment that a task has written."""

    folder: str
    record: SegmentRecord
    number: int
    """That of the plan."""


def write_segment(plan: SegmentPlan, directory: str, hashes: Sequence[HashSpec]) -> Written:
    """Write a planned segment into a folder of its own."""
    folder = Path(directory, f"{plan.number:04d}-{uuid.uuid4().hex[:8]}")
    folder.mkdir()
    layout = _Layout.of(plan)
    tokens, remaps = merge_dictionaries(plan.units)
    _check_numbers(plan, layout.shapes, len(tokens.token_id))
    cells = _cells(plan, layout, remaps)
    texts = _strings(tokens)
    with ArrayWriter(folder / ARRAYS) as writer:
        arrays = make_arrays(layout.shapes, tokens, cells)
        for name in SegmentArrays._fields:
            writer.add(name, getattr(arrays, name))
        del arrays
        for number, spec in enumerate(hashes):
            writer.add(f"keys{number}", super_keys(spec.function(), layout.shapes, cells, texts))
        writer.close({"format": FORMAT})
    for number, unit in enumerate(plan.units):
        _link(unit.path("cells.parquet"), folder / CELLS.format(number))
    rejects = _write_records(plan, layout, folder)
    counts = Counts(
        len(layout.shapes.rows),
        int(layout.shapes.columns.sum()),
        int(layout.shapes.rows.sum()),
        int(np.count_nonzero(cells >= 0)),
        rejects,
    )
    sync_folder(folder)
    return Written(str(folder), SegmentRecord(folder.name, counts, checksums(folder)), plan.number)


def segment_task(directory: str, hashes: Sequence[HashSpec]) -> Callable[[SegmentPlan], tuple[Written, dict[str, int]]]:
    """Return the task that writes a planned segment, and counts its cells."""

    def run(plan: SegmentPlan) -> tuple[Written, dict[str, int]]:
        written = write_segment(plan, directory, hashes)
        return written, {"cells": written.record.counts.cells}

    return run


def _check_numbers(plan: SegmentPlan, shapes: Shapes, tokens: int) -> None:
    """Refuse a table that has more rows or distinct values than can be numbered; segments of many tables are cut."""
    if tokens <= MOST_NUMBERED and (not len(shapes.rows) or int(shapes.rows.max()) <= MOST_NUMBERED):
        return
    largest = int(np.argmax(shapes.rows * shapes.columns))
    records = pa.concat_tables(_numbered(plan))
    record = records.filter(pc.equal(records["table_id"], int(shapes.table_id[largest]))).to_pylist()[0]
    raise CorpusError(
        f"{record['source']}: the table {record['name']} has {int(shapes.rows[largest]):,} rows and its segment "
        f"{tokens:,} distinct values; MATE can number {MOST_NUMBERED:,} of each. Cut the table into several files, or "
        "take in fewer rows of it (--max-rows)"
    )


@dataclass(frozen=True)
class _Layout:
    """Where the rows of a segment's tables come from and go to."""

    shapes: Shapes
    pieces: Pieces
    offset: Array
    """Where the codes of each piece begin among those of its unit."""

    @classmethod
    def of(cls, plan: SegmentPlan) -> _Layout:
        """Read the units' lists of pieces."""
        records = [unit.records("pieces") for unit in plan.units]
        columns = {n: np.concatenate([r.column(n).to_numpy() for r in records]) for n in records[0].column_names}
        sizes = [r.num_rows for r in records]
        unit = np.repeat(np.arange(len(records)), sizes)
        numbers = [ids[r.column("table_no").to_numpy()] for ids, r in zip(plan.table_ids, records, strict=True)]
        table_id = np.concatenate(numbers) if numbers else np.empty(0, np.int64)
        order = np.argsort(table_id, kind="stable")
        known, first, table = np.unique(table_id[order], return_index=True, return_inverse=True)
        rows, width = columns["rows"][order], columns["width"][order]
        before = np.cumsum(rows) - rows
        shapes = Shapes(known, np.add.reduceat(rows, first) if len(first) else rows, width[first])
        first_row = before - before[first][table]
        pieces = Pieces(table, first_row, rows, unit[order], columns["group"][order], columns["offset"][order])
        ends = np.cumsum(columns["rows"] * columns["width"])
        starts = ends - columns["rows"] * columns["width"]
        unit_start = np.array([starts[unit == u][0] if (unit == u).any() else 0 for u in range(len(records))])
        return cls(shapes, pieces, (starts - unit_start[unit])[order])


def merge_dictionaries(units: Sequence[Staged]) -> tuple[Texts, list[list[Array]]]:
    """Merge the dictionaries of all batches; also return, by unit and batch, the place of each of its tokens."""
    batches = [list(unit.dictionaries()) for unit in units]
    flat = [batch for unit in batches for batch in unit]
    ids = np.concatenate([np.empty(0, np.int64), *(batch.column(0).to_numpy() for batch in flat)])
    texts = pa.chunked_array([batch.column(1) for batch in flat], pa.string()).cast(pa.large_string())
    texts = pa.concat_arrays([pa.array([], pa.large_string()), *texts.chunks])
    known, first, place = np.unique(ids, return_index=True, return_inverse=True)
    shared = _differ(texts, first, place)
    if len(shared):
        known, first, place = _apart(ids, texts, known, first, place, shared)
    tokens = texts.take(pa.array(first))
    data = tokens.buffers()
    bounds = np.frombuffer(data[1], np.int64)[: len(tokens) + 1] if len(tokens) else np.zeros(1, np.int64)
    text = np.frombuffer(data[2], np.uint8)[: int(bounds[-1])] if len(tokens) and data[2] else np.empty(0, np.uint8)
    merged = Texts(known, bounds.astype(offset_type(int(bounds[-1]))), text)
    ends = iter(np.cumsum([batch.num_rows for batch in flat]).tolist())
    remaps = [[_remap(place[(end := next(ends)) - b.num_rows : end]) for b in unit] for unit in batches]
    return merged, remaps


def _remap(place: Array) -> Array:
    """Return places with one more at the end, which a code of -1 takes."""
    return np.append(place, NO_PLACE).astype(np.int32)


def _differ(texts: pa.LargeStringArray, first: Array, place: Array) -> Array:
    """Return the places of ids that stand for more than one text."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[: len(texts) + 1] if len(texts) else np.zeros(1, np.int64)
    flags = differing(np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8), bounds, first[place])
    return np.unique(place[flags])


def _apart(
    ids: Array, texts: pa.LargeStringArray, known: Array, first: Array, place: Array, shared: Array
) -> tuple[Array, Array, Array]:
    """Give each text of the ids that several share a place of its own, in the order of the texts."""
    occurrences = np.flatnonzero(np.isin(place, shared))
    spelled = list(zip(ids[occurrences].tolist(), texts.take(pa.array(occurrences)).to_pylist(), strict=True))
    example = dict(zip(reversed(spelled), reversed(occurrences.tolist()), strict=True))
    distinct = sorted(example)
    alone = np.setdiff1d(np.arange(len(known)), shared)
    new_ids = np.concatenate([known[alone], np.array([number for number, _ in distinct], np.int64)])
    new_first = np.concatenate([first[alone], np.array([example[key] for key in distinct], np.int64)])
    order = np.argsort(new_ids, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    moved = np.zeros(len(known), np.int64)
    moved[alone] = rank[: len(alone)]
    new_place = moved[place]
    number = {key: int(rank[len(alone) + at]) for at, key in enumerate(distinct)}
    new_place[occurrences] = [number[key] for key in spelled]
    return new_ids[order], new_first[order], new_place


def _cells(plan: SegmentPlan, layout: _Layout, remaps: list[list[Array]]) -> Array:
    """Return the tokens of all cells, table after table and column after column."""
    rows, columns = layout.shapes.rows, layout.shapes.columns
    ends = np.cumsum(rows * columns)
    first = ends - rows * columns
    cells = np.empty(int(ends[-1]) if len(ends) else 0, np.int32)
    codes = [unit.codes() for unit in plan.units]
    pieces = zip(*(values.tolist() for values in (*layout.pieces[:5], layout.offset)), strict=True)
    for table, first_row, count, unit, batch, offset in pieces:
        if not count:
            continue
        width = int(columns[table])
        piece = np.asarray(codes[unit][offset : offset + count * width]).reshape(width, count)
        target = cells[int(first[table]) : int(ends[table])].reshape(width, int(rows[table]))
        target[:, first_row : first_row + count] = remaps[unit][batch][piece]
    return cells


def _strings(tokens: Texts) -> list[pa.StringArray]:
    """Return the tokens as arrays that hash functions take, so many at a time."""
    bounds = tokens.text_first.astype(np.int64)
    whole = pa.LargeStringArray.from_buffers(
        len(tokens.token_id), pa.py_buffer(bounds), pa.py_buffer(np.ascontiguousarray(tokens.text))
    )
    return [whole.slice(start, _HASHED).cast(pa.string()) for start in range(0, len(whole), _HASHED)]


def _write_records(plan: SegmentPlan, layout: _Layout, folder: Path) -> int:
    """Write what is known of tables, sources and rejects; return how many rejects there are."""
    tables = pa.concat_tables(_numbered(plan))
    order = np.argsort(tables.column("table_id").to_numpy(), kind="stable")
    tables = tables.take(pa.array(order))
    place = tables.schema.get_field_index("rows")
    tables = tables.set_column(place, TABLES_SCHEMA.field(place), pa.array(layout.shapes.rows, pa.int64()))
    write_parquet(tables, folder / TABLES, TABLE_GROUP)
    pieces = pa.table([pa.array(values, pa.int64()) for values in layout.pieces], list(Pieces._fields))
    write_parquet(pieces.replace_schema_metadata({"cell_files": str(len(plan.units))}), folder / PIECES)
    write_parquet(pa.concat_tables([unit.records("sources") for unit in plan.units]), folder / SOURCES)
    rejects = pa.concat_tables([unit.records("rejects") for unit in plan.units])
    write_parquet(rejects, folder / REJECTS)
    return int(rejects.column("count").to_numpy().sum()) if rejects.num_rows else 0


def _numbered(plan: SegmentPlan) -> Iterator[pa.Table]:
    for unit, ids in zip(plan.units, plan.table_ids, strict=True):
        tables = unit.records("tables")
        numbers = pa.array(ids[tables.column("table_id").to_numpy()], pa.int64())
        yield tables.set_column(0, TABLES_SCHEMA.field(0), numbers)


def _link(path: str, target: Path) -> None:
    """Give a file a second name, so that a task that is tried again finds it; copy it where that cannot be."""
    try:
        target.hardlink_to(path)
    except OSError:
        shutil.copyfile(path, target)


def write_parquet(table: pa.Table, path: Path, group: int = 1 << 20) -> None:
    """Write records, durably."""
    with path.open("wb") as stream:
        pq.write_table(table, stream, row_group_size=group, compression="zstd")
        stream.flush()
        os.fsync(stream.fileno())


def checksums(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and CRC-32 of every file of a segment, having forced them to disk."""
    found = {}
    for path in sorted(folder.iterdir()):
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
            crc = 0
            while piece := stream.read(_PIECE):
                crc = zlib.crc32(piece, crc)
            found[path.name] = (path.stat().st_size, crc)
    return found
