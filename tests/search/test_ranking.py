"""Rankings are exact: against an oracle that measures every table, with ties, many segments and changed lakes."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate.errors import QueryError
from mate.search import engine
from mate.search.evidence.names import similarity
from mate.search.evidence.ranking import Rank, floor
from mate.search.settings import SearchSettings
from mate.search.statistics import Statistics
from mate.search.systems import find_system
from tests.search import oracle
from tests.search.evidence_reference import measure_rows
from tests.search.memory_lake import MemoryLake

HEADERS = st.sampled_from(["", "q0", "q 0 x", "Q1", "table"])
SYSTEMS = ("column-first", "mate", "scr", "mcr", "scr-josie")


@dataclass(frozen=True)
class Lake:
    """Tables that hold some of a query's tuples, some of them more than once."""

    tables: list[list[list[str | None]]]
    headers: list[list[str]]
    query: list[list[str | None]]
    key: list[int]

    def expected(self, *, names: bool, left_out: set[int]) -> list[tuple[float, float, int, int]]:
        """Return what all tables rank by, best first."""
        tuples = oracle.key_tuples(self.query, self.key)
        found = []
        for number, rows in enumerate(self.tables):
            joinability, mapping = oracle.joinability(tuples, rows)
            if joinability and number not in left_out:
                held = [[oracle.token_of(row[c]) for c in mapping] for row in rows]
                uniqueness = measure_rows(held, sorted(tuples)).uniqueness
                info = MemoryLake(dict(enumerate(self.tables)), headers=dict(enumerate(self.headers))).table(number)
                fit = similarity([f"q{c}" for c in self.key], info, mapping) if names else 0.0
                found.append((-(joinability / len(tuples)) * uniqueness, -fit, -joinability, number))
        return sorted(found)


@st.composite
def lakes(draw: st.DrawFn) -> Lake:
    size = draw(st.integers(1, 6))
    tables, headers = [], []
    for _ in range(draw(st.integers(1, 12))):
        rows: list[list[str | None]] = [
            [f"x{i}", f"y{i}"] for i in draw(st.lists(st.integers(0, size), min_size=1, max_size=8))
        ]
        if draw(st.booleans()):
            rows = [[row[1], row[0], "z"] for row in rows]
        tables.append(rows)
        headers.append([draw(HEADERS) for _ in rows[0]])
    query: list[list[str | None]] = [[f"x{i}", f"y{i}"] for i in range(size)]
    return Lake(tables, headers, query, draw(st.sampled_from([[0, 1], [1, 0], [0]])))


def memory_lake(lake: Lake, parts: int, removed: set[int] = frozenset()) -> MemoryLake:  # type: ignore[assignment]
    dealt = [{n: rows for n, rows in enumerate(lake.tables) if n % parts == part} for part in range(parts)]
    return MemoryLake(*filter(None, dealt), headers=dict(enumerate(lake.headers)), removed=sorted(removed))


def found_by(index: MemoryLake, lake: Lake, system: str, wanted: SearchSettings) -> list[tuple[float, float, int, int]]:
    query = pa.table([pa.array([row[c] for row in lake.query]) for c in (0, 1)], names=["q0", "q1"])
    found = find_system(system)(index, query, [f"q{c}" for c in lake.key], settings=wanted)
    return [tuple(Rank.of(result.evidence, result.table_id)) for result in found]  # type: ignore[misc]


@pytest.mark.parametrize("system", SYSTEMS)
@settings(max_examples=40)
@given(
    lake=lakes(),
    k=st.integers(1, 6),
    parts=st.integers(1, 4),
    names=st.booleans(),
    gone=st.sets(st.integers(0, 5)),
    excluded=st.sets(st.integers(0, 5), max_size=2),
)
def test_the_most_useful_tables_are_found(
    lake: Lake, k: int, parts: int, names: bool, gone: set[int], excluded: set[int], system: str
) -> None:
    wanted = SearchSettings(k=k, rank="usefulness", names=names, exclude=frozenset(excluded))
    index = memory_lake(lake, parts, gone & set(range(len(lake.tables) - 1)))
    left_out = excluded | (gone & set(range(len(lake.tables) - 1)))
    assert found_by(index, lake, system, wanted) == lake.expected(names=names, left_out=left_out)[:k]


@settings(max_examples=40)
@given(lake=lakes(), k=st.integers(1, 6), parts=st.integers(1, 3))
def test_equal_joinability_is_ordered_by_uniqueness(lake: Lake, k: int, parts: int) -> None:
    query = pa.table([pa.array([row[c] for row in lake.query]) for c in (0, 1)], names=["q0", "q1"])
    found = find_system()(memory_lake(lake, parts), query, [f"q{c}" for c in lake.key], k)
    assert len(found) == len(found.results)
    ranks = [(-result.joinability, -result.evidence.uniqueness, result.table_id) for result in found]
    assert ranks == sorted(ranks)


def test_a_table_far_down_by_joinability_is_found_in_further_rounds() -> None:
    """Twenty tables repeat all tuples; the one that holds but one tuple less, each once, is the most useful."""
    tuples = [[f"x{i}", f"y{i}"] for i in range(10)]
    tables: list[list[list[str | None]]] = [[*tuples, *tuples] for _ in range(20)] + [tuples[:9]]  # type: ignore[list-item]
    query = pa.table({"a": [row[0] for row in tuples], "b": [row[1] for row in tuples]})
    found = find_system()(MemoryLake.of(tables), query, ["a", "b"], 1, SearchSettings(rank="usefulness"))
    assert [result.table_id for result in found] == [20]
    assert found.statistics.rounds > 1
    assert found.statistics.tables_measured == 21


def test_evidence_is_not_measured_where_it_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[list[str | None]] = [["a", "b"], ["c", "d"]]
    query = pa.table({"x": ["a", "c"], "y": ["b", "d"]})
    found = find_system()(MemoryLake.of([rows, rows]), query, ["x", "y"], 2)
    assert found.statistics.tables_measured == 0
    monkeypatch.setattr(engine, "measure", None)
    assert len(found) == 2


@settings(max_examples=300)
@given(
    held=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 7), st.integers(0, 4)), min_size=1, max_size=6),
    other=st.tuples(st.integers(1, 9), st.integers(1, 7), st.integers(0, 4)),
    k=st.integers(1, 4),
    names=st.booleans(),
)
def test_a_table_at_the_floor_or_below_is_never_better(
    held: list[tuple[int, int, int]], other: tuple[int, int, int], k: int, names: bool
) -> None:
    def rank(number: int, joinability: int, unique: int, fit: int) -> Rank:
        return Rank(-(joinability / 9 * (unique / 7)), -(fit / 4) if names else 0.0, -joinability, number)

    ranks = [rank(number, *values) for number, values in enumerate(held, start=1)]
    if other[0] <= floor([-held.useless for held in ranks], k, 9):
        assert sorted(ranks)[k - 1] < rank(0, *other)


def test_an_unknown_ranking_is_refused() -> None:
    query = pa.table({"x": ["a"]})
    with pytest.raises(QueryError, match='there is no ranking "useful"; did you mean "usefulness"'):
        find_system()(MemoryLake.of([[["a"]]]), query, ["x"], settings=SearchSettings(rank="useful"))


def test_the_work_of_rounds_adds_up() -> None:
    one, other = (Statistics(true_positives=2, false_positives=3, false_positives_held=1) for _ in range(2))
    one.add_round(other)
    assert (one.rounds, one.false_positives_held) == (2, 2)
    assert one.filter_precision == other.filter_precision
