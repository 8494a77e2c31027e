"""The directories of all segments as one: overlaps of columns as sets would give them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mate.search.graph.directory import NUMBERS, lake_directory
from tests.search.memory_lake import MemoryLake

CELL = st.sampled_from(["a", "b", "3", "2019-01-01", None])
TABLE = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=5)
)


@settings(max_examples=150)
@given(st.lists(TABLE, min_size=1, max_size=6), st.integers(1, 3), st.data())
def test_overlaps_are_those_of_the_cells(tables: list[list[list[str | None]]], parts: int, data: st.DataObject) -> None:
    removed = data.draw(st.sets(st.sampled_from(range(len(tables))), max_size=2))
    dealt = [{n: rows for n, rows in enumerate(tables) if n % parts == part} for part in range(parts)]
    directory = lake_directory(MemoryLake(*filter(None, dealt), removed=sorted(removed)))  # type: ignore[arg-type]
    columns = {}
    for number, table in enumerate(directory.tables):
        rows = tables[int(table.segment.arrays.table_id[table.place])]
        assert table.rows == len(rows)
        for place in range(table.width):
            columns[table.first + place] = [row[place] for row in rows]
            assert directory.column_table[table.first + place] == number
    assert sorted(columns) == list(range(len(directory.column_table)))
    assert len(directory.tables) == len(tables) - len(removed)
    for first, numbers in (
        (directory.column_first, directory.column_value),
        (directory.value_first, directory.value_column),
    ):
        assert numbers.dtype == np.int32
        for start, stop in pairwise(first.tolist()):
            assert numbers[start:stop].tolist() == sorted(set(numbers[start:stop].tolist()))
    for column, cells in columns.items():
        plain = [not any(character.isalpha() for character in cell) for cell in set(cells) if cell is not None]
        assert directory.column_numbers[column] == (bool(plain) and sum(plain) >= NUMBERS * len(plain))
        found, rows_held = directory.overlaps(column)
        expected = {other: sum(cell is not None and cell in held for cell in cells) for other, held in columns.items()}
        assert dict(zip(found.tolist(), rows_held.tolist(), strict=True)) == {o: n for o, n in expected.items() if n}


def test_values_that_are_too_common_are_not_counted() -> None:
    tables = {number: [["everywhere"], [f"own {number // 2}"]] for number in range(6)}
    lake = MemoryLake(tables)
    assert lake_directory(lake).most_columns == 0
    directory = lake_directory(lake, most_work=20)
    assert directory.most_columns == 2
    assert [found.tolist() for found in directory.overlaps(0)] == [[0, 1], [1, 1]]
