"""Section 6.4: the formulas, and collisions counted on tokens."""

from collections import Counter
from math import comb
from pathlib import Path

import pytest

from experiments.lakes import of_folder
from experiments.regenerate.collisions import formulas, lhbf, measured, sample_tokens, xash
from mate.hashing import find
from mate.stores import open_index


def test_the_papers_numbers_at_128_bits() -> None:
    assert lhbf(128) == pytest.approx(1 / comb(128, 2))
    assert xash(128, 2, "product", length=False) == pytest.approx(1 / (37 * 3) / (36 * 3))
    assert xash(128, 2, "printed", length=True) == pytest.approx(1 / 17 / 3 / 36**2)
    assert xash(128, 3, "set", length=False) == pytest.approx(1 / (comb(37, 3) * 27))


def test_xash_collides_less_from_some_number_of_characters_on(tmp_path: Path) -> None:
    rows = [row for row in formulas(tmp_path) if row["hash"] == "xash"]
    for bits in (128, 256, 512):
        for reading in ("product", "printed", "set"):
            for length in (False, True):
                chosen = [
                    row for row in rows if (row["bits"], row["reading"], row["length"]) == (bits, reading, length)
                ]
                below = [row["below_lhbf"] for row in sorted(chosen, key=lambda row: row["characters"])]
                assert below == sorted(below)
                assert below[-1]


def test_collisions_are_counted_as_defined(indexed: Path, files: Path, tmp_path: Path) -> None:
    lake = of_folder("mine", files)
    address = lake.address(indexed)
    with open_index(address) as index:
        tokens = sample_tokens(index, 40)
        specs = {str(spec): spec for spec in index.manifest.hashes}
    rows = measured(lake, address, 40, tmp_path)
    assert len(tokens) == len(set(tokens.to_pylist())) == 40
    assert len(rows) == 53
    for row in rows:
        keys = Counter(map(bytes, specs[row["hash_parameters"]].function().hash(tokens)))
        assert row["colliding_pairs"] == sum(comb(count, 2) for count in keys.values())
        assert row["distinct_hashes"] == len(keys)
        assert row["probability"] == pytest.approx(row["colliding_pairs"] / comb(40, 2))
    ones = {(row["hash"], row["bits"], row["variant"]): row["mean_ones"] for row in rows}
    assert ones["ht", 128, ""] == ones["xash", 128, "length"] == 1.0
    assert find("ht")
