"""The k best tables so far: a heap in arrays, so that native loops and Python code offer tables in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from mate.lake.base import Ids

Ranked: TypeAlias = tuple[int, int, tuple[int, ...]]
"""Score, table and mapping."""


class Best(NamedTuple):
    """The best tables so far, as a binary heap with the worst of them first.

    Of two tables with the same score the one with the lower number is better.
    """

    size: Ids
    """One number: how many places of the heap are taken."""
    score: Ids
    table: Ids
    """Numbers of the tables in the lake."""
    mapping: Ids
    """Table column of each key column, counted within the table: one row per place."""

    @classmethod
    def empty(cls, k: int, width: int) -> Best:
        """Return room for k tables and keys of `width` columns."""
        size, score, table = (np.zeros(n, np.int64) for n in (1, k, k))
        return cls(size, score, table, np.zeros((k, width), np.int64))

    @classmethod
    def above(cls, floor: int, k: int, width: int) -> Best:
        """Return room for k tables of a higher score than `floor`: what holds the places has negative numbers."""
        best = cls.empty(k, width)
        if floor > 0:
            best.size[0] = k
            best.score[:] = floor
            best.table[:] = np.arange(-1, -k - 1, -1)
        return best

    @property
    def kth(self) -> int:
        """Score that a table needs to exceed to enter for sure: 0 while there is room."""
        return int(self.score[0]) if self.size[0] == len(self.score) else 0

    def copy(self) -> Best:
        """Return a copy that can be worked on at the same time."""
        return Best(*(array.copy() for array in self))

    def offer(self, score: int, table: int, mapping: Sequence[int]) -> None:
        """Take a table in if it is good enough."""
        if score > self.kth or self.size[0] < len(self.score) or table < self.table[0]:
            self._take([np.array([score]), np.array([table]), np.array([mapping])])

    def take_all(self, others: Iterable[Best]) -> None:
        """Take in what other heaps have; of a table that is there more than once, its best mapping."""
        self._take(*([array[: best.size[0]] for array in best[1:]] for best in others))

    def _take(self, *others: Sequence[Ids]) -> None:
        """Keep the best of the tables held and of these. What is sorted, worst first, is a heap."""
        own = [array[: self.size[0]] for array in self[1:]]
        score, table, mapping = (np.concatenate(arrays) for arrays in zip(own, *others, strict=True))
        best = np.lexsort((*mapping.T[::-1], -score, table))
        best = best[np.diff(table[best], prepend=-1) != 0]
        order = best[np.lexsort((-table[best], score[best]))][-len(self.score) :]
        self.size[0] = len(order)
        for array, values in zip(self[1:], (score, table, mapping), strict=True):
            array[: len(order)] = values[order]

    def ranked(self) -> list[Ranked]:
        """Return score, table and mapping, best first."""
        taken = np.flatnonzero(self.table[: self.size[0]] >= 0)
        order = taken[np.lexsort((self.table[taken], -self.score[taken]))]
        return [(int(self.score[p]), int(self.table[p]), tuple(self.mapping[p].tolist())) for p in order.tolist()]
