"""Evidence: the fast measure equals the readable one, stays in its bounds, and tells coincidences."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate.lake.base import Ids
from mate.lake.layout import SegmentArrays
from mate.search import evidence as fast
from mate.search.evidence import Evidence, measure
from mate.search.settings import SearchSettings
from mate.search.systems import find_system
from tests.search import oracle
from tests.search.evidence_reference import expected_by_chance, measure_rows
from tests.search.memory_lake import MemoryLake
from tests.search.test_exactness import Case, cases, search

CELLS = st.sampled_from([None, "a", "b", "c", "d", "e"])
SOME = Evidence(
    containment=0.5, uniqueness=0.8, fan_out=1.25, most_fan_out=2, chance=0.1, names=None, joinability=4, key_tuples=8
)


@st.composite
def held(draw: st.DrawFn) -> tuple[list[list[str | None]], list[int], list[tuple[str, ...]]]:
    """Return a table, a mapping to its columns, and distinct key tuples."""
    width = draw(st.integers(1, 5))
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=12))
    rows.append(["a"] * width)  # a lake has at least one value
    mapping = draw(st.permutations(range(width)))[: draw(st.integers(1, width))]
    one = st.tuples(*[st.sampled_from("abcdefg")] * len(mapping))
    return rows, list(mapping), draw(st.lists(one, min_size=1, max_size=12, unique=True))


def placed(rows: list[list[str | None]], tuples: list[tuple[str, ...]]) -> tuple[SegmentArrays, Ids]:
    """Return a lake of one table, and key tuples as places of their tokens in it."""
    (part,) = MemoryLake.of([rows]).segments
    texts = part.texts(np.arange(len(part.arrays.token_id))).to_pylist()
    return part.arrays, np.array([[texts.index(v) if v in texts else -1 for v in values] for values in tuples])


@settings(max_examples=200)
@given(case=held())
def test_measure_equals_the_reference(case: tuple[list[list[str | None]], list[int], list[tuple[str, ...]]]) -> None:
    rows, mapping, tuples = case
    arrays, places = placed(rows, tuples)
    found = measure(arrays, 0, places, mapping)
    expected = measure_rows([[row[c] for c in mapping] for row in rows], tuples)
    assert found._replace(chance=0.0) == expected._replace(chance=0.0)
    assert found.chance == pytest.approx(expected.chance, rel=1e-12, abs=1e-12)
    assert 0 <= found.uniqueness <= 1
    assert 0 <= found.joinability <= len(tuples)
    assert found.fan_out <= found.most_fan_out <= len(rows)
    assert 0 <= found.chance <= len(tuples) + 1e-9


@pytest.mark.parametrize("rows", [70_000, 300])
def test_tables_of_many_rows_and_values_are_measured(rows: int) -> None:
    """Codes of 1, 2 and 4 bytes, and a column without a value."""
    cells: list[list[str | None]] = [[str(n), str(n % 300), str(n % 7), None] for n in range(rows)]
    arrays, places = placed(cells, [("5", "5", "5"), ("8", "8", "1"), ("8", "8", "2"), ("x", "1", "1")])
    table = fast.KeyCounts(arrays, 0)
    asked = fast.tuple_codes(arrays, 0, places, [0, 1, 2])
    assert table.fan_outs([0, 1, 2], asked).tolist() == [1, 1, 0, 0]
    assert table.uniqueness([1, 2]) == min(rows, 2_100) / rows
    assert table.uniqueness([1, 3]) == 0
    assert table.fan_outs([0, 3], asked[:, :2]).tolist() == [0, 0, 0, 0]
    assert np.flatnonzero(table.tuples_of_rows([0, 1, 2], asked) >= 0).tolist() == [5, 8]


@settings(max_examples=60)
@given(case=cases(), parts=st.integers(1, 3), rank=st.sampled_from(["joinability", "usefulness"]))
def test_results_carry_the_evidence_of_their_mapping(case: Case, parts: int, rank: str) -> None:
    for result in search(MemoryLake.of(case.tables, parts), case, "column-first", rank=rank) or ():
        tuples = sorted(oracle.key_tuples(case.query, case.key))
        rows = [[oracle.token_of(row[c]) for c in result.column_ids] for row in case.tables[result.table_id]]
        expected, found = measure_rows(rows, tuples), result.evidence
        assert found.joinability == result.joinability == expected.joinability
        assert found.containment == result.joinability / len(tuples)
        assert (found.uniqueness, found.most_fan_out) == (expected.uniqueness, expected.most_fan_out)
        assert found.fan_out == pytest.approx(expected.fan_out)
        assert found.chance == pytest.approx(expected.chance)
        assert found.usefulness == found.containment * found.uniqueness
        assert found.names is not None
        assert 0 <= found.names <= 1


def test_uniqueness_counts_rows_that_are_whole_and_fan_out_those_that_join() -> None:
    rows = [["a", "1"], ["a", "1"], ["a", "2"], ["b", None], ["b", "1"]]
    found = measure_rows(rows, [("a", "1"), ("b", "1"), ("c", "1")])
    assert found._replace(chance=0) == (3 / 4, 1.5, 2, 0, 2)


def test_chance_keeps_the_rarest_value_and_draws_the_others() -> None:
    rows = [["a", "x"], ["b", "x"], ["c", "y"], ["d", "y"]]
    assert expected_by_chance(rows, [("a", "x")]) == 0.5
    assert expected_by_chance(rows, [("a", "x"), ("b", "y"), ("e", "x")]) == 1.0
    assert expected_by_chance([["a"], ["b"]], [("a",)]) == 0  # one column has nothing to be independent of


def test_a_joinability_that_is_unlikely_by_chance_is_no_chance() -> None:
    def is_chance(joinability: int, chance: float, key_tuples: int = 1_000) -> bool:
        return replace(SOME, joinability=joinability, chance=chance, key_tuples=key_tuples).is_chance

    assert not is_chance(1, 0.0)
    assert not is_chance(1, 1e-4)
    assert is_chance(1, 0.05)
    assert is_chance(100, 100.0)
    assert is_chance(110, 100.0)
    assert not is_chance(150, 100.0)
    assert not is_chance(40, 26.0, key_tuples=40)  # a table that holds every combination
    assert is_chance(4, 2.6, key_tuples=4)


def test_days_that_join_with_statistics_by_chance_are_marked() -> None:
    """Small numbers of one table meet those of another by chance; a calendar holds the days themselves."""
    dice = random.Random(7)
    days = [
        (str(year), str(month), str(day))
        for year in range(1994, 2004)
        for month in range(1, 13)
        for day in range(1, 29)
    ]
    statistics = [
        [str(dice.randint(1990, 2005)), str(dice.randint(1, 30)), str(dice.randint(0, 40)), str(dice.randint(0, 90))]
        for _ in range(3_000)
    ]
    calendar = [[f"day {n}", *day] for n, day in enumerate(days)]
    births = pa.table(dict(zip(("year", "month", "day"), map(list, zip(*days, strict=True)), strict=True)))
    found = find_system()(
        MemoryLake.of([statistics, calendar]), births, births.column_names, settings=SearchSettings(rank="usefulness")
    )
    real, chance = found.results
    assert (real.table_id, real.evidence.usefulness, real.evidence.is_chance) == (1, 1.0, False)
    assert chance.joinability > 100
    assert chance.evidence.is_chance
