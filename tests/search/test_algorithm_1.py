"""Algorithm 1: every limit beyond which the same is done in another way; kernels count what plain Python counts."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import baselines.systems.mcr
import mate.search.algorithm_1
import mate.search.candidates
import mate.search.scratch
from mate.index.manifest import HashSpec
from mate.search.algorithm_1 import scan
from mate.search.candidates import bound, group, probes, read_only
from mate.search.engine import SearchSettings, prepare
from mate.search.statistics import Statistics
from mate.search.systems import find_system
from tests.search.memory_lake import MemoryLake
from tests.search.test_exactness import Case, assert_right, cases, ladders, query_of, search

SEARCH, SCRATCH = mate.search.algorithm_1, mate.search.scratch
INTERPRETED = (SEARCH, mate.search.candidates, baselines.systems.mcr)
"""Modules that choose between a kernel and its reference."""

Limit = tuple[ModuleType, str, int]
LIMITS: dict[str, list[Limit]] = {
    "usual": [],
    "candidates held one at a time": [(SCRATCH, "ROOM", 1)],
    "one table per block, in parts": [(SEARCH, "BLOCK_PAIRS", 0), (SEARCH, "GROWTH", 0)],
    "growing blocks, in parts": [(SEARCH, "BLOCK_PAIRS", 3)],
    "few mappings listed": [(SCRATCH, "MOST_WAYS", 2)],
    "hardly any mapping listed": [(SCRATCH, "MOST_WAYS", 1), (SEARCH, "SMALLEST", 1)],
    "no pair of columns counted by bits": [(SCRATCH, "CELLS", 0)],
    "keys of two without masks": [(SCRATCH, "MASKS", 0)],
    "masks for the smallest tables": [(SCRATCH, "MASKS", 8)],
    "a scratch that grows": [(SEARCH, "SMALLEST", 1), (SCRATCH, "MOST_WAYS", 4), (SCRATCH, "MASKS", 0)],
    "one that grows while candidates wait": [(SEARCH, "SMALLEST", 1), (SCRATCH, "MOST_WAYS", 2), (SCRATCH, "ROOM", 2)],
}


@contextmanager
def limited(limits: list[Limit], *, compiled: bool = True) -> Iterator[None]:
    """Let searches run with these limits, on kernels or on what stands for them."""
    with pytest.MonkeyPatch.context() as patch:
        for module in INTERPRETED:
            patch.setattr(module, "is_worth", lambda *_: compiled)
        for limit in limits:
            patch.setattr(*limit)
        yield


@pytest.mark.parametrize("way", LIMITS)
@settings(max_examples=40)
@given(case=cases(), tight=st.booleans(), parts=st.integers(1, 3))
def test_every_way_to_scan(case: Case, tight: bool, parts: int, way: str) -> None:
    lake = MemoryLake.of(case.tables, parts)
    with limited(LIMITS[way]):
        for system in ("mate", "scr", "mcr"):
            assert_right(search(lake, case, system, tight_bound=tight), case)


@settings(max_examples=60)
@given(case=cases(), tight=st.booleans(), parts=st.integers(1, 3))
def test_plain_python(case: Case, tight: bool, parts: int) -> None:
    lake = MemoryLake.of(case.tables, parts)
    with limited([], compiled=False):
        for system in ("mate", "scr", "mcr"):
            assert_right(search(lake, case, system, tight_bound=tight), case)


@pytest.mark.parametrize("width", [63, 64, 65, 127, 128, 130])
@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_columns_beyond_a_word(width: int, seed: int) -> None:
    """A table has a word of bits for every 64 columns; the last column of one and the first of the next count."""
    dice = random.Random(seed)
    rows: list[list[str | None]] = [[dice.choice("abcdefgh") for _ in range(width)] for _ in range(3)]
    for column in (0, 63, 64, width - 1):
        rows[dice.randrange(3)][min(column, width - 1)] = "x"
    query: list[list[str | None]] = [[dice.choice("abcx"), dice.choice("efgx")] for _ in range(6)]
    case = Case([rows, [row[-3:] for row in rows]], query, [0, 1], 2)
    with limited([]):
        assert_right(search(MemoryLake.of(case.tables), case), case)


@settings(max_examples=60)
@given(case=ladders(), tight=st.booleans(), filters=st.booleans())
def test_blocks_and_parts_cut_no_answer(case: Case, tight: bool, filters: bool) -> None:
    for way in ("one table per block, in parts", "growing blocks, in parts"):
        with limited(LIMITS[way]):
            assert_right(search(MemoryLake.of(case.tables), case, tight_bound=tight, table_filters=filters), case)


def counted(statistics: Statistics) -> dict[str, object]:
    return {
        name: getattr(statistics, name) for name in Statistics.__dataclass_fields__ if name not in ("seconds", "_lock")
    }


@pytest.mark.parametrize("way", ["usual", "keys of two without masks", "few mappings listed", "a scratch that grows"])
@pytest.mark.parametrize("system", ["mate", "scr", "mcr"])
@settings(max_examples=40)
@given(case=st.one_of(cases(), ladders()), tight=st.booleans(), parts=st.integers(1, 2))
def test_kernels_count_what_plain_python_counts(case: Case, tight: bool, parts: int, way: str, system: str) -> None:
    lake = MemoryLake.of(case.tables, parts)
    with limited(LIMITS[way]):
        compiled = search(lake, case, system, tight_bound=tight)
    with limited([], compiled=False):
        plain = search(lake, case, system, tight_bound=tight)
    if compiled is not None and plain is not None:
        assert counted(compiled.statistics) == counted(plain.statistics)
        assert compiled.results == plain.results


@settings(max_examples=60)
@given(case=cases())
def test_groups_and_bounds_of_kernels_are_those_of_numpy(case: Case) -> None:
    if not case.ranking:
        return
    lake = MemoryLake.of(case.tables)
    part = prepare("test", lake, *query_of(case), SearchSettings()).part(lake.segments[0])
    probe = probes(part, np.zeros((len(part.tuples), 0), np.uint64))
    arrays, wanted = read_only(part.segment.arrays), np.arange(len(case.tables)) % 3 != 1
    found = []
    for compiled in (True, False):
        with limited([], compiled=compiled):
            groups = group(arrays, probe.value, wanted)
            found.append([array.tolist() for array in (*groups, *bound(arrays, groups, probe))])
    assert found[0] == found[1]


def test_the_tight_bound_counts_a_tuple_once_per_column() -> None:
    """Value a has three key tuples and b one; postings beyond that do not count, nor do those of other columns."""
    query = pa.table({"x": ["a", "a", "a", "b"], "y": ["1", "2", "3", "1"]})
    rows = [["a", "b", "1"], ["a", "b", "2"], ["a", "b", "3"], ["a", "a", "1"], ["b", "b", "1"]]
    lake = MemoryLake.of([rows, [["b", "1"], ["b", "2"], ["a", "3"]]])
    part = prepare("test", lake, query, ["x", "y"], SearchSettings(initial_column="x")).part(lake.segments[0])
    probe = probes(part, np.zeros((len(part.tuples), 0), np.uint64))
    groups = group(part.segment.arrays, probe.value, part.wanted_tables())
    bounds = bound(part.segment.arrays, groups, probe)
    assert bounds.postings.tolist() == [10, 3]
    assert bounds.pairs.tolist() == [5 * 3 + 5, 3 + 2]
    assert bounds.tight.tolist() == [3 + 1, 1 + 1]


@settings(max_examples=40)
@given(case=cases(most_keys=3), only=st.sets(st.integers(0, 6)))
def test_certain_tables_only(case: Case, only: set[int]) -> None:
    if not case.ranking:
        return
    lake = MemoryLake.of(case.tables)
    prepared = prepare("test", lake, *query_of(case), SearchSettings(k=case.k))
    scan(prepared.part(lake.segments[0]), only=np.array(sorted(only), np.int64))
    expected = [score for score, table, _ in case.ranking if table in only][: case.k]
    assert [score for score, _, _ in prepared.best.ranked()] == expected


def test_counts_are_those_of_the_funnel() -> None:
    """Two of seven pairs join, the others share the initial value only; without a filter all are candidates."""
    lake = MemoryLake.of([[["a", "x"], ["a", "y"], ["b", "x"]], [["a", "z"], ["c", "c"]]])
    query = pa.table({"one": ["a", "a", "b"], "two": ["x", "y", "z"]})
    for compiled in (True, False):
        with limited([], compiled=compiled):
            settings = SearchSettings(row_filter=False, initial_column="one")
            found = find_system("mate")(lake, query, ["one", "two"], settings=settings)
        counts = found.statistics
        assert (counts.postings, counts.pairs, counts.candidates) == (4, 7, 7)
        assert (counts.true_positives, counts.false_positives, counts.rows_read) == (2, 5, 4)
        assert [(r.table_id, r.joinability) for r in found] == [(0, 2)]


@settings(max_examples=20)
@given(case=cases(most_keys=3), bits=st.sampled_from([128, 256, 512]))
def test_all_widths_of_keys_filter_the_same_rows_in_kernels(case: Case, bits: int) -> None:
    lake = MemoryLake.of(case.tables, hashes=[HashSpec("xash", bits, {"alpha": 5})])
    with limited([]):
        compiled = search(lake, case)
    with limited([], compiled=False):
        plain = search(lake, case)
    if compiled is not None and plain is not None:
        assert counted(compiled.statistics) == counted(plain.statistics)


def test_results_do_not_depend_on_the_number_of_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(5)
    tables = [[[f"{dice.randrange(30)}", f"{dice.randrange(30)}"] for _ in range(50)] for _ in range(30)]
    query = pa.table({"a": [f"{i % 30}" for i in range(60)], "b": [f"{i // 2}" for i in range(60)]})
    lake = MemoryLake.of(tables)
    found = []
    with limited([(SEARCH, "BLOCK_PAIRS", 10)]):
        for processors in (1, 3, 8):
            monkeypatch.setattr("os.cpu_count", lambda count=processors: count)
            result = find_system("mate")(lake, query, ["a", "b"], 4)
            found.append((counted(result.statistics), result.results))
    assert found[0] == found[1] == found[2]


TINY = """
import sys
from mate.search.algorithm_1 import algorithm_1
from mate.search.reference import reference
from mate.search.systems import BUILT_IN
assert BUILT_IN["mate"].strategy is algorithm_1
assert "numba" not in sys.modules
"""


def test_nothing_is_compiled_before_it_is_needed() -> None:
    subprocess.run([sys.executable, "-c", TINY], check=True)
