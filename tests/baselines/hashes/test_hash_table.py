"""Hash table: a Bloom filter with one hash function."""

import mmh3
from hypothesis import given
from hypothesis import strategies as st

from baselines.hashes.bloom import BloomFilter
from baselines.hashes.hash_table import HashTable
from mate.hashing import CorpusStatistics, bits_set, fit
from tests.keys import to_ints

sizes = st.sampled_from((128, 256, 512))


@given(st.lists(st.text(min_size=1), max_size=20), sizes)
def test_sets_the_one_bit_that_murmur3_names(values: list[str], bits: int) -> None:
    keys = HashTable(bits).hash(values)
    assert to_ints(keys) == [1 << (bits - 1 - mmh3.hash(v, 0, signed=False) % bits) for v in values]
    assert bits_set(keys).tolist() == [1] * len(values)


@given(st.lists(st.text(), max_size=20), sizes)
def test_is_the_bloom_filter_with_one_hash(values: list[str], bits: int) -> None:
    assert (HashTable(bits).hash(values) == BloomFilter(bits, hashes=1).hash(values)).all()


def test_does_not_depend_on_the_corpus() -> None:
    assert fit("ht", 256, CorpusStatistics(distinct_tokens=7, mean_columns=3.0)) == HashTable(256)
