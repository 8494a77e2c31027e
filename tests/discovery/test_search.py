"""A search as a program meets it: fields of the answer, what the statistics say, odd values, and what goes wrong."""

from __future__ import annotations

import json
import multiprocessing
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import mate.search.discovery
from mate.build.build import HashRequest
from mate.errors import MateError, QueryError, StoreError
from mate.search.discovery import SearchResult, SearchSettings, match_table, search
from mate.search.systems import find_system
from mate.store import IndexStore, open_store
from mate.store.base import Candidates, as_ids
from mate.store.duckdb import DuckDBStore
from tests.lakes import lake

SYSTEMS = ("mate", "scr", "mcr")
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
HEADERS = [["last", "first"], ["name"], ["", "Surname", ""], ["a", "b"], ["Given", "Family", "Born"]]

QUERY = pa.table(
    {"first": ["Ada", "Alan", "Grace", "Kurt", "ADA"], "last": ["Lovelace", "Turing", "Hopper", "Gödel", "lovelace "]}
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("search")


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[IndexStore]:
    hashes = [HashRequest(), HashRequest("ht", 256)]
    with lake(folder / "lake.duckdb", TABLES, hashes, headers=HEADERS) as opened:
        yield opened


def shown(found: SearchResult) -> list[tuple[int, int, dict[str, str]]]:
    return [(result.table_id, result.joinability, result.mapping) for result in found]


# The answer


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_fields_of_an_answer(store: IndexStore, system: str) -> None:
    found = find_system(system)(store, QUERY, KEY)
    assert shown(found) == [
        (4, 3, {"first": "Given", "last": "Family"}),
        (2, 2, {"first": "column 3", "last": "Surname"}),
        (0, 1, {"first": "first", "last": "last"}),
    ]
    best = found.results[0]
    assert (best.table.name, best.table.source, best.column_ids) == ("table 4", "table 4", (0, 1))
    assert sorted((best.row_ids - best.table.first_row).tolist()) == [0, 1, 2]
    assert len(found) == 3
    assert (found.key.columns, len(found.key), found.key.dropped_rows) == (("first", "last"), 4, 0)


@pytest.mark.parametrize("system", SYSTEMS)
def test_k(store: IndexStore, system: str) -> None:
    for k, expected in ((1, [4]), (2, [4, 2]), (3, [4, 2, 0]), (1_000_000, [4, 2, 0])):
        assert [result.table_id for result in find_system(system)(store, QUERY, KEY, k)] == expected


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("k", [0, -1, 2.0, True, "3", None])
def test_a_k_that_makes_no_sense(store: IndexStore, system: str, k: object) -> None:
    with pytest.raises(QueryError, match="k must be a whole number of at least 1, not "):
        find_system(system)(store, QUERY, KEY, k)  # type: ignore[arg-type]


@pytest.mark.parametrize("system", SYSTEMS)
def test_excluded_tables_make_room_for_others(store: IndexStore, system: str) -> None:
    without = SearchSettings(exclude=frozenset({4, 99}))
    assert [result.table_id for result in find_system(system)(store, QUERY, KEY, 2, without)] == [2, 0]


def test_a_query_may_be_a_path_a_data_frame_or_an_arrow_table(store: IndexStore, tmp_path: Path) -> None:
    frame: pd.DataFrame = QUERY.to_pandas()
    frame.to_csv(tmp_path / "q.csv", index=False)
    expected = shown(search(store, QUERY, KEY))
    assert shown(search(store, frame, KEY)) == expected
    assert shown(search(store, tmp_path / "q.csv", KEY)) == expected
    assert shown(search(store, str(tmp_path / "q.csv"), KEY)) == expected


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_query_of_which_the_index_knows_nothing(store: IndexStore, system: str) -> None:
    found = find_system(system)(store, pa.table({"first": ["Nobody", "Ada"], "last": ["Nowhere", "Nowhere"]}), KEY)
    assert found.results == []
    assert (found.statistics.key_tuples, found.statistics.known_tuples, found.statistics.precision) == (2, 0, None)


def test_an_unknown_value_does_not_equal_an_empty_cell(tmp_path: Path) -> None:
    with lake(tmp_path / "x.duckdb", [[["a", None], ["a", "-"], ["b", "x"]]]) as store:
        query = pa.table({"p": ["a", "b"], "q": ["nowhere", "nowhere"]})
        for system in SYSTEMS:
            assert find_system(system)(store, query, ["p", "q"]).results == []


@pytest.mark.parametrize("system", SYSTEMS)
def test_one_key_column_is_enough(store: IndexStore, system: str) -> None:
    found = find_system(system)(store, QUERY, ["first"])
    assert [(r.table_id, r.joinability) for r in found] == [(1, 3), (4, 3), (2, 2), (0, 1)]


def test_one_table_alone(store: IndexStore) -> None:
    (result,) = match_table(store, QUERY, KEY, 2)
    assert (result.table_id, result.joinability, result.mapping) == (2, 2, {"first": "column 3", "last": "Surname"})
    assert match_table(store, QUERY, KEY, 1).results == []


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


@pytest.fixture(scope="module", params=[True, False], ids=["flat", "sql"])
def crowded(folder: Path, request: pytest.FixtureRequest) -> Iterator[IndexStore]:
    # So few values would get an alpha of 1, which is the length alone.
    with lake(folder / "crowd.duckdb", crowd(), [HashRequest("xash", 128, {"alpha": 6})]) as opened:
        address = opened.address
    with DuckDBStore(address, flat=request.param) as opened:
        yield opened


@pytest.mark.parametrize("tight", [True, False])
@pytest.mark.parametrize("row_filter", [True, False])
@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_funnel_adds_up(
    crowded: IndexStore, monkeypatch: pytest.MonkeyPatch, k: int, row_filter: bool, tight: bool
) -> None:
    monkeypatch.setattr(mate.search.discovery, "FIRST_BLOCK", 2)
    query = pa.table({"x": [f"x{i}" for i in range(12)], "y": [f"y{i}" for i in range(12)]})
    settings = SearchSettings(tight_bound=tight, row_filter=row_filter, initial_column="x")
    found = search(crowded, query, ["x", "y"], k, settings)
    done = found.statistics
    assert [result.joinability for result in found] == [12, 9, 7, 5, 4, 3, 2, 1][:k]
    assert (done.key_tuples, done.known_tuples, done.initial_column) == (12, 12, "x")
    assert done.postings == done.pairs == 8 * (12 + 9) + 1
    assert done.tables == (8 if tight and row_filter and not crowded.flat else 9)
    assert done.tables == done.tables_cut_rule_1 + done.tables_cut_rule_2 + done.tables_checked
    assert done.checked == done.true_positives + done.false_positives <= done.candidates <= done.pairs
    assert done.rows_fetched <= done.checked
    assert done.precision == done.true_positives / done.checked
    assert done.hash == (str(crowded.manifest.hashes[0]) if row_filter else "none")
    by_block = {"fetch and filter", "fetch rows", "check", "score"}
    in_place = {"fetch postings", "filter tables", "filter rows and score"}
    assert {"prepare", "describe tables"} | (in_place if crowded.flat else by_block) <= done.seconds.keys()
    assert all(spent >= 0 for spent in done.seconds.values())
    if not row_filter and not (crowded.flat and done.tables_cut_rule_1 + done.tables_cut_rule_2):
        assert done.candidates == done.pairs
    if k == 8:
        assert done.true_positives == 12 + 9 + 7 + 5 + 4 + 3 + 2 + 1


def test_the_row_filter_and_the_table_filters_save_work(crowded: IndexStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mate.search.discovery, "FIRST_BLOCK", 2)
    query = pa.table({"x": [f"x{i}" for i in range(12)], "y": [f"y{i}" for i in range(12)]})

    def done(**changes: object) -> mate.search.discovery.Statistics:
        return search(crowded, query, ["x", "y"], 1, SearchSettings(initial_column="x", **changes)).statistics  # type: ignore[arg-type]

    assert done().candidates < done(row_filter=False).candidates
    assert done().tables_cut_rule_1 > done(table_filters=False).tables_cut_rule_1 == 0
    assert done(tight_bound=False).tables_cut_rule_2 > 0


@pytest.mark.parametrize("most_flags", [0, 50_000_000])
def test_the_tight_bound_counts_a_tuple_once_a_column(monkeypatch: pytest.MonkeyPatch, most_flags: int) -> None:
    monkeypatch.setattr(mate.search.discovery, "_MOST_FLAGS", most_flags)
    found = [  # tuple, table, column, row
        (0, 5, 1, 10), (0, 5, 1, 11), (1, 5, 1, 12), (2, 5, 0, 13), (0, 5, 0, 10),  # two tuples in either column
        (0, 6, 2, 20), (0, 6, 2, 21),
        (0, 9, 0, 30), (1, 9, 0, 30), (2, 9, 0, 31), (2, 9, 3, 31),
    ]  # fmt: skip
    candidates = Candidates(*(as_ids([entry[i] for entry in found]) for i in range(4)))
    place = as_ids([[5, 6, 9].index(entry[1]) for entry in found])
    assert mate.search.discovery.tightest(candidates, place, 3).tolist() == [2, 1, 3]


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_says_its_name(crowded: IndexStore, system: str) -> None:
    query = pa.table({"x": ["x0", "x1"], "y": ["y0", "y1"]})
    done = find_system(system)(crowded, query, ["x", "y"]).statistics
    assert done.system == system
    assert (done.hash == "none") == (system != "mate")
    assert done.tables_checked == done.tables == 8
    assert done.checked == done.candidates


# Requests that cannot be served


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (SearchSettings(hash_name="bf"), r"the index has no bf; it was built with: xash:128:alpha=\d+, ht:256"),
        (
            SearchSettings(hash_name="xash", bits=512),
            "the index has no xash with 512 bits; it was built with: xash:128",
        ),
        (SearchSettings(bits=64), "with 64 bits; it was built with: xash:128"),
        (SearchSettings(initial_column="lasst"), 'no strategy or key column is called "lasst"; did you mean "last"'),
    ],
)
def test_settings_that_do_not_fit_the_index(store: IndexStore, settings: SearchSettings, message: str) -> None:
    with pytest.raises(MateError, match=message):
        search(store, QUERY, KEY, settings=settings)


