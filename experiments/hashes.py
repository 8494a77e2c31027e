"""Hash functions that only experiments need: the readings of XASH, its parts (figure 5), and fair Bloom filters.

There are three readings of XASH. Its alpha, the number of bits that it sets for a value, follows from the number of
distinct values of the corpus (equation 5). The paper's corpus has 700 million, which gives 6, 5 and 4 bits at 128, 256
and 512; a lake of a million values gives 3 or 4. ``xash`` has what equation 5 gives for the lake at hand,
``xash-paper`` the paper's alpha whatever the lake, and ``xash-released`` is the function that the authors released, bit
for bit (`baselines.hashes.released`). It takes five characters at every size, as the code that makes their index does;
``xash-released-six`` takes six, as their commands for the paper's tables do; ``xash-released-cleaned`` hashes values as
they clean them. A fair Bloom filter sets as many bits per value as XASH does; there is one for each reading. Bloom
filters with the paper's H have the number of hash functions that its set-up (section 7.1) gives for web tables, V = 5,
and for open data, V = 26, whatever the lake; ``bf`` has the lake's own V.

An index tells its hash functions apart by name and size, so each of these has a name of its own. They are registered
by importing this module; `Spec` sees to it that the workers of a Spark build import it, too.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from baselines.hashes.bloom import BloomFilter, hashes_for
from baselines.hashes.released import Released, ReleasedCleaned
from experiments.bloom_mistakes import MISTAKES
from mate.hashing import CorpusStatistics, register
from mate.hashing.xash import Rotation, Xash, alpha_for
from mate.lake.manifest import HashSpec

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


RELEASED_ALPHA = 6
"""Five characters and the length, at every size."""


@register
class ReleasedSixXash(Released):
    """XASH as released, with the six characters that the authors' commands for the paper's tables ask for."""

    name = "xash-released-six"

    def __init__(self, bits: int = 128, characters: int = 6) -> None:
        super().__init__(bits, characters)


class _Part(PaperXash):
    """XASH with the paper's alpha and some features switched off or changed for good."""

    changed: ClassVar[dict[str, Any]]

    def __init__(self, bits: int = 128, alpha: int = 6) -> None:
        super().__init__(bits, alpha, **self.changed)

    @property
    def parameters(self) -> dict[str, Any]:
        """Alpha; the features belong to the name."""
        return {"alpha": self.alpha}


@register
class LengthOnly(_Part):
    """The length bit alone."""

    name = "xash-length"
    changed: ClassVar[dict[str, Any]] = {"characters": False, "location": False, "rotation": Rotation.OFF}


@register
class CharactersOnly(_Part):
    """The rare characters, wherever they stand."""

    name = "xash-characters"
    changed: ClassVar[dict[str, Any]] = {"length": False, "location": False, "rotation": Rotation.OFF}


@register
class CharactersLocation(_Part):
    """The rare characters and their location."""

    name = "xash-characters-location"
    changed: ClassVar[dict[str, Any]] = {"length": False, "rotation": Rotation.OFF}


@register
class WithoutRotation(_Part):
    """Characters, location and length: all but the rotation."""

    name = "xash-characters-length-location"
    changed: ClassVar[dict[str, Any]] = {"rotation": Rotation.OFF}


RARE_FIRST = "qxzjvwkf5p6bgyu4h8230m7dc91ltsoinrea "
"""The alphabet by how often its characters occur in the distinct values of 10,341 Wikipedia tables, rarest first."""


@register
class CorpusRareXash(_Part):
    """XASH by the characters that are rarest in a corpus, not in the value: an ablation of the lemma in section 5.3."""

    name = "xash-corpus-rare"
    changed: ClassVar[dict[str, Any]] = {"rare_first": RARE_FIRST}


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


@register
class ReleasedFairBloomFilter(BloomFilter):
    """A Bloom filter that sets as many bits per value as the released XASH."""

    name = "bf-fair-released"

    @classmethod
    def for_corpus(cls, bits: int, corpus: CorpusStatistics) -> Self:
        """Return the filter with six hash functions."""
        return cls(bits, RELEASED_ALPHA)


class _PaperBloomFilter(BloomFilter):
    """A Bloom filter with the number of hash functions that the paper takes for one of its corpora."""

    columns: ClassVar[float]
    """V, the corpus's mean number of columns."""

    def __init__(self, bits: int = 128, hashes: int | None = None) -> None:
        super().__init__(bits, hashes_for(bits, self.columns) if hashes is None else hashes)

    @classmethod
    def for_corpus(cls, bits: int, corpus: CorpusStatistics) -> Self:
        """Return the same, whatever the corpus."""
        return cls(bits)


@register
class WebTablesBloomFilter(_PaperBloomFilter):
    """The paper's filter for web tables, V = 5: 18, 35 and 71 hash functions."""

    name = "bf-paper-5"
    columns = 5.0


@register
class OpenDataBloomFilter(_PaperBloomFilter):
    """The paper's filter for open data, V = 26: 3, 7 and 14 hash functions."""

    name = "bf-paper-26"
    columns = 26.0


COMPONENTS: dict[str, str] = {
    LengthOnly.name: "length",
    CharactersOnly.name: "rare characters",
    CharactersLocation.name: "char. + loc.",
    WithoutRotation.name: "char. + len. + loc.",
    CorpusRareXash.name: "corpus-rare characters",
}
"""The variants of figure 5 by the name of their hash function."""


class Spec(HashSpec):
    """A specification that brings this module with it wherever it is unpickled."""

    __slots__ = ()


SIZES = (128, 256, 512)
FIXED = ("md5", "murmur", "city")
"""Have 128 bits and no other size."""
CLEANED = (ReleasedCleaned.name,)
"""Compared at 128 bits, the paper's usual size, alone."""
FAIR = (FairBloomFilter.name, PaperFairBloomFilter.name, ReleasedFairBloomFilter.name)
PAPERS_H = (WebTablesBloomFilter.name, OpenDataBloomFilter.name)
READINGS = ("xash", PaperXash.name, Released.name)
"""XASH as it can be read."""
SIZED = ("simhash", "ht", "bf", *PAPERS_H, *FAIR, "lhbf", *READINGS, ReleasedSixXash.name)

_VARIANTS = {
    **{name: ("bf", mistake) for name, mistake in MISTAKES.items()},
    **{name: ("xash", variant) for name, variant in COMPONENTS.items()},
    PaperXash.name: ("xash", "paper's alpha"),
    Released.name: ("xash", "released"),
    ReleasedSixXash.name: ("xash", "released, six characters"),
    ReleasedCleaned.name: ("xash", "released, cleaned"),
    WebTablesBloomFilter.name: ("bf", "paper's H, V = 5"),
    OpenDataBloomFilter.name: ("bf", "paper's H, V = 26"),
    FairBloomFilter.name: ("bf", "fair"),
    PaperFairBloomFilter.name: ("bf", "fair, paper's alpha"),
    ReleasedFairBloomFilter.name: ("bf", "fair, released"),
}


def described(name: str) -> tuple[str, str]:
    """Return the family and the variant of a hash function: ``("bf", "fair")`` for ``bf-fair``."""
    return _VARIANTS.get(name, (name, ""))


def compared() -> list[tuple[str, int]]:
    """Return the hash functions of tables 2 and 3, with their sizes."""
    return [(name, 128) for name in (*FIXED, *CLEANED)] + [(name, bits) for name in SIZED for bits in SIZES]


def components() -> list[tuple[str, int]]:
    """Return the variants of figure 5, with their sizes."""
    return [(name, bits) for bits in (128, 512) for name in COMPONENTS]
