"""JOSIE's own index has the columns of a lake as sets, and JOSIE finds in it what counting finds."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.systems.column_sets import ColumnSets
from baselines.systems.josie import Options, top_k
from baselines.systems.josie_costs import Costs, Line
from baselines.systems.josie_index import JosieIndex, build_josie_index
from tests.baselines.systems.test_josie import assert_best
from tests.search.memory_lake import MemoryLake

VALUES = st.sampled_from(["a", "b", "c", "dd", "é", "f g", "-", None])
TABLES = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(VALUES, min_size=width, max_size=width), min_size=1, max_size=6)
)
LAKES = st.lists(TABLES, min_size=1, max_size=6).filter(
    lambda tables: any(cell not in ("-", None) for rows in tables for row in rows for cell in row)
)
COSTS = Costs(Line(1.0, 1.0, 0.01), Line(1.0, 1.0, 0.01))


def sets_of(tables: list[list[list[str | None]]], removed: int) -> dict[tuple[int, int], set[str]]:
    """Return the values of each column of each table but one."""
    return {
        (number, column): {str(row[column]) for row in rows} - {"-", "None"}
        for number, rows in enumerate(tables)
        for column in range(len(rows[0]))
        if number != removed
    }


@settings(max_examples=60)
@given(tables=LAKES, parts=st.integers(1, 3), removed=st.integers(0, 8))
def test_it_has_the_sets_and_their_inverse_in_the_global_order(
    tables: list[list[list[str | None]]], parts: int, removed: int
) -> None:
    index = build_josie_index(MemoryLake.of(tables, parts, removed=[removed]))
    expected = sets_of(tables, removed)
    frequency = Counter(value for values in expected.values() for value in values)
    texts = index.text.tobytes()
    bounds = index.text_first.tolist()
    names = [texts[a:b].decode() for a, b in pairwise(bounds)]
    assert sorted(names) == sorted(frequency)
    name_of = dict(zip(index.token_list.tolist(), names, strict=True))
    assert [frequency[name_of[number]] for number in range(index.lists)] == sorted(frequency.values())
    where = list(zip(index.set_table.tolist(), index.set_column.tolist(), strict=True))
    assert sorted(where) == sorted(expected)
    for number, place in enumerate(where):
        members = index.set_list[index.set_first[number] : index.set_first[number + 1]].tolist()
        assert members == sorted(members)
        assert {name_of[member] for member in members} == expected[place]
    for number in range(index.lists):
        items = index.items(np.array([number]))
        assert {where[i] for i in items.set_id.tolist()} == {p for p, v in expected.items() if name_of[number] in v}
        for owner, position, size in zip(items.set_id, items.position, items.size, strict=True):
            assert index.set_list[index.set_first[owner] + position] == number
            assert size == len(expected[where[owner]])


@settings(max_examples=60)
@given(tables=LAKES, parts=st.integers(1, 3), query=st.sets(VALUES.filter(bool)), k=st.integers(1, 6))
def test_josie_searches_it(tables: list[list[list[str | None]]], parts: int, query: set[str], k: int) -> None:
    index = build_josie_index(MemoryLake.of(tables, parts))
    expected = sets_of(tables, -1)
    where = zip(index.set_table.tolist(), index.set_column.tolist(), strict=True)
    overlap = {number: len(expected[place] & query) for number, place in enumerate(where)}
    found = top_k(cast(ColumnSets, index), index.places(sorted(query)), k, Options(costs=COSTS))
    assert_best(found, {number: shared for number, shared in overlap.items() if shared}, k)


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    made = build_josie_index(MemoryLake.of([[["a", "b"], ["c", None]], [["a", "a"]]], 2))
    size = made.write(tmp_path / "josie")
    again = JosieIndex.open(tmp_path / "josie")
    assert all((one == other).all() and one.dtype == other.dtype for one, other in zip(made, again, strict=True))
    assert size == sum(file.stat().st_size for file in (tmp_path / "josie").iterdir()) > sum(a.nbytes for a in made)
    assert again.places(["a", "nowhere"]).size == 1
