"""Less hashing Bloom filter: g_i = h1 + i * h2, and a collision as likely as section 6.4 says."""

from math import comb, gcd

import mmh3
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines.hashes.less_hashing_bloom import LessHashingBloomFilter, less_hashing_bloom
from mate.errors import HashError
from mate.hashing import bits_set, get
from tests.keys import to_ints

sizes = st.sampled_from((128, 256, 512))
probe_counts = st.integers(1, 40)
values = st.lists(st.text(max_size=40) | st.text("ab é中\U0001f600\x00", max_size=12), max_size=20)


def start_and_step(value: str, bits: int) -> tuple[int, int]:
    h1, h2 = (mmh3.hash(value.encode(), seed, signed=False) for seed in (0, 1))
    return h1 % bits, h2 % (bits - 1) + 1


def filter_of(value: str, bits: int, probes: int) -> int:
    start, step = start_and_step(value, bits)
    places = {(start + i * step) % bits for i in range(probes)}
    return sum(1 << (bits - 1 - place) for place in places)


@given(values, sizes, probe_counts)
def test_probes_are_multiples_of_the_second_hash(values: list[str], bits: int, probes: int) -> None:
    expected = [filter_of(value, bits, probes) if value else 0 for value in values]
    assert to_ints(LessHashingBloomFilter(bits, probes).hash(values)) == expected


@given(values, sizes, probe_counts)
def test_the_definition_sets_the_same_bits(values: list[str], bits: int, probes: int) -> None:
    expected = [less_hashing_bloom(value, bits, probes) for value in values]
    assert [filter_of(value, bits, probes) for value in values] == expected
    assert to_ints(LessHashingBloomFilter(bits, probes).hash_tokens(pa.array(values, pa.string()))) == expected


@given(st.lists(st.text(min_size=1), max_size=20), sizes)
def test_every_value_sets_two_bits(values: list[str], bits: int) -> None:
    assert bits_set(LessHashingBloomFilter(bits).hash(values)).tolist() == [2] * len(values)


@given(st.text(min_size=1), sizes, st.integers(1, 128))
def test_more_probes_set_as_many_bits_until_they_come_round(value: str, bits: int, probes: int) -> None:
    round_trip = bits // gcd(start_and_step(value, bits)[1], bits)
    assert bits_set(LessHashingBloomFilter(bits, probes).hash([value])).tolist() == [min(probes, round_trip)]


def test_every_pair_of_bits_is_equally_likely() -> None:
    """Section 6.4: two values collide with probability 1 / C(|a|, 2)."""
    pairs = comb(128, 2)
    expected = 40
    keys = LessHashingBloomFilter(128).hash([f"value {i}" for i in range(pairs * expected)])
    counts = np.unique(keys, axis=0, return_counts=True)[1]
    assert len(counts) == pairs
    deviation = ((counts - expected) ** 2 / expected).sum()  # chi-squared: mean and half the variance are `pairs`
    assert abs(deviation - pairs) < 5 * (2 * pairs) ** 0.5


@pytest.mark.parametrize("probes", [0, -1, 129, 2.0, "2", True, None])
def test_rejects_a_senseless_number_of_probes(probes: object) -> None:
    message = rf"^probes must be a whole number from 1 to 128 \(the bits\), not {probes!r}$"
    with pytest.raises(HashError, match=message):
        get("lhbf", 128, probes=probes)


def test_two_probes_by_default() -> None:
    assert LessHashingBloomFilter(512).probes == 2