def test_any_hash_of_the_index_may_be_named(store: IndexStore) -> None:
    for settings, used in (
        (SearchSettings(), "xash:128:"),
        (SearchSettings(hash_name="ht"), "ht:256"),
        (SearchSettings(bits=256), "ht:256"),
    ):
        assert search(store, QUERY, KEY, settings=settings).statistics.hash.startswith(used)


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


@pytest.mark.parametrize("layout", ["per_cell", "per_row"])
def test_values_that_mean_something_to_a_database_are_only_values(tmp_path: Path, layout: str) -> None:
    rows = [[value, f"{place}", f"{value} again"] for place, value in enumerate(ODD)]
    query = pa.table({"a": ODD, "b": [f"{value.upper()}  again" for value in ODD], "c": ["0"] * len(ODD)})
    with lake(
        tmp_path / "x.duckdb", [[["a", "b"]], rows], layout=layout, headers=[["%", "'"], ["a'", '"b"', "c;"]]
    ) as store:
        for system in SYSTEMS:
            (result,) = find_system(system)(store, query, ["a", "b"])
            # The longest value with " again" behind it is longer than what is indexed.
            assert (result.table_id, result.joinability) == (1, len(ODD) - 1)
            assert result.mapping == {"a": "a'", "b": "c;"}


