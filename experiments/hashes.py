"""Hash functions that only experiments need: XASH without some of its parts (figure 5), and fair Bloom filters.

The number of bits that XASH sets for a value, alpha, follows from the number of distinct values of the corpus
(equation 5). The paper's corpus has 700 million, which gives 6, 5 and 4 bits at 128, 256 and 512; a lake of a million
values gives 3 or 4. Both are compared: XASH as equation 5 has it for the lake at hand, and ``xash-paper`` with the
paper's alpha whatever the lake. A fair Bloom filter sets as many bits per value as XASH does; there is one for each.

An index tells its hash functions apart by name and size, so each of these has a name of its own. They are registered
by importing this module; `Spec` sees to it that the workers of a Spark build import it, too.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from baselines.hashes.bloom import BloomFilter
from mate.hashing import CorpusStatistics, register
from mate.hashing.xash import Xash, alpha_for
from mate.index.manifest import HashSpec

PAPER_VALUES = 700_000_000
"""C_unique in section 5.3.1 of the paper."""


@register
class PaperXash(Xash):
    """XASH with the paper's alpha, whatever the corpus."""

    name = "xash-paper"

    @classmethod
    def for_corpus(cls, bits: int, corpus: CorpusStatistics) -> Self:
        """Return XASH with the alpha of equation 5 for the paper's corpus."""
        return cls(bits, alpha_for(bits, PAPER_VALUES))


class _Part(PaperXash):
    """XASH with the paper's alpha and some features switched off for good."""

    off: ClassVar[tuple[str, ...]]

    def __init__(self, bits: int = 128, alpha: int = 6) -> None:
        super().__init__(bits, alpha, **dict.fromkeys(self.off, False))

    @property
    def parameters(self) -> dict[str, Any]:
        """Alpha; the features belong to the name."""
        return {"alpha": self.alpha}


@register
class LengthOnly(_Part):
    """The length bit alone."""

    name = "xash-length"
    off = ("characters", "location", "rotation")


@register
class CharactersOnly(_Part):
    """The rare characters, wherever they stand."""

    name = "xash-characters"
    off = ("length", "location", "rotation")


@register
class CharactersLocation(_Part):
    """The rare characters and their location."""

    name = "xash-characters-location"
    off = ("length", "rotation")


@register
class WithoutRotation(_Part):
    """Characters, location and length: all but the rotation."""

    name = "xash-characters-length-location"
    off = ("rotation",)


@register
class FairBloomFilter(BloomFilter):
    """A Bloom filter that sets as many bits per value as XASH, alpha, not the paper's H = |a| / V * ln 2."""

    name = "bf-fair"

    @classmethod
    def for_corpus(cls, bits: int, corpus: CorpusStatistics) -> Self:
        """Return the filter with the alpha of equation 5 for this corpus as its number of hash functions."""
        return cls(bits, alpha_for(bits, corpus.distinct_tokens))


@register
class PaperFairBloomFilter(BloomFilter):
    """A Bloom filter that sets as many bits per value as XASH does with the paper's alpha."""

    name = "bf-fair-paper"

    @classmethod
    def for_corpus(cls, bits: int, corpus: CorpusStatistics) -> Self:
        """Return the filter with the paper's alpha as its number of hash functions."""
        return cls(bits, alpha_for(bits, PAPER_VALUES))


COMPONENTS: dict[str, str] = {
    LengthOnly.name: "length",
    CharactersOnly.name: "rare characters",
    CharactersLocation.name: "char. + loc.",
    WithoutRotation.name: "char. + len. + loc.",
}
"""The variants of figure 5 by the name of their hash function."""


class Spec(HashSpec):
    """A specification that brings this module with it wherever it is unpickled."""

    __slots__ = ()


SIZES = (128, 256, 512)
FIXED = ("md5", "murmur", "city")
"""Have 128 bits and no other size."""
SIZED = ("simhash", "ht", "bf", FairBloomFilter.name, PaperFairBloomFilter.name, "lhbf", "xash", PaperXash.name)

_VARIANTS = {
    **{name: ("xash", variant) for name, variant in COMPONENTS.items()},
    PaperXash.name: ("xash", "paper's alpha"),
    FairBloomFilter.name: ("bf", "fair"),
    PaperFairBloomFilter.name: ("bf", "fair, paper's alpha"),
}


def described(name: str) -> tuple[str, str]:
    """Return the family and the variant of a hash function: ``("bf", "fair")`` for ``bf-fair``."""
    return _VARIANTS.get(name, (name, ""))


def compared() -> list[tuple[str, int]]:
    """Return the hash functions of tables 2 and 3, with their sizes."""
    return [(name, 128) for name in FIXED] + [(name, bits) for name in SIZED for bits in SIZES]


def components() -> list[tuple[str, int]]:
    """Return the variants of figure 5, with their sizes."""
    return [(name, bits) for bits in (128, 512) for name in COMPONENTS]
