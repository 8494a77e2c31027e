"""XASH and the cleaning of texts as the authors released them, bit for bit (github.com/LUH-DBS/MATE, folder `src`).

`released` is the definition, one value at a time, of what `XASH` in their `index_generation.py` and `MATE.py` returns.
It is not what section 5 of the paper and `mate.hashing.xash` say:

- *Segments* of the characters space, 0-9, a-z lie side by side from the right, each with its first area on the right.
- *Rotation* is to the left as well, but so towards later characters, where the paper's is towards earlier ones. It
  spreads lengths over all bits: floor(W * (l mod S) / S) for a value of l characters, W being the width of the
  character segments and S that of the length segment.
- *Length* sets bit l mod S from the right, not (l - 1) mod S from the left.
- *Location*: the first character stands at place 0.
- *Choice*: as many characters at every size. Their index has five; their commands for tables 2 and 3 and figure 5 ask
  for six, at 128 bits and at 512.
- *Other characters* than the 37 are chosen like these, and then set no bit. Nothing is folded.

`cleaned` is `get_cleaned_text` in their `base.py`, which queries go through: it leaves lower-case letters, digits and
single spaces, and takes stop words out.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from baselines.hashes._digests import released_keys
from mate.errors import HashError
from mate.hashing.base import SuperKeyHash
from mate.hashing.superkey import Keys
from mate.hashing.xash import BitLayout, rarest
from mate.values.arrow import string_buffers
from mate.values.parallel import in_parts

ALPHABET = " 0123456789abcdefghijklmnopqrstuvwxyz"
"""The characters that set bits, in the order of their segments from the right."""
STOP_WORDS = [
    "a",
    "the",
    "of",
    "on",
    "in",
    "an",
    "and",
    "is",
    "at",
    "are",
    "as",
    "be",
    "but",
    "by",
    "for",
    "it",
    "no",
    "not",
    "or",
    "such",
    "that",
    "their",
    "there",
    "these",
    "to",
    "was",
    "with",
    "they",
    "will",
    "v",
    "ve",
    "d",
]
"""In the order in which they are taken out."""


def released(value: str, bits: int, characters: int = 5) -> int:
    """Return the key of one value as an integer, whose least significant bit is the rightmost of the array."""
    layout = BitLayout.of(bits)
    turned = layout.character_bits * (len(value) % layout.length_bits) // layout.length_bits
    key = 1 << (layout.character_bits + len(value) % layout.length_bits)
    for character in rarest(value, characters):
        if character in ALPHABET:
            place = ALPHABET.index(character) * layout.beta + _area(value, character, layout.beta)
            key |= 1 << ((place + turned) % layout.character_bits)
    return key


def _area(value: str, character: str, areas: int) -> int:
    """Return the first of so many equal areas of a value whose end is not before the mean place of a character."""
    places = [place for place, other in enumerate(value) if other == character]
    return max(1, -(-sum(places) * areas // (len(places) * len(value)))) - 1


def cleaned(text: str) -> str:
    """Return a text as the authors clean it. A stop word that is all there is stays.

    >>> cleaned("The Lord of the Rings (1954)"), cleaned("São_Paulo"), cleaned("The"), cleaned("李")
    ('lord rings 1954', 'so paulo', 'the', '')
    """
    words = re.sub(r"[^0-9A-Za-z]+", " ", text.encode("ascii", "ignore").decode()).lower().strip()
    for word in STOP_WORDS:
        words = words.replace(f" {word} ", " ").removeprefix(f"{word} ").removesuffix(f" {word}")
    return words


class Released(SuperKeyHash):
    """XASH as released, by so many of a value's least frequent characters."""

    name = "xash-released"
    sizes = (64, 128, 256, 512)

    def __init__(self, bits: int = 128, characters: int = 5) -> None:
        super().__init__(bits)
        if isinstance(characters, bool) or not isinstance(characters, int) or not 0 <= characters <= len(ALPHABET):
            raise HashError(f"characters must be a whole number from 0 to {len(ALPHABET)}, not {characters!r}")
        self.characters = characters

    @property
    def parameters(self) -> dict[str, Any]:
        """The number of characters."""
        return {"characters": self.characters}

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Hash a batch."""
        data, offsets = string_buffers(tokens)
        keys = np.zeros((len(tokens), self.words), np.uint64)
        layout = BitLayout.of(self.bits)

        def hash_part(start: int, stop: int) -> None:
            part = offsets[start : stop + 1]
            released_keys(data, part, self.characters, layout.beta, layout.length_bits, keys[start:stop])

        in_parts(hash_part, len(tokens))
        return keys


class ReleasedCleaned(Released):
    """The same for cleaned values.

    Tokens stay what they are: two that only cleaning makes equal do not join. One that nothing is left of sets no bit.
    """

    name = "xash-released-cleaned"

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Clean and hash a batch."""
        texts = pa.array([cleaned(token) if token else "" for token in tokens.to_pylist()], pa.string())
        keys = super().hash_tokens(texts)
        keys[pc.equal(texts, "").to_numpy(zero_copy_only=False)] = 0
        return keys
