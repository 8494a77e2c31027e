"""A search as a program meets it: fields of the answer, what the statistics say, odd values, and what goes wrong."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mate.errors import MateError, QueryError
from mate.lake.manifest import HashSpec
from mate.search.results import SearchResult
from mate.search.settings import FilterSettings, SearchSettings
from mate.search.systems import find_system
from tests.search.memory_lake import XASH, MemoryLake
from tests.search.test_exactness import EVERY_SYSTEM, EXACT

search = find_system("mate")
KEY = ["first", "last"]

PEOPLE = [
    ["Ada", "Lovelace", "1815"],
    ["Alan", "Turing", "1912"],
    ["Grace", "Hopper", "1906"],
    ["Ada", "Yonath", "1939"],
]
SWAPPED = [["x", "Turing", "Alan"], ["y", "Hopper", "Grace"], ["z", "Lovelace", "Charles"]]
ONE_ROW = [["Hopper", "Grace"]]
FIRST_ONLY = [["Ada"], ["Alan"], ["Grace"]]
STRANGERS = [["Emmy", "Noether"]]
TABLES = [ONE_ROW, FIRST_ONLY, SWAPPED, STRANGERS, PEOPLE]
HEADERS = dict(enumerate([["last", "first"], ["name"], ["", "Surname", ""], ["a", "b"], ["Given", "Family", "Born"]]))

QUERY = pa.table(
    {"first": ["Ada", "Alan", "Grace", "Kurt", "ADA"], "last": ["Lovelace", "Turing", "Hopper", "Gödel", "lovelace "]}
)


@pytest.fixture(scope="module", params=[1, 2, 5], ids="{} segments".format)
def lake(request: pytest.FixtureRequest) -> MemoryLake:
    return MemoryLake.of(TABLES, request.param, hashes=[XASH, HashSpec("ht", 256)], headers=HEADERS)


def shown(found: SearchResult) -> list[tuple[int, int, dict[str, str]]]:
    return [(result.table_id, result.joinability, result.mapping) for result in found]


# The answer


@EVERY_SYSTEM
def test_the_fields_of_an_answer(lake: MemoryLake, system: str) -> None:
    found = find_system(system)(lake, QUERY, KEY)
    assert shown(found) == [
        (4, 3, {"first": "Given", "last": "Family"}),
        (2, 2, {"first": "column 3", "last": "Surname"}),
        (0, 1, {"first": "first", "last": "last"}),
    ]
    best = found.results[0]
    assert (best.table.name, best.table.source, best.column_ids) == ("table 4", "table 4", (0, 1))
    assert sorted(best.matches.row.tolist()) == [0, 1, 2]
    assert len(found) == 3
    assert (found.key.columns, len(found.key), found.key.dropped_rows) == (("first", "last"), 4, 0)


@EVERY_SYSTEM
def test_k(lake: MemoryLake, system: str) -> None:
    for k, expected in ((1, [4]), (2, [4, 2]), (3, [4, 2, 0]), (1_000_000, [4, 2, 0])):
        assert [result.table_id for result in find_system(system)(lake, QUERY, KEY, k)] == expected


@EVERY_SYSTEM
@pytest.mark.parametrize("k", [0, -1, 2.0, True, "3"])
def test_a_k_that_makes_no_sense(lake: MemoryLake, system: str, k: object) -> None:
    with pytest.raises(QueryError, match="k must be a whole number of at least 1, not "):
        find_system(system)(lake, QUERY, KEY, k)  # type: ignore[arg-type]


def test_a_query_may_be_a_path_a_data_frame_or_an_arrow_table(lake: MemoryLake, tmp_path: Path) -> None:
    frame: pd.DataFrame = QUERY.to_pandas()
    frame.to_csv(tmp_path / "q.csv", index=False)
    expected = shown(search(lake, QUERY, KEY))
    assert shown(search(lake, frame, KEY)) == expected
    assert shown(search(lake, tmp_path / "q.csv", KEY)) == expected
    assert shown(search(lake, str(tmp_path / "q.csv"), KEY)) == expected


@EVERY_SYSTEM
def test_a_query_of_which_the_index_knows_nothing(lake: MemoryLake, system: str) -> None:
    found = find_system(system)(lake, pa.table({"first": ["Nobody", "Ada"], "last": ["Nowhere", "Nowhere"]}), KEY)
    assert found.results == []
    assert (found.statistics.key_tuples, found.statistics.known_tuples, found.statistics.precision) == (2, 0, None)


@EVERY_SYSTEM
def test_an_unknown_value_does_not_equal_an_empty_cell(system: str) -> None:
    lake = MemoryLake.of([[["a", None], ["a", "-"], ["b", "x"]]])
    query = pa.table({"p": ["a", "b"], "q": ["nowhere", "nowhere"]})
    assert find_system(system)(lake, query, ["p", "q"]).results == []


# Statistics


def crowd() -> list[list[list[str]]]:
    """Tables that hold fewer and fewer of the query's tuples, each among as many rows that only seem to match.

    The last one has a posting of the initial column, and no row that passes the row filter.
    """
    seeming = [
        [[f"x{i}", f"y{i}" if i < count else f"y{i + 1}"] for i in range(20)]
        + [[f"x{i}", f"z{count}"] for i in range(9)]
        for count in (12, 9, 7, 5, 4, 3, 2, 1)
    ]
    return [*seeming, [["x11", "-"]]]


@pytest.fixture(scope="module", params=[1, 3], ids="{} segments".format)
def crowded(request: pytest.FixtureRequest) -> MemoryLake:
    return MemoryLake.of(crowd(), request.param, hashes=[HashSpec("xash", 128, {"alpha": 6})])


@pytest.mark.parametrize("tight", [True, False])
@pytest.mark.parametrize("row_filter", [True, False])
@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_funnel_adds_up(crowded: MemoryLake, k: int, row_filter: bool, tight: bool) -> None:
    query = pa.table({"x": [f"x{i}" for i in range(12)], "y": [f"y{i}" for i in range(12)]})
    settings = SearchSettings(filters=FilterSettings(tight_bound=tight, row_filter=row_filter, initial_column="x"))
    found = search(crowded, query, ["x", "y"], k, settings)
    done = found.statistics
    assert [result.joinability for result in found] == [12, 9, 7, 5, 4, 3, 2, 1][:k]
    assert (done.key_tuples, done.known_tuples, done.initial_column) == (12, 12, "x")
    assert done.postings == done.pairs == 8 * (12 + 9) + 1
    assert done.tables == 9 or (done.segments_cut and done.tables < 9)
    assert done.tables == done.tables_cut_rule_1 + done.tables_cut_rule_2 + done.tables_checked
    assert done.checked == done.true_positives + done.false_positives <= done.candidates <= done.pairs
    assert done.rows_read <= done.checked
    assert done.precision == done.true_positives / done.checked
    assert done.hash == (str(crowded.manifest.hashes[0]) if row_filter else "none")
    phases = {"prepare", "fetch postings", "filter tables", "filter rows and score", "describe tables"}
    assert phases <= done.seconds.keys()
    assert all(spent >= 0 for spent in done.seconds.values())
    if not row_filter and not done.tables_cut_rule_1 + done.tables_cut_rule_2 + done.segments_cut:
        assert done.candidates == done.pairs
    if k == 8:
        assert done.true_positives == 12 + 9 + 7 + 5 + 4 + 3 + 2 + 1


@EVERY_SYSTEM
def test_a_system_says_its_name(crowded: MemoryLake, system: str) -> None:
    query = pa.table({"x": ["x0", "x1"], "y": ["y0", "y1"]})
    done = find_system(system)(crowded, query, ["x", "y"]).statistics
    assert (done.system, done.segments) == (system, len(crowded.segments))
    assert done.tables_checked == done.tables == 8
    if system != "column-first":
        assert (done.hash == "none") == (not system.startswith("mate"))
        assert done.checked == done.candidates


# Requests that cannot be served


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            SearchSettings(filters=FilterSettings(hash_name="bf")),
            r"the index has no bf; it was built with: xash:128:alpha=\d+, ht:256",
        ),
        (
            SearchSettings(filters=FilterSettings(hash_name="xash", bits=512)),
            "the index has no xash with 512 bits; it was built with: xash:128",
        ),
        (SearchSettings(filters=FilterSettings(bits=64)), "with 64 bits; it was built with: xash:128"),
        (
            SearchSettings(filters=FilterSettings(initial_column="lasst")),
            'no strategy or key column is called "lasst"; did you mean "last"',
        ),
    ],
)
def test_settings_that_do_not_fit_the_index(lake: MemoryLake, settings: SearchSettings, message: str) -> None:
    with pytest.raises(MateError, match=message):
        search(lake, QUERY, KEY, settings=settings)


# Tables and values of every kind

ODD = [
    "'; DROP TABLE postings; --",
    'double "quotes"',
    "100 % _ like*",
    "tab\tin it",
    "line\nbreak",
    "nul\0inside",
    "back\\slash \\n",
    "😀 emoji 👩‍👩‍👧",
    "日本語",
    "$1 {0} %s",
    "x" * 999,
    "[bold]not markup[/bold]",
]


@EVERY_SYSTEM
def test_values_that_mean_something_elsewhere_are_only_values(system: str) -> None:
    rows = [[value, f"{place}", f"{value} again"] for place, value in enumerate(ODD)]
    query = pa.table({"a": ODD, "b": [f"{value.upper()}  again" for value in ODD], "c": ["0"] * len(ODD)})
    lake = MemoryLake.of([[["a", "b"]], rows], headers={0: ["%", "'"], 1: ["a'", '"b"', "c;"]})
    (result,) = find_system(system)(lake, query, ["a", "b"])
    assert (result.table_id, result.joinability) == (1, len(ODD))
    assert result.mapping == {"a": "a'", "b": "c;"}


@EVERY_SYSTEM
def test_a_query_of_many_tuples(system: str) -> None:
    count = 12_000
    rows = [[f"a{i}", f"b{i % 50}", f"c{i}"] for i in range(count)]
    query = pa.table({"a": [row[0].upper() for row in rows], "b": [row[1].upper() for row in rows]})
    found = find_system(system)(MemoryLake.of([rows, rows[1::3]]), query, ["b", "a"])
    assert [(r.table_id, r.joinability, r.column_ids) for r in found] == [(0, 12_000, (1, 0)), (1, 4_000, (1, 0))]


@EVERY_SYSTEM
def test_rows_that_are_some_of_a_table_have_their_numbers(system: str) -> None:
    """A database's segments hold some rows of their tables; JOSIE wants whole columns."""
    if "josie" in system:
        return
    lake = MemoryLake.of([[["1", "x"], ["2", "y"], ["3", "z"]]])
    lake.segments[0] = replace(lake.segments[0], row_number=np.array([7, 11, 13]))
    (result,) = find_system(system)(lake, pa.table({"a": ["2", "3", "4"], "b": ["y", "z", "x"]}), ["a", "b"])
    assert (result.joinability, result.matches.row.tolist()) == (2, [11, 13])


# Many at a time


def queries() -> list[pa.Table]:
    return [
        pa.table({"x": [f"x{i}" for i in range(first, 20)], "y": [f"y{i}" for i in range(first, 20)]})
        for first in range(10)
    ]


def scores(lake: MemoryLake, system: str, number: int) -> list[tuple[int, int]]:
    found = find_system(system)(lake, queries()[number], ["x", "y"], 5)
    return [(result.table_id, result.joinability) for result in found]


def test_many_searches_at_a_time(crowded: MemoryLake) -> None:
    expected = [scores(crowded, "mate", number) for number in range(10)]
    assert len({tuple(found) for found in expected}) > 5
    for system in EXACT:
        with ThreadPoolExecutor(10) as pool:
            assert list(pool.map(scores, [crowded] * 10, [system] * 10, range(10))) == expected
