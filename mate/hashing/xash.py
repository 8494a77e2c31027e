"""XASH (section 5): encode the least frequent characters of a value, their location and its length in few bits.

`xash` is the definition: it follows the paper step by step, for one value. `Xash` hashes batches with a native loop
that equals the definition bit for bit.

The bit array, leftmost bit first: a length segment of ``bits - 37 * beta`` bits, then one segment of `beta`
bits for each of the 37 characters in the order 0-9, a-z, space.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from itertools import chain
from math import comb
from typing import Any, Self
from unicodedata import ucd_3_2_0

import numpy as np
import pyarrow as pa

from mate.errors import HashError
from mate.hashing._xash import hash_strings
from mate.hashing.base import CorpusStatistics, SuperKeyHash, register
from mate.hashing.superkey import Keys
from mate.values.arrow import Bytes, string_buffers
from mate.values.parallel import in_parts

SEGMENTS = "0123456789abcdefghijklmnopqrstuvwxyz "
"""The alphabet in the order of its segments, as in the paper's figure."""

_DECOMPOSING = (range(0x3400), range(0xF900, 0x10000), range(0x1D000, 0x1D800))
"""Ranges with all code points that decompose to a letter or digit of the alphabet in Unicode 3.2."""


class Rotation(StrEnum):
    """By how many bits the character segments rotate to the left."""

    LENGTH = "length"
    """The length of the value (section 5.3.4)."""
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Features:
    """The parts of XASH, which can be switched off for the ablation of figure 5, and variants of some."""

    length: bool = True
    characters: bool = True
    location: bool = True
    rotation: Rotation = Rotation.LENGTH
    rare_first: str = ""
    """The alphabet, rarest character of a corpus first: chooses characters in this order instead of by frequency in the
    value."""

    def __post_init__(self) -> None:
        if self.rotation not in list(Rotation):
            raise HashError(f"rotation must be one of {', '.join(Rotation)}, not {self.rotation!r}")
        if self.rare_first and sorted(self.rare_first) != sorted(SEGMENTS):
            raise HashError(f"rare_first must name each of the {len(SEGMENTS)} characters once")


PAPER = Features()


