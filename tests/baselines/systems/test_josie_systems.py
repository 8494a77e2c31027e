"""SCR JOSIE is exact, MCR JOSIE as good as its two settings allow, and both say so if the index lacks their part."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mate.search.discovery
from baselines.systems import josie_costs, mcr_josie, scr_josie
from baselines.systems.josie_costs import Costs, Line
from mate.build.build import BuildSettings, build_sources
from mate.build.duckdb_target import DuckDBTarget
from mate.cli.program import main
from mate.errors import QueryError, StoreError
from mate.search.systems import available, find_system
from mate.store import IndexStore, open_store
from tests.discovery import oracle
from tests.discovery.test_exactness import Case, assert_right, cases, search
from tests.lakes import ListSource, Rows


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for few columns and check few candidates at a time, so that every bound decides something."""
    monkeypatch.setattr(scr_josie, "FIRST_COLUMNS", 1)
    monkeypatch.setattr(scr_josie, "GROWTH", 2)
    monkeypatch.setattr(mate.search.discovery, "FIRST_BLOCK", 2)
    # Measuring an index takes longer than to search one of a few rows.
    line = Line(1e-3, 1e-4, 1e-6)
    monkeypatch.setattr(josie_costs, "calibrate", lambda index: Costs(line, line))


def josie_lake(path: Path, tables: list[Any]) -> IndexStore:
    """Index the tables, with what JOSIE needs."""
    sources = [ListSource(t, f"table {i}", tuple(f"c{c}" for c in range(len(t[0])))) for i, t in enumerate(tables)]
    with DuckDBTarget(path) as target:
        build_sources(list(sources), target, BuildSettings(master="none", josie=True))
    return open_store(str(path))


def indexed(tables: list[Any]) -> Iterator[IndexStore]:
    """Yield the index of the tables, first with its flat arrays, then without."""
    with tempfile.TemporaryDirectory() as folder, josie_lake(Path(folder, "x.duckdb"), tables) as store:
        yield store
        store.flat = None
        yield store


@settings(max_examples=20)
@given(case=cases())
def test_scr_josie_is_exact(case: Case) -> None:
    for store in indexed(case.tables):
        for filters in (True, False):
            assert_right(search(store, case, "scr-josie", table_filters=filters), case)
        for strategy in ("cardinality", "worst"):
            assert_right(search(store, case, "scr-josie", initial_column=strategy), case)


@settings(max_examples=10)
@given(case=cases())
def test_scr_josie_with_too_many_pairs_to_hold_at_once(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mate.search.discovery, "MOST_PAIRS", 3)
        for store in indexed(case.tables):
            assert_right(search(store, case, "scr-josie"), case)


@settings(max_examples=10)
@given(case=cases(most_keys=3), excluded=st.sets(st.integers(0, 6)))
def test_excluded_tables(case: Case, excluded: set[int]) -> None:
    everything = oracle.top_k(case.query, case.key, case.tables, len(case.tables))
    expected = [score for score, table, _ in everything if table not in excluded][: case.k]
    for store in indexed(case.tables):
        for system in ("scr-josie", "mcr-josie"):
            found = search(store, case, system, exclude=frozenset(excluded))
            assert [result.joinability for result in found or ()] == expected


@settings(max_examples=10)
@given(case=cases())
def test_mcr_josie_misses_nothing_if_it_is_asked_for_enough(case: Case) -> None:
    """A lake of fewer columns than 500 leaves nothing to miss."""
    for store in indexed(case.tables):
        assert_right(search(store, case, "mcr-josie"), case)


