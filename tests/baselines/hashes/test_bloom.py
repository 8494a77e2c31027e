"""Bloom filter: the definition of section 7.1.2, the paper's number of hashes."""

from math import inf, log, nan

import mmh3
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines.hashes.bloom import BloomFilter, bloom, bloom_keys, hashes_for
from mate.errors import HashError
from mate.hashing import CorpusStatistics, bits_set, fit, get
from tests.keys import to_ints

sizes = st.sampled_from((128, 256, 512))
hash_counts = st.integers(1, 80)
values = st.lists(st.text(max_size=40) | st.text("ab é中\U0001f600\x00", max_size=12), max_size=20)


def places(value: str, bits: int, hashes: int) -> set[int]:
    return {mmh3.hash(value.encode(), seed, signed=False) % bits for seed in range(hashes)}


def filter_of(value: str, bits: int, hashes: int) -> int:
    return sum(1 << (bits - 1 - place) for place in places(value, bits, hashes))


@given(values, sizes, hash_counts)
def test_sets_the_bits_that_murmur3_names(values: list[str], bits: int, hashes: int) -> None:
    expected = [filter_of(value, bits, hashes) if value else 0 for value in values]
    assert to_ints(BloomFilter(bits, hashes).hash(values)) == expected


@given(values, sizes, hash_counts)
def test_empty_values_set_the_same_bits(values: list[str], bits: int, hashes: int) -> None:
    keys = to_ints(bloom_keys(pa.array(values, pa.string()), bits, hashes))
    assert keys == [filter_of(value, bits, hashes) for value in values] == [bloom(v, bits, hashes) for v in values]


@given(st.text(min_size=1), sizes, hash_counts)
def test_a_value_sets_at_most_as_many_bits_as_there_are_hashes(value: str, bits: int, hashes: int) -> None:
    key = BloomFilter(bits, hashes).hash([value])
    assert bits_set(key).tolist() == [len(places(value, bits, hashes))]
    assert 1 <= bits_set(key)[0] <= hashes


def test_more_hashes_only_add_bits() -> None:
    few, many = (BloomFilter(512, hashes).hash(["berlin"]) for hashes in (6, 18))
    assert (few & ~many == 0).all()
    assert bits_set(few)[0] < bits_set(many)[0]


@pytest.mark.parametrize(
    ("bits", "columns", "hashes"),
    [(128, 5, 18), (256, 5, 35), (512, 5, 71), (128, 26, 3), (256, 26, 7), (512, 26, 14), (128, 1000, 1)],
)
def test_the_papers_number_of_hashes(bits: int, columns: float, hashes: int) -> None:
    corpus = CorpusStatistics(distinct_tokens=1_000, mean_columns=columns)
    assert fit("bf", bits, corpus) == BloomFilter(bits, hashes)


@given(sizes, st.floats(1, 100))
def test_number_of_hashes_follows_the_formula(bits: int, columns: float) -> None:
    assert abs(hashes_for(bits, columns) - bits / columns * log(2)) <= 0.5 or bits / columns * log(2) < 0.5


@pytest.mark.parametrize("columns", [0, 0.5, 1])
def test_no_corpus_has_less_than_one_column(columns: float) -> None:
    assert hashes_for(128, columns) == 89


@pytest.mark.parametrize("columns", [-1.0, nan, inf])
def test_rejects_an_impossible_corpus(columns: float) -> None:
    with pytest.raises(HashError, match=f"^a corpus cannot have {columns} columns a table$"):
        hashes_for(128, columns)


@pytest.mark.parametrize(("bits", "hashes"), [(128, 18), (256, 35), (512, 71)])
def test_by_hand_it_is_the_papers_filter_for_web_tables(bits: int, hashes: int) -> None:
    assert BloomFilter(bits).hashes == hashes


@pytest.mark.parametrize("hashes", [0, -1, 129, 2.0, "2", True])
def test_rejects_a_senseless_number_of_hashes(hashes: object) -> None:
    message = rf"^hashes must be a whole number from 1 to 128 \(the bits\), not {hashes!r}$"
    with pytest.raises(HashError, match=message):
        get("bf", 128, hashes=hashes)


def test_accepts_every_sensible_number_of_hashes() -> None:
    assert [BloomFilter(128, hashes).hashes for hashes in (1, 128)] == [1, 128]
