"""Mistaken Bloom filters are what they say, and still lose no joinable row."""

import numpy as np
import pytest

from experiments.bloom_mistakes import MISTAKES
from experiments.hashes import described
from mate.hashing import CorpusStatistics, bits_set, fit, get, or_aggregate

VALUES = [f"value {i}" for i in range(500)]


@pytest.mark.parametrize(("name", "least", "most"), [("bf-log10", 7, 8), ("bf-log2", 20, 26), ("bf-v26", 2.9, 3)])
def test_numbers_of_hash_functions(name: str, least: float, most: float) -> None:
    function = fit(name, 128, CorpusStatistics(10, 90.0))
    assert least <= bits_set(function.hash(VALUES)).mean() <= most


def test_neighbouring_bits() -> None:
    keys = get("bf-neighbours", 128).hash(VALUES)
    assert (bits_set(keys) == 18).all()
    bits = np.unpackbits(keys.astype(">u8").view(np.uint8).reshape(len(keys), 16), axis=1)
    assert (np.abs(np.diff(bits.astype(int), axis=1, append=bits[:, :1])).sum(axis=1) == 2).all()


def test_half_of_the_bits() -> None:
    keys = get("bf-half", 128).hash(VALUES)
    assert not keys[:, 0].any()
    assert keys[:, 1].all()


@pytest.mark.parametrize("name", MISTAKES)
def test_no_row_is_lost(name: str) -> None:
    function = get(name, 128)
    assert described(name) == ("bf", MISTAKES[name])
    keys = or_aggregate(function.hash(VALUES), np.arange(0, 501, 5))
    assert not (function.hash(VALUES) & ~np.repeat(keys, 5, axis=0)).any()
