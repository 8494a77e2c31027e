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
    values: Sequence[str], name: str = "xash", bits: int = 128, parameters: Mapping[str, int] | None = None
) -> HashedValues:
    """Hash some values, and combine the hashes to the super key of a row that holds them all.

    >>> import mate
    >>> mate.hash_values(["Muhammad", "Lee"], parameters={"alpha": 4}).tokens
    ['muhammad', 'lee']
    """
    import numpy as np

    from mate.hashing import get, or_aggregate
    from mate.values.text import tokens

    function = get(name, bits, **(parameters or {}))
    cells = tokens(list(values))
    keys = function.hash(cells)
    row = or_aggregate(keys, np.array([0, len(keys)]))[0]
    return HashedValues(repr(function), cells.to_pylist(), keys.tolist(), row.tolist())
