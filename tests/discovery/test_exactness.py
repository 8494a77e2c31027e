"""Every exact system, hash, layout and shortcut gives the oracle's scores, and mappings that attain them.

What the database has a part in runs on DuckDB; what is the algorithm's alone runs on a store in memory, many times.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import baselines.systems.mcr
import mate.search.discovery
import mate.search.joinability
from mate.build.build import HashRequest
from mate.errors import QueryError
from mate.hashing import available, find
from mate.search.discovery import SearchResult, SearchSettings
from mate.search.systems import find_system
from mate.store import IndexStore
from mate.store.duckdb import DuckDBStore
from tests.discovery import oracle
from tests.discovery.memory_store import FlatStore, MemoryStore
from tests.lakes import lake

# So few values would give XASH an alpha of 1, which is the length alone.
PARAMETERS = {"xash": {"alpha": 5}}
HASHES = [HashRequest(name, find(name).sizes[0], PARAMETERS.get(name, {})) for name in available()]
system_named = cache(find_system)
STRATEGIES = ["cardinality", "order", "longest", "postings", "worst", "pairs"]

# Few values, so that rows repeat them, tables share them, and near misses abound; "-" has no token.
VALUES = st.sampled_from(["a", "b", "c", "d", "A ", "e e", "é", "-", None])


@dataclass(frozen=True)
class Case:
    """A random lake and a query for it."""

    tables: list[list[list[str | None]]]
    query: list[list[str | None]]
    key: list[int]
    k: int

    @cached_property
    def ranking(self) -> list[tuple[int, int, tuple[int, ...]]]:
        """The oracle's joinability, table and mapping of every table that joins, best first."""
        return oracle.top_k(self.query, self.key, self.tables, len(self.tables))


@st.composite
def cases(draw: st.DrawFn, most_keys: int = 5) -> Case:
    def table(width: int, most_rows: int) -> list[list[str | None]]:
        row = st.lists(VALUES, min_size=width, max_size=width)
        return draw(st.lists(row, min_size=1, max_size=most_rows))

    keys = draw(st.integers(1, most_keys))
    tables = [table(draw(st.integers(1, 6)), 8) for _ in range(draw(st.integers(1, 6)))]
    if keys <= 2 and draw(st.booleans()):
        tables.append(table(30, 3))
    # An index without a single value is not built.
    assume(any(oracle.token_of(cell) for rows in tables for row in rows for cell in row))
    query = table(keys + draw(st.integers(0, 2)), 10)
    # Some rows of the lake in the query, so that wide keys do join.
    for _ in range(draw(st.integers(0, 3))):
        source = draw(st.sampled_from(tables))
        if len(source[0]) >= keys:
            row = draw(st.permutations(draw(st.sampled_from(source))))[:keys]
            query.append([*row, *query[0][keys:]])
    return Case(tables, query, draw(st.permutations(range(len(query[0]))))[:keys], draw(st.integers(1, 8)))


@st.composite
def ladders(draw: st.DrawFn) -> Case:
    """Tables of which some join much and some only seem to: what the table filters are there to tell apart."""
    size = draw(st.integers(2, 8))

    def table() -> list[list[str | None]]:
        joining = draw(st.sets(st.integers(0, size - 1)))
        seeming = draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size)), max_size=8))
        order = draw(st.sampled_from([(0, 1), (1, 0)]))
        rows = [(f"x{i}", f"y{i}") for i in sorted(joining)] + [(f"x{i}", f"y{j}") for i, j in seeming]
        return [[row[column] for column in order] for row in rows or [("-", "z")]]

    tables = [table() for _ in range(draw(st.integers(3, 14)))]
    return Case(tables, [[f"x{i}", f"y{i}"] for i in range(size)], [0, 1], draw(st.integers(1, 5)))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every block hold few candidates, so that the table filters are asked often."""
    monkeypatch.setattr(mate.search.discovery, "FIRST_BLOCK", 2)


def search(store: IndexStore | MemoryStore, case: Case, system: str = "mate", **options: object) -> SearchResult | None:
    """Search; None if the query has no usable key tuple."""
    names = [f"q{i}" for i in range(len(case.query[0]))]
    query = pa.table([pa.array([row[i] for row in case.query], pa.string()) for i in range(len(names))], names=names)
    try:
        return system_named(system)(store, query, [names[i] for i in case.key], case.k, SearchSettings(**options))  # type: ignore[arg-type]
    except QueryError:
        assert not oracle.key_tuples(case.query, case.key)
        return None


def assert_right(found: SearchResult | None, case: Case) -> None:
    if found is None:
        assert not case.ranking
        return
    scores = {number: (score, mapping) for score, number, mapping in case.ranking}
    assert [result.joinability for result in found] == [score for score, _, _ in case.ranking[: case.k]]
    for result in found:
        assert (result.joinability, result.column_ids) == scores[result.table_id]
    ranking = [(-result.joinability, result.table_id) for result in found]
    assert ranking == sorted(ranking)


def indexed(folder: str, case: Case, hashes: list[HashRequest], layout: str, flat: bool) -> IndexStore:
    with lake(Path(folder, "x.duckdb"), case.tables, hashes, layout) as store:
        assert store.flat is not None
        return DuckDBStore(store.address, flat)


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("layout", ["per_cell", "per_row"])
@settings(max_examples=15)
@given(case=cases(), hashes=st.permutations(HASHES))
def test_every_hash_layout_and_system_on_duckdb(case: Case, hashes: list[HashRequest], layout: str, flat: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, indexed(folder, case, hashes[:4], layout, flat) as store:
        for request in hashes[:4]:
            assert_right(search(store, case, hash_name=request.name, bits=request.bits), case)
        for system in ("scr", "mcr"):
            assert_right(search(store, case, system), case)


@settings(max_examples=15)
@given(case=cases(), layout=st.sampled_from(["per_cell", "per_row"]), hashes=st.permutations(HASHES))
def test_too_many_pairs_to_hold_at_once_on_duckdb(case: Case, layout: str, hashes: list[HashRequest]) -> None:
    with (
        few_pairs(),
        tempfile.TemporaryDirectory() as folder,
        indexed(folder, case, hashes[:2], layout, False) as store,
    ):
        for system in ("mate", "scr", "mcr"):
            assert_right(search(store, case, system, hash_name=hashes[1].name), case)


@contextmanager
def few_pairs() -> Iterator[None]:
    """Let a look-up return three pairs at most."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mate.search.discovery, "MOST_PAIRS", 3)
        patch.setattr(mate.search.discovery, "MOST_FILTERED_PAIRS", 3)
        patch.setattr(baselines.systems.mcr, "MOST_PAIRS", 3)
        yield


