"""The lake against itself: joins with true evidence, without coincidences; copies, and tables with the same columns."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate.lake.folder import LakeFolder
from mate.search.graph import Edge, JoinGraph, all_joins
from mate.search.suggest.copies import copies, same_columns
from mate.search.suggest.finder import KeyFinder
from mate.search.suggest.keys import KeyGrowth
from tests import lakes
from tests.search import oracle
from tests.search.evidence_reference import measure_rows
from tests.search.memory_lake import MemoryLake

NAMES = [
    "ada", "bob", "cleo", "dan", "eve", "finn", "gus", "hal", "ida", "jo", "kim", "lou", "max", "nan", "otto", "pia",
]  # fmt: skip


def edges_of(lake: LakeFolder) -> list[Edge]:
    search = JoinGraph(lake)
    return search.joins_of(search.finder.tables)[0].edges


def finder_of(lake: LakeFolder) -> KeyFinder:
    finder = KeyFinder(lake)
    finder.load_infos(finder.tables)
    return finder


def pairs(edges: list[Edge]) -> set[tuple[int, int, tuple[str, ...], tuple[str, ...]]]:
    return {(edge.child, edge.parent, edge.key, edge.columns) for edge in edges}


PEOPLE = [[name, f"street {number}"] for number, name in enumerate(NAMES)]
ORDERS = [[str(1000 + 7 * n), NAMES[n % len(NAMES)], f"thing {n}"] for n in range(40)]
PAIRS = [[f"city {n // 8}", f"day {4 * (n // 8) + n % 8}", f"level {n}"] for n in range(96)]
READINGS = [[*pair[:2], f"{n}.5"] for n, pair in enumerate(PAIRS)][::2]
COUNTED = [[[str(n), f"{word} {n}"] for n in range(1, 12)] for word in ("red", "blue", "green")]
HEADERS = [["name", "street"], ["order", "customer", "thing"], ["town", "date", "level"], ["city", "day", "pm"]]


@pytest.fixture(params=[1, 3])
def lake(tmp_path: Path, request: pytest.FixtureRequest) -> LakeFolder:
    tables = [PEOPLE, ORDERS, PAIRS, READINGS, *COUNTED]
    headers = [*HEADERS, *(["no", "colour"] for _ in COUNTED)]
    return lakes.lake(tmp_path / "lake.mate", tables, headers=headers, segments=request.param)


def test_keys_are_found_and_counting_is_no_join(lake: LakeFolder) -> None:
    found = edges_of(lake)
    assert (1, 0, ("customer",), ("name",)) in pairs(found)
    assert (3, 2, ("city", "day"), ("town", "date")) in pairs(found)
    assert not {edge for edge in pairs(found) if edge[0] > 3 or edge[1] > 3}


def test_numbers_join_where_names_say_what_they_are() -> None:
    """Shops have a city's number; that a dress and films have a year, though a title says "year", is no join."""
    tables: dict[str, tuple[list[str], list[list[str]]]] = {
        "city": (["id", "mayor"], [[str(n), NAMES[n]] for n in range(16)]),
        "shops": (["city_id", "shop"], [[str(n % 16), f"shop {n}"] for n in range(40)]),
        "the dress of the year": (["year", "designer"], [[str(1963 + n), f"designer {n}"] for n in range(60)]),
        "words": (["word"], [[f"word {n}"] for n in range(9000)]),
    }
    for n in range(12):
        tables[f"{n} films"] = ["year", f"film {n}"], [[str(1970 + 2 * n + m), f"film {n} {m}"] for m in range(20)]
    headers = {number: header for number, (header, _) in enumerate(tables.values())}
    lake = MemoryLake.of([rows for _, rows in tables.values()], headers=headers, names=dict(enumerate(tables)))
    assert pairs(edges_of(lake)) == {(1, 0, ("city_id",), ("id",))}