def test_a_token_beyond_the_limit_joins_with_nothing(tmp_path: Path) -> None:
    with lake(tmp_path / "x.duckdb", [[["x" * 1_000, "a"], ["y" * 1_001, "a"]]]) as store:
        query = pa.table({"p": ["x" * 1_000, "y" * 1_001], "q": ["a", "a"]})
        assert [result.joinability for result in search(store, query, ["p", "q"])] == [1]


def test_a_very_wide_table(tmp_path: Path) -> None:
    wide = [[f"{row} {column}" for column in range(1_500)] for row in range(3)]
    query = pa.table({f"q{i}": [f"{row} {1_499 - 7 * i}" for row in range(3)] for i in range(6)})
    with lake(tmp_path / "x.duckdb", [wide, [["0 0", "0 1"]]]) as store:
        for system in SYSTEMS:
            (result,) = find_system(system)(store, query, query.column_names)
            assert (result.joinability, result.column_ids) == (3, (1_499, 1_492, 1_485, 1_478, 1_471, 1_464))


def test_a_query_of_many_tuples(tmp_path: Path) -> None:
    """More tuples than the plain loops are for: tokens, numbers and checks run compiled."""
    count = 12_000
    tables = [[[f"a{i}", f"b{i % 50}", f"c{i}"] for i in range(start, count, step)] for start, step in ((0, 1), (1, 3))]
    query = pa.table({"a": [f"A{i}" for i in range(count)], "b": [f"B{i % 50}" for i in range(count)]})
    with lake(tmp_path / "x.duckdb", tables) as store:
        for system in SYSTEMS:
            found = find_system(system)(store, query, ["b", "a"])
            assert [(r.table_id, r.joinability, r.column_ids) for r in found] == [
                (0, 12_000, (1, 0)),
                (1, 4_000, (1, 0)),
            ]


