"""Which longer keys to check in a table: those with the highest bounds of their usefulness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.search.suggest._suggest import longer_mappings
from mate.search.suggest.cover import LEAST, Shares

LONGEST = 4
"""Columns that a key may have."""

CHECKS = 12
"""Keys of each length that are checked in a table, those of the highest bound first."""


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
    return longer_mappings(growing, grown, unique, LEAST, CHECKS)


def padded(mappings: Sequence[Sequence[int]]) -> Ids:
    """Return mappings of different lengths with a row each."""
    found = np.full((len(mappings), LONGEST), -1)
    for row, mapping in enumerate(mappings):
        found[row, : len(mapping)] = mapping
    return found
