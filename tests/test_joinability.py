"""Exact joinability on arrays, without a store: rows as lists of token numbers, -1 for none."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mate.search.joinability
from mate.search.joinability import Checked, RowCells, TableScore, check, joined, score
from mate.store.base import Candidates, Ids, as_ids

Rows = list[list[int]]


def row_cells(rows: Rows) -> RowCells:
    offsets = np.cumsum([0, *map(len, rows)])
    columns = [column for row in rows for column in range(len(row))]
    return RowCells(np.arange(len(rows)), offsets, as_ids(columns), as_ids([cell for row in rows for cell in row]))


def pairs(rows: Rows, tables: list[int], tuples: Ids, initial: int) -> Candidates:
    """Every posting of an initial value, with every tuple that has the value."""
    found = [
        (number, tables[row], column, row)
        for number, values in enumerate(tuples.tolist())
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
        if cell == values[initial]
    ]
    return Candidates(*(as_ids([entry[i] for entry in found]) for i in range(4)))


def scores(rows: Rows, tables: list[int], tuples: Ids, initial: int = 0) -> list[TableScore]:
    cells = row_cells(rows)
    checked = check(pairs(rows, tables, tuples, initial), cells, tuples, initial)
    return sorted(score(checked, lambda _: cells, tuples, initial), key=lambda s: s.table_id)


@pytest.mark.parametrize("initial", [0, 1, 2])
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
def test_each_value_needs_a_column_of_its_own(values: list[int], row: list[int], fits: bool, initial: int) -> None:
    found = scores([row], [7], as_ids([values]), initial)
    assert [(s.table_id, s.joinability) for s in found] == ([(7, 1)] if fits else [])
    for result in found:
        assert [row[column] for column in result.mapping] == values
        assert len(set(result.mapping)) == len(values)


def test_a_tuple_counts_once_and_all_its_rows_are_named() -> None:
    (result,) = scores([[1, 2], [5, 6], [1, 2], [3, 4]], [0] * 4, as_ids([[1, 2], [3, 4], [5, 9]]))
    assert (result.joinability, result.mapping) == (2, (0, 1))
    assert sorted(zip(*(ids.tolist() for ids in result.matches()), strict=True)) == [(0, 0), (0, 2), (1, 3)]


def test_one_mapping_must_serve_all_tuples() -> None:
    """Two tuples one way round, one the other way: three rows hold, and no mapping joins more than two."""
    (result,) = scores([[1, 2], [4, 3], [5, 6]], [0] * 3, as_ids([[1, 2], [3, 4], [5, 6]]))
    assert (result.joinability, result.mapping) == (2, (0, 1))


def test_of_equal_mappings_the_smallest_column_list_is_taken() -> None:
    (plain,) = scores([[2, 1, 9], [9, 3, 4]], [0, 0], as_ids([[1, 2], [3, 4]]))
    assert (plain.joinability, plain.mapping) == (1, (1, 0))
    (ambiguous,) = scores([[9, 2, 1, 1, 2]], [0], as_ids([[1, 2]]))
    assert (ambiguous.joinability, ambiguous.mapping) == (1, (2, 1))


def test_tables_are_scored_apart() -> None:
    found = scores([[1, 2], [2, 1], [3, 4], [1, 1]], [3, 5, 5, 8], as_ids([[1, 2], [3, 4]]))
    assert [(s.table_id, s.joinability, s.mapping) for s in found] == [(3, 1, (0, 1)), (5, 1, (0, 1))]
    assert found[1].matches().row_id.tolist() == [2]


@st.composite
def lakes(draw: st.DrawFn) -> tuple[Rows, Ids, int]:
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
    return rows, as_ids(tuples), draw(st.integers(0, width - 1))


def brute_force(rows: Rows, tuples: Ids) -> tuple[int, tuple[int, ...]]:
    """The highest joinability of the rows as one table, and the smallest mapping that has it."""
    wanted = set(map(tuple, tuples.tolist()))
    mappings = permutations(range(len(rows[0])), tuples.shape[1])
    heights = [(-len(wanted & {tuple(row[c] for c in mapping) for row in rows}), mapping) for mapping in mappings]
    height, mapping = min(heights)
    return -height, mapping


@pytest.mark.parametrize("most_options", [0, 1, 4, 64])
@settings(max_examples=100)
@given(lake=lakes())
def test_score_equals_brute_force(lake: tuple[Rows, Ids, int], most_options: int) -> None:
    """Whatever is enumerated and whatever is left to branch and bound."""
    rows, tuples, initial = lake
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mate.search.joinability, "MOST_OPTIONS", most_options)
        found = scores(rows, [3] * len(rows), tuples, initial)
    height, mapping = brute_force(rows, tuples)
    assert [s[:3] for s in found] == ([(3, height, mapping)] if height else [])
    for result in found:
        joining = zip(*(ids.tolist() for ids in result.matches()), strict=True)
        assert sorted(joining) == [
            (number, row)
            for number, values in enumerate(tuples.tolist())
            for row, cells in enumerate(rows)
            if [cells[c] for c in mapping] == values
        ]


def same(left: Checked, right: Checked) -> bool:
    arrays = zip((*left.candidates, *left[1:]), (*right.candidates, *right[1:]), strict=True)
    return all(np.array_equal(one, other) for one, other in arrays)


@settings(max_examples=150)
@given(lakes())
def test_the_kernel_equals_the_numpy_version(lake: tuple[Rows, Ids, int]) -> None:
    rows, tuples, initial = lake
    candidates = pairs(rows, [0] * len(rows), tuples, initial)
    plain = check(candidates, row_cells(rows), tuples, initial)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mate.search.joinability, "_SMALL", 0)
        assert same(check(candidates, row_cells(rows), tuples, initial), plain)


@settings(max_examples=100)
@given(lakes(), st.integers(1, 4))
def test_pieces_joined_equal_the_whole(lake: tuple[Rows, Ids, int], count: int) -> None:
    rows, tuples, initial = lake
    cells, tables = row_cells(rows), [row % 3 for row in range(len(rows))]
    candidates = pairs(rows, tables, tuples, initial)
    pieces = [Candidates(*(column[part::count] for column in candidates)) for part in range(count)]
    checked = joined([check(piece, cells, tuples, initial) for piece in pieces])
    found = sorted(score(checked, lambda _: cells, tuples, initial), key=lambda s: s.table_id)
    assert [s[:3] for s in found] == [s[:3] for s in scores(rows, tables, tuples, initial)]
