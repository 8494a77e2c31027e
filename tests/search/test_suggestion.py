"""Suggestions: what they report is right by brute force, and keys are found that nobody named."""

from __future__ import annotations

import random
import re
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mate.errors import QueryError
from mate.lake.records import TableInfo
from mate.search.evidence import measure
from mate.search.evidence.names import NameIndex, is_among, similarity, words
from mate.search.query import from_arrow
from mate.search.suggest import Suggestion, SuggestionSettings, suggest, suggest_in_steps
from mate.search.suggest._suggest import longer_mappings
from mate.search.suggest.columns import AskingTable, KeyRows, Pairs
from mate.search.suggest.finder import PARTNERS, Asked, KeyFinder
from mate.search.suggest.keys import CHECKS, LEAST, MeasuredMappings, padded
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


def suggested(lake: MemoryLake, query: pa.Table, **how: Any) -> list[tuple[tuple[str, ...], int]]:
    """Return the keys that are suggested, each with its table."""
    return found_in(suggest(lake, query, SuggestionSettings(**how)).found)


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
        rows = [[oracle.token_of(row[c]) for c in result.column_ids] for row in case.tables[result.table_id]]
        expected = measure_rows(rows, sorted(tuples))
        assert result.joinability == expected.joinability
        assert result.evidence.usefulness == result.joinability / len(tuples) * expected.uniqueness
        assert not result.evidence.is_chance
        assert suggestion.unique_part == unique_part(rows, suggestion.key)
    for suggestion in found[:5]:
        cells = [[row[names.index(name)] for row in case.query] for name in suggestion.key]
        small = all(re.fullmatch("[0-9]{1,3}", cell or "0") for column in cells for cell in column)
        assert not small or suggestion.result.joinability >= 10


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
    best, effort = found.found[0], found.effort
    assert (len(effort.columns), effort.tables, effort.tables_tried) == (4, 3, 1)
    assert effort.checks > 0
    assert effort.answered - effort.chance >= len(found.found)
    assert set(effort.seconds) == {"cover", "keys", "answer"}
    assert (best.key, best.result.table_id) == (("team", "year"), 0)
    assert best.result.mapping == {"team": "tm", "year": "year"}
    assert best.result.evidence.usefulness == 1
    assert best.unique_part is None


def test_suggestions_come_in_steps_single_columns_first() -> None:
    towns: Rows = [[team, year, f"town {n}"] for n, (year, team, _) in enumerate(SEASONS[::2])]
    people: Rows = [[f"player {n}", f"city {n % 7}"] for n in range(60)]
    lake = MemoryLake.of([SEASONS, people, towns], headers={0: ["year", "tm", "coach"], 2: ["team", "season", "town"]})
    singles, partial, last = suggest_in_steps(lake, players(), steps={0, 1})
    assert [step.complete for step in (singles, partial, last)] == [False, False, True]
    assert [step.effort.tables_tried for step in (singles, partial, last)] == [0, 1, 2]
    assert found_in(singles.found) == suggested(lake, players(), most_columns=1)
    assert found_in(partial.found)[0] == (("team", "year"), 0)
    whole = suggest(lake, players()).found
    assert found_in(last.found) == found_in(whole)
    assert [one.result.evidence for one in last.found] == [one.result.evidence for one in whole]


def test_a_key_with_a_part_that_is_as_useful_is_left_out() -> None:
    people: Rows = [[f"player {n}", f"city {n % 7}"] for n in range(60)]
    query = table([[f"player {n}", f"city {n % 7}", "x"] for n in range(40)], ["player", "city", "other"])
    assert suggested(MemoryLake.of([people]), query) == [(("player",), 0)]


def test_small_numbers_are_a_key_where_they_cover_a_table_and_names_fit() -> None:
    places = [(shop, desk) for shop in range(1, 4) for desk in range(1, 11)]
    desks: Rows = [[str(desk), str(shop), f"desk of {shop}.{desk}"] for shop, desk in places]
    lake = MemoryLake.of([desks], headers={0: ["d_id", "d_shop_id", "d_text"]})
    sales: Rows = [[str(number), *map(str, places[number % 30]), "1"] for number in range(600)]
    names = ["s_number", "s_shop_id", "s_d_id", "s_count"]
    assert suggested(lake, table(sales, names)) == [(("s_shop_id", "s_d_id"), 0)]
    assert not suggested(lake, table(sales, ["a", "b", "c", "e"]))


