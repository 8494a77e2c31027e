"""Suggestions: what they report is right by brute force, and keys are found that nobody named."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mate.errors import QueryError
from mate.lake.base import Index
from mate.lake.records import TableInfo
from mate.search import suggest as whole
from mate.search.evidence import KeyCounts, measure
from mate.search.evidence.names import similarity
from mate.search.query import from_arrow
from mate.search.suggest import Suggestion, SuggestionSettings, suggest
from mate.search.suggest import cover as suggestion_cover
from mate.search.suggest import tables as suggestion_table
from mate.search.suggest.checks import CHECKS, Growing, Grown, longer, padded
from mate.search.suggest.columns import QueryColumns
from mate.search.suggest.pairs import PARTNERS, Pair
from mate.search.suggest.tables import Candidate, TableKeys
from tests.search import oracle
from tests.search.evidence_reference import measure_rows
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


def test_shares_are_those_of_rows_whose_value_a_column_holds() -> None:
    tables: list[Rows] = [SEASONS, [["team 1", "1990"], ["team 2", "x"]]]
    asked = players()
    (part,) = suggestion_cover.promising_tables(
        MemoryLake.of(tables), QueryColumns.of(from_arrow(asked), None, frozenset()), frozenset()
    )[:1]
    held = [{row[c] for row in rows} for rows in tables for c in range(len(rows[0]))]
    cells = [column.to_pylist() for column in asked.columns]
    expected = [[sum(cell in values for cell in column) / len(column) for column in cells] for values in held]
    assert part.covered.share.tolist() == expected


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
    monkeypatch.setattr(
        suggestion_table,
        "longer",
        lambda growing, grown, unique: (
            found.append(len(grown.mappings) * len(growing.own)) or longer(growing, grown, unique)
        ),
    )
    monkeypatch.setattr("mate.search.suggest.tables.GROWN", 20)
    wide: Rows = [[f"{column} {row // 2}" for column in range(90)] for row in range(6)]
    assert suggest(MemoryLake.of([wide]), table(wide)).effort.tables_tried == 1
    assert found[0] == 20**2
    assert sum(found) < 90**2


def random_lake(seed: int) -> tuple[MemoryLake, pa.Table]:
    """Return tables that share small numbers and columns of the same names, and one to ask with."""
    dice = random.Random(seed)
    names = ["team", "tm id", "year", "Year of birth", "goals", "", "a b"]

    def rows(width: int, count: int) -> Rows:
        sizes = [dice.choice([2, 3, 5, 9, 40]) for _ in range(width)]
        return [[dice.choice([None, *map(str, range(size))]) for size in sizes] for _ in range(count)]

    tables = [rows(dice.randint(1, 7), dice.randint(1, 40)) for _ in range(30)]
    query = rows(5, dice.randint(5, 40))
    for own in tables[::3]:  # rows of the query, so that long keys join
        own[:] = [[*row[:4], "x"] for row in query[: dice.randint(1, len(query))]]
    headers = {number: dice.choices(names, k=len(own[0])) for number, own in enumerate(tables)}
    return MemoryLake.of(tables, dice.randint(1, 3), headers=headers), table(
        query, ["team", "year", "q", "goals", "b a"]
    )


@pytest.mark.parametrize("seed", range(8))
def test_what_is_chosen_is_what_all_candidates_in_order_give(seed: int) -> None:
    lake, query = random_lake(seed)
    own = QueryColumns.of(from_arrow(query), None, frozenset())
    tables = suggestion_cover.promising_tables(lake, own, frozenset())
    keys = whole.LakeKeys.of(lake, tables, own, names=True)
    grown = whole._grown(keys, SuggestionSettings(), whole.Effort())
    for most in (1, 6, 200):
        found = whole._chosen(keys, grown, most)
        expected = chosen_plainly(lake, own, tables, most)
        assert [(one.key, one.table_id) for one in found] == [(one.key, one.table_id) for one in expected]


def chosen_plainly(
    lake: MemoryLake, own: QueryColumns, tables: list[suggestion_cover.PromisingTable], most: int
) -> list[Candidate]:
    """Return what is chosen when every candidate of every table is made, named and sorted."""
    infos = {info.table_id: info for info in lake.tables()}
    keys = [TableKeys(one, infos[one.table_id], own) for one in tables]
    singles = [one.single(pair) for one in keys for pair in one.pairs]
    found = [
        one
        for one in singles
        if one.names >= whole.FITTING
        or sum(two.key == one.key and two.usefulness >= one.usefulness for two in singles) <= whole.COMMON
    ]
    found += [key for one in keys for key in one.grow(4) if not key.is_chance]
    chosen: list[Candidate] = []
    for candidate in sorted(found, key=lambda candidate: candidate.order):
        same = sum(candidate.key == other.key for other in chosen)
        if same < whole.TABLES_PER_KEY and not any(candidate.is_nested(other) for other in chosen):
            chosen.append(candidate)
    return chosen[:most]


@pytest.mark.parametrize("seed", range(8))
def test_joint_checks_tell_what_evidence_does(seed: int) -> None:
    lake, query = random_lake(seed)
    own = QueryColumns.of(from_arrow(query), None, frozenset())
    infos = {info.table_id: info for info in lake.tables()}
    checked = 0
    for one in suggestion_cover.promising_tables(lake, own, frozenset()):
        held = KeyCounts(one.arrays, one.place)
        for key in TableKeys(one, infos[one.table_id], own, held).grow(4):
            mapping = [pair.other for pair in key.pairs]
            tuples = own.tuples(key.key)
            places = [one.covered.places[c][own.sampled_values(c)][tuples[:, at]] for at, c in enumerate(key.key)]
            measured = measure(one.arrays, one.place, np.stack(places, axis=1), mapping)
            assert (key.joinability, key.uniqueness) == (measured.joinability, measured.uniqueness)
            assert key.containment == measured.joinability / len(tuples)
            assert key.find_chance() == measured.chance
            checked += 1
    assert checked


@pytest.mark.parametrize("seed", range(8))
def test_partners_are_those_that_a_sort_by_share_and_names_gives(seed: int) -> None:
    lake, query = random_lake(seed)
    own = QueryColumns.of(from_arrow(query), None, frozenset())
    tables = suggestion_cover.promising_tables(lake, own, frozenset())
    infos = {info.table_id: info for info in lake.tables()}
    pairs = whole.LakeKeys.of(lake, tables, own, names=True).pairs
    for number, one in enumerate(tables):
        expected = [
            Pair(column, other)
            for column in range(len(own))
            for other in sorted(partners_plainly(one.share[:, column], own.columns[column].name, infos[one.table_id]))
        ]
        assert pairs.of(number) == expected == TableKeys(one, infos[one.table_id], own).pairs
        assert pairs.can_grow(number) == any(a.own != b.own for a in expected for b in expected if a.other != b.other)


def partners_plainly(share: npt.NDArray[np.float64], name: str, info: TableInfo) -> list[int]:
    others = [other for other in range(len(share)) if share[other] >= suggestion_cover.LEAST]
    return sorted(others, key=lambda other: (-share[other], -similarity([name], info, [other]), other))[:PARTNERS]


@settings(max_examples=100)
@given(seed=st.integers(0, 10**6), width=st.integers(1, 3), pairs=st.integers(2, 9))
def test_longer_keys_are_those_of_the_plain_way(seed: int, width: int, pairs: int) -> None:
    dice = np.random.default_rng(seed)
    own, other = np.divmod(np.sort(dice.choice(30, pairs, replace=False)), 5)
    growing = Growing(own, other, dice.choice([0.3, 0.5, 1.0], pairs), dice.integers(1, 9, pairs))
    every = [mapping for mapping in combinations(range(pairs), width) if fits(own, other, mapping)]
    mappings = np.array([mapping for mapping in every if dice.random() < 0.7])
    assume(len(mappings))
    count = len(mappings)
    grown = Grown(mappings, dice.choice([0.3, 0.4, 0.9], count), dice.choice([0.1, 0.2, 1.0], count))
    unique = padded(mappings[dice.random(count) < 0.3].tolist())
    assert longer(growing, grown, unique).tolist() == longer_plainly(growing, grown, unique)


def longer_plainly(growing: Growing, grown: Grown, unique: npt.NDArray[np.int64]) -> list[list[int]]:
    """Return mappings with one more pair, without those that have a unique part, by falling least bound."""
    least: dict[tuple[int, ...], float] = {}
    for part, mapping in enumerate(grown.mappings.tolist()):
        for added in range(len(growing.own)):
            if fits(growing.own, growing.other, (*mapping, added)):
                bound = min(grown.containment[part], growing.share[added])
                bound *= min(1.0, grown.uniqueness[part] * growing.distinct[added])
                extended = tuple(sorted((*mapping, added)))
                least[extended] = min(bound, least.get(extended, bound))
    parts = [set(row) - {-1} for row in unique.tolist()]
    found = [m for m in least if least[m] >= suggestion_cover.LEAST and not any(part <= set(m) for part in parts)]
    return [list(mapping) for mapping in sorted(found, key=lambda mapping: (-least[mapping], mapping))[:CHECKS]]


def fits(own: npt.NDArray[np.int64], other: npt.NDArray[np.int64], mapping: tuple[int, ...]) -> bool:
    """Tell whether a mapping has a column once."""
    places = list(mapping)
    return len(set(own[places].tolist())) == len(set(other[places].tolist())) == len(places)


def test_a_table_without_values_is_refused() -> None:
    with pytest.raises(QueryError, match="no column of query has a value to join by"):
        suggest(MemoryLake.of([SEASONS]), table([["-", None]]))


def test_a_database_has_no_directory_to_go_by() -> None:
    class Database(Index):
        address = "vertica://host"

    Database.__abstractmethods__ = frozenset()  # type: ignore[misc]
    with pytest.raises(QueryError, match="by the directory of a lake in a folder, which vertica://host is not"):
        suggest(Database(), players())
