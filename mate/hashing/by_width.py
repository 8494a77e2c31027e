"""Super keys whose size follows the width of a table: `Wide` ORs larger filters, `Fingerprint` lists fingerprints.

A super key of fixed size is too full for wide rows and too empty for narrow ones. Here every column adds the same
number of bits: ``wide:20`` has 20 bits per column, ``fingerprint:16`` has 16. Both hash token ids
(`mate.values.token_ids`), so that no text is hashed twice.
"""

from __future__ import annotations

from math import ceil, log
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.errors import HashError
from mate.hashing.base import SuperKeyHash, register
from mate.hashing.superkey import Keys, from_positions
from mate.values.splitmix import stream
from mate.values.token_ids import token_ids

WORD = 64


class WidthFilter(SuperKeyHash):
    """A Bloom filter of any number of words, `hashes` bits per token: `Wide` for tables of one width."""

    name = "width-filter"
    sizes = range(WORD, WORD * 65_537, WORD)

    def __init__(self, bits: int, hashes: int) -> None:
        super().__init__(bits)
        self.hashes = hashes

    @property
    def parameters(self) -> dict[str, Any]:
        """The number of hash functions."""
        return {"hashes": self.hashes}

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Hash a batch."""
        numbers = token_ids(tokens).astype(np.uint64)
        positions = np.empty((len(numbers), self.hashes), np.int64)
        for probe in range(self.hashes):
            high = stream(numbers, probe) >> np.uint64(32)
            positions[:, probe] = (high * np.uint64(self.bits)) >> np.uint64(32)
        return from_positions(positions, self.bits)


def few_sizes(words: int) -> int:
    """Round up to a power of two, or to three quarters of one, so that queries need keys of few sizes only.

    >>> [few_sizes(words) for words in (1, 2, 3, 4, 5, 7, 9, 13, 25)]
    [1, 2, 3, 4, 6, 8, 12, 16, 32]
    """
    above = 1 << (words - 1).bit_length()
    return above * 3 // 4 if above >= 4 and words <= above * 3 // 4 else above


@register
class Wide(SuperKeyHash):
    """Bloom filters with at least that many bits per column, in few sizes: ``wide:20``."""

    name = "wide"
    sizes = range(4, WORD + 1)
    usual = 20
    by_width: ClassVar[bool] = True

    @property
    def hashes(self) -> int:
        """Bits that a token sets: bits * ln 2, the optimum for a Bloom filter with that many bits per value."""
        return max(1, round(self.bits * log(2)))

    def for_width(self, columns: int) -> SuperKeyHash:
        """Return the filter for tables with that many columns."""
        if columns < 1:
            raise HashError(f"a table cannot have {columns} columns")
        return WidthFilter(WORD * few_sizes(ceil(self.bits * columns / WORD)), self.hashes)

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Hash a batch for a table of one column."""
        return self.for_width(1).hash_tokens(tokens)


@register
class Fingerprint(SuperKeyHash):
    """A fingerprint per column, in the order of the columns: ``fingerprint:16`` has 16 bits each.

    A row may have a value if one of its fingerprints is the value's. Only a cell without a token has fingerprint 0.
    """

    name = "fingerprint"
    sizes = range(4, WORD)
    usual = 16
    by_width: ClassVar[bool] = True
    by_column: ClassVar[bool] = True

    @property
    def words(self) -> int:
        """Words of one fingerprint."""
        return 1

    def row_words(self, columns: int) -> int:
        """Return the number of words for the fingerprints of a row."""
        return ceil(self.bits * columns / WORD)

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Return the fingerprint of each token in its lowest bits, never 0."""
        top_bits = stream(token_ids(tokens).astype(np.uint64), 0) >> np.uint64(WORD - self.bits)
        prints: Keys = np.maximum(top_bits, np.uint64(1)).reshape(-1, 1)
        return prints


def packed(fingerprints: npt.NDArray[np.uint64], bits: int) -> Keys:
    """Return rows of fingerprints, one per column, as words: column c has the bits from c * bits on, lowest first."""
    rows, columns = fingerprints.shape
    keys = np.zeros((rows, ceil(bits * columns / WORD)), np.uint64)
    for column in range(columns):
        word, shift = divmod(column * bits, WORD)
        keys[:, word] |= fingerprints[:, column] << np.uint64(shift)
        if shift + bits > WORD:
            keys[:, word + 1] |= fingerprints[:, column] >> np.uint64(WORD - shift)
    return keys