# Many at a time


def queries() -> list[pa.Table]:
    return [
        pa.table({"x": [f"x{i}" for i in range(first, 20)], "y": [f"y{i}" for i in range(first, 20)]})
        for first in range(10)
    ]


def answers(address: str, number: int) -> list[tuple[int, int]]:
    """What one process finds."""
    with open_store(address) as store:
        return scores(store, number)


def scores(store: IndexStore, number: int) -> list[tuple[int, int]]:
    return [(result.table_id, result.joinability) for result in search(store, queries()[number], ["x", "y"], 5)]


def test_ten_searches_at_a_time_in_threads_and_processes(crowded: IndexStore) -> None:
    expected = [scores(crowded, number) for number in range(10)]
    assert len({tuple(found) for found in expected}) > 5
    with ThreadPoolExecutor(10) as pool:
        assert list(pool.map(scores, [crowded] * 10, range(10))) == expected
    # Forked processes would share what threads of this one hold.
    with multiprocessing.get_context("spawn").Pool(2) as processes:
        assert processes.starmap(answers, [(crowded.address, number) for number in range(10)]) == expected


# Stores that cannot be used


def test_a_store_that_is_missing_or_something_else(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no index at .*none\.duckdb; build one with: mate index"):
        open_store(str(tmp_path / "none.duckdb"))
    (tmp_path / "text.csv").write_text("a,b\n1,2\n")
    with pytest.raises(StoreError, match=r"text\.csv cannot be opened as an index") as raised:
        open_store(str(tmp_path / "text.csv"))
    assert "\n" not in str(raised.value)
    duckdb.connect(str(tmp_path / "other.duckdb")).close()
    with pytest.raises(StoreError, match=r"other\.duckdb is a DuckDB file but holds no MATE index"):
        open_store(str(tmp_path / "other.duckdb"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "has format 99, this version of MATE reads format 1: upgrade MATE"),
        ({"format": 0}, "has format 0, this version of MATE reads format 1: build the index again"),
        ({"normalisation": 7}, "was built with normalisation 7, this version of MATE uses 1: build the index again"),
    ],
)
def test_an_index_of_another_version(store: IndexStore, tmp_path: Path, change: dict[str, int], message: str) -> None:
    copy = tmp_path / "copy.duckdb"
    shutil.copy(store.address, copy)
    with duckdb.connect(str(copy)) as database:
        [(text,)] = database.execute("SELECT value FROM manifest WHERE name = 'manifest'").fetchall()
        database.execute(
            "UPDATE manifest SET value = ? WHERE name = 'manifest'", [json.dumps(json.loads(text) | change)]
        )
    with pytest.raises(StoreError, match=message):
        open_store(str(copy))


def test_an_open_index_keeps_answering_while_another_is_published(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    query = pa.table({"a": ["1", "2", "3"], "b": ["x", "y", "z"]})
    with lake(path, [[["1", "x"], ["2", "y"]]]) as before:
        assert [result.joinability for result in search(before, query, ["a", "b"])] == [2]
        with lake(path, [[["-", "?"], ["1", "x"]], [["1", "x"], ["2", "y"], ["3", "z"]]]) as after:
            assert [(r.table_id, r.joinability) for r in search(before, query, ["a", "b"])] == [(0, 2)]
            assert [(r.table_id, r.joinability) for r in search(after, query, ["a", "b"])] == [(1, 3), (0, 1)]
