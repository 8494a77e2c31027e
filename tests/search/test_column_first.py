"""Column-first search finds what equation 2 says, whichever way it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate.errors import CancelledError
from mate.search import column_first as system
from mate.search.results import SearchResult
from mate.search.settings import FilterSettings, SearchSettings
from mate.search.statistics import WORK
from mate.work import Work, doing
from tests.search.memory_lake import MemoryLake
from tests.search.oracle import joinability

Rows = list[list[str | None]]


def search(
    tables: dict[int, Rows],
    tuples: set[tuple[str, ...]],
    options: SearchSettings,
    parts: int = 1,
    gone: Sequence[int] = (),
) -> SearchResult:
    """Search tables in so many segments for key tuples."""
    dealt = [{n: rows for n, rows in tables.items() if n // 3 % parts == part} for part in range(parts)]
    query = pa.table({f"key {n}": list(values) for n, values in enumerate(zip(*sorted(tuples), strict=True))})
    return system.SYSTEM(MemoryLake(*filter(None, dealt), removed=gone), query, query.column_names, None, options)


def assert_exact(found: SearchResult, tuples: set[tuple[str, ...]], tables: dict[int, Rows], k: int) -> None:
    truth = {number: joinability(tuples, rows) for number, rows in tables.items()}
    scores = sorted((score for score, _ in truth.values() if score), reverse=True)
    assert [result.joinability for result in found] == scores[:k]
    for result in found:
        assert (result.joinability, result.column_ids) == truth[result.table_id]


def ranked(found: SearchResult) -> list[tuple[int, int, tuple[int, ...]]]:
    return [(result.joinability, result.table_id, result.column_ids) for result in found.found]


@st.composite
def lakes(draw: st.DrawFn) -> tuple[set[tuple[str, ...]], dict[int, Rows]]:
    """Few values, so that rows repeat them, columns share them, and mappings tie."""
    value = st.sampled_from("abcdefg"[: draw(st.integers(1, 7))])
    width = draw(st.integers(1, 5))
    tuples = draw(st.sets(st.tuples(*[value] * width), min_size=1, max_size=20))
    tables = {}
    for number in range(draw(st.integers(1, 5))):
        columns = draw(st.integers(1, 6))
        row = st.lists(st.none() | value, min_size=columns, max_size=columns)
        tables[number * 3] = draw(st.lists(row, min_size=1, max_size=15))
    return tuples, tables


@contextmanager
def costs(batch: int = system.BATCH, worth_parts: int = system.WORTH_PARTS, **changes: int) -> Iterator[None]:
    """Let the planner go by other costs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(system, "BATCH", batch)
        patch.setattr(system, "WORTH_PARTS", worth_parts)
        patch.setattr(system, "COSTS", system.COSTS._replace(**changes))
        yield


NEVER = 10**6
WAYS: dict[str, dict[str, int]] = {
    "default": {},
    "one by one": {"by_row": NEVER, "batch": 1},
    "one by one, or by row if there are two": {"waiting": 1, "by_row": NEVER},
    "by row": {"by_row": -1},
    "by row, a table at a time": {"by_row": -1, "batch": 1},
    "by row, in threads": {"by_row": -1, "worth_parts": 0},
    "by row, no room for masks": {"by_row": -1, "mask_words": 0},
    "by row, ended early": {"by_row": -1, "step": 1},
    "by row, where looking up has read too much": {"look_up": 0, "by_row": 2, "read": 50},
}


@pytest.mark.parametrize("way", WAYS)
@given(lake=lakes(), k=st.integers(1, 6), filters=st.booleans(), parts=st.integers(1, 2), gone=st.booleans())
@settings(max_examples=150)
def test_finds_what_the_oracle_finds(
    way: str,
    lake: tuple[set[tuple[str, ...]], dict[int, Rows]],
    k: int,
    filters: bool,
    parts: int,
    gone: bool,
) -> None:
    tuples, tables = lake
    removed = list(tables)[:1] if gone else []
    options = SearchSettings(k=k, filters=FilterSettings(table_filters=filters))
    with costs(**WAYS[way]):
        found = search(tables, tuples, options, parts, removed)
    assert_exact(found, tuples, {n: rows for n, rows in tables.items() if n not in removed}, k)


def numbers(rows: int, columns: int, below: int, seed: int) -> Rows:
    drawn = np.random.default_rng(seed).integers(0, below, (rows, columns))
    return [[str(value) for value in row] for row in drawn.tolist()]


@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("by_row", [-1, NEVER])
def test_counts_what_it_did(by_row: int, width: int) -> None:
    tables = {0: numbers(300, 5, 30, 0)}
    tuples = {tuple(map(str, row[:width])) for row in tables[0]}
    with costs(by_row=by_row):
        found = search(tables, tuples, SearchSettings(k=1))
    done = found.statistics
    assert ranked(found) == [(len(tuples), 0, tuple(range(width)))]
    assert done.tables == done.tables_checked == 1
    assert done.tables_by_row == (by_row == -1)
    assert (done.mappings_checked > 0) == (by_row == NEVER)
    assert done.mappings_checked <= done.mappings_bounded
    assert done.rows_read > 0


