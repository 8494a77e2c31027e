"""A segment exported as tables holds what its codes, cells and keys hold, whatever the size of batches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mate.build.changes.updates import Updates
from mate.lake.arrays import Array
from mate.lake.folder import LakeFolder, open_folder
from mate.lake.segment import SearchSegment, Segment, memory_segment
from mate.sql import export
from mate.values.token_ids import NO_TOKEN
from tests.lakes import column_tokens
from tests.sql.small import built_lake

Records = Counter[tuple[Any, ...]]


@pytest.fixture(scope="module")
def changed(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> LakeFolder:
    """A lake some of whose tables are superseded."""
    built = built_lake(lake, tmp_path_factory.mktemp("changed") / "lake.mate")
    updates = Updates(built.address)
    updates.update_cells(1, [(0, 0, "new value")])
    updates.remove_tables([3])
    return open_folder(Path(built.address))


def expected_cells(segment: SearchSegment) -> Records:
    """Return token_id, table_id, column_id and row of every cell in use, by the codes of columns."""
    arrays, found = segment.arrays, Counter[tuple[Any, ...]]()
    for place in np.flatnonzero(segment.live).tolist():
        for column in range(int(np.diff(arrays.table_column_first[place : place + 2])[0])):
            for row, token in enumerate(column_tokens(arrays, place, column).tolist()):
                number = int(arrays.token_id[token]) if token >= 0 else NO_TOKEN
                found[number, int(arrays.table_id[place]), column, row] += 1
    return found


def records(batches: list[Array]) -> Records:
    return Counter(tuple(row) for batch in batches for row in batch.T.tolist())


@pytest.mark.parametrize("size", [7, 1_000, export.BATCH])
def test_postings(changed: LakeFolder, size: int) -> None:
    for segment in changed.segments:
        batches = list(export.postings(segment, size))
        assert all(batch.shape[1] <= size for batch in batches)
        cells = expected_cells(segment)
        assert records(batches) == Counter({cell: n for cell, n in cells.items() if cell[0] != NO_TOKEN})


@pytest.mark.parametrize("rows", [65_535, 65_536, 70_001])
@pytest.mark.parametrize("size", [10_001, export.BATCH])
def test_postings_of_a_large_table_beside_a_small_one(rows: int, size: int) -> None:
    table = np.repeat([4, 9], [5, rows])
    number = np.concatenate([np.arange(5), np.arange(rows)])
    tokens = np.stack([number % 3, 10 + number // 2], axis=1).ravel()
    tokens[11::50] = NO_TOKEN
    segment = memory_segment(*(np.repeat(values, 2) for values in (table, number)), np.tile([0, 1], len(table)), tokens)
    found = np.concatenate(list(export.postings(segment, size)), axis=1)
    order = np.lexsort((found[2], found[3], found[1]))
    token, tables, column, row = (values[order] for values in found)
    kept = tokens >= 0
    assert token.tolist() == tokens[kept].tolist()
    assert tables.tolist() == np.repeat(table, 2)[kept].tolist()
    assert row.tolist() == np.repeat(number, 2)[kept].tolist()
    assert column.tolist() == np.tile([0, 1], len(table))[kept].tolist()


def test_cells(changed: LakeFolder) -> None:
    found: Records = Counter()
    for segment in changed.segments:
        batches = list(export.cells(segment))
        assert records([places for places, _ in batches]) == expected_cells(segment)
        for (_, *places), texts in batches:
            found.update(zip(*(values.tolist() for values in places), texts.to_pylist(), strict=True))
    expected: Records = Counter()
    for table in changed.tables():
        for row, cells in enumerate(changed.cells(table.table_id, np.arange(table.rows))):
            expected.update((table.table_id, column, row, cell) for column, cell in enumerate(cells))
    assert found == expected


@pytest.mark.parametrize("size", [11, export.BATCH])
def test_rows(changed: LakeFolder, size: int) -> None:
    for segment in changed.segments:
        arrays, seen = segment.arrays, 0
        for table, row, place in export.rows(segment, size):
            first = arrays.table_row_first[np.searchsorted(arrays.table_id, table)]
            assert (place == first + row).all()
            assert len(row) <= size
            seen += len(row)
        assert seen == np.diff(arrays.table_row_first)[segment.live].sum()


def test_tokens(changed: LakeFolder) -> None:
    for segment in changed.segments:
        everything = np.arange(len(segment.arrays.token_id))
        batches = export.token_records(segment, 1_000)
        ids, texts, counts = (pa.concat_arrays(columns).to_pylist() for columns in zip(*batches, strict=True))
        assert ids == segment.arrays.token_id.tolist()
        assert texts == segment.texts(everything).to_pylist()
        assert counts == segment.posting_counts(everything).tolist()


def test_tables_and_columns(changed: LakeFolder) -> None:
    tables, columns = [], Counter[tuple[Any, ...]]()
    for segment in changed.segments:
        for batch in export.table_batches(segment):
            tables += batch.to_pylist()
            columns += Counter(zip(*(values.to_pylist() for values in export.column_records(batch)), strict=True))
    expected = changed.tables()
    assert sorted(tables, key=lambda record: record["table_id"]) == [table.record() for table in expected]
    assert columns == Counter((t.table_id, place, name) for t in expected for place, name in enumerate(t.columns))


def test_a_table_without_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    path = tmp_path / "lake.mate"
    built_lake(tmp_path / "a.csv", path)
    Updates(str(path)).remove_rows(0, [0])
    segment: Segment = open_folder(path).segments[-1]
    assert segment.live.all()
    assert list(export.postings(segment)) == []
    assert list(export.cells(segment)) == []
    assert [batch.num_rows for batch in export.table_batches(segment)] == [1]