EITHER = pytest.mark.parametrize("kind", [MemoryStore, FlatStore])


@EITHER
@settings(max_examples=60)
@given(case=cases(), hash_name=st.sampled_from([request.name for request in HASHES]))
def test_every_system_and_shortcut(case: Case, hash_name: str, kind: type[MemoryStore]) -> None:
    store = kind(case.tables, hash_name, find(hash_name).sizes[0])
    assert_right(search(store, case, "mcr"), case)
    for strategy in (*STRATEGIES, f"q{case.key[-1]}"):
        assert_right(search(store, case, initial_column=strategy), case)
    for system in ("mate", "scr"):
        for tight in (False, True):
            for filters in (False, True):
                assert_right(search(store, case, system, tight_bound=tight, table_filters=filters), case)


@EITHER
@settings(max_examples=100)
@given(case=ladders(), tight=st.booleans(), hash_name=st.sampled_from(["xash", "ht"]))
def test_table_filters_cut_no_answer(case: Case, tight: bool, hash_name: str, kind: type[MemoryStore]) -> None:
    store = kind(case.tables, hash_name)
    for strategy in ("q0", "q1"):
        assert_right(search(store, case, tight_bound=tight, initial_column=strategy), case)
    with few_pairs():
        assert_right(search(store, case, tight_bound=tight), case)


@settings(max_examples=80)
@given(case=cases(), tight=st.booleans())
def test_too_many_pairs_to_hold_at_once(case: Case, tight: bool) -> None:
    store = MemoryStore(case.tables)
    with few_pairs():
        for system in ("mate", "scr", "mcr"):
            assert_right(search(store, case, system, tight_bound=tight), case)


SWITCHES = {
    "compiled check": (mate.search.joinability, "_SMALL", 0),
    "few mappings enumerated": (mate.search.joinability, "MOST_OPTIONS", 2),
    "branch and bound": (mate.search.joinability, "MOST_OPTIONS", 0),
    "column lists without gaps": (mate.search.joinability, "_MOST_CODES", 1),
    "tuples counted by sorting": (mate.search.discovery, "_MOST_FLAGS", 0),
}
"""Limits beyond which the same is computed in another way."""


@pytest.mark.parametrize("way", SWITCHES)
@settings(max_examples=50)
@given(case=cases())
def test_every_way_to_compute_the_same(case: Case, way: str) -> None:
    store = MemoryStore(case.tables)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*SWITCHES[way])
        assert_right(search(store, case), case)
        assert_right(search(store, case, "mcr"), case)


@EITHER
@settings(max_examples=60)
@given(case=cases(most_keys=3), excluded=st.sets(st.integers(0, 6)), tight=st.booleans(), few=st.booleans())
def test_excluded_tables(case: Case, excluded: set[int], tight: bool, few: bool, kind: type[MemoryStore]) -> None:
    expected = [score for score, table, _ in case.ranking if table not in excluded][: case.k]
    store = kind(case.tables)
    with few_pairs() if few else nullcontext():
        for system in ("mate", "scr", "mcr"):
            found = search(store, case, system, exclude=frozenset(excluded), tight_bound=tight)
            assert [result.joinability for result in found or ()] == expected
            assert not excluded & {result.table_id for result in found or ()}


@EITHER
@settings(max_examples=60)
@given(case=cases(most_keys=4))
def test_matching_rows_are_those_that_join(case: Case, kind: type[MemoryStore]) -> None:
    found = search(kind(case.tables), case)
    for result in found or ():
        expected = {
            (values, result.table.first_row + place)
            for place, row in enumerate(case.tables[result.table_id])
            for values in oracle.key_tuples(case.query, case.key)
            if tuple(oracle.token_of(row[c]) for c in result.column_ids) == values
        }
        texts = found.key.tokens.to_pylist()
        pairs = list(zip(result.tuple_ids.tolist(), result.row_ids.tolist(), strict=True))
        assert {(tuple(texts[p] for p in found.key.place[t]), r) for t, r in pairs} == expected
        assert len(pairs) == len(expected)


@EITHER
def test_a_row_of_equal_values_does_not_explode(kind: type[MemoryStore]) -> None:
    """Forty equal cells and a key of six equal values have 2.7 billion mappings; the first one will do."""
    query = pa.table({f"q{i}": ["x"] for i in range(6)})
    (result,) = mate.search.discovery.search(kind([[["x"] * 40] * 3]), query, query.column_names)
    assert (result.joinability, result.column_ids) == (1, (0, 1, 2, 3, 4, 5))