@pytest.mark.parametrize("words", [0, system.HELD_WORDS])
def test_more_tables_and_key_tuples_than_bits_in_a_word(words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "HELD_WORDS", words)
    tables = {number: numbers(20 + number % 7, 3, 16, number) for number in range(150)}
    tuples = {(row[0], row[1]) for number in range(12) for row in tables[number] if row[0] and row[1]}
    assert len(tuples) > 128
    assert_exact(search(tables, tuples, SearchSettings(k=140)), tuples, tables, 140)


@pytest.mark.parametrize("by_row", [-1, NEVER])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_tables_with_postings_of_four_bytes(width: int, by_row: int) -> None:
    rows = numbers(66_000, 3, 40_000, 1)
    tuples = {tuple(map(str, row[:width])) for row in rows[-40:]} | {("0",) * width}
    with costs(by_row=by_row):
        found = search({7: rows}, tuples, SearchSettings(k=3))
    here = {tuple(row[:width]) for row in rows}
    ((score, table, mapping),) = ranked(found)
    assert (score, table) == (len(tuples & here), 7) or width == 1
    assert len(set(mapping)) == width


def test_what_is_found_and_done_does_not_depend_on_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {number: numbers(60, 4, 12, number) for number in range(40)}
    tuples = {(row[0], row[1]) for row in tables[0] if row[0] and row[1]}
    monkeypatch.setattr(system, "WORTH_PARTS", 0)
    found = []
    for processors in (1, 2, 8):
        monkeypatch.setattr("os.cpu_count", lambda count=processors: count)
        done = search(tables, tuples, SearchSettings(k=3))
        found.append((ranked(done), {name: getattr(done.statistics, name) for name in WORK}))
    assert found[0] == found[1] == found[2]


def test_a_bound_that_is_not_reached_ends_the_search() -> None:
    tables = {0: numbers(50, 2, 20, 2), 1: [["0", "no"], ["no", "1"]]}
    tuples = {(row[0], row[1]) for row in tables[0] if row[0] and row[1]}
    found = search(tables, tuples, SearchSettings(k=1))
    assert ranked(found) == [(len(tuples), 0, (0, 1))]
    assert found.statistics.tables_cut_rule_1 == found.statistics.tables - 1
    assert {"cover", "bound and check"} <= set(found.statistics.seconds)


def test_many_columns_with_small_numbers_are_counted_by_row() -> None:
    tables = {0: numbers(400, 80, 6, 3)}
    tuples = {(str(a), str(b)) for a in range(6) for b in range(6)}
    found = search(tables, tuples, SearchSettings(k=1))
    assert_exact(found, tuples, tables, 1)


@pytest.mark.parametrize("most", [1, 6])
def test_tables_are_found_through_few_directory_entries_or_many(most: int) -> None:
    """Few values lead to the tables that have them, many are compared with every column of the segment."""
    tables = {number: numbers(8, 3, 6, number) for number in range(6)}
    tables[6] = [["x", "y", "z"]]
    tuples = {(str(a), str(b)) for a in range(most) for b in range(most)} | {("x", "y")}
    for gone in ([], [6], [0, 3]):
        found = search(tables, tuples, SearchSettings(k=7, exclude=frozenset({1})), gone=gone)
        assert_exact(found, tuples, {number: rows for number, rows in tables.items() if number not in {1, *gone}}, 7)


def test_bounding_mappings_is_part_of_the_budget() -> None:
    """All columns hold all values, so that no joint bound cuts anything, and one mapping joins all key tuples."""
    draw = np.random.default_rng(5)
    columns = np.array([draw.permutation(30) for _ in range(14)])
    rows: Rows = [[str(value) for value in row] for row in columns.T.tolist()]
    tuples = {(str(row[0]), str(row[1]), str(row[2]), str(row[3])) for row in rows}
    with costs(waiting=10**5, by_row=1):
        found = search({0: rows}, tuples, SearchSettings(k=1))
    assert ranked(found) == [(30, 0, (0, 1, 2, 3))]
    assert found.statistics.tables_by_row == 1
    assert found.statistics.mappings_bounded < 10_000 < 14 * 13 * 12 * 11


class Deaf(Work):
    """Work that is never asked whether it is wanted, but by native loops."""

    def check(self) -> None:
        pass


def test_a_search_that_is_cancelled_ends_in_the_middle_of_a_table() -> None:
    """The loops look at the flag themselves: nothing but them runs here."""
    tuples = {(str(a), str(b)) for a in range(6) for b in range(6)}
    work = Deaf()
    work.cancel()
    with doing(work), pytest.raises(CancelledError):
        search({0: numbers(3_000, 120, 6, 3)}, tuples, SearchSettings(k=1))