@settings(max_examples=10)
@given(case=cases(most_keys=3), few=st.integers(1, 4), more=st.integers(1, 8))
def test_what_mcr_josie_finds_is_true_and_its_recall_is_what_it_is(case: Case, few: int, more: int) -> None:
    exact = {t: score for score, t, _ in oracle.top_k(case.query, case.key, case.tables, len(case.tables))}
    names = [f"q{i}" for i in range(len(case.query[0]))]
    query = pa.table([pa.array([row[i] for row in case.query], pa.string()) for i in range(len(names))], names=names)
    key = [names[i] for i in case.key]
    for store in indexed(case.tables):
        try:
            found = mcr_josie.search(store, query, key, case.k, None, few, more)
        except QueryError:
            assert not exact
            continue
        assert all(exact[result.table_id] == result.joinability for result in found)
        best = sorted(exact.values(), reverse=True)[: case.k]
        shared = sum(result.joinability >= best[-1] for result in found) if best else 0
        recall = mcr_josie.recall(found, scr_josie.search(store, query, key, case.k))
        assert recall == (shared / len(best) if best else 1.0)


ONE_VALUE_MANY_TUPLES: list[Rows] = [
    [["a", f"{i}"] for i in range(6)],  # one value of the initial column, six key tuples
    [[letter, "x"] for letter in "abcde"],  # five values, no key tuple
    [[letter, "0"] for letter in "abcde"],  # five values, one key tuple
]


def test_overlap_is_counted_in_key_tuples(tmp_path: Path) -> None:
    """By distinct values alone the best table would come last, with an overlap of 1 that seems beaten by 1."""
    query = pa.table({"k": ["a"] * 6 + list("bcde"), "n": [f"{i}" for i in range(6)] + ["none"] * 4})
    with josie_lake(tmp_path / "x.duckdb", ONE_VALUE_MANY_TUPLES) as store:
        for k in (1, 2, 3):
            found = scr_josie.search(store, query, ["k", "n"], k)
            assert [(r.table_id, r.joinability) for r in found] == [(0, 6), (2, 1)][:k]


def test_a_good_table_may_be_missed_by_mcr_josie(tmp_path: Path) -> None:
    tables: list[Rows] = [[["a", "1"], ["b", "2"]], [["a", "9"], ["b", "8"], ["c", "7"]]]
    query = pa.table({"x": ["a", "b", "c"], "y": ["1", "2", "9"]})
    with josie_lake(tmp_path / "x.duckdb", tables) as store:
        exact = scr_josie.search(store, query, ["x", "y"], 1)
        found = mcr_josie.search(
            store, query, ["x", "y"], 1, mate.search.discovery.SearchSettings(initial_column="x"), 1, 9
        )
        assert [(r.table_id, r.joinability) for r in exact] == [(0, 2)]
        assert mcr_josie.recall(exact, exact) == 1
        assert mcr_josie.recall(found, exact) == 0


def test_statistics(tmp_path: Path) -> None:
    query = pa.table({"k": ["a"], "n": ["0"]})
    with josie_lake(tmp_path / "x.duckdb", ONE_VALUE_MANY_TUPLES) as store:
        for system in ("scr-josie", "mcr-josie"):
            told = find_system(system)(store, query, ["k", "n"]).statistics
            assert (told.system, told.hash, told.key_tuples) == (system, "none", 1)
            assert {"calibrate", "prepare", "josie", "fetch postings", "filter rows and score"} <= set(told.seconds)
            assert (told.initial_column, told.tables, told.true_positives) == ("n", 2, 2)
            assert told.candidates == told.true_positives + told.false_positives


@pytest.mark.parametrize("system", ["scr-josie", "mcr-josie"])
def test_an_index_without_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], system: str) -> None:
    assert system in available()
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    store = str(tmp_path / "x.duckdb")
    question = ["search", str(tmp_path / "t.csv"), "--key", "a,b", "--system", system, "--store", store]
    assert main(["index", str(tmp_path / "t.csv"), "--store", store, "--master", "none"]) == 0
    with open_store(store) as index, pytest.raises(StoreError, match="--josie"):
        find_system(system)(index, str(tmp_path / "t.csv"), ["a", "b"])
    assert main(question) != 0
    assert "mate index --josie" in capsys.readouterr().err
    assert main(["index", str(tmp_path / "t.csv"), "--store", store, "--master", "none", "--josie"]) == 0
    assert main(question) == 0
