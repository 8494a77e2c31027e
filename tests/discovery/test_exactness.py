"""Every exact system, hash, layout and shortcut gives the oracle's scores, and mappings that attain them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mate.discovery
import mate.joinability
from mate.discovery import SearchResult, SearchSettings
from mate.errors import QueryError
from mate.hashing import available, find
from mate.pipeline.build import HashRequest
from mate.store import IndexStore
from mate.systems import find_system
from tests.discovery import oracle
from tests.lakes import lake

HASHES = [HashRequest(name, find(name).sizes[0]) for name in available()]

# Few values, so that rows repeat them, tables share them, and near misses abound; "-" has no token.
VALUES = st.sampled_from(["a", "b", "c", "d", "A ", "e e", "é", "-", None])


@dataclass(frozen=True)
class Case:
    """A random lake and a query for it."""

    tables: list[list[list[str | None]]]
    query: list[list[str | None]]
    key: list[int]
    k: int


@st.composite
def cases(draw: st.DrawFn, most_keys: int = 5) -> Case:
    def table(width: int, most_rows: int) -> list[list[str | None]]:
        row = st.lists(VALUES, min_size=width, max_size=width)
        return draw(st.lists(row, min_size=1, max_size=most_rows))

    keys = draw(st.integers(1, most_keys))
    tables = [table(draw(st.integers(1, 6)), 8) for _ in range(draw(st.integers(1, 6)))]
    if keys <= 2 and draw(st.booleans()):
        tables.append(table(30, 3))
    query = table(keys + draw(st.integers(0, 2)), 10)
    # Some rows of the lake in the query, so that wide keys do join.
    for _ in range(draw(st.integers(0, 3))):
        source = draw(st.sampled_from(tables))
        if len(source[0]) >= keys:
            row = draw(st.permutations(draw(st.sampled_from(source))))[:keys]
            query.append([*row, *query[0][keys:]])
    return Case(tables, query, draw(st.permutations(range(len(query[0]))))[:keys], draw(st.integers(1, 8)))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every block hold few candidates, so that the table filters are asked often."""
    monkeypatch.setattr(mate.discovery, "FIRST_BLOCK", 2)


def indexed(case: Case, layout: str) -> Iterator[IndexStore]:
    with tempfile.TemporaryDirectory() as folder, lake(Path(folder, "x.duckdb"), case.tables, HASHES, layout) as store:
        yield store


def search(store: IndexStore, case: Case, system: str = "mate", **options: object) -> SearchResult | None:
    """Search; None if the query has no usable key tuple."""
    names = [f"q{i}" for i in range(len(case.query[0]))]
    query = pa.table([pa.array([row[i] for row in case.query], pa.string()) for i in range(len(names))], names=names)
    try:
        return find_system(system)(store, query, [names[i] for i in case.key], case.k, SearchSettings(**options))  # type: ignore[arg-type]
    except QueryError:
        assert not oracle.key_tuples(case.query, case.key)
        return None


def assert_right(found: SearchResult | None, case: Case) -> None:
    expected = oracle.top_k(case.query, case.key, case.tables, len(case.tables))
    if found is None:
        assert not expected
        return
    scores = {number: (score, mapping) for score, number, mapping in expected}
    assert [result.joinability for result in found] == [score for score, _, _ in expected[: case.k]]
    for result in found:
        assert (result.joinability, result.column_ids) == scores[result.table_id]
    ranking = [(-result.joinability, result.table_id) for result in found]
    assert ranking == sorted(ranking)


@pytest.mark.parametrize("layout", ["per_cell", "per_row"])
@settings(max_examples=40)
@given(case=cases())
def test_mate_with_every_hash(case: Case, layout: str) -> None:
    for store in indexed(case, layout):
        for request in HASHES:
            assert_right(search(store, case, hash_name=request.name), case)


@settings(max_examples=40)
@given(case=cases())
def test_every_system_and_shortcut(case: Case) -> None:
    for store in indexed(case, "per_cell"):
        assert_right(search(store, case, "scr"), case)
        assert_right(search(store, case, "mcr"), case)
        for strategy in ("cardinality", "order", "longest", "postings", "worst", "pairs", f"q{case.key[-1]}"):
            assert_right(search(store, case, initial_column=strategy), case)
        for tight in (False, True):
            for filters in (False, True):
                assert_right(search(store, case, tight_bound=tight, table_filters=filters), case)


@pytest.mark.parametrize("system", ["mate", "scr", "mcr"])
@settings(max_examples=30)
@given(case=cases())
def test_too_many_pairs_to_hold_at_once(case: Case, system: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (mate.discovery, __import__("baselines.systems.mcr", fromlist=["mcr"])):
            patch.setattr(module, "MOST_PAIRS", 3)
        patch.setattr(mate.discovery, "MOST_FILTERED_PAIRS", 3)
        for store in indexed(case, "per_cell"):
            for tight in (False, True):
                assert_right(search(store, case, system, tight_bound=tight), case)


@settings(max_examples=30)
@given(case=cases())
def test_compiled_check(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mate.joinability, "_SMALL", 0)
        for store in indexed(case, "per_cell"):
            assert_right(search(store, case), case)
            assert_right(search(store, case, "mcr"), case)


@settings(max_examples=30)
@given(case=cases(most_keys=3), excluded=st.sets(st.integers(0, 6)))
def test_excluded_tables(case: Case, excluded: set[int]) -> None:
    expected = [
        entry[0]
        for entry in oracle.top_k(case.query, case.key, case.tables, len(case.tables))
        if entry[1] not in excluded
    ][: case.k]
    for store in indexed(case, "per_cell"):
        for system in ("mate", "scr", "mcr"):
            found = search(store, case, system, exclude=frozenset(excluded))
            assert [result.joinability for result in found or ()] == expected


@settings(max_examples=30)
@given(case=cases(most_keys=4))
def test_matching_rows_are_those_that_join(case: Case) -> None:
    for store in indexed(case, "per_row"):
        for result in search(store, case) or ():
            tokens = [[oracle._token(cell) for cell in row] for row in case.tables[result.table_id]]
            tuples = oracle.key_tuples(case.query, case.key)
            expected = {
                (values, result.table.first_row + place)
                for place, row in enumerate(tokens)
                for values in tuples
                if tuple(row[c] for c in result.column_ids) == values
            }
            key = search(store, case).key  # type: ignore[union-attr]
            texts = key.tokens.to_pylist()
            pairs = zip(result.tuple_ids.tolist(), result.row_ids.tolist(), strict=True)
            assert {(tuple(texts[p] for p in key.place[t]), r) for t, r in pairs} == expected


def test_a_row_of_equal_values_does_not_explode(tmp_path: Path) -> None:
    """Forty equal cells and a key of six equal values have 2.7 billion mappings; the first one will do."""
    with lake(tmp_path / "x.duckdb", [[["x"] * 40] * 3]) as store:
        query = pa.table({f"q{i}": ["x"] for i in range(6)})
        (result,) = mate.discovery.search(store, query, [f"q{i}" for i in range(6)])
        assert (result.joinability, result.column_ids) == (1, (0, 1, 2, 3, 4, 5))