@pytest.mark.parametrize(("name", "keys"), [("cases", []), ("part_id", [(("part_id",), 0)])])
def test_counts_are_no_key_of_row_numbers_unless_names_fit(name: str, keys: list[tuple[tuple[str, ...], int]]) -> None:
    parts: Rows = [[str(number), f"part {number}"] for number in range(5_000)]
    others: list[Rows] = [[[f"{word} {number}"] for number in range(3)] for word in "abcdefghijkl"]
    lake = MemoryLake.of([parts, *others], headers={0: ["id", "part"]})
    counts = table([[str(1_000 + 37 * number % 3_500), f"week {number}"] for number in range(200)], [name, "week"])
    assert found_in(suggest(lake, from_arrow(counts)).found) == keys


def test_small_numbers_that_many_tables_hold_are_left_out() -> None:
    ids: list[Rows] = [[[str(n), f"{name} {n}"] for n in range(30)] for name in range(15)]
    assert not suggested(MemoryLake.of(ids), players())


def test_keys_of_several_columns_come_before_single_ones_and_few_integers_last() -> None:
    rounds: Rows = [[str(n), f"round {n}"] for n in range(1, 5)]
    others: list[Rows] = [[[f"player {n}", f"{word} {n}"] for n in range(80)] for word in ("city", "born", "school")]
    people = [[row["player"], row["team"], row["year"], str(n % 4 + 1)] for n, row in enumerate(players().to_pylist())]
    others += [[[team, f"town of {team}"] for team in TEAMS], [[year, f"night of {year}"] for year in YEARS]]
    lake = MemoryLake.of([SEASONS, rounds, *others], headers={1: ["round", "name"]})
    query = table(people, ["player", "team", "year", "round"])
    found = suggested(lake, query)
    assert found[0] == (("team", "year"), 0)
    assert [key for key, _ in found].index(("round",)) >= 5
    assert not suggested(lake, query, columns=["round"])  # nothing else stands before it


def test_excluded_tables_and_other_columns_play_no_part() -> None:
    lake = MemoryLake.of([SEASONS, SEASONS])
    assert {table_id for _, table_id in suggested(lake, players(), exclude=frozenset({0}))} == {1}
    assert all(set(key) <= {"player", "year"} for key, _ in suggested(lake, players(), columns=["Player", "year"]))
    assert all(len(key) == 1 for key, _ in suggested(lake, players(), most_columns=1))


CELL = st.sampled_from(["a", "b", "3", "2019-01-01", None])
TABLE = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=5)
)


@settings(max_examples=150)
@given(st.lists(TABLE, min_size=1, max_size=6), TABLE, st.integers(1, 3), st.data())
def test_pairs_are_the_columns_that_hold_enough_rows(
    tables: list[Rows], rows: Rows, parts: int, data: st.DataObject
) -> None:
    removed = data.draw(st.sets(st.sampled_from(range(len(tables))), max_size=2))
    excluded = data.draw(st.frozensets(st.sampled_from(range(len(tables))), max_size=2))
    dealt = [{n: own for n, own in enumerate(tables) if n % parts == part} for part in range(parts)]
    lake = MemoryLake(*filter(None, dealt), removed=sorted(removed))  # type: ignore[arg-type]
    assume(any(cell is not None for row in rows for cell in row))
    finder, asking = KeyFinder(lake), AskingTable.of_query(from_arrow(table(rows)), None, frozenset())
    pairs = finder.pairs(asking, finder.places(asking), excluded)
    found = {}
    for table_, own, other, *counts in zip(*(getattr(pairs, name).tolist() for name in PAIR), strict=True):
        found[int(finder.table_id[table_]), asking.columns[own].place, other] = tuple(counts)
    expected = {}
    for number in set(range(len(tables))) - removed - excluded:
        for own in (column.place for column in asking.columns):
            cells = [row[own] for row in rows if row[own] is not None]
            for other in range(len(tables[number][0])):
                held = {row[other] for row in tables[number]} - {None}
                joined = sum(cell in held for cell in cells)
                if joined >= LEAST * len(cells):
                    values = len(held & set(cells)), len(held), len(tables[number])
                    expected[number, own, other] = (joined / len(cells), *values)
    assert found == expected
    assert not any(room[:2].any() for room in finder._room)


PAIR = ("table", "own", "other", "share", "values", "distinct", "rows")


