"""Super keys: OR over rows, masking, conversions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.hashing import bits_set, covers, or_aggregate
from mate.hashing.superkey import (
    Keys,
    _covers_numpy,
    from_bytes,
    from_ints,
    from_positions,
    to_bytes,
    to_ints,
)
from mate.hashing.superkey_kernel import covers_indexed, covers_pairs

SIZES = (64, 128, 256, 512)
sizes = st.sampled_from(SIZES)


def draw_keys(data: st.DataObject, bits: int, count: int) -> tuple[list[int], Keys]:
    numbers = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=count, max_size=count))
    return numbers, from_ints(numbers, bits)


@given(sizes, st.lists(st.integers(0, 4), max_size=8), st.data())
def test_or_aggregate_is_the_or_of_each_row(bits: int, widths: list[int], data: st.DataObject) -> None:
    numbers, hashes = draw_keys(data, bits, sum(widths))
    offsets = np.cumsum([0, *widths])
    expected = []
    for start, stop in pairwise(offsets):
        key = 0
        for number in numbers[start:stop]:
            key |= number
        expected.append(key)
    assert to_ints(or_aggregate(hashes, offsets)) == expected


@given(sizes, st.integers(0, 20), st.data())
def test_covers_is_masking(bits: int, count: int, data: st.DataObject) -> None:
    rows, row_keys = draw_keys(data, bits, count)
    masks, _ = draw_keys(data, bits, count)
    # Half of the queries are subsets by construction: random ones hardly ever are.
    queries = [row & mask if i % 2 else mask for i, (row, mask) in enumerate(zip(rows, masks, strict=True))]
    query_keys = from_ints(queries, bits)
    expected = [q | r == r for q, r in zip(queries, rows, strict=True)]
    assert covers(query_keys, row_keys).tolist() == expected
    assert covers_pairs(query_keys, row_keys).tolist() == expected
    backwards = np.arange(count)[::-1]
    for function in (_covers_numpy, covers_indexed):
        assert function(query_keys, row_keys, backwards, backwards).tolist() == expected[::-1]


@pytest.mark.parametrize("bits", SIZES)
def test_covers_many_pairs(bits: int) -> None:
    random = np.random.default_rng(7)
    rows = random.integers(0, 2**64, (120_000, bits // 64), np.uint64)
    query = rows & random.integers(0, 2**64, rows.shape, np.uint64)
    query[::3, -1] |= np.uint64(1)
    expected = ~((query & ~rows).any(axis=1))
    assert 0 < expected.sum() < len(expected)
    assert (covers(query, rows) == expected).all()
    order = random.permutation(len(rows))
    assert (covers(query, rows, order, order) == expected[order]).all()
    assert (covers(query, rows[order], query_index=order) == expected[order]).all()
    assert (covers(query[order], rows, row_index=order) == expected[order]).all()


@given(sizes, st.integers(0, 9), st.data())
def test_conversions_round_trip(bits: int, count: int, data: st.DataObject) -> None:
    numbers, keys = draw_keys(data, bits, count)
    assert to_ints(keys) == numbers
    assert (from_bytes(to_bytes(keys), bits) == keys).all()
    assert bits_set(keys).tolist() == [number.bit_count() for number in numbers]


@given(sizes, st.integers(0, 9), st.integers(0, 5), st.data())
def test_positions_count_from_the_left(bits: int, count: int, width: int, data: st.DataObject) -> None:
    row = st.lists(st.integers(0, bits - 1), min_size=width, max_size=width)
    positions = data.draw(st.lists(row, min_size=count, max_size=count))
    keys = from_positions(np.array(positions, np.int64).reshape(count, width), bits)
    assert to_ints(keys) == [sum(1 << (bits - 1 - p) for p in set(places)) for places in positions]
