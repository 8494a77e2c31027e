"""Column-first search finds what equation 2 says, whichever way it takes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numba  # noqa: F401  (loaded, so that small work is compiled, too)
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mate.lake.memory import RowBlock, memory_segment
from mate.lake.segment import SearchSegment
from mate.search import column_first as system
from mate.search import reference, slots_kernel
from mate.search.best import Best
from mate.search.engine import Search, SearchSettings, go_through
from mate.search.query import KeyTuples
from mate.search.statistics import Statistics
from mate.values import compiled
from tests.search.oracle import joinability

Rows = list[list[str | None]]


def token_id(value: str | None) -> int:
    return -1 if value is None else int.from_bytes(value.encode(), "big")


def segment(tables: dict[int, Rows], gone: Sequence[int] = ()) -> SearchSegment:
    rows = [(number, row) for number in sorted(tables) for row in tables[number]]
    offsets = np.cumsum([0, *(len(row) for _, row in rows)])
    ids = np.array([token_id(cell) for _, row in rows for cell in row])
    owners = np.array([number for number, _ in rows])
    made = memory_segment(RowBlock(owners, np.arange(len(rows)), offsets, ids))
    made.live[np.isin(made.arrays.table_id, list(gone))] = False
    return made


def search(segments: Sequence[SearchSegment], tuples: set[tuple[str, ...]], options: SearchSettings) -> Search:
    """Search segments for key tuples, without an index around them."""
    values = sorted({value for values in tuples for value in values})
    place = np.array([[values.index(value) for value in values_] for values_ in sorted(tuples)])
    names = tuple(f"key {number}" for number in range(place.shape[1]))
    key = KeyTuples(names, pa.array(values, pa.string()), place, np.arange(len(place)), 0)
    ids = np.array([token_id(value) for value in values])
    best = Best.empty(options.k, place.shape[1])
    found = Search(None, key, options, Statistics(), ids, best)  # type: ignore[arg-type]
    for part in map(found.part, segments):
        if len(part.tuples):
            go_through(part, system.column_first)
    return found


def assert_exact(found: Search, tuples: set[tuple[str, ...]], tables: dict[int, Rows]) -> None:
    truth = {number: joinability(tuples, rows) for number, rows in tables.items()}
    ranked = found.best.ranked()
    scores = sorted((score for score, _ in truth.values() if score), reverse=True)
    assert [score for score, _, _ in ranked] == scores[: found.settings.k]
    for score, table, mapping in ranked:
        assert (score, mapping) == truth[table]


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


WAYS = {
    "default": {},
    "one by one": {"LEAVES": 1, "ALL_PAIRS": 10**6, "BATCH": 1},
    "by row": {"LEAVES": 2, "ALL_PAIRS": -1},
    "by row, a table at a time": {"ALL_PAIRS": -1, "BATCH": 1},
    "two by two": {"PAIRWISE": 1},
    "two by two, in threads": {"PAIRWISE": 1, "LEAVES": 2, "WORTH_PARTS": 0},
    "no room for pairs": {"PAIRWISE": 1, "PAIR_WORDS": 0, "WORTH_PARTS": 0},
    "by row, no room for masks": {"LEAVES": 2, "ALL_PAIRS": -1, "MASK_WORDS": 0},
    "by row, in blocks": {"LEAVES": 2, "ALL_PAIRS": -1, "MASK_WORDS": 45 * system.WAVE},
    "by row, ended early": {"LEAVES": 2, "ALL_PAIRS": -1, "STEP": 1},
    "room for one mapping": {"PAIRWISE": 1, "LOOK_UPS": 0, "DECODED": 0, "LEAVES": 2, "READ": 10, "LOOK_UP": 1},
    "room for some columns": {
        **{"LOOK_UPS": 60 * system.WAVE, "DECODED": 60 * system.WAVE, "ALL_PAIRS": 10**6, "POSTING": 10, "LOOK_UP": 40}
    },
    "by row, no room for anything": {
        **{"LEAVES": 2, "ALL_PAIRS": -1, "MASK_WORDS": 0, "LOOK_UPS": 0, "PAIR_WORDS": 0, "DECODED": 0}
    },
    "looked up": {"LOOK_UP": 0, "ALL_PAIRS": 10**6},
    "looked up, unless that reads more": {"LOOK_UP": 1, "READ": 1, "ALL_PAIRS": 10**6},
    "compared": {"POSTING": 0, "ALL_PAIRS": 10**6},
    "scanned": {"READ": 0, "ALL_PAIRS": 10**6},
    "split tables": {"LEAVES": 2, "ALL_PAIRS": 1, "WORTH_SPLITTING": 0},
    "split tables, in blocks": {
        **{"LEAVES": 2, "ALL_PAIRS": 1, "WORTH_SPLITTING": 0, "MASK_WORDS": 45 * system.WAVE * system.PARTS}
    },
}


@pytest.mark.parametrize("way", WAYS)
@given(lake=lakes(), k=st.integers(1, 6), filters=st.booleans(), parts=st.integers(1, 2), gone=st.booleans())
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_finds_what_the_oracle_finds(
    way: str,
    lake: tuple[set[tuple[str, ...]], dict[int, Rows]],
    k: int,
    filters: bool,
    parts: int,
    gone: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tuples, tables = lake
    superseded = list(tables)[:1] if gone else []
    for name, limit in WAYS[way].items():
        monkeypatch.setattr(system, name, limit)
    dealt = [{n: rows for n, rows in tables.items() if n // 3 % parts == part} for part in range(parts)]
    options = SearchSettings(k=k, table_filters=filters)
    found = search([segment(some, superseded) for some in dealt if some], tuples, options)
    monkeypatch.undo()
    assert_exact(found, tuples, {n: rows for n, rows in tables.items() if n not in superseded})


def numbers(rows: int, columns: int, below: int, seed: int) -> Rows:
    drawn = np.random.default_rng(seed).integers(0, below, (rows, columns))
    return [[str(value) for value in row] for row in drawn.tolist()]


def test_counts_what_it_did_by_postings_look_up_scan_and_row(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {0: numbers(300, 5, 30, 0)}
    tuples = {(row[0], row[1]) for row in tables[0] if row[0] and row[1]}
    part = segment(tables)
    monkeypatch.setattr(system, "ALL_PAIRS", -1)
    by_row = search([part], tuples, SearchSettings(k=1))
    monkeypatch.setattr(system, "ALL_PAIRS", 10**9)
    compared, looked_up, scanned = (
        _done_by(name, part, tuples, monkeypatch) for name in ("POSTING", "LOOK_UP", "READ")
    )
    for found in (by_row, compared, looked_up, scanned):
        assert found.best.ranked() == [(len(tuples), 0, (0, 1))]
        assert found.statistics.tables == found.statistics.tables_checked == 1
        assert found.statistics.mappings_checked <= found.statistics.mappings_bounded
        assert found.statistics.rows_read > 0
    assert by_row.statistics.tables_by_row == 1
    assert 0 < compared.statistics.checks_by_postings == compared.statistics.mappings_checked
    assert 0 < looked_up.statistics.checks_by_look_up == looked_up.statistics.mappings_checked
    assert 0 < scanned.statistics.checks_by_scan == scanned.statistics.mappings_checked


def _done_by(way: str, part: SearchSegment, tuples: set[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch) -> Search:
    """Search where one of the ways to check a mapping costs nothing, and the others much."""
    for name in ("POSTING", "LOOK_UP", "READ"):
        monkeypatch.setattr(system, name, 0 if name == way else 1_000)
    return search([part], tuples, SearchSettings(k=1))


@pytest.mark.parametrize("words", [0, system.HELD_WORDS])
def test_more_tables_and_key_tuples_than_bits_in_a_word(words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "HELD_WORDS", words)
    tables = {number: numbers(20 + number % 7, 3, 16, number) for number in range(150)}
    tuples = {(row[0], row[1]) for number in range(12) for row in tables[number] if row[0] and row[1]}
    assert len(tuples) > 128
    assert_exact(search([segment(tables)], tuples, SearchSettings(k=140)), tuples, tables)


@pytest.mark.parametrize("limit", [-1, 10**9])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_tables_with_postings_of_four_bytes(width: int, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = numbers(66_000, 3, 40_000, 1)
    monkeypatch.setattr(system, "ALL_PAIRS", limit)
    tuples = {tuple(map(str, row[:width])) for row in rows[-40:]} | {("0",) * width}
    found = search([segment({7: rows})], tuples, SearchSettings(k=3))
    here = {tuple(row[:width]) for row in rows}
    ((score, table, mapping),) = found.best.ranked()
    assert (score, table) == (len(tuples & here), 7) or width == 1
    assert len(set(mapping)) == width


def test_what_is_found_and_done_does_not_depend_on_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {number: numbers(60, 4, 12, number) for number in range(40)}
    tuples = {(row[0], row[1]) for row in tables[0] if row[0] and row[1]}
    monkeypatch.setattr(system, "WORTH_PARTS", 0)
    found = []
    for processors in (1, 2, 8):
        monkeypatch.setattr("os.cpu_count", lambda count=processors: count)
        done = search([segment(tables)], tuples, SearchSettings(k=3))
        found.append((done.best.ranked(), {name: getattr(done.statistics, name) for name in system.COUNTERS}))
    assert found[0] == found[1] == found[2]


def test_a_bound_that_is_not_reached_ends_the_search() -> None:
    tables = {0: numbers(50, 2, 20, 2), 1: [["0", "no"], ["no", "1"]]}
    tuples = {(row[0], row[1]) for row in tables[0] if row[0] and row[1]}
    found = search([segment(tables)], tuples, SearchSettings(k=1))
    assert found.best.ranked() == [(len(tuples), 0, (0, 1))]
    assert found.statistics.tables_cut_rule_1 == found.statistics.tables - 1
    assert {"cover", "bound and check"} <= set(found.statistics.seconds)


def test_many_columns_with_small_numbers_are_counted_by_row() -> None:
    tables = {0: numbers(400, 80, 6, 3)}
    tuples = {(str(a), str(b)) for a in range(6) for b in range(6)}
    found = search([segment(tables)], tuples, SearchSettings(k=1))
    assert_exact(found, tuples, tables)


def test_the_same_with_three_key_columns() -> None:
    tables = {0: numbers(60, 12, 6, 3)}
    tuples = {(str(a), str(b), str(a)) for a in range(6) for b in range(6)}
    found = search([segment(tables)], tuples, SearchSettings(k=1))
    assert_exact(found, tuples, tables)


@pytest.mark.parametrize("most", [1, 6])
def test_tables_are_found_through_few_directory_entries_or_many(most: int) -> None:
    """Few values lead to the tables that have them, many are compared with every column of the segment."""
    tables = {number: numbers(8, 3, 6, number) for number in range(6)}
    tables[6] = [["x", "y", "z"]]
    tuples = {(str(a), str(b)) for a in range(most) for b in range(most)} | {("x", "y")}
    for gone in ([], [6], [0, 3]):
        found = search([segment(tables, gone)], tuples, SearchSettings(k=7, exclude=frozenset({1})))
        assert_exact(found, tuples, {number: rows for number, rows in tables.items() if number not in {1, *gone}})


def test_small_work_is_done_without_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {0: numbers(20, 3, 6, 4)}
    tuples = {(str(a), str(b)) for a in range(6) for b in range(6)}
    monkeypatch.setattr(system, "is_ready", lambda: False)
    monkeypatch.setattr(system, "is_worth", lambda count, small: False)
    monkeypatch.setattr(system, "_cover", None)
    assert_exact(search([segment(tables)], tuples, SearchSettings(k=1)), tuples, tables)


def test_small_work_that_adds_up_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {number: numbers(20, 3, 6, number) for number in range(5)}
    tuples = {(str(a), str(b)) for a in range(6) for b in range(6)}
    spent = compiled.Interpreted()
    monkeypatch.setattr(compiled, "SPENT", spent)
    monkeypatch.setattr(compiled, "has_compiled", lambda: False)
    monkeypatch.setattr(compiled, "is_loaded", lambda: False)
    monkeypatch.setattr(system, "is_ready", lambda: False)
    one = search([segment(tables)], tuples, SearchSettings(k=1))
    assert "cover" not in one.statistics.seconds
    assert 0 < spent.starts < 1
    many = round(1 / spent.starts) + 1
    for _ in range(many):
        assert search([segment(tables)], tuples, SearchSettings(k=1)).best.ranked() == one.best.ranked()
    waiting = search([segment(tables)], tuples, SearchSettings(k=1))
    assert "cover" not in waiting.statistics.seconds  # where compiling would take a minute
    monkeypatch.setattr(compiled, "has_compiled", lambda: True)
    assert "cover" in search([segment(tables)], tuples, SearchSettings(k=1)).statistics.seconds


def test_a_small_search_does_not_compile_because_an_index_did(monkeypatch: pytest.MonkeyPatch) -> None:
    tables, tuples = {0: numbers(20, 3, 6, 0)}, {("1", "2"), ("3", "4")}
    monkeypatch.setattr(compiled, "SPENT", compiled.Interpreted())
    monkeypatch.setattr(compiled, "is_loaded", lambda: True)
    monkeypatch.setattr(compiled, "has_compiled", lambda: False)
    assert "cover" not in search([segment(tables)], tuples, SearchSettings(k=1)).statistics.seconds
    monkeypatch.setattr(compiled, "has_compiled", lambda: True)
    assert "cover" in search([segment(tables)], tuples, SearchSettings(k=1)).statistics.seconds


def test_tiny_work_behind_other_work_does_not_load_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = compiled.Interpreted()
    monkeypatch.setattr(compiled, "SPENT", spent)
    monkeypatch.setattr(compiled, "is_loaded", lambda: False)
    assert not compiled.is_worth(99, 100)
    assert not compiled.is_worth(99, 100)  # 1.98 starts of the compiler are spent
    assert not compiled.is_worth(1, 100)
    assert compiled.is_worth(2, 100)
    spent.starts = compiled.MANY
    assert compiled.is_worth(1, 100)


def test_loops_that_this_process_compiled_are_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that keeps none, too: a server goes on for days."""
    monkeypatch.undo()  # as it is outside of the tests
    monkeypatch.setattr(compiled, "_was_kept", lambda: False)
    search([segment({0: [["a", "b"]] * 3_000})], {("a", "b")}, SearchSettings(k=1))
    assert compiled.has_compiled()
    monkeypatch.delitem(sys.modules, "mate.search.column_first_kernel")
    assert not compiled.has_compiled()


