"""The graph cut into tasks: the same joins as in one go, from a directory that was written and mapped."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.errors import QueryError
from mate.lake.folder import LakeFolder, open_folder
from mate.search.graph import JoinGraph, all_joins
from mate.search.graph.directory import lake_directory
from mate.search.graph.tasks import ARRAYS, read_directory, stored_directory, table_infos, table_ranges, write_directory
from tests import lakes
from tests.search.memory_lake import MemoryLake
from tests.search.test_graph import HEADERS, ORDERS, PAIRS, PEOPLE, READINGS


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> LakeFolder:
    path = tmp_path_factory.mktemp("tasks") / "lake.mate"
    return lakes.lake(path, [PEOPLE, ORDERS, PAIRS, READINGS], headers=HEADERS, segments=3)


def test_joins_of_ranges_are_those_of_one_go(lake: LakeFolder) -> None:
    directory = lake_directory(lake)
    expected, counted = JoinGraph(directory, table_infos(lake, directory)).joins_of(range(4))
    assert counted == {"tables": 4}
    assert {(edge.child, edge.parent) for edge in expected.edges} >= {(1, 0), (3, 2)}
    with stored_directory(lake, directory, 3, None) as stored:
        sent = pickle.loads(pickle.dumps(stored))
        for parts in (1, 2, 4):
            found = [sent.joins_of(tables) for tables in table_ranges(directory, parts)]
            assert all_joins([joins for joins, _ in found]) == expected
            assert sum(counts["tables"] for _, counts in found) == 4


def test_a_directory_is_mapped_as_it_was_written(lake: LakeFolder, tmp_path: Path) -> None:
    directory = lake_directory(lake)
    write_directory(lake, directory, tmp_path / "directory")
    other = open_folder(lake.path)
    found = read_directory(other, tmp_path / "directory")
    for name in ARRAYS:
        assert np.array_equal(getattr(found, name), getattr(directory, name)), name
        assert getattr(found, name).dtype == getattr(directory, name).dtype, name
    assert [table[1:] for table in found.tables] == [table[1:] for table in directory.tables]
    assert [table.segment in other.segments for table in found.tables] == [True] * 4
    assert found.most_columns == directory.most_columns


def test_nothing_is_left_behind(lake: LakeFolder, tmp_path: Path) -> None:
    directory = lake_directory(lake)
    with stored_directory(lake, directory, 3, tmp_path) as stored:
        assert Path(stored.path).is_relative_to(tmp_path)
        assert Path(stored.path).is_file()
    assert list(tmp_path.iterdir()) == []
    assert [path.name for path in lake.path.parent.iterdir()] == ["lake.mate"]


def test_a_folder_that_is_not_there_is_named(lake: LakeFolder, tmp_path: Path) -> None:
    directory = lake_directory(lake)
    with (
        pytest.raises(
            QueryError, match=r"gone cannot be written: No such file or directory; name a folder with --work"
        ),
        stored_directory(lake, directory, 3, tmp_path / "gone"),
    ):
        pass


@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(1, 15))
def test_ranges_are_even_and_leave_nothing_out(sizes: list[int], most: int) -> None:
    tables = {number: [[f"{number} {row}"] for row in range(size)] for number, size in enumerate(sizes)}
    directory = lake_directory(MemoryLake(tables))
    found = table_ranges(directory, most)
    assert [number for part in found for number in part] == list(range(len(sizes)))
    assert len(found) <= most
    values = [sum(sizes[number] + 1 for number in part) for part in found]
    assert max(values) <= sum(size + 1 for size in sizes) / most + max(sizes) + 1


def test_no_tables_no_ranges() -> None:
    assert table_ranges(lake_directory(MemoryLake({0: [["a"]]}, removed=[0])), 4) == []
