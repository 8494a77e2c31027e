"""Columns of the lake that hold columns of a table: what keys are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.search.suggest.keys import Floats


@dataclass(frozen=True)
class Pairs:
    """Columns of the lake that hold enough of an asking column: parallel arrays, by table, own and other column."""

    table: Ids
    """The table's number in the finder."""
    own: Ids
    other: Ids
    """Counted within the table."""
    share: Floats
    """Share of the own column's rows whose value the other holds."""
    values: Ids
    """Distinct values that both have."""
    distinct: Ids
    """Distinct values of the other."""
    rows: Ids
    """Of the table."""
    fit: Floats
    """How well the columns' names fit, 0 to 1."""
    names: Floats
    """How well the own column's name fits both the other's and the table's."""

    def __len__(self) -> int:
        return len(self.table)

    def chosen(self, places: npt.NDArray[np.generic]) -> Pairs:
        """Return some of them."""
        return Pairs(*(getattr(self, name)[places] for name in self.__dataclass_fields__))

    @cached_property
    def tables(self) -> Ids:
        """The tables, ascending."""
        return np.unique(self.table)

    @cached_property
    def holders(self) -> Ids:
        """For each pair, how many tables hold as much of its own column."""
        found = np.zeros(len(self), np.int64)
        for own in np.unique(self.own).tolist():
            places = np.flatnonzero(self.own == own)
            tables, first = np.unique(self.table[places], return_index=True)
            best = np.sort(np.maximum.reduceat(self.share[places], first))
            found[places] = len(tables) - np.searchsorted(best, self.share[places], "left")
        return found