def test_the_work_for_longer_keys_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least likely coincidence is looked at whatever it costs, others while the work allows."""
    grown: list[KeyGrowth] = []
    grow = KeyGrowth.grow
    monkeypatch.setattr(KeyGrowth, "grow", lambda keys, *most: grown.append(keys) or grow(keys, *most))
    lake = MemoryLake({0: PAIRS, 1: READINGS, 2: PAIRS[::3]})
    assert JoinGraph(lake).joins(1)[1:] == (2, 2)
    assert len(grown) == 2
    grown.clear()
    monkeypatch.setattr("mate.search.graph.MOST_WORK", 0)
    assert JoinGraph(lake).joins(1)[1:] == (2, 1)  # what is left out is counted
    assert len(grown) == 1


@settings(max_examples=60)
@given(st.data())
def test_evidence_is_that_of_all_rows(data: st.DataObject) -> None:
    """Whatever edges there are: each says of its key and columns what the rows say."""
    cell = st.one_of(st.sampled_from(NAMES), st.none())
    tables = [
        data.draw(st.lists(st.lists(cell, min_size=2, max_size=2), min_size=4, max_size=24), label=f"table {n}")
        for n in range(data.draw(st.integers(2, 4)))
    ]
    lake = MemoryLake(dict(enumerate(tables)))
    names = [info.column_names() for info in lake.tables()]
    for edge in edges_of(lake):
        own = oracle.key_tuples(tables[edge.child], [names[edge.child].index(name) for name in edge.key])
        places = [names[edge.parent].index(name) for name in edge.columns]
        held = [[oracle.token_of(row[place]) for place in places] for row in tables[edge.parent]]
        expected = measure_rows(held, sorted(own))
        evidence = edge.evidence
        assert (evidence.joinability, evidence.key_tuples) == (expected.joinability, len(own))
        assert (evidence.uniqueness, evidence.fan_out) == (expected.uniqueness, expected.fan_out)
        assert evidence.chance == pytest.approx(expected.chance)
        assert edge.child != edge.parent
        assert not evidence.is_chance


# Copies


def test_copies_and_tables_with_the_same_columns() -> None:
    swapped = [[street, name] for name, street in reversed(PEOPLE)]
    near = [*PEOPLE[:-1], ["zoe", "street 99"]]
    others = [[f"x{n}", f"y{n}"] for n in range(5)]
    tables = [PEOPLE, swapped, near, others, ORDERS]
    headers = [["name", "street"], ["Street", "NAME "], ["name", "street"], ["name", "street"], HEADERS[1]]
    lake = MemoryLake(dict(enumerate(tables)), headers=dict(enumerate(headers)))
    finder = finder_of(lake)
    shared = len(PEOPLE) - 1
    found = copies(finder)
    pairs = {(copy.one, copy.other): (copy.shared, copy.shared_rows) for copy in found.pairs}
    assert pairs == {(0, 1): (1.0, 16), (0, 2): (shared / 17, shared)}
    assert found.are_copies(1, 2)  # as the first of them is
    assert not found.are_copies(1, 3)
    assert same_columns(finder) == [[0, 1, 2, 3]]


def test_more_copies_than_rows_are_compared_by() -> None:
    """Sixty tables alike and sixty nearly alike: all are marked, none of the exact ones is compared twice."""
    near = [[*PEOPLE, [f"guest {n}", "street 99"]] for n in range(60)]
    tables = [*([PEOPLE] * 60), *near]
    lake = MemoryLake(dict(enumerate(tables)), headers={n: ["name", "street"] for n in range(120)})
    found = copies(finder_of(lake))
    exact = [(copy.one, copy.other) for copy in found.pairs if copy.shared == 1]
    assert exact == [(0, other) for other in range(1, 60)]
    marked = {number for copy in found.pairs if copy.shared < 1 for number in copy[:2]}
    assert marked == {0, *range(60, 120)}
    assert {copy.shared for copy in found.pairs if copy.shared < 1 and copy.one} == {16 / 18}


def test_tables_without_names_are_the_same_by_what_they_hold() -> None:
    other_half = [[name, f"road {number}"] for number, name in enumerate(NAMES[::-1])]
    numbers = [[str(n), str(n + 1)] for n in range(9)]
    wide = [[*row, "x"] for row in PEOPLE]
    swapped = [row[::-1] for row in PEOPLE]
    tables = [PEOPLE, other_half, numbers, wide, swapped]
    headers = {number: [""] * len(table[0]) for number, table in enumerate(tables)}
    lake = MemoryLake(dict(enumerate(tables)), headers=headers)
    assert same_columns(finder_of(lake)) == [[0, 1]]


def test_a_remark_makes_no_words_of_numbers(tmp_path: Path) -> None:
    """One annotated cell of eight is more than a tenth: the column itself does not look like numbers."""
    plain = [[str(3 * n), f"thing {n}"] for n in range(8)]
    remarked = [*([str(3 * n), f"place {n}"] for n in range(7)), ["21 (estimated)", "place 7"]]
    others = [[[f"w{table} {n}", f"v{table} {n}"] for n in range(20)] for table in range(12)]
    headers = [["amount", "thing"], ["level", "place"], *(["word", "verb"] for _ in others)]
    lake = lakes.lake(tmp_path / "lake.mate", [plain, remarked, *others], headers=headers)
    assert not {edge for edge in pairs(edges_of(lake)) if set(edge[:2]) == {0, 1}}


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=2), min_size=1, max_size=6), st.data())
def test_rows_are_compared_as_sets(rows: list[list[str]], data: st.DataObject) -> None:
    other = data.draw(st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=2), min_size=1, max_size=6))
    lake = MemoryLake({0: rows, 1: other}, headers={0: ["p", "q"], 1: ["p", "q"]})  # type: ignore[dict-item]
    one, two = set(map(tuple, rows)), set(map(tuple, other))
    share = len(one & two) / len(one | two)
    expected = [(0, 1, share, len(one & two))] if share >= 0.8 else []
    assert [tuple(copy) for copy in copies(finder_of(lake)).pairs] == expected


# Tasks


def test_joins_of_ranges_are_those_of_one_go(tmp_path: Path) -> None:
    lake = lakes.lake(tmp_path / "lake.mate", [PEOPLE, ORDERS, PAIRS, READINGS], headers=HEADERS, segments=3)
    search = JoinGraph(lake)
    expected, counted = search.joins_of(search.finder.tables)
    assert counted == {"tables": 4}
    assert {(edge.child, edge.parent) for edge in expected.edges} >= {(1, 0), (3, 2)}
    sent = pickle.loads(pickle.dumps(search))
    for parts in (1, 2, 4):
        found = [sent.joins_of(tables) for tables in search.ranges(parts)]
        assert all_joins([joins for joins, _ in found]) == expected
        assert sum(counts["tables"] for _, counts in found) == 4


@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(1, 15))
def test_ranges_are_even_and_leave_nothing_out(sizes: list[int], most: int) -> None:
    tables = {number: [[f"{number} {row}"] for row in range(size)] for number, size in enumerate(sizes)}
    found = [part.tolist() for part in JoinGraph(MemoryLake(tables)).ranges(most)]
    assert [number for part in found for number in part] == list(range(len(sizes)))
    assert len(found) <= most
    values = [sum(sizes[number] + 1 for number in part) for part in found]
    assert max(values) <= sum(size + 1 for size in sizes) / most + max(sizes) + 1


def test_no_tables_no_ranges() -> None:
    assert JoinGraph(MemoryLake({0: [["a"]]}, removed=[0])).ranges(4) == []


def test_values_that_very_many_columns_hold_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    common = [[["yes"], [f"own {n}"], [f"{n} more"]] for n in range(8)]
    lake = MemoryLake(dict(enumerate(common)))
    assert JoinGraph(lake).uncounted == 0
    monkeypatch.setattr("mate.search.graph.MOST_PAIRS", 20)
    search = JoinGraph(lake)
    assert search.uncounted == 2
    asked = search.finder.places(search.finder.asking(0))
    assert sorted(place >= 0 for places in asked for place in places[0].tolist()) == [False, True, True]
