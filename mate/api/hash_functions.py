"""The hash functions of super keys, and the hashes of some values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mate.build.build import known_hash
from mate.errors import MateError
from mate.hashing import available, find, get, or_aggregate
from mate.hashing.by_width import packed
from mate.values.text import tokens


class HashFunction(NamedTuple):
    """A hash function that can build super keys."""

    name: str
    bits: tuple[int, ...]
    """Its sizes."""
    summary: str
    """What it is, or why it cannot be used here."""


class HashedValues(NamedTuple):
    """The hashes of some values, and the super key of a row that holds them."""

    function: str
    tokens: list[str | None]
    """The values as they are indexed; None for one that counts as no value."""
    keys: list[list[int]]
    """The hash of each value, in words of 64 bits."""
    super_key: list[int]
    """The OR of the hashes; with fingerprints, these one after another, lowest bits first."""
    by_column: bool = False
    """Whether hashes are fingerprints, each at the place of its column in the super key."""


def hash_functions() -> list[HashFunction]:
    """Return all hash functions.

    >>> "xash" in [function.name for function in mate.hash_functions()]
    True
    """
    found = []
    for name in available():
        try:
            function = find(name)
        except MateError as error:
            found.append(HashFunction(name, (), str(error)))
        else:
            summary = (function.__doc__ or "").strip().splitlines()[0]
            found.append(HashFunction(name, tuple(function.sizes), summary))
    return found


def hash_values(
    values: Sequence[str], name: str = "xash", bits: int | None = None, parameters: Mapping[str, int] | None = None
) -> HashedValues:
    """Hash values, and combine the hashes to the super key of a row with these values.

    The name may hold size and parameters, as for an index: `wide:20`, `bf:128:hashes=6`.

    >>> mate.hash_values(["Muhammad", "Lee"], parameters={"alpha": 4}).tokens
    ['muhammad', 'lee']
    """
    spec = known_hash(name, bits or 128)
    size = bits if bits is not None and ":" not in name else spec.bits
    function = get(spec.name, size, **{**spec.parameters, **(parameters or {})})
    cells = tokens(list(values))
    sized = function.for_width(max(1, len(cells))) if function.by_width and not function.by_column else function
    keys = sized.hash(cells)
    if function.by_column:
        row = packed(keys.reshape(1, -1), function.bits)[0]
    else:
        row = or_aggregate(keys, np.array([0, len(keys)]))[0]
    return HashedValues(repr(function), cells.to_pylist(), keys.tolist(), row.tolist(), function.by_column)
