"""Algorithm 1: every limit beyond which the same is done in another way; native loops count what plain Python does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mate.search.algorithm_1
from mate.lake.manifest import HashSpec
from mate.search.algorithm_1 import MemoryLimits, scan
from mate.search.algorithm_1.candidates import bound, group, probes
from mate.search.results import Result, SearchResult
from mate.search.search import prepare
from mate.search.settings import FilterSettings, SearchSettings
from mate.search.statistics import Statistics
from mate.search.systems import find_system
from tests.search.algorithm_1_reference import group_plainly, scan_plainly
from tests.search.memory_lake import MemoryLake
from tests.search.test_exactness import Case, assert_right, cases, ladders, query_of, search

WAYS: dict[str, dict[str, object]] = {
    "usual": {},
    "candidates held one at a time": {"LIMITS": MemoryLimits(held=1)},
    "one table per block, in parts": {"BLOCK_PAIRS": 0, "GROWTH": 0},
    "growing blocks, in parts": {"BLOCK_PAIRS": 3},
    "keys of two without masks": {"LIMITS": MemoryLimits(masks=0)},
    "masks for the smallest tables": {"LIMITS": MemoryLimits(masks=8)},
    "few candidates held, without masks": {"LIMITS": MemoryLimits(held=2, masks=0)},
    "plain Python": {"scan_groups": scan_plainly},
}
"""What of `mate.search.algorithm_1` is replaced."""

SPECS = [HashSpec("xash", bits, {"alpha": 5}) for bits in (64, 128, 256, 512)]
SPECS += [HashSpec("wide", 4), HashSpec("wide", 20), HashSpec("fingerprint", 4), HashSpec("fingerprint", 20)]
OPTIONS = st.fixed_dictionaries({"tight_bound": st.booleans(), "semi_join": st.booleans()})


@contextmanager
def replaced(**names: object) -> Iterator[None]:
    """Let searches run with other limits or loops."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in names.items():
            patch.setattr(mate.search.algorithm_1, name, value)
        yield


LOOPS = pytest.mark.parametrize("way", ["usual", "plain Python"])


def unfiltered(semi_join: bool = False) -> SearchSettings:
    return SearchSettings(filters=FilterSettings(row_filter=False, initial_column="one", semi_join=semi_join))


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=40)
@given(case=st.one_of(cases(), ladders()), tight=st.booleans(), semi=st.booleans(), parts=st.integers(1, 3))
def test_every_way_to_scan(case: Case, tight: bool, semi: bool, parts: int, way: str) -> None:
    lake = MemoryLake.of(case.tables, parts)
    with replaced(**WAYS[way]):
        for system in ("mate", "scr", "mcr", "scr-josie"):
            assert_right(search(lake, case, system, tight_bound=tight, semi_join=semi), case)


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
    assert_right(search(MemoryLake.of(case.tables), case), case)


def counted(statistics: Statistics) -> dict[str, object]:
    return {name: value for name, value in statistics.as_json().items() if name != "seconds"}


@pytest.mark.parametrize("way", ["usual", "keys of two without masks"])
@pytest.mark.parametrize("system", ["mate", "scr", "mcr"])
@settings(max_examples=40)
@given(case=st.one_of(cases(), ladders()), options=OPTIONS, parts=st.integers(1, 2), spec=st.sampled_from(SPECS))
def test_native_loops_count_what_plain_python_counts(
    case: Case, options: dict[str, bool], parts: int, spec: HashSpec, way: str, system: str
) -> None:
    lake = MemoryLake.of(case.tables, parts, hashes=[spec])
    with replaced(**WAYS[way]):
        native = search(lake, case, system, **options)
    with replaced(**WAYS["plain Python"]):
        plain = search(lake, case, system, **options)
    if native is not None and plain is not None:
        assert counted(native.statistics) == counted(plain.statistics)
        assert decided(native, case.k) == decided(plain, case.k)


def decided(found: SearchResult, k: int) -> tuple[list[int], list[Result]]:
    """Return all scores, and the results that do not tie at the last place: which of those is kept is left open."""
    scores = [result.joinability for result in found]
    last = scores[-1] if len(scores) == k else 0
    return scores, [result for result in found if result.joinability > last]


@settings(max_examples=60)
@given(case=cases())
def test_groups_are_those_of_numpy(case: Case) -> None:
    if not case.ranking:
        return
    lake = MemoryLake.of(case.tables)
    part = prepare("test", lake, *query_of(case), SearchSettings()).part(lake.segments[0])
    probe = probes(part)
    arrays, native, wanted = part.segment.arrays, part.segment.native, np.arange(len(case.tables)) % 3 != 1
    groups, expected = group(native, probe.value, wanted), group_plainly(arrays, probe.value, wanted)
    assert [array.tolist() for array in groups] == [array.tolist() for array in expected]


def test_the_tight_bound_counts_a_tuple_once_per_column() -> None:
    """Value a has three key tuples and b one; postings beyond that do not count, nor do those of other columns."""
    query = pa.table({"x": ["a", "a", "a", "b"], "y": ["1", "2", "3", "1"]})
    rows = [["a", "b", "1"], ["a", "b", "2"], ["a", "b", "3"], ["a", "a", "1"], ["b", "b", "1"]]
    lake = MemoryLake.of([rows, [["b", "1"], ["b", "2"], ["a", "3"]]])
    part = prepare("test", lake, query, ["x", "y"], SearchSettings(filters=FilterSettings(initial_column="x"))).part(
        lake.segments[0]
    )
    probe = probes(part)
    groups = group(part.segment.native, probe.value, part.wanted_tables())
    loose, tight = (bound(part.segment.arrays, groups, probe, tight=tight) for tight in (False, True))
    assert loose.limit.tolist() == loose.most.tolist() == [10, 3]
    assert loose.pairs.tolist() == tight.pairs.tolist() == [5 * 3 + 5, 3 + 2]
    assert tight.limit.tolist() == tight.most.tolist() == [3 + 1, 1 + 1]


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


