"""The search in place: every limit beyond which the same is done in another way, compiled loops and plain ones."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import baselines.systems.mcr
import mate.search.discovery
import mate.search.joinability
import mate.search.scan
import mate.search.scan_kernel
from mate.search.discovery import Statistics, match_table
from mate.store.base import as_ids
from tests.discovery.memory_store import FlatStore, MemoryStore
from tests.discovery.test_exactness import Case, assert_right, cases, ladders, search

LIMITS = {
    "candidates held one at a time": [(mate.search.scan, "ROOM", 1)],
    "a block a table, in parts": [(mate.search.scan, "BLOCK_PAIRS", 0), (mate.search.scan, "GROWTH", 0)],
    "growing blocks, in parts": [(mate.search.scan, "BLOCK_PAIRS", 3)],
    "few mappings listed": [(mate.search.joinability, "MOST_OPTIONS", 2)],
    "hardly any mapping listed": [(mate.search.joinability, "MOST_OPTIONS", 1), (mate.search.scan, "MAPPINGS", 1)],
    "mappings without slots": [(mate.search.scan, "SLOTS", 0)],
    "keys of two without masks": [(mate.search.scan, "MASKS", 0)],
    "masks for the smallest tables": [(mate.search.scan, "MASKS", 8)],
    "pairs without flags": [(mate.search.scan, "FLAGS", 0)],
    "neither masks nor flags": [(mate.search.scan, "MASKS", 0), (mate.search.scan, "FLAGS", 0)],
    "a bench that grows": [
        (mate.search.scan, "MAPPINGS", 1),
        (mate.search.joinability, "MOST_OPTIONS", 4),
        (mate.search.scan, "FLAGS", 5),
    ],
}


def plain_kernel() -> ModuleType:
    """Load the loops once more, never to be compiled."""
    spec = importlib.util.spec_from_file_location("plain_kernel", mate.search.scan_kernel.__file__)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def limited(limits: list[tuple[ModuleType, str, int]], *, compiled: bool) -> Iterator[None]:
    """Let searches run with these limits, in compiled or in plain loops."""
    with pytest.MonkeyPatch.context() as patch:
        if compiled:
            mate.search.scan_kernel.compile_all()
        else:
            patch.setattr(mate.search.scan, "kernel", plain_kernel())
            patch.setattr(mate.search.scan, "is_worth", lambda *_: False)
        for limit in limits:
            patch.setattr(*limit)
        yield


@pytest.mark.parametrize("way", LIMITS)
@settings(max_examples=40)
@given(case=cases(), tight=st.booleans(), compiled=st.booleans())
def test_every_way_to_scan(case: Case, tight: bool, compiled: bool, way: str) -> None:
    store = FlatStore(case.tables)
    with limited(LIMITS[way], compiled=compiled):
        assert_right(search(store, case, tight_bound=tight), case)
        assert_right(search(store, case, "scr", tight_bound=tight), case)
        assert_right(search(store, case, "mcr", tight_bound=tight), case)


@pytest.mark.parametrize("width", [63, 64, 65, 127, 128, 130])
@settings(max_examples=10)
@given(seed=st.integers(0, 1000), compiled=st.booleans())
def test_columns_beyond_a_word(width: int, seed: int, compiled: bool) -> None:
    """A table has a word of bits for every 64 columns; the last column of one and the first of the next count."""
    dice = random.Random(seed)
    rows: list[list[str | None]] = [[dice.choice("abcdefgh") for _ in range(width)] for _ in range(3)]
    for column in (0, 63, 64, width - 1):
        rows[dice.randrange(3)][min(column, width - 1)] = "x"
    query: list[list[str | None]] = [[dice.choice("abcx"), dice.choice("efgx")] for _ in range(6)]
    case = Case([rows, [row[-3:] for row in rows]], query, [0, 1], 2)
    with limited([], compiled=compiled):
        assert_right(search(FlatStore(case.tables), case), case)


@settings(max_examples=60)
@given(case=ladders(), tight=st.booleans(), filters=st.booleans())
def test_blocks_and_parts_cut_no_answer(case: Case, tight: bool, filters: bool) -> None:
    for way in ("a block a table, in parts", "growing blocks, in parts"):
        with limited(LIMITS[way], compiled=True):
            assert_right(search(FlatStore(case.tables), case, tight_bound=tight, table_filters=filters), case)


def counted(statistics: Statistics) -> dict[str, object]:
    return {name: getattr(statistics, name) for name in Statistics.__dataclass_fields__ if name != "seconds"}


@settings(max_examples=40)
@given(case=cases(), tight=st.booleans())
def test_compiled_and_plain_loops_count_the_same(case: Case, tight: bool) -> None:
    store = FlatStore(case.tables)
    with limited([], compiled=True):
        compiled = search(store, case, tight_bound=tight)
    with limited([], compiled=False):
        plain = search(store, case, tight_bound=tight)
    if compiled is not None and plain is not None:
        assert counted(compiled.statistics) == counted(plain.statistics)
        for one, other in zip(compiled, plain, strict=True):
            assert one.matches.tuple_id.tolist() == other.matches.tuple_id.tolist()
            assert one.matches.row_id.tolist() == other.matches.row_id.tolist()


@settings(max_examples=60)
@given(case=cases(), lacks=st.sets(st.integers(0, 6)), tight=st.booleans())
def test_tables_that_the_arrays_lack_are_asked_of_the_store(case: Case, lacks: set[int], tight: bool) -> None:
    store = FlatStore(case.tables)
    store.flat_lacks = as_ids(sorted(lacks & set(range(len(case.tables)))))
    found = search(store, case, tight_bound=tight)
    assert_right(found, case)
    if found is not None:
        done = found.statistics
        assert done.tables == done.tables_cut_rule_1 + done.tables_cut_rule_2 + done.tables_checked


@settings(max_examples=40)
@given(case=cases(most_keys=3))
def test_one_table_alone(case: Case) -> None:
    names = [f"q{i}" for i in range(len(case.query[0]))]
    query = pa.table([pa.array([row[i] for row in case.query], pa.string()) for i in range(len(names))], names=names)
    for score, table, mapping in case.ranking:
        (found,) = match_table(FlatStore(case.tables), query, [names[i] for i in case.key], table)  # type: ignore[arg-type]
        assert (found.joinability, found.table_id, found.column_ids) == (score, table, mapping)


@settings(max_examples=60)
@given(case=cases(), marks=st.sampled_from([0, 64]), small=st.sampled_from([0, 10**6]))
def test_marked_rows_are_those_of_sorted_postings(case: Case, marks: int, small: int) -> None:
    """Both ways to intersect come to the same candidates; with all tables looked at, they count the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines.systems.mcr, "_MOST_MARKS", marks)
        patch.setattr(baselines.systems.mcr, "is_worth", lambda *_: small == 0)
        one = search(FlatStore(case.tables), case, "mcr", table_filters=False)
    other = search(MemoryStore(case.tables), case, "mcr", table_filters=False)
    assert_right(one, case)
    if one is not None and other is not None:
        for name in ("postings", "candidates", "true_positives", "false_positives"):
            assert getattr(one.statistics, name) == getattr(other.statistics, name), name


def test_counts_are_those_of_the_funnel() -> None:
    """Two of seven pairs join, the others share the initial value only; without a filter all are candidates."""
    lake = [[["a", "x"], ["a", "y"], ["b", "x"]], [["a", "z"], ["c", "c"]]]
    query = pa.table({"one": ["a", "a", "b"], "two": ["x", "y", "z"]})
    found = mate.search.discovery.search(
        FlatStore(lake),
        query,
        ["one", "two"],
        10,
        mate.search.discovery.SearchSettings(row_filter=False, initial_column="one"),
    )
    counts = found.statistics
    assert (counts.postings, counts.pairs, counts.candidates) == (4, 7, 7)
    assert (counts.true_positives, counts.false_positives) == (2, 5)
    assert [(r.table_id, r.joinability) for r in found] == [(0, 2)]