def test_a_table_of_very_many_columns_takes_no_square_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns with a value twice: none is unique, each could be part of a longer key with each other."""
    monkeypatch.setattr("mate.search.suggest.keys.MOST_PAIRS", 20)
    wide: Rows = [[f"{column} {row // 2}" for column in range(90)] for row in range(6)]
    lake = MemoryLake.of([wide])
    finder, asked = asked_of(lake, table(wide))
    assert len(finder.growth(asked, 0).pairs.own) == 20
    assert suggest(lake, table(wide)).effort.tables_tried == 1


def asked_of(lake: MemoryLake, query: pa.Table) -> tuple[KeyFinder, Asked]:
    finder = KeyFinder(lake)
    return finder, finder.ask(AskingTable.of_query(from_arrow(query), None, frozenset()))


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


@pytest.fixture(params=range(8))
def search(request: pytest.FixtureRequest) -> tuple[KeyFinder, Asked]:
    return asked_of(*random_lake(request.param))


def test_joint_checks_tell_what_evidence_does(search: tuple[KeyFinder, Asked]) -> None:
    finder, asked = search
    checked = 0
    for number in finder.promising(asked).tolist():
        segment, place = finder.place(number)
        arrays = finder.segments[segment].arrays
        for key in finder.growth(asked, number).grow(4):
            tuples = asked.table.sample.tuples(key.own)
            values = [
                asked.places[segment][c][asked.table.sample.values[c]][tuples[:, at]] for at, c in enumerate(key.own)
            ]
            measured = measure(arrays, place, np.stack(values, axis=1), key.other)
            assert (key.joined, key.uniqueness) == (measured.joinability, measured.uniqueness)
            assert (key.asked, key.chance) == (len(tuples), measured.chance)
            checked += 1
    assert checked


def test_tables_are_promising_that_hold_two_columns_in_two_of_theirs(search: tuple[KeyFinder, Asked]) -> None:
    finder, asked = search
    mappings: dict[int, set[tuple[int, int]]] = {}
    every = zip(asked.pairs.table.tolist(), asked.pairs.own.tolist(), asked.pairs.other.tolist(), strict=True)
    for number, own, other in every:
        mappings.setdefault(number, set()).add((own, other))
    wanted = {
        number
        for number, pairs in mappings.items()
        if len({own for own, _ in pairs}) > 1 and len({other for _, other in pairs}) > 1
    }
    assert set(finder.promising(asked).tolist()) == wanted


def test_partners_are_those_that_a_sort_by_share_and_names_gives(search: tuple[KeyFinder, Asked]) -> None:
    finder, asked = search
    every = finder.pairs(asked.table, asked.places, frozenset())
    finder._compare_names(asked.table, every)
    groups: dict[tuple[int, int], list[tuple[float, float, int, int]]] = {}
    for at in range(len(every)):
        order = -every.share[at], -every.fit[at], -every.distinct[at], int(every.other[at])
        groups.setdefault((int(every.table[at]), int(every.own[at])), []).append(order)
    expected = [(*group, other) for group, own in groups.items() for *_, other in sorted(own)[:PARTNERS]]
    pairs = asked.pairs
    assert sorted(expected) == list(zip(pairs.table.tolist(), pairs.own.tolist(), pairs.other.tolist(), strict=True))


NAME = st.text("abeio tmTM_1", max_size=12)


@given(NAME, st.lists(st.tuples(NAME, NAME), min_size=1, max_size=8))
def test_names_are_compared_at_once_as_one_by_one(name: str, tables: list[tuple[str, str]]) -> None:
    index = NameIndex()
    numbers = np.array([index.add(names) for names in tables])
    own = words(name)
    fit, names = index.compare(own, numbers[:, 0], numbers[:, 1], np.inf)
    for at, (column, title) in enumerate(tables):
        info = TableInfo(0, title, "", 0, 0, (column,), 1)
        assert names[at] == pytest.approx(similarity([name], info, [0]))
        same = sum(is_among(word, words(column)) for word in own)
        assert fit[at] == pytest.approx(min(1, 2 * same / max(1, len(own) + len(words(column)))))
    assert not index.compare(own, numbers[:, 0], numbers[:, 1], 0)[1].any()


@given(st.lists(st.lists(st.integers(-1, 3), min_size=3, max_size=3), min_size=1, max_size=20), st.data())
def test_key_tuples_are_the_distinct_rows_without_gaps(rows: list[list[int]], data: st.DataObject) -> None:
    key = tuple(data.draw(st.lists(st.sampled_from(range(3)), min_size=1, unique=True)))
    places = [np.array([row[column] for row in rows], np.int32) for column in range(3)]
    expected = dict.fromkeys(tuple(row[column] for column in key) for row in rows)
    found = KeyRows([np.arange(4)] * 3, places).tuples(key)
    assert [tuple(row) for row in found.tolist()] == [row for row in expected if min(row) >= 0]


@settings(max_examples=100)
@given(seed=st.integers(0, 10**6), width=st.integers(1, 3), pairs=st.integers(2, 9))
def test_longer_keys_are_those_of_the_plain_way(seed: int, width: int, pairs: int) -> None:
    dice = np.random.default_rng(seed)
    own, other = np.divmod(np.sort(dice.choice(30, pairs, replace=False)), 5)
    share, fit = dice.choice([0.3, 0.5, 1.0], pairs), dice.choice([0.0, 0.5, 1.0], pairs)
    none = np.zeros(pairs, np.int64)
    growing = Pairs(none, own, other, share, none, dice.integers(1, 9, pairs), none, fit, fit)
    every = [mapping for mapping in combinations(range(pairs), width) if fits(own, other, mapping)]
    mappings = np.array([mapping for mapping in every if dice.random() < 0.7])
    assume(len(mappings))
    count = len(mappings)
    grown = MeasuredMappings(mappings, dice.choice([0.3, 0.4, 0.9], count), dice.choice([0.1, 0.2, 1.0], count))
    unique = padded(mappings[dice.random(count) < 0.3].tolist())
    room = float(dice.choice([1, 2, 50]))
    found = longer_mappings(growing, grown, unique, LEAST, CHECKS, room)
    assert found.tolist() == longer_plainly(growing, grown, unique, room)


def longer_plainly(
    growing: Pairs, grown: MeasuredMappings, unique: npt.NDArray[np.int64], room: float
) -> list[list[int]]:
    """Return mappings with one more pair, without those that have a unique part, by falling bound and names."""
    least: dict[tuple[int, ...], float] = {}
    for part, mapping in enumerate(grown.mappings.tolist()):
        for added in range(len(growing.own)):
            if fits(growing.own, growing.other, (*mapping, added)):
                bound = min(grown.containment[part], growing.share[added])
                bound *= min(1.0, grown.uniqueness[part] * growing.distinct[added] * room)
                extended = tuple(sorted((*mapping, added)))
                least[extended] = min(bound, least.get(extended, bound))
    parts = [set(row) - {-1} for row in unique.tolist()]
    found = [m for m in least if least[m] >= LEAST and not any(part <= set(m) for part in parts)]
    order = {m: -least[m] * (1 + sum(growing.fit[list(m)].tolist()) / len(m)) for m in found}
    return [list(mapping) for mapping in sorted(found, key=lambda mapping: (order[mapping], mapping))[:CHECKS]]


def fits(own: npt.NDArray[np.int64], other: npt.NDArray[np.int64], mapping: tuple[int, ...]) -> bool:
    """Tell whether a mapping has a column once."""
    places = list(mapping)
    return len(set(own[places].tolist())) == len(set(other[places].tolist())) == len(places)


@pytest.mark.parametrize(
    ("index", "query", "columns", "message"),
    [
        (MemoryLake.of([SEASONS]), players(), ["teem"], 'has no column "teem"; did you mean "team"'),
        (MemoryLake.of([SEASONS]), players(), [], "a query needs at least one key column"),
        (MemoryLake.of([SEASONS]), table([["-", None]]), None, "no column of query has a value to join by"),
        (SimpleNamespace(address="db://host"), players(), None, "by the directory of a lake in a folder, which db://"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(
    index: Any, query: pa.Table, columns: list[str] | None, message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        suggest(index, query, SuggestionSettings(columns=columns))


def test_copies_of_a_table_are_one_suggestion_with_their_numbers() -> None:
    swapped: Rows = [[team, coach, year] for year, team, coach in SEASONS[::-1]]
    near: Rows = [*SEASONS[:-3], *([["2020", f"team {n}", "nobody"] for n in range(3)])]
    headers = {number: ["year", "team", "coach"] for number in range(4)} | {2: ["Team", "coach", "YEAR"]}
    headers[3] = ["year", "team", "trainer"]
    found = suggest(MemoryLake.of([SEASONS, near, swapped, SEASONS], headers=headers), players()).found
    best = [one for one in found if one.key == ("team", "year")]
    assert [(one.result.table_id, one.copies) for one in best] == [(0, (2, 1)), (3, ())]
