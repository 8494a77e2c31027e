"""Rankings are exact: against an oracle that measures every table, with ties, many segments and changed lakes."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
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
from tests.search.test_exactness import EVERY_SYSTEM, Case, cases, ladders, query_of

HEADERS = st.sampled_from(["", "q0", "q 0 x", "Q1", "table"])


@st.composite
def lakes(draw: st.DrawFn) -> tuple[Case, dict[int, list[str]]]:
    """Return a lake with a query that joins, some of it more than once, and headers that fit more or less."""
    case = draw(st.one_of(cases(most_keys=3), ladders()))
    assume(oracle.key_tuples(case.query, case.key))
    headers = {number: [draw(HEADERS) for _ in rows[0]] for number, rows in enumerate(case.tables)}
    return case, headers


def expected(case: Case, lake: MemoryLake, *, names: bool) -> list[tuple[float, float, int, int]]:
    """Return what all tables rank by, best first."""
    tuples = sorted(oracle.key_tuples(case.query, case.key))
    found = []
    for joinability, number, mapping in case.ranking:
        if lake.tables([number]):
            held = [[oracle.token_of(row[c]) for c in mapping] for row in case.tables[number]]
            uniqueness = measure_rows(held, tuples).uniqueness
            fit = similarity([f"q{c}" for c in case.key], lake.table(number), mapping) if names else 0.0
            found.append((-(joinability / len(tuples)) * uniqueness, -fit, -joinability, number))
    return sorted(found)


@EVERY_SYSTEM
@settings(max_examples=40)
@given(
    drawn=lakes(),
    k=st.integers(1, 6),
    parts=st.integers(1, 4),
    names=st.booleans(),
    gone=st.sets(st.integers(0, 5)),
    excluded=st.frozensets(st.integers(0, 5), max_size=2),
)
def test_the_most_useful_tables_are_found(
    drawn: tuple[Case, dict[int, list[str]]],
    k: int,
    parts: int,
    names: bool,
    gone: set[int],
    excluded: frozenset[int],
    system: str,
) -> None:
    case, headers = drawn
    lake = MemoryLake.of(case.tables, parts, headers=headers, removed=sorted(gone & set(range(len(case.tables) - 1))))
    wanted = SearchSettings(k=k, rank="usefulness", names=names, exclude=excluded)
    found = find_system(system)(lake, *query_of(case), settings=wanted)
    best = [rank for rank in expected(case, lake, names=names) if rank[-1] not in excluded]
    assert [Rank.of(result.evidence, result.table_id) for result in found] == best[:k]


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
