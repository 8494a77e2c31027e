"""Every exact system, hash and shortcut gives the oracle's scores, and mappings that attain them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mate.errors import QueryError
from mate.hashing import available, find
from mate.lake.manifest import HashSpec
from mate.search import column_first, engine
from mate.search import search as searches
from mate.search.results import SearchResult
from mate.search.settings import FilterSettings, SearchSettings
from mate.search.systems import find_system
from tests.search import oracle
from tests.search.memory_lake import XASH, MemoryLake

EXACT = ("column-first", "mate", "mate-length-first", "scr", "mcr", "scr-josie")
"""Systems that give the scores of brute force."""

HASHES = [
    HashSpec(name, bits, XASH.parameters if name == "xash" else {}) for name in available() for bits in find(name).sizes
]
system_named = cache(find_system)
STRATEGIES = ["cardinality", "order", "longest", "postings", "worst", "pairs"]
EVERY_SYSTEM = pytest.mark.parametrize("system", EXACT)

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


def query_of(case: Case) -> tuple[pa.Table, list[str]]:
    """Return the query as a table, and its key."""
    names = [f"q{i}" for i in range(len(case.query[0]))]
    query = pa.table([pa.array([row[i] for row in case.query], pa.string()) for i in range(len(names))], names=names)
    return query, [names[i] for i in case.key]


def search(lake: MemoryLake, case: Case, system: str = "mate", **options: object) -> SearchResult | None:
    """Search; None if the query has no usable key tuple."""
    filters: Any = {name: options.pop(name) for name in FilterSettings.__slots__ if name in options}
    more: Any = options
    try:
        chosen = SearchSettings(**more, filters=FilterSettings(**filters))
        return system_named(system)(lake, *query_of(case), case.k, chosen)
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
    ranking = [(-result.joinability, -result.evidence.uniqueness, result.table_id) for result in found]
    assert ranking == sorted(ranking)


PARTS = st.integers(1, 3)
RANKS = st.sampled_from(["joinability", "usefulness"])


@EVERY_SYSTEM
@settings(max_examples=60)
@given(case=cases(), parts=PARTS, filters=st.booleans(), tight=st.booleans())
def test_every_system(case: Case, parts: int, filters: bool, tight: bool, system: str) -> None:
    lake = MemoryLake.of(case.tables, parts)
    assert_right(search(lake, case, system, table_filters=filters, tight_bound=tight), case)


@settings(max_examples=100)
@given(case=cases(), hashes=st.permutations(HASHES), parts=PARTS)
def test_every_hash_of_every_size(case: Case, hashes: list[HashSpec], parts: int) -> None:
    lake = MemoryLake.of(case.tables, parts, hashes=hashes[:4])
    for spec in hashes[:4]:
        assert_right(search(lake, case, hash_name=spec.name, bits=spec.bits), case)


@settings(max_examples=40)
@given(case=cases(), parts=PARTS)
def test_every_initial_column(case: Case, parts: int) -> None:
    lake = MemoryLake.of(case.tables, parts)
    for system in ("mate", "mcr", "scr-josie"):
        for strategy in (*STRATEGIES, f"q{case.key[-1]}"):
            assert_right(search(lake, case, system, initial_column=strategy), case)


@EVERY_SYSTEM
@settings(max_examples=60)
@given(case=ladders(), tight=st.booleans(), parts=PARTS, spec=st.sampled_from([XASH, HashSpec("ht", 128)]))
def test_table_filters_cut_no_answer(case: Case, tight: bool, parts: int, spec: HashSpec, system: str) -> None:
    lake = MemoryLake.of(case.tables, parts, hashes=[spec])
    for strategy in ("q0", "q1"):
        assert_right(search(lake, case, system, tight_bound=tight, initial_column=strategy), case)


@EVERY_SYSTEM
@settings(max_examples=40)
@given(case=ladders(), parts=st.integers(2, 9), group=st.integers(2, 4), cached=st.integers(1, 3), rank=RANKS)
def test_segments_in_threads(case: Case, parts: int, group: int, cached: int, rank: str, system: str) -> None:
    """However many segments are searched at the same time, and however few of them are cached."""
    lake = MemoryLake.of(case.tables, parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "WORTH_THREADS", 0)
        patch.setattr(searches, "AT_ONCE", group)
        patch.setattr(searches, "CACHED_SEGMENTS", cached)
        patch.setattr(column_first, "BATCH", 1)  # the others of a segment wait for those of other segments
        in_threads = search(lake, case, system, rank=rank)
    assert in_threads is not None
    if rank == "joinability":
        assert_right(in_threads, case)
    else:
        alone = search(MemoryLake.of(case.tables), case, system, rank=rank)
        assert alone is not None
        assert [(r.table_id, r.column_ids) for r in in_threads] == [(r.table_id, r.column_ids) for r in alone]


@EVERY_SYSTEM
@settings(max_examples=40)
@given(case=cases(most_keys=3), excluded=st.sets(st.integers(0, 6)), parts=PARTS)
def test_excluded_tables(case: Case, excluded: set[int], parts: int, system: str) -> None:
    expected = [score for score, table, _ in case.ranking if table not in excluded][: case.k]
    found = search(MemoryLake.of(case.tables, parts), case, system, exclude=frozenset(excluded))
    assert [result.joinability for result in found or ()] == expected
    assert not excluded & {result.table_id for result in found or ()}


@EVERY_SYSTEM
@settings(max_examples=40)
@given(case=cases(most_keys=3), other=cases(most_keys=1), removed=st.sets(st.integers(0, 6)))
def test_superseded_tables(case: Case, other: Case, removed: set[int], system: str) -> None:
    """Old tables are in an earlier segment under the same numbers; some tables are removed altogether."""
    lake = MemoryLake(
        dict(enumerate(other.tables)),
        dict(enumerate(case.tables)),
        removed=[*removed, *range(len(case.tables), len(other.tables))],
    )
    expected = [score for score, table, _ in case.ranking if table not in removed][: case.k]
    found = search(lake, case, system)
    assert [result.joinability for result in found or ()] == expected
    exact = {table: (score, mapping) for score, table, mapping in case.ranking}
    assert all((r.joinability, r.column_ids) == exact[r.table_id] for r in found or ())


@EVERY_SYSTEM
@settings(max_examples=40)
@given(case=cases(most_keys=4), parts=PARTS)
def test_matching_rows_are_those_that_join(case: Case, parts: int, system: str) -> None:
    found = search(MemoryLake.of(case.tables, parts), case, system, semi_join=parts > 1)
    for result in found or ():
        assert found
        expected = {
            (values, place)
            for place, row in enumerate(case.tables[result.table_id])
            for values in oracle.key_tuples(case.query, case.key)
            if tuple(oracle.token_of(row[c]) for c in result.column_ids) == values
        }
        texts = found.key.tokens.to_pylist()
        pairs = list(zip(result.matches.tuple_id.tolist(), result.matches.row.tolist(), strict=True))
        assert {(tuple(texts[p] for p in found.key.place[t]), r) for t, r in pairs} == expected
        assert len(pairs) == len(expected)


@EVERY_SYSTEM
def test_a_row_of_equal_values_does_not_explode(system: str) -> None:
    """Forty equal cells and a key of six equal values have 2.7 billion mappings; the first one will do."""
    query = pa.table({f"q{i}": ["x"] for i in range(6)})
    (result,) = system_named(system)(MemoryLake.of([[["x"] * 40] * 3]), query, query.column_names)
    assert (result.joinability, result.column_ids) == (1, (0, 1, 2, 3, 4, 5))


@EVERY_SYSTEM
@pytest.mark.parametrize("columns", [22, 1_500])
def test_a_key_of_twenty_columns(columns: int, system: str) -> None:
    rows = [[f"{row} {column}" for column in range(columns)] for row in range(4)]
    last = range(columns - 1, columns - 21, -1)
    query = pa.table({f"q{column}": [f"{row} {column}" for row in range(1, 6)] for column in last})
    (result,) = system_named(system)(MemoryLake.of([rows, [["0 0", "0 1"]]]), query, query.column_names)
    assert (result.joinability, result.column_ids) == (3, tuple(last))


@EVERY_SYSTEM
@pytest.mark.parametrize("rows", [65_535, 65_536, 70_000])
def test_a_table_of_many_rows(rows: int, system: str) -> None:
    """Postings take four bytes from 65,536 rows on."""
    table = [[f"{row % 300}", f"{row // 300}", "x"] for row in range(rows)]
    query = pa.table({"a": ["0", "299", f"{(rows - 1) % 300}", "5"], "b": ["0", "100", f"{(rows - 1) // 300}", "999"]})
    (result, other) = system_named(system)(MemoryLake.of([[["0", "0"]], table]), query, ["a", "b"])
    assert (result.table_id, result.joinability, result.column_ids) == (1, 3, (0, 1))
    assert (other.table_id, other.joinability, other.column_ids) == (0, 1, (0, 1))
    assert sorted(result.matches.row.tolist()) == [0, 100 * 300 + 299, rows - 1]