@dataclass(frozen=True, slots=True)
class BitLayout:
    """The segments of a bit array (section 5.3.2)."""

    bits: int
    beta: int
    """Bits of a character's segment: the largest with ``37 * beta < bits``."""

    @classmethod
    def of(cls, bits: int) -> Self:
        """Return the layout of a bit array of that size."""
        return cls(bits, beta=(bits - 1) // len(SEGMENTS))

    @property
    def character_bits(self) -> int:
        """Width of all character segments, the part that rotates."""
        return self.beta * len(SEGMENTS)

    @property
    def length_bits(self) -> int:
        """Width of the length segment: |a_l|."""
        return self.bits - self.character_bits

    def shift(self, length: int, rotation: Rotation) -> int:
        """Return by how many bits the character segments of a value rotate."""
        return length % self.character_bits if rotation == Rotation.LENGTH else 0


def alpha_for(bits: int, distinct_values: int) -> int:
    """Return the number of 1-bits a value needs (equation 5): the least alpha with C(bits, alpha) > C_unique.

    >>> alpha_for(128, 700_000_000)
    6
    """
    if distinct_values < 0:
        raise HashError(f"a corpus cannot have {distinct_values} distinct values")
    highest = len(SEGMENTS) + 1
    return next((a for a in range(1, highest) if comb(bits, a) > distinct_values), highest)


def fold(character: str) -> str:
    """Map any code point to the alphabet.

    A decorated letter or digit folds to its base; any other code point maps by its number, so that no script hashes to
    its length alone. The tables are those of Unicode 3.2, so that a hash does not depend on the version of Python.

    >>> [fold(c) for c in ("a", "é", "ß", "-", "李")]
    ['a', 'e', 's', '8', 'g']
    """
    base = "s" if character == "ß" else ucd_3_2_0.normalize("NFKD", character)[0].lower()
    return base if base in SEGMENTS else SEGMENTS[ord(character) % len(SEGMENTS)]


def rarest(value: str, count: int) -> list[str]:
    """Return the `count` least frequent characters of a value, ties in lexicographical order (section 5.3.2)."""
    frequency = Counter(value)
    return sorted(frequency, key=lambda c: (frequency[c], c))[:count]


def xash(value: str, bits: int, alpha: int, features: Features = PAPER) -> int:
    """Return the XASH of one value as an integer whose most significant bit is the leftmost of the array."""
    layout = BitLayout.of(bits)
    folded = "".join(map(fold, value))
    positions: list[int] = []
    if folded and features.length:
        positions.append((len(folded) - 1) % layout.length_bits)
    if folded and features.characters:
        shift = layout.shift(len(folded), features.rotation)
        in_corpus = [character for character in features.rare_first if character in folded]
        chosen = in_corpus[: alpha - 1] if features.rare_first else rarest(folded, alpha - 1)
        for character in chosen:
            place = _segment_bit(folded, character, layout.beta) if features.location else 0
            place += SEGMENTS.index(character) * layout.beta
            positions.append(layout.length_bits + (place - shift) % layout.character_bits)
    return sum(1 << (bits - 1 - position) for position in positions)


def _segment_bit(value: str, character: str, beta: int) -> int:
    """Return the 0-based bit for a character's mean location: x - 1, x = ceil(lambda * beta / l_v)."""
    places = [place for place, other in enumerate(value, start=1) if other == character]
    return -(-sum(places) * beta // (len(places) * len(value))) - 1


@register
class Xash(SuperKeyHash):
    """XASH over batches of tokens."""

    name = "xash"
    sizes = (64, 128, 256, 512)

    def __init__(self, bits: int = 128, alpha: int = 6, **features: Any) -> None:
        super().__init__(bits)
        highest = len(SEGMENTS) + 1
        if isinstance(alpha, bool) or not isinstance(alpha, int) or not 1 <= alpha <= highest:
            raise HashError(f"alpha must be a whole number from 1 (the length bit alone) to {highest}, not {alpha!r}")
        self.alpha = alpha
        self.features = Features(**features)

    @classmethod
    def for_corpus(cls, bits: int, corpus: CorpusStatistics) -> Self:
        """Return XASH with the alpha of equation 5 for this corpus."""
        return cls(bits, alpha_for(bits, corpus.distinct_tokens))

    @property
    def parameters(self) -> dict[str, Any]:
        """Alpha, and differences from the paper."""
        usual = asdict(PAPER)
        changed = {name: value for name, value in asdict(self.features).items() if value != usual[name]}
        return {"alpha": self.alpha, **changed}

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Hash a batch."""
        data, offsets = string_buffers(tokens)
        keys = np.zeros((len(tokens), self.words), np.uint64)
        layout, features = BitLayout.of(self.bits), self.features
        ranks = _ranks(bool(data[offsets[0] : offsets[-1]].max(initial=0) < 0x80))
        order = ranks[[*map(ord, features.rare_first)]] if features.rare_first else ranks[:0]

        def hash_part(start: int, stop: int) -> None:
            hash_strings(
                data,
                offsets[start : stop + 1],
                ranks,
                order,
                keys[start:stop],
                self.alpha - 1 if features.characters else 0,
                layout.beta,
                layout.length_bits,
                features.length,
                features.location,
                features.rotation == Rotation.LENGTH,
            )

        in_parts(hash_part, len(tokens))
        return keys


@cache
def fold_table() -> Bytes:
    """Return `fold` as an array from code point to segment number, for all code points that may decompose."""
    table = (np.arange(_DECOMPOSING[-1].stop) % len(SEGMENTS)).astype(np.uint8)
    for code in chain(*_DECOMPOSING):
        if code < 0x80 or ucd_3_2_0.decomposition(chr(code)) or code == ord("ß"):
            table[code] = _segment(chr(code))
    return table


@cache
def _ranks(ascii_only: bool) -> Bytes:
    """Return the lexicographical rank of code points, the space first; ASCII alone takes less time."""
    segments = np.array([*map(_segment, map(chr, range(0x80)))], np.uint8) if ascii_only else fold_table()
    return (segments + np.uint8(1)) % np.uint8(len(SEGMENTS))


def _segment(character: str) -> int:
    return SEGMENTS.index(fold(character))
