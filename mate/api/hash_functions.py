"""The hash functions of super keys, by name, and what one makes of some values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mate.errors import MateError


class HashFunction(NamedTuple):
    """A hash function that can build super keys."""

    name: str
    bits: tuple[int, ...]
    """Sizes that it has."""
    summary: str
    """What it is; or why it cannot be used here."""


class HashedValues(NamedTuple):
    """The hashes of some values, and the super key of a row that holds them."""

    function: str
    tokens: list[str | None]
    """The values as they are indexed; None for one that is no value."""
    keys: list[list[int]]
    """The hash of each value, in words of 64 bits."""
    super_key: list[int]
    """The OR of the keys; the fingerprints one after another, lowest bits first, where columns are told apart."""
    by_column: bool = False
    """Whether the key of a value is a fingerprint, which the super key has at the place of its column."""


def hash_functions() -> list[HashFunction]:
    """Return all hash functions that there are.

    >>> import mate
    >>> "xash" in [function.name for function in mate.hash_functions()]
    True
    """
    from mate.hashing import available, find

    found = []
    for name in available():
        try:
            cls = find(name)
        except MateError as error:
            found.append(HashFunction(name, (), str(error)))
            continue
        found.append(HashFunction(name, tuple(cls.sizes), (cls.__doc__ or "").strip().splitlines()[0]))
    return found


def hash_values(
    values: Sequence[str], name: str = "xash", bits: int | None = None, parameters: Mapping[str, int] | None = None
) -> HashedValues:
    """Hash some values, and combine the hashes to the super key of a row that holds them all.

    The hash function is written as for an index: ``xash``, ``wide:20``, ``bf:128:hashes=6``. Size and parameters can
    also be given apart. The row is one of a table with as many columns as there are values.

    >>> import mate
    >>> mate.hash_values(["Muhammad", "Lee"], parameters={"alpha": 4}).tokens
    ['muhammad', 'lee']
    """
    import numpy as np

    from mate.build.build import known_hash
    from mate.hashing import get, or_aggregate
    from mate.hashing.by_width import packed
    from mate.values.text import tokens

    asked = known_hash(name, bits or 128)
    size = bits if bits is not None and ":" not in name else asked.bits
    function = get(asked.name, size, **{**asked.parameters, **(parameters or {})})
    cells = tokens(list(values))
    sized = function if function.by_column or not function.by_width else function.for_width(max(1, len(cells)))
    keys = sized.hash(cells)
    if function.by_column:
        row = packed(keys.reshape(1, -1), function.bits)[0]
    else:
        row = or_aggregate(keys, np.array([0, len(keys)]))[0]
    return HashedValues(repr(function), cells.to_pylist(), keys.tolist(), row.tolist(), function.by_column)
