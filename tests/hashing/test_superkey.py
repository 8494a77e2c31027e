"""Super keys: OR over rows, conversions."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mate.hashing import bits_set, or_aggregate
from mate.hashing.superkey import (
    Keys,
    from_bytes,
    from_positions,
    to_bytes,
)
from tests.keys import from_ints, to_ints

sizes = st.sampled_from((64, 128, 256, 512))


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
