"""Rankings: which of two tables is the better answer, and what a table that was not looked at could reach."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from mate.search.evidence import Evidence

JOINABILITY, USEFULNESS = "joinability", "usefulness"
RANKINGS = (JOINABILITY, USEFULNESS)


class Rank(NamedTuple):
    """A table's place in the order of usefulness: lower is better, first what comes first."""

    useless: float
    unlike: float
    """The names' similarity, negative; 0 if names play no part."""
    unjoined: int
    table_id: int

    @classmethod
    def of(cls, evidence: Evidence, table_id: int) -> Rank:
        """Return the rank of a table."""
        return cls(-evidence.usefulness, -(evidence.names or 0.0), -evidence.joinability, table_id)


def floor(held: Sequence[float], k: int, key_tuples: int) -> int:
    """Return the joinability that a table must exceed to be among the k most useful; 0 while fewer are held.

    `held` is how useful each table is. Uniqueness is at most 1, so that containment bounds the usefulness of a table
    that was not looked at. One that could be as useful as the k-th is looked at, too: names or its number may decide.
    """
    if len(held) < k:
        return 0
    worst = heapq.nlargest(k, held)[-1]
    least = max(1, int(worst * key_tuples) - 1)
    while least / key_tuples < worst:
        least += 1
    return least - 1
