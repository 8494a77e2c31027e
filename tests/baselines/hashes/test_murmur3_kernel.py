"""The compiled MurmurHash3 equals the library's."""

import mmh3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines.hashes.murmur3_kernel import murmur3


def hashes(data: bytes, start: int, stop: int, seeds: int) -> list[int]:
    states = np.empty(seeds, np.uint32)
    murmur3(np.frombuffer(data, np.uint8), start, stop, states)
    return states.tolist()


@given(st.text(max_size=80).map(str.encode) | st.binary(max_size=80), st.binary(max_size=9), st.integers(1, 80))
def test_equals_the_library_for_every_seed(value: bytes, around: bytes, seeds: int) -> None:
    start, stop = len(around), len(around) + len(value)
    expected = [mmh3.hash(value, seed, signed=False) for seed in range(seeds)]
    assert hashes(around + value + around, start, stop, seeds) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(b"", 0), (b"foo", 0xF6A5C420), (b"test", 0xBA6BD213), (b"Hello, world!", 0xC0363E43)],
)
def test_published_vectors(value: bytes, expected: int) -> None:
    assert hashes(value, 0, len(value), seeds=1) == [expected]
