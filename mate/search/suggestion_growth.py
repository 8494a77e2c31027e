"""Which longer keys to check in a table: those with the highest bounds of their usefulness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.search.suggestion_cover import LEAST, Shares
from mate.values.compiled import is_worth

LONGEST = 4
"""Columns that a key may have."""

CHECKS = 12
"""Keys of each length that are checked in a table, those of the highest bound first."""

SMALL = 200_000
"""Pairs of a key and a column that are gone through before a compiler is loaded."""


class Growing(NamedTuple):
    """The pairs of columns that keys grow from and with; mappings are places among them, ascending."""

    own: Ids
    other: Ids
    share: Shares
    """Share of the query column's rows that the table's column holds."""
    distinct: Ids
    """Distinct values of the table's column."""


class Grown(NamedTuple):
    """Mappings of the same length that were measured."""

    mappings: npt.NDArray[np.int64]
    """One row per mapping."""
    containment: Shares
    uniqueness: Shares


def longer(growing: Growing, grown: Grown, unique: Ids) -> Ids:
    """Return mappings with one more column that have no unique part, by falling bound of their usefulness.

    A mapping is bounded by each of its parts that was measured. Unique mappings have a row each, -1 where they end.
    """
    if not is_worth(len(grown.containment) * len(growing.own), SMALL):
        return longer_plain(growing, grown, unique)
    from mate.search.suggestion_growth_kernel import longer_mappings

    found: Ids = longer_mappings(growing, grown, unique, LEAST, CHECKS)
    return found


def padded(mappings: Sequence[Sequence[int]]) -> Ids:
    """Return mappings of different lengths with a row each."""
    found = np.full((len(mappings), LONGEST), -1)
    for row, mapping in enumerate(mappings):
        found[row, : len(mapping)] = mapping
    return found


def longer_plain(growing: Growing, grown: Grown, unique: Ids) -> Ids:
    """Do so in NumPy.

    Mappings are numbers whose digits are places in the pairs that keys grow with: their order is that of the mappings.
    """
    bounds = _bounds(growing, grown)
    part, added = np.nonzero(bounds >= 0)
    digits = np.sort(np.column_stack([grown.mappings[part], added]), axis=1)
    number = digits @ (len(growing.own) ** np.arange(digits.shape[1])[::-1])
    order = np.lexsort((bounds[part, added], number))
    first = np.flatnonzero(np.diff(number[order], prepend=-1))
    least = order[first]  # the least bound of each mapping
    least = least[bounds[part[least], added[least]] >= LEAST]
    least = least[np.argsort(-bounds[part[least], added[least]], kind="stable")]
    parts = [frozenset(row) - {-1} for row in unique.tolist()]
    found = [row for row in digits[least].tolist() if not any(part.issubset(row) for part in parts)]
    return np.array(found[:CHECKS], np.int64).reshape(-1, digits.shape[1])


def _bounds(growing: Growing, grown: Grown) -> Shares:
    """Bound, about, the usefulness of each key with each pair added; -1 where the key has one of its columns."""
    own, other = growing.own, growing.other
    bounds: Shares = np.minimum(grown.containment[:, None], growing.share)
    bounds *= np.minimum(1.0, grown.uniqueness[:, None] * growing.distinct)
    for pair in grown.mappings.T:
        bounds[(own[pair][:, None] == own) | (other[pair][:, None] == other)] = -1.0
    return bounds
