"""Suggestions: what they report is right by brute force, and keys are found that nobody named."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate.errors import QueryError
from mate.lake.base import Index
from mate.search import suggestion_cover
from mate.search.evidence_reference import measure_rows
from mate.search.suggestion import Suggestion, SuggestionSettings, suggest
from mate.search.suggestion_columns import QueryColumns
from mate.search.suggestion_table import TableKeys
from tests.search import oracle
from tests.search.memory_lake import MemoryLake
from tests.search.test_exactness import Case, cases

Rows = list[list[str | None]]
YEARS, TEAMS = [str(year) for year in range(1990, 2000)], [f"team {n}" for n in range(8)]
SEASONS: Rows = [[year, team, f"coach {n % 13}"] for n, (year, team) in enumerate((y, t) for y in YEARS for t in TEAMS)]


def table(rows: Rows, names: list[str] | None = None) -> pa.Table:
    names = names or [f"q{i}" for i in range(len(rows[0]))]
    return pa.table([pa.array([row[i] for row in rows], pa.string()) for i in range(len(names))], names=names)


def players(count: int = 60) -> pa.Table:
    """Players, each in a season of a team; goals are small numbers."""
    dice = random.Random(3)
    rows: Rows = []
    for n in range(count):
        year, team, _ = dice.choice(SEASONS)
        rows.append([f"player {n}", team, year, str(dice.randint(0, 9))])
    return table(rows, ["player", "team", "year", "goals"])


def found_in(suggestions: list[Suggestion]) -> list[tuple[tuple[str, ...], int]]:
    return [(suggestion.key, suggestion.result.table_id) for suggestion in suggestions]


@settings(max_examples=150)
@given(case=cases(most_keys=4), parts=st.integers(1, 3), most=st.integers(1, 4), k=st.integers(1, 6))
def test_what_is_reported_is_right(case: Case, parts: int, most: int, k: int) -> None:
    names = [f"q{i}" for i in range(len(case.query[0]))]
    try:
        found = suggest(MemoryLake.of(case.tables, parts), table(case.query), SuggestionSettings(k, most)).found
    except QueryError:
        assert not any(oracle.token_of(cell) for row in case.query for cell in row)
        return
    assert len(found) <= k
    assert len(set(found_in(found))) == len(found)
    for suggestion in found:
        result, key = suggestion.result, [names.index(name) for name in suggestion.key]
        assert 1 <= len(key) <= most
        tuples = oracle.key_tuples(case.query, key)
        assert (result.joinability, result.column_ids) == oracle.joinability(tuples, case.tables[result.table_id])
        rows = [[oracle.token_of(row[c]) for c in result.column_ids] for row in case.tables[result.table_id]]
        expected = measure_rows(rows, sorted(tuples))
        assert result.evidence.usefulness == result.joinability / len(tuples) * expected.uniqueness
        assert not result.evidence.is_chance
        assert suggestion.unique_part == unique_part(rows, suggestion.key)
    scores = [-suggestion.result.evidence.usefulness for suggestion in found]
    assert scores == sorted(scores)


def unique_part(rows: list[list[str | None]], key: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the shortest proper part of a key that is unique, by brute force."""
    for size in range(1, len(key)):
        for part in combinations(range(len(key)), size):
            if measure_rows([[row[p] for p in part] for row in rows], []).uniqueness == 1:
                return tuple(key[p] for p in part)
    return None


@pytest.mark.parametrize("parts", [1, 2])
def test_a_composite_key_is_found(parts: int) -> None:
    others: list[Rows] = [[[str(n), f"thing {n}"] for n in range(20)], [[team, "north"] for team in TEAMS[:4]]]
    lake = MemoryLake.of([SEASONS, *others], parts, headers={0: ["year", "tm", "coach"], 1: ["id", "a"], 2: ["t", "r"]})
    found = suggest(lake, players())
    best, *_ = found
    effort = found.effort
    assert (effort.columns, effort.tables, effort.tables_tried, effort.suggestions) == (4, 3, 3, len(found))
    assert effort.checks > 0
    assert effort.answered - effort.chance >= len(found)
    assert set(effort.seconds) == {"cover", "keys", "answer"}
    assert (best.key, best.result.table_id) == (("team", "year"), 0)
    assert best.result.mapping == {"team": "tm", "year": "year"}
    assert best.result.evidence.usefulness == 1
    assert best.unique_part is None


