"""Joinability by brute force, on one table: rows as lists of token numbers, -1 for none."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate.lake.base import Ids
from mate.lake.segment import RowBlock, memory_segment
from mate.search.reference import Score, score_table

Rows = list[list[int]]


def score(rows: Rows, tuples: Rows, floor: int = 0) -> Score | None:
    count, width = len(rows), len(rows[0])
    offsets, cells = np.arange(count + 1) * width, np.array(rows, np.int64).ravel()
    segment = memory_segment(RowBlock(np.full(count, 7), np.arange(count), offsets, cells))
    places: Ids = segment.places(np.array(tuples).ravel()).reshape(len(tuples), -1)
    known = places[(places >= 0).all(axis=1)]
    return score_table(segment.arrays, 0, known, floor) if len(known) else None


@pytest.mark.parametrize(
    ("values", "row", "fits"),
    [
        ([1, 2, 3], [3, 9, 1, 2], True),
        ([1, 2, 3], [1, 2, 9, 9], False),
        ([1, 2, 3], [1, 2, -1, -1], False),
        ([1, 1, 2], [1, 2, 9], False),
        ([1, 1, 2], [1, 2, 1], True),
        ([1, 2, 2], [2, 1, 1], False),
        ([1, 2, 2], [2, 1, 2], True),
        ([1, 1, 1], [1, 1], False),
        ([1, 1, 1], [1, 1, 1], True),
    ],
)
def test_each_value_needs_a_column_of_its_own(values: list[int], row: list[int], fits: bool) -> None:
    found = score([row], [values])
    assert (found is not None) == fits
    if found:
        assert found.joinability == 1
        assert [row[column] for column in found.mapping] == values
        assert len(set(found.mapping)) == len(values)


def test_a_tuple_counts_once() -> None:
    assert score([[1, 2], [5, 6], [1, 2], [3, 4]], [[1, 2], [3, 4], [5, 9]]) == (2, (0, 1))


def test_one_mapping_must_serve_all_tuples() -> None:
    """Two tuples one way round, one the other way: three rows hold, and no mapping joins more than two."""
    assert score([[1, 2], [4, 3], [5, 6]], [[1, 2], [3, 4], [5, 6]]) == (2, (0, 1))


def test_of_equal_mappings_the_smallest_column_list_is_taken() -> None:
    assert score([[2, 1, 9], [9, 3, 4]], [[1, 2], [3, 4]]) == (1, (1, 0))
    assert score([[9, 2, 1, 1, 2]], [[1, 2]]) == (1, (2, 1))


@st.composite
def tables(draw: st.DrawFn) -> tuple[Rows, Rows]:
    """Rows of one width, many of them with a tuple's values at the same places, some of the values twice."""
    width = draw(st.integers(1, 4))
    values = st.lists(st.integers(0, 5), min_size=width, max_size=width)
    tuples = draw(st.lists(values, min_size=1, max_size=6, unique_by=tuple))
    size = width + draw(st.integers(0, 3))
    rows = draw(st.lists(st.lists(st.integers(-1, 5), min_size=size, max_size=size), min_size=1, max_size=7))
    places = draw(st.permutations(range(size)))[:width]
    for row in rows[1:]:
        for place, value in zip(places, draw(st.sampled_from(tuples)), strict=True):
            row[place] = value
    return rows, tuples


def brute_force(rows: Rows, tuples: Rows) -> tuple[int, tuple[int, ...]]:
    """The highest joinability of the rows as one table, and the smallest mapping that has it."""
    wanted = set(map(tuple, tuples))
    mappings = permutations(range(len(rows[0])), len(tuples[0]))
    heights = [(-len(wanted & {tuple(row[c] for c in mapping) for row in rows}), mapping) for mapping in mappings]
    height, mapping = min(heights)
    return -height, mapping


@settings(max_examples=300)
@given(table=tables(), floor=st.integers(0, 3))
def test_the_score_is_that_of_all_permutations(table: tuple[Rows, Rows], floor: int) -> None:
    height, mapping = brute_force(*table)
    assert score(*table, floor) == ((height, mapping) if height > floor else None)