@LOOPS
def test_counts_are_those_of_the_funnel(way: str) -> None:
    """Two of seven pairs join, the others share the initial value only; without a filter all are candidates."""
    lake = MemoryLake.of([[["a", "x"], ["a", "y"], ["b", "x"]], [["a", "z"], ["c", "c"]]])
    query = pa.table({"one": ["a", "a", "b"], "two": ["x", "y", "z"]})
    with replaced(**WAYS[way]):
        found = find_system("mate")(lake, query, ["one", "two"], settings=unfiltered())
    counts = found.statistics
    assert (counts.postings, counts.pairs, counts.candidates) == (4, 7, 7)
    assert (counts.true_positives, counts.false_positives, counts.rows_read) == (2, 5, 4)
    assert [(r.table_id, r.joinability) for r in found] == [(0, 2)]


@LOOPS
@pytest.mark.parametrize(("semi_join", "expected"), [(True, (2, 2, 1)), (False, (4, 4, 3))])
def test_without_a_semi_join_unknown_values_are_left_to_the_row_filter(
    semi_join: bool, expected: tuple[int, int, int], way: str
) -> None:
    """Of (a, x), (a, nowhere), (nowhere, x) the semi-join keeps the first; the second has candidates, too."""
    lake = MemoryLake.of([[["a", "x"], ["a", "y"]]])
    query = pa.table({"one": ["a", "a", "nowhere"], "two": ["x", "nowhere", "x"]})
    with replaced(**WAYS[way]):
        counts = find_system("mate")(lake, query, ["one", "two"], settings=unfiltered(semi_join)).statistics
    assert (counts.pairs, counts.candidates, counts.false_positives) == expected


def test_unless_told_otherwise_it_is_as_in_the_paper() -> None:
    """The initial column has the fewest values, though "two" has fewer postings; all key tuples are searched for;
    and a table with many postings is not left out, though it can join but two key tuples."""
    often, once = [["a", "x"], ["a", "y"], ["b", "z"]], [["a", "p"]] * 5
    lake = MemoryLake.of([often, once])
    query = pa.table({"one": ["a", "a", "b", "b"], "two": ["x", "y", "z", "nowhere"]})
    for options, expected in (
        (SearchSettings(k=1), ("one", 8, 0)),
        (SearchSettings(k=1, filters=FilterSettings(tight_bound=True)), ("one", 8, 1)),
        (SearchSettings(k=1, filters=FilterSettings(initial_column="pairs", semi_join=True)), ("two", 3, 0)),
    ):
        found = find_system("mate")(lake, query, ["one", "two"], settings=options.unfiltered())
        done = found.statistics
        assert [(r.table_id, r.joinability) for r in found] == [(0, 3)]
        assert (done.initial_column, done.postings, done.tables_cut_rule_1) == expected


@LOOPS
@pytest.mark.parametrize("keys", [2, 3])
def test_false_positives_that_no_filter_can_remove_are_counted_apart(keys: int, way: str) -> None:
    """A row with one "a" cannot serve the key (a, a): the candidate is held in full, but not injectively."""
    lake = MemoryLake.of([[["a", "b", "c"], ["a", "a", "b"], ["d", "b", "c"]]])
    names = ["one", "two", "three"][:keys]
    query = pa.table(dict(zip(names, (["a", "d"], ["a", "e"], ["b", "b"]), strict=False)))
    with replaced(**WAYS[way]):
        counts = find_system("mate")(lake, query, names, settings=unfiltered()).statistics
    assert (counts.true_positives, counts.false_positives, counts.false_positives_held) == (2, 2, 1)
    assert (counts.precision, counts.filter_precision) == (2 / 4, 2 / 3)


def test_results_do_not_depend_on_the_number_of_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(5)
    tables = [[[f"{dice.randrange(30)}", f"{dice.randrange(30)}"] for _ in range(50)] for _ in range(30)]
    query = pa.table({"a": [f"{i % 30}" for i in range(60)], "b": [f"{i // 2}" for i in range(60)]})
    lake = MemoryLake.of(tables)
    found = []
    with replaced(BLOCK_PAIRS=10):
        for processors in (1, 3, 8):
            monkeypatch.setattr("os.cpu_count", lambda count=processors: count)
            result = find_system("mate")(lake, query, ["a", "b"], 4)
            found.append((counted(result.statistics), result.results))
    assert found[0] == found[1] == found[2]


def test_mappings_and_columns_that_do_not_fit_the_first_room() -> None:
    """A value in a hundred columns, and key tuples that a thousand mappings join."""
    dice = random.Random(3)
    wide = [[dice.choice("ab") for _ in range(90)] + ["c"] for _ in range(3)]
    case = Case([wide], [["a", "b"], ["b", "a"], ["c", "a"]], [0, 1], 1)
    with replaced(LIMITS=MemoryLimits(masks=0)):
        assert_right(search(MemoryLake.of(case.tables), case), case)
    triples = [[dice.choice("abcd") for _ in range(30)] for _ in range(3)]
    case = Case([triples], [[x, y, z] for x in "abcd" for y in "abcd" for z in "abcd"], [0, 1, 2], 1)
    assert_right(search(MemoryLake.of(case.tables), case), case)