def test_a_key_with_a_part_that_is_as_useful_is_left_out() -> None:
    people: Rows = [[f"player {n}", f"city {n % 7}"] for n in range(60)]
    query = table([[f"player {n}", f"city {n % 7}", "x"] for n in range(40)], ["player", "city", "other"])
    assert found_in(suggest(MemoryLake.of([people]), query).found) == [(("player",), 0), (("city",), 0)]


def test_small_numbers_that_many_tables_hold_are_left_out_unless_names_fit() -> None:
    ids: list[Rows] = [[[str(n), f"{name} {n}"] for n in range(30)] for name in range(15)]
    headers = {number: ["id", "text"] for number in range(15)} | {4: ["goals", "text"]}
    lake = MemoryLake.of(ids, headers=headers)
    assert found_in(suggest(lake, players()).found) == [(("goals",), 4)]
    assert not suggest(lake, players(), SuggestionSettings(names=False)).found


def test_excluded_tables_and_other_columns_play_no_part() -> None:
    lake = MemoryLake.of([SEASONS, SEASONS])
    assert {
        table_id for _, table_id in found_in(suggest(lake, players(), SuggestionSettings(exclude=frozenset({0}))).found)
    } == {1}
    for suggestion in suggest(lake, players(), SuggestionSettings(columns=["Player", "year"])):
        assert set(suggestion.key) <= {"player", "year"}
    assert all(len(s.key) == 1 for s in suggest(lake, players(), SuggestionSettings(most_columns=1)))


def test_the_directory_is_read_in_compiled_loops_as_in_plain_ones() -> None:
    (segment,) = MemoryLake.of([SEASONS, [["team 1", "1990"], ["team 2", "x"]]]).segments
    for column in QueryColumns.of(suggestable(), None, frozenset()).columns:
        places = segment.places(column.ids, column.values)
        plain = suggestion_cover._plain(segment.arrays, places, column.rows)
        assert np.array_equal(plain, suggestion_cover._compiled(segment.arrays, places, column.rows))


def suggestable():  # type: ignore[no-untyped-def]
    from mate.search.query import from_arrow

    return from_arrow(players())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, not 0"),
        ({"most_columns": 5}, "a suggested key has 1 to 4 columns, not 5"),
        ({"columns": ["teem"]}, 'has no column "teem"; did you mean "team"'),
        ({"columns": []}, "a query needs at least one key column"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        suggest(MemoryLake.of([SEASONS]), players(), SuggestionSettings(**options))  # type: ignore[arg-type]


def test_a_table_of_very_many_columns_takes_no_square_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns with a value twice: none is unique, each could be part of a longer key with each other."""
    found: list[int] = []
    bounds = TableKeys._bounds
    monkeypatch.setattr(TableKeys, "_bounds", lambda *given: found.append(bounds(*given).size) or bounds(*given))
    monkeypatch.setattr("mate.search.suggestion_table.GROWN", 20)
    wide: Rows = [[f"{column} {row // 2}" for column in range(90)] for row in range(6)]
    assert suggest(MemoryLake.of([wide]), table(wide)).effort.tables_tried == 1
    assert found[0] == 20**2
    assert sum(found) < 90**2


def test_a_table_without_values_is_refused() -> None:
    with pytest.raises(QueryError, match="no column of query has a value to join by"):
        suggest(MemoryLake.of([SEASONS]), table([["-", None]]))


def test_a_database_has_no_directory_to_go_by() -> None:
    class Database(Index):
        address = "vertica://host"

    Database.__abstractmethods__ = frozenset()  # type: ignore[misc]
    with pytest.raises(QueryError, match="by the directory of a lake in a folder, which vertica://host is not"):
        suggest(Database(), players())