def test_many_rows_of_few_values_are_compiled() -> None:
    rows: Rows = [["a", "b"], ["b", "a"]] * 3_000
    few, many = (search([segment({0: some})], {("a", "b")}, SearchSettings(k=1)) for some in (rows[:2], rows))
    assert reference.expected_work(many.part(segment({0: rows}))) > 50 + reference.expected_work(
        few.part(segment({0: rows[:2]}))
    )


def test_the_reference_counts_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "is_ready", lambda: False)
    monkeypatch.setattr(system, "is_worth", lambda count, small: False)
    found = search([segment({0: [["a", "b"], ["b", "a"]]})], {("a", "b")}, SearchSettings(k=1)).statistics
    assert (found.tables, found.tables_checked) == (1, 1)
    # Both columns read both rows. The first is extended by the other and the row that is left; that cuts the second.
    assert (found.mappings_bounded, found.mappings_checked, found.rows_read) == (1, 1, 5)


def test_a_table_that_takes_long_by_row_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of columns cost more than the hits of all columns: the more words, the more."""
    tables = {0: numbers(30, 400, 6, 3)}
    tuples = {(str(a), str(b)) for a in range(6) for b in range(6)}
    seen = []
    split_table = system.Batch._split

    def told(batch: system.Batch, number: np.ndarray) -> None:
        seen.append(number.tolist())
        split_table(batch, number)

    monkeypatch.setattr(system.Batch, "_split", told)
    monkeypatch.setattr(system, "WORTH_SPLITTING", 400_000)
    split = search([segment(tables)], tuples, SearchSettings(k=1))
    assert seen == [[0]]
    monkeypatch.setattr(system, "WORTH_SPLITTING", 10**9)
    assert search([segment(tables)], tuples, SearchSettings(k=1)).best.ranked() == split.best.ranked()
    assert seen == [[0]]
    assert split.statistics.tables_by_row == 1


def test_bounding_mappings_is_part_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """All columns hold all values, so that no joint bound cuts anything, and one mapping joins all key tuples."""
    draw = np.random.default_rng(5)
    columns = np.array([draw.permutation(30) for _ in range(14)])
    rows: Rows = [[str(value) for value in row] for row in columns.T.tolist()]
    tuples = {(str(row[0]), str(row[1]), str(row[2]), str(row[3])) for row in rows}
    for name, limit in {"PAIR_WORDS": 0, "LEAVES": 10**5, "ALL_PAIRS": 1}.items():
        monkeypatch.setattr(system, name, limit)
    found = search([segment({0: rows})], tuples, SearchSettings(k=1))
    assert found.best.ranked() == [(30, 0, (0, 1, 2, 3))]
    assert found.statistics.tables_by_row == 1
    assert found.statistics.mappings_bounded < 10_000 < 14 * 13 * 12 * 11


def test_room_for_counters_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of very many columns that all hold the values is counted block by block."""
    monkeypatch.setattr(system, "MASK_WORDS", 2_000 * system.WAVE)
    monkeypatch.setattr(system, "ALL_PAIRS", -1)
    tables = {0: numbers(5, 300, 3, 3)}
    tuples = {(str(a), str(b)) for a in range(3) for b in range(3)}
    found = search([segment(tables)], tuples, SearchSettings(k=1))
    assert_exact(found, tuples, tables)


@pytest.mark.parametrize("room", [0, 10, 100])
def test_slots_keep_what_was_asked_for_last(room: int) -> None:
    draw = np.random.default_rng(room)
    slots = slots_kernel.new_slots.py_func(12, 10, room, 3)
    assert len(slots.option) == min(12, max(3, room // 10))
    for _ in range(200):
        asked = draw.permutation(12)[:3]
        for option in asked:
            missing = slots.of[option] < 0
            assert slots_kernel.take_slot.py_func(slots, option, 3) == missing
        held = slots.of[asked]
        assert (held >= 0).all()
        assert slots.option[held].tolist() == asked.tolist()
