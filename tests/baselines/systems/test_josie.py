"""JOSIE gives the overlaps that counting gives, whatever the sets, the weights and the costs."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.systems import column_sets as column_sets_module
from baselines.systems import josie
from baselines.systems.column_sets import column_sets
from baselines.systems.josie import Options
from baselines.systems.josie_costs import Costs, Line, calibrate, costs_of, fit
from baselines.systems.merge_list import merge_list
from tests.baselines.systems.memory_sets import MemorySets, segment_of

SETS = st.lists(st.frozensets(st.integers(0, 60), max_size=40), min_size=1, max_size=40)
QUERIES = st.frozensets(st.integers(0, 70), max_size=50)
PRICES = st.sampled_from([0.0, 0.01, 1.0, 100.0])
LINES = st.builds(Line, call=PRICES, each=PRICES, item=PRICES)
# Whatever reading is thought to cost, nothing but the time may change.
COSTS = st.builds(Costs, lists=LINES, sets=LINES)
SOME = Costs(Line(1.0, 1.0, 0.01), Line(1.0, 1.0, 0.01))


def brute_force(
    sets: Sequence[AbstractSet[int]],
    query: AbstractSet[int],
    weights: dict[int, int] | None = None,
    exclude: AbstractSet[int] = frozenset(),
) -> dict[int, int]:
    """Return the overlap of every set that has one, by number."""
    found = {i: sum((weights or {}).get(t, 1) for t in members & query) for i, members in enumerate(sets)}
    return {i: overlap for i, overlap in found.items() if overlap and i not in exclude}


def assert_best(found: josie.Found, expected: dict[int, int], k: int, floor: int = 0) -> None:
    above = sorted((overlap for overlap in expected.values() if overlap > floor), reverse=True)
    assert found.overlap.tolist() == above[:k]
    assert len(set(found.set_id.tolist())) == len(found.set_id)
    assert {i: expected[i] for i in found.set_id.tolist()} == dict(
        zip(found.set_id.tolist(), found.overlap.tolist(), strict=True)
    )
    ranking = list(zip((-found.overlap).tolist(), found.set_id.tolist(), strict=True))
    assert ranking == sorted(ranking)


@settings(max_examples=300)
@given(sets=SETS, query=QUERIES, k=st.integers(1, 50), costs=COSTS)
def test_overlaps_are_those_of_brute_force(sets, query, k, costs) -> None:
    index = MemorySets(sets)
    found = josie.top_k(index, index.places(sorted(query)), k, Options(costs=costs))
    assert_best(found, brute_force(sets, query), k)


@settings(max_examples=300)
@given(sets=SETS, query=QUERIES, k=st.integers(1, 12), costs=COSTS, floor=st.integers(0, 40), data=st.data())
def test_weights_floor_and_excluded_sets(sets, query, k, costs, floor, data) -> None:
    known = sorted(query & frozenset().union(*sets))
    weights = {token: data.draw(st.integers(1, 9)) for token in known}
    index = MemorySets(sets)
    exclude = data.draw(st.sets(st.integers(0, index.sets - 1)))
    tokens = data.draw(st.permutations(known))
    options = Options(
        weights=np.array([weights[t] for t in tokens], np.int64),
        floor=floor,
        exclude=np.isin(np.arange(index.sets), sorted(exclude)),
        costs=costs,
    )
    found = josie.top_k(index, index.places(tokens), k, options)
    assert_best(found, brute_force(sets, query, weights, exclude), k, floor)


@given(sets=SETS, query=QUERIES, k=st.integers(1, 12))
def test_merge_list_agrees(sets, query, k) -> None:
    index, expected = MemorySets(sets), brute_force(sets, query)
    tokens = index.places(sorted(query))
    assert_best(merge_list(index, tokens, k), expected, k)


def lake(seed: int = 3) -> list[frozenset[int]]:
    """Many sets that share common tokens with the query, and a few that share nearly all of it."""
    dice = np.random.default_rng(seed)
    near = [frozenset(dice.choice(400, 390, replace=False).tolist()) for _ in range(12)]
    far = [frozenset((dice.zipf(1.3, 60) % 5_000).tolist()) for _ in range(600)]
    return near + far


def test_dear_lists_are_cut_short_by_reading_sets() -> None:
    """The lists of common tokens are not read once the k best are known to be out of reach."""
    sets, query = lake(), frozenset(range(400))
    dear_lists = Costs(Line(0.01, 1.0, 1.0), Line(0.01, 0.01, 0.0001))
    index = MemorySets(sets)
    found = josie.top_k(index, index.places(sorted(query)), 10, Options(costs=dear_lists))
    every = merge_list(index, index.places(sorted(query)), 10)
    assert_best(found, brute_force(sets, query), 10)
    assert found.reads.sets >= 10
    assert found.reads.items < every.reads.items / 2


def test_dear_sets_are_not_read() -> None:
    sets, query = lake(), frozenset(range(400))
    dear_sets = Costs(Line(0.01, 0.0001, 0.0001), Line(100.0, 100.0, 1.0))
    index = MemorySets(sets)
    found = josie.top_k(index, index.places(sorted(query)), 10, Options(costs=dear_sets))
    assert_best(found, brute_force(sets, query), 10)
    assert found.reads.sets == 0


def test_an_unknown_query_reads_nothing() -> None:
    index = MemorySets([frozenset({1, 2})])
    found = josie.top_k(index, index.places([7, 8]), 3, Options(costs=SOME))
    assert not len(found.set_id)
    assert found.reads == josie.Reads()


@given(sets=SETS)
def test_sets_are_in_the_global_order(sets) -> None:
    """Rarest tokens first; an item of a list says where its token stands in the set, and how large that is."""
    index = MemorySets(sets)
    lengths = index.lengths(np.arange(index.lists))
    assert lengths.tolist() == sorted(lengths.tolist())
    items = index.items(np.arange(index.lists))
    for list_id, set_id, position, size in zip(*(column.tolist() for column in items), strict=True):
        members = index.members(np.array([set_id]), np.array([0])).list_id.tolist()
        assert members == sorted(members)
        assert (members[position], len(members), size) == (list_id, size, len(sets[set_id]))
        assert index.members(np.array([set_id]), np.array([position + 1])).list_id.tolist() == members[position + 1 :]


def test_sets_are_made_once_per_segment_and_forgotten_with_it() -> None:
    gc.collect()
    segment = segment_of([{1, 2}, {2}])
    before = len(column_sets_module._made)
    assert column_sets(segment) is column_sets(segment)
    assert len(column_sets_module._made) == before + 1
    del segment
    gc.collect()
    assert len(column_sets_module._made) == before


@pytest.mark.parametrize(("call", "each", "item"), [(2e-3, 5e-5, 1e-6), (1e-3, 1e-5, 1e-7)])
def test_costs_are_found_again(monkeypatch: pytest.MonkeyPatch, call: float, each: float, item: float) -> None:
    """On a clock that only reading moves, the fitted line is the true one."""
    now = [0.0]
    monkeypatch.setattr("baselines.systems.josie_costs.time.perf_counter", lambda: now[0])

    def read(ids: np.ndarray) -> int:
        items = int(ids.sum())
        now[0] += call + each * len(ids) + item * items
        return items

    samples = [np.arange(n) * step for n in (1, 8, 64, 100) for step in (1, 50)]
    line = fit(samples, read)
    assert (line.call, line.each, line.item) == pytest.approx((call, each, item), rel=1e-6)


def test_costs_are_measured_once_and_never_negative() -> None:
    index = MemorySets(lake()[:40])
    assert costs_of(index) is costs_of(index)
    for line in (calibrate(index).lists, calibrate(index).sets):
        assert min(line.call, line.each, line.item) > 0
