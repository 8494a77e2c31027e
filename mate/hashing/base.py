"""The interface of hash functions for super keys, and the registry that finds one by name.

Hash functions are built in, come from installed packages (entry points of the group ``mate.hashes``), or are added by a
program with `register`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, ClassVar, Self

import pyarrow as pa
import pyarrow.compute as pc

from mate.errors import HashError, did_you_mean
from mate.hashing.superkey import Keys
from mate.values.arrow import string_array

ENTRY_POINTS = "mate.hashes"


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """What the parameters of a hash function follow from."""

    distinct_tokens: int
    """C_unique of equation 5."""
    mean_columns: float
    """V of the Bloom filter's formula (section 7.1)."""


class SuperKeyHash(ABC):
    """A function from tokens to bits, for OR-aggregation.

    A subclass has a name and sizes and implements `hash_tokens`. `parameters` returns its own parameters, so that
    ``get(name, bits, **parameters)`` makes the same function again.
    """

    name: ClassVar[str]
    sizes: ClassVar[Sequence[int]] = (128, 256, 512)
    usual: ClassVar[int] = 128
    """The default size."""
    by_width: ClassVar[bool] = False
    """Whether the size of super keys follows the number of columns (`for_width`); `sizes` are then bits per column."""
    by_column: ClassVar[bool] = False
    """Whether a super key lists the keys of the columns, lowest bits first, instead of ORing them."""

    def __init__(self, bits: int = 128) -> None:
        if isinstance(bits, bool) or bits not in self.sizes:
            sizes = self.sizes
            known = f"{sizes[0]} to {sizes[-1]}" if isinstance(sizes, range) else ", ".join(map(str, sizes))
            raise HashError(f"{self.name} has no {bits}-bit version; it has: {known}")
        self.bits = bits

    @classmethod
    def for_corpus(cls, bits: int, corpus: CorpusStatistics) -> Self:
        """Return the hash function with the paper's parameters for a corpus."""
        return cls(bits)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters besides the number of bits, as JSON values."""
        return {}

    @property
    def words(self) -> int:
        """Number of 64-bit words in a key."""
        return self.bits // 64

    def for_width(self, columns: int) -> SuperKeyHash:
        """Return the hash function for tables with that many columns."""
        return self

    def row_words(self, columns: int) -> int:
        """Return the number of 64-bit words in the super key of a row with that many columns."""
        return self.for_width(columns).words

    def hash(self, tokens: Any) -> Keys:
        """Return one key per token as ``uint64[n, words]``; a null or empty token sets no bit."""
        array = string_array(tokens)
        keys = self.hash_tokens(array)
        keys[pc.fill_null(pc.equal(pc.binary_length(array), 0), True).to_numpy(zero_copy_only=False)] = 0
        return keys

    @abstractmethod
    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        """Hash a batch; the result for nulls and empty strings does not matter."""

    def __repr__(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in self.parameters.items())
        return f"{self.name}(bits={self.bits}{options})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SuperKeyHash):
            return False
        return (self.name, self.bits, self.parameters) == (other.name, other.bits, other.parameters)

    def __hash__(self) -> int:
        return hash(repr(self))


_registered: dict[str, type[SuperKeyHash]] = {}


def register(cls: type[SuperKeyHash]) -> type[SuperKeyHash]:
    """Register a hash class by its name; usable as a decorator."""
    _registered[cls.name] = cls
    return cls


def available() -> list[str]:
    """Return the names of all known hash functions."""
    return sorted({*_registered, *entry_points(group=ENTRY_POINTS).names})


def find(name: str) -> type[SuperKeyHash]:
    """Return the hash class of that name."""
    if name in _registered:
        return _registered[name]
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        try:
            return register(entry.load())
        except ImportError as error:
            raise HashError(
                f'the hash "{name}" needs a package that is not installed: {error.name}; '
                f"try: pip install {entry.dist.name if entry.dist else 'mate-discovery'}[baselines]"
            ) from error
    raise HashError(f'unknown hash "{name}"; {did_you_mean(name, available())}')


def get(name: str, bits: int = 128, **parameters: Any) -> SuperKeyHash:
    """Return a hash by name, size and parameters: ``get("xash", bits=128, alpha=6)``."""
    cls = find(name)
    try:
        return cls(bits, **parameters)
    except TypeError as error:
        raise HashError(f"{name} does not take these parameters: {error}") from error


def fit(name: str, bits: int, corpus: CorpusStatistics) -> SuperKeyHash:
    """Return a hash by name with parameters chosen for a corpus."""
    return find(name).for_corpus(bits, corpus)
