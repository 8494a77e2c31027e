"""Merge-list, one of the two algorithms between which JOSIE chooses at every step, by itself: a point of reference.

It reads all lists and no set.
"""

from __future__ import annotations

from baselines.systems.column_sets import ColumnSets
from baselines.systems.josie import Best, Found, Reads, merge, nothing_seen, query_of
from baselines.systems.josie_costs import Costs, Line
from mate.lake.base import Ids

_FREE = Costs(Line(0, 0, 0), Line(0, 0, 0))


def merge_list(sets: ColumnSets, tokens: Ids, k: int) -> Found:
    """Return the k sets with the highest overlap by counting through all posting lists."""
    query = query_of(sets, tokens, None, _FREE)
    items = sets.items(query.list_id)
    counted = merge(nothing_seen(), items, query)
    best = Best(k)
    best.push(counted.set_id, counted.overlap)
    return best.found(Reads(len(query.list_id), len(items.set_id), 0, 1))
