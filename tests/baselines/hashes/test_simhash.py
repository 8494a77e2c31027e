"""SimHash: the README of the package as the definition, and the native loops that must equal it."""

import hashlib
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from simhash import Simhash

from baselines.hashes.simhash import SimHash, _packed_shingles, majorities, shingles, simhash
from tests.keys import from_ints, to_ints

DIGESTS = {128: hashlib.md5, 256: hashlib.sha256, 512: hashlib.sha512}

sizes = st.sampled_from(tuple(DIGESTS))
tricky_text = st.text("ab_ -.ΣσİIßÉé中\u0301\U0001f600\U00010400\x00", max_size=12)
repetitive_text = st.text("ab", max_size=300)
values = st.lists(st.text(max_size=40) | tricky_text | repetitive_text, max_size=20)


def get_features(s: str) -> list[str]:
    """The README of the simhash package, word for word."""
    width = 3
    s = s.lower()
    s = re.sub(r"[^\w]+", "", s)
    return [s[i : i + width] for i in range(max(len(s) - width + 1, 1))]


def simhash_of(value: str, bits: int) -> int:
    key: int = Simhash(get_features(value), f=bits, hashfunc=lambda f: DIGESTS[bits](f).digest()).value
    return key


@given(st.text() | tricky_text)
def test_shingles_are_those_of_the_readme(value: str) -> None:
    assert shingles(value) == get_features(value)


@given(values, sizes)
def test_equals_the_package(values: list[str], bits: int) -> None:
    expected = [simhash_of(value, bits) if value else 0 for value in values]
    assert to_ints(SimHash(bits).hash(values)) == expected


@given(values, sizes)
@example([], 128)
@example(["", "--", "a", "ab", "abc", "abcd"], 128)
@example(["ΑΣ", "Σ", "ΑΣ Α", "İİİ", "\U0010ffff\U00010400\U00020000"], 512)
def test_batches_equal_the_package(values: list[str], bits: int) -> None:
    expected = [simhash_of(value, bits) for value in values]
    assert [simhash(value, bits) for value in values] == expected
    assert to_ints(SimHash(bits).hash_tokens(pa.array(values, pa.string()))) == expected


@given(st.lists(st.text("abc\U0010ffff", max_size=8), max_size=10))
def test_packed_shingles(texts: list[str]) -> None:
    points = np.array([ord(c) for c in "".join(texts)], np.uint32)
    packed, offsets = _packed_shingles(points, np.cumsum([0, *map(len, texts)]))
    expected = [[t[i : i + 3] for i in range(max(len(t) - 2, 1))] for t in texts]
    assert np.diff(offsets).tolist() == [len(features) for features in expected]
    codes = [[ord(c) for c in feature.ljust(3, "\0")] for features in expected for feature in features]
    assert packed.tolist() == [a << 42 | b << 21 | c for a, b, c in codes]


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=70), max_size=5), st.data())
def test_more_than_half_of_the_votes_decide(votes: list[list[int]], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, 2**128 - 1), min_size=5, max_size=5))
    offsets = np.cumsum([0, *map(len, votes)])
    features = np.array([feature for value in votes for feature in value], np.int32)
    keys = to_ints(majorities(features, offsets, from_ints(numbers, 128)))
    for key, value in zip(keys, votes, strict=True):
        counts = Counter({bit: sum(numbers[f] >> bit & 1 for f in value) for bit in range(128)})
        assert key == sum(1 << bit for bit, count in counts.items() if 2 * count > len(value))


@pytest.mark.parametrize("bits", DIGESTS)
def test_a_single_shingle_is_its_digest(bits: int) -> None:
    expected = int.from_bytes(DIGESTS[bits](b"abc").digest(), "big")
    assert to_ints(SimHash(bits).hash(["A-b.C"])) == [expected]
