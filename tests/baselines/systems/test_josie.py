"""JOSIE gives the overlaps that counting gives, whatever the sets, the weights and the costs."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.systems import josie
from baselines.systems.josie_costs import Costs, Line, calibrate, costs_of, fit
from baselines.systems.josie_relatives import merge_list, probe_set
from mate.store.base import as_ids
from tests.baselines.systems.memory_index import MemoryIndex

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
    filled = [members for members in sets if members]
    found = {i: sum((weights or {}).get(t, 1) for t in members & query) for i, members in enumerate(filled)}
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
    found = josie.top_k(MemoryIndex(sets), as_ids(sorted(query)), k, costs=costs)
    assert_best(found, brute_force(sets, query), k)


@settings(max_examples=300)
@given(sets=SETS, query=QUERIES, k=st.integers(1, 12), costs=COSTS, floor=st.integers(0, 40), data=st.data())
def test_weights_floor_and_excluded_sets(sets, query, k, costs, floor, data) -> None:
    weights = {token: data.draw(st.integers(1, 9)) for token in sorted(query)}
    index = MemoryIndex(sets)
    exclude = data.draw(st.sets(st.integers(0, max(0, index.sets - 1))))
    tokens = data.draw(st.permutations(sorted(query)))
    found = josie.top_k(
        index,
        as_ids(tokens),
        k,
        weights=as_ids([weights[t] for t in tokens]),
        floor=floor,
        exclude=as_ids(sorted(exclude)),
        costs=costs,
    )
    assert_best(found, brute_force(sets, query, weights, exclude), k, floor)


@given(sets=SETS, query=QUERIES, k=st.integers(1, 12))
def test_its_relatives_agree(sets, query, k) -> None:
    index, tokens, expected = MemoryIndex(sets), as_ids(sorted(query)), brute_force(sets, query)
    assert_best(merge_list(index, tokens, k), expected, k)
    assert_best(probe_set(index, tokens, k), expected, k)


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
    found = josie.top_k(MemoryIndex(sets), as_ids(sorted(query)), 10, costs=dear_lists)
    every = merge_list(MemoryIndex(sets), as_ids(sorted(query)), 10)
    assert_best(found, brute_force(sets, query), 10)
    assert found.reads.sets >= 10
    assert found.reads.items < every.reads.items / 2


def test_dear_sets_are_not_read() -> None:
    sets, query = lake(), frozenset(range(400))
    dear_sets = Costs(Line(0.01, 0.0001, 0.0001), Line(100.0, 100.0, 1.0))
    found = josie.top_k(MemoryIndex(sets), as_ids(sorted(query)), 10, costs=dear_sets)
    assert_best(found, brute_force(sets, query), 10)
    assert found.reads.sets == 0


def test_an_unknown_query_reads_nothing() -> None:
    found = josie.top_k(MemoryIndex([frozenset({1, 2})]), as_ids([7, 8]), 3, costs=SOME)
    assert not len(found.set_id)
    assert found.reads == josie.Reads()


def test_duplicate_lists_are_read_once() -> None:
    """A hundred tokens in the same two sets are one posting list of two items."""
    sets = [frozenset(range(100)), frozenset(range(100)), frozenset({100})]
    found = josie.top_k(MemoryIndex(sets), as_ids(range(101)), 3, costs=SOME)
    assert found.overlap.tolist() == [100, 100, 1]
    assert (found.reads.lists, found.reads.items) == (2, 3)


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
    index = MemoryIndex(lake()[:40])
    assert costs_of(index) is costs_of(index)
    for line in (calibrate(index).lists, calibrate(index).sets):
        assert min(line.call, line.each, line.item) > 0
