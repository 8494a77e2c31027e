"""Why the paper's Bloom filter is so weak: its formula promises 10^-5, its table has precisions of 0.44 to 0.59.

With H = 18 of 128 bits for rows of five values, hardly any row that does not join should pass. Each variant here is a
plausible mistake in making such a filter; those in asking it are in `experiments.query_mistakes`. The experiment
``bloom-mistakes`` shows which comes near the paper's numbers. H = 3 is none of them: the paper has V = 26 for open data
(``bf-paper-26``). Nor is H = 17, as the code that the paper names rounds H down: its authors' commands ask for 18.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import mmh3
import numpy as np
import pyarrow as pa

from baselines.hashes.bloom import BloomFilter, bloom_keys
from mate.hashing import CorpusStatistics, SuperKeyHash, register
from mate.hashing.superkey import Keys, from_positions


class _Mistaken(BloomFilter):
    """A Bloom filter with a number of hash functions that no formula of the paper gives."""

    count: ClassVar[int]

    def __init__(self, bits: int = 128, hashes: int | None = None) -> None:
        super().__init__(bits, self.count if hashes is None else hashes)

    @classmethod
    def for_corpus(cls, bits: int, corpus: CorpusStatistics) -> Self:
        """Return the same for every corpus."""
        return cls(bits)


@register
class CommonLogarithm(_Mistaken):
    """log 2 taken to the base 10: H = 128 / 5 * 0.301 = 8."""

    name = "bf-log10"
    count = 8


@register
class BinaryLogarithm(_Mistaken):
    """log 2 taken to the base 2, or ln 2 rounded: H = 128 / 5 * 1 = 26."""

    name = "bf-log2"
    count = 26


@register
class LogarithmRoundedDown(_Mistaken):
    """ln 2 rounded down to 0, and H up to the least that there is: H = 1."""

    name = "bf-one"
    count = 1


@register
class Neighbours(SuperKeyHash):
    """One hash function for all: the H bits of a value are neighbours."""

    name = "bf-neighbours"
    sizes = (128,)
    count = 18

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Hash a batch."""
        first = np.array([mmh3.hash(value or "", 0, signed=False) for value in tokens.to_pylist()], np.int64)
        return from_positions((first.reshape(-1, 1) + np.arange(self.count)) % self.bits, self.bits)


@register
class HalfCompared(SuperKeyHash):
    """Half of the bits lost on the way: a 64-bit integer of a 128-bit filter is compared."""

    name = "bf-half"
    sizes = (128,)

    @property
    def parameters(self) -> dict[str, Any]:
        """None: the number of hash functions is the paper's for web tables."""
        return {}

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Hash a batch."""
        keys = bloom_keys(tokens, self.bits, BloomFilter(self.bits).hashes)
        keys[:, 0] = 0
        return keys


MISTAKES = {
    CommonLogarithm.name: "log 2 to the base 10 (H = 8)",
    BinaryLogarithm.name: "log 2 to the base 2, or ln 2 rounded (H = 26)",
    LogarithmRoundedDown.name: "ln 2 rounded down (H = 1)",
    Neighbours.name: "H = 18 neighbouring bits",
    HalfCompared.name: "64 of 128 bits compared",
}
"""Mistakes by the name of their hash function."""
