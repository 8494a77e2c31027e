"""SCR JOSIE is exact, MCR JOSIE as good as its two settings allow, and both say so if the index is not a lake."""

from __future__ import annotations

from typing import cast

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.systems import josie_costs, mcr_josie, scr_josie
from baselines.systems.josie_costs import Costs, Line
from baselines.systems.mcr_josie import Asked
from mate.errors import QueryError
from mate.lake.base import Index
from mate.search.settings import FilterSettings, SearchSettings
from mate.search.systems import find_system
from tests.search.memory_lake import MemoryLake, Rows
from tests.search.test_exactness import Case, assert_right, cases, query_of, search

PARTS = st.integers(1, 3)


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for few columns at a time, so that every bound decides something."""
    monkeypatch.setattr(scr_josie, "FIRST_COLUMNS", 1)
    monkeypatch.setattr(scr_josie, "GROWTH", 2)
    # Measuring a segment takes longer than to search one of a few rows.
    line = Line(1e-3, 1e-4, 1e-6)
    monkeypatch.setattr(josie_costs, "calibrate", lambda sets: Costs(line, line))


@settings(max_examples=60)
@given(case=cases(), parts=PARTS, filters=st.booleans(), initial=st.sampled_from(["pairs", "cardinality", "worst"]))
def test_scr_josie_is_exact(case: Case, parts: int, filters: bool, initial: str) -> None:
    lake = MemoryLake.of(case.tables, parts)
    assert_right(search(lake, case, "scr-josie", table_filters=filters, initial_column=initial), case)


@settings(max_examples=40)
@given(case=cases(most_keys=3), excluded=st.sets(st.integers(0, 6)), removed=st.sets(st.integers(0, 6)), parts=PARTS)
def test_excluded_and_superseded_tables(case: Case, excluded: set[int], removed: set[int], parts: int) -> None:
    gone = excluded | removed
    expected = [score for score, table, _ in case.ranking if table not in gone][: case.k]
    lake = MemoryLake.of(case.tables, parts, removed=sorted(removed))
    for system in ("scr-josie", "mcr-josie"):
        found = search(lake, case, system, exclude=frozenset(excluded))
        assert [result.joinability for result in found or ()] == expected


@settings(max_examples=40)
@given(case=cases(), parts=PARTS)
def test_mcr_josie_misses_nothing_if_it_is_asked_for_enough(case: Case, parts: int) -> None:
    """A lake of fewer columns than 500 leaves nothing to miss."""
    assert_right(search(MemoryLake.of(case.tables, parts), case, "mcr-josie"), case)


@settings(max_examples=60)
@given(case=cases(most_keys=3), asked=st.builds(Asked, st.integers(1, 4), st.integers(1, 8)), parts=PARTS)
def test_what_mcr_josie_finds_is_true(case: Case, asked: Asked, parts: int) -> None:
    exact = {t: score for score, t, _ in case.ranking}
    lake = MemoryLake.of(case.tables, parts)
    try:
        found = mcr_josie.search(lake, *query_of(case), case.k, None, asked)
    except QueryError:
        assert not exact
        return
    assert all(exact[result.table_id] == result.joinability for result in found)


COLUMNS = [[["a"], ["b"], ["c"]], [["a"], ["b"]], [["a"], ["x"]], [["b"], ["c"], ["a"], ["y"]]]


@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize(("asked", "tables"), [(1, [0]), (2, [0, 3]), (3, [0, 3, 1]), (9, [0, 3, 1, 2])])
def test_columns_are_counted_through_all_segments(parts: int, asked: int, tables: list[int]) -> None:
    query = pa.table({"x": ["a", "b", "c"]})
    found = mcr_josie.search(MemoryLake.of(COLUMNS, parts), query, ["x"], None, None, Asked(asked))
    scores = [result.joinability for result in found]
    assert scores == [3, 3, 2, 1][: len(tables)]


ONE_VALUE_MANY_TUPLES: list[Rows] = [
    [["a", f"{i}"] for i in range(6)],  # one value of the initial column, six key tuples
    [[letter, "x"] for letter in "abcde"],  # five values, no key tuple
    [[letter, "0"] for letter in "abcde"],  # five values, one key tuple
]


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_overlap_is_counted_in_key_tuples(parts: int) -> None:
    """By distinct values alone the best table would come last, with an overlap of 1 that seems beaten by 1."""
    query = pa.table({"k": ["a"] * 6 + list("bcde"), "n": [f"{i}" for i in range(6)] + ["none"] * 4})
    lake = MemoryLake.of(ONE_VALUE_MANY_TUPLES, parts)
    for k in (1, 2, 3):
        found = scr_josie.SYSTEM(lake, query, ["k", "n"], k)
        assert [(r.table_id, r.joinability) for r in found] == [(0, 6), (2, 1)][:k]


def test_a_good_table_may_be_missed_by_mcr_josie() -> None:
    lake = MemoryLake.of([[["a", "1"], ["b", "2"]], [["a", "9"], ["b", "8"], ["c", "7"]]])
    query = pa.table({"x": ["a", "b", "c"], "y": ["1", "2", "9"]})
    exact = scr_josie.SYSTEM(lake, query, ["x", "y"], 1)
    found = mcr_josie.search(
        lake, query, ["x", "y"], 1, SearchSettings(filters=FilterSettings(initial_column="x")), Asked(1, 9)
    )
    assert [(r.table_id, r.joinability) for r in exact] == [(0, 2)]
    assert 0 not in [r.table_id for r in found]


@pytest.mark.parametrize("system", ["scr-josie", "mcr-josie"])
def test_statistics(system: str) -> None:
    query = pa.table({"k": ["a"], "n": ["0"]})
    done = find_system(system)(
        MemoryLake.of(ONE_VALUE_MANY_TUPLES, 2),
        query,
        ["k", "n"],
        settings=SearchSettings(filters=FilterSettings(initial_column="n")),
    ).statistics
    assert (done.system, done.hash, done.key_tuples, done.segments) == (system, "none", 1, 2)
    assert {"calibrate", "prepare", "josie", "fetch postings", "filter rows and score"} <= set(done.seconds)
    assert (done.initial_column, done.tables, done.true_positives) == ("n", 2, 2)
    assert done.candidates == done.true_positives + done.false_positives


class Database:
    """An index that is not a lake."""

    address = "duckdb:x.duckdb"


@pytest.mark.parametrize("system", ["scr-josie", "mcr-josie"])
def test_an_index_that_is_not_a_lake(system: str) -> None:
    with pytest.raises(
        QueryError, match=r"-josie searches the directory of a lake in a folder, which duckdb:x\.duckdb is not"
    ):
        find_system(system)(cast(Index, Database()), pa.table({"a": ["x"]}), ["a"])
