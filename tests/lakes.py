"""Small lakes for tests: tables given as lists, indexed in this process; and what a lake holds, as lists."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mate.build.build import BuildSettings, HashRequest, build_sources
from mate.build.changes.change import Report
from mate.build.changes.updates import Updates
from mate.build.lake_target import LakeTarget
from mate.build.sources import Item, Provenance
from mate.corpus import Chunk, Limits, Table
from mate.lake.arrays import Array
from mate.lake.columns import column_codes, column_dictionary
from mate.lake.folder import LakeFolder, open_folder
from mate.lake.layout import WIDE_ROWS, SegmentArrays
from mate.lake.segment import Segment
from tests.keys import to_ints

Rows = Sequence[Sequence[str | None]]
Dump = dict[str, list[tuple[Any, ...]]]

OWN_UNIT = 64 << 20
"""Size of a source that is read as a unit of its own."""


@dataclass(frozen=True)
class ListSource:
    """A table that is already in memory."""

    rows: Rows
    name: str
    header: tuple[str, ...]
    size: int = 1

    def read(self, limits: Limits) -> Iterator[Item]:
        cells = pa.array([cell for row in self.rows for cell in row], pa.string())
        yield Chunk(Table(self.name, 0, 1, self.name, self.header), 0, cells)
        yield Provenance("list", self.size, self.name)


def lake(
    path: Path,
    tables: Sequence[Rows],
    hashes: Sequence[HashRequest] = (HashRequest(),),
    headers: Sequence[Sequence[str]] | None = None,
    segments: int | None = None,
) -> LakeFolder:
    """Index the tables, in this order and with these numbers, and open the lake; in so many segments, if given."""
    size = 1 if segments is None else OWN_UNIT
    sources = [
        ListSource(
            rows,
            f"table {i}",
            tuple(headers[i]) if headers else tuple(f"c{c}" for c in range(len(rows[0]))),
            size=size,
        )
        for i, rows in enumerate(tables)
    ]
    settings = BuildSettings(hashes=tuple(hashes), master="none", segments=segments)
    with LakeTarget(path) as target:
        build_sources(list(sources), target, settings)
    return open_folder(path)


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Path:
    """Write a table; every cell is quoted, so that a row of empty cells is no blank line."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([header, *rows])
    return path


# What a lake holds, whatever its segments


def dump(lake: LakeFolder) -> Dump:
    """Return everything that the tables in use of a lake hold, sorted, as it would be in any number of segments."""
    parts = [_dump_segment(segment) for segment in lake.segments]
    found = {name: sorted(record for part in parts for record in part[name]) for name in parts[0]} if parts else {}
    tables = lake.tables()
    found["tables"] = [tuple(table.record().values()) for table in tables]
    found["cells"] = [(table.table_id, cells_of(lake, table.table_id)) for table in tables]
    found["sources"] = sorted(tuple(record.values()) for record in lake.sources())
    found["rejects"] = sorted(
        (tuple(record.values()) for record in lake.rejects()), key=lambda r: (r[0], r[1] or 0, *r[2:])
    )
    return found


def cells_of(lake: LakeFolder, table_id: int) -> list[list[str | None]]:
    """Return all cells of a table as they were read."""
    return lake.cells(table_id, np.arange(lake.table(table_id).rows))


def _dump_segment(segment: Segment) -> Dump:
    arrays = segment.arrays
    texts = segment.texts(np.arange(len(arrays.token_id))).to_pylist()
    names = list(zip(texts, arrays.token_id.tolist(), strict=True))
    live = set(arrays.table_id[segment.live].tolist())
    found: Dump = {
        "postings": [(*names[token], *place) for token, *place in postings_of(arrays) if place[0] in live],
        "codes": [(*names[token], *place) for token, *place in codes_of(arrays) if place[0] in live],
    }
    assert sorted(found["postings"]) == sorted(found["codes"])
    first = arrays.table_row_first.tolist()
    for number, keys in enumerate(segment.keys):
        found[f"keys{number}"] = [
            (int(arrays.table_id[table]), row - first[table], key)
            for table in np.flatnonzero(segment.live).tolist()
            for row, key in enumerate(to_ints(keys[first[table] : first[table + 1]]), first[table])
        ]
    return found


def postings_of(arrays: SegmentArrays) -> Iterator[tuple[int, int, int, int]]:
    """Yield token, table number, column and row of every posting, as the directory has them."""
    for token in range(len(arrays.token_id)):
        for entry in range(int(arrays.entry_first[token]), int(arrays.entry_first[token + 1])):
            column = int(arrays.entry_column[entry])
            table = int(arrays.column_table[column])
            units = arrays.postings[int(arrays.posting_first[entry]) : int(arrays.posting_first[entry + 1])].tolist()
            if arrays.table_row_first[table + 1] - arrays.table_row_first[table] >= WIDE_ROWS:
                units = [low | high << 16 for low, high in zip(units[::2], units[1::2], strict=True)]
            for row in units:
                yield token, int(arrays.table_id[table]), column - int(arrays.table_column_first[table]), row


def column_tokens(arrays: SegmentArrays, table: int, column: int) -> Array:
    """Return the tokens of a table's column as places, row by row; -1 for none."""
    number = int(arrays.table_column_first[table]) + column
    tokens: Array = np.append(-1, column_dictionary(arrays, number).astype(np.int64))[column_codes(arrays, number)]
    return tokens


def codes_of(arrays: SegmentArrays) -> Iterator[tuple[int, int, int, int]]:
    """Yield the same as `postings_of`, as the columns' codes have it."""
    for table, number in enumerate(arrays.table_id.tolist()):
        for column in range(int(np.diff(arrays.table_column_first[table : table + 2])[0])):
            tokens = column_tokens(arrays, table, column)
            for row in np.flatnonzero(tokens >= 0).tolist():
                yield int(tokens[row]), number, column, row


def sync(updates: Updates, paths: Sequence[str]) -> Report:
    """Make an index follow files and folders."""
    return updates.apply(updates.compare(paths))
