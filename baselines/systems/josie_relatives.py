"""The two algorithms between which JOSIE chooses at every step, each by itself: points of reference for JOSIE.

Merge-list reads all lists and no set; probe-set reads every set that it meets, unless the filters rule it out.
"""

from __future__ import annotations

import numpy as np

from baselines.systems.column_sets import ColumnSets
from baselines.systems.josie import Best, Found, Reads, merge, nothing_seen, query_of, suffix_overlap
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


def probe_set(sets: ColumnSets, tokens: Ids, k: int) -> Found:
    """Return the k sets with the highest overlap by reading lists one by one, and each new set that may be one."""
    query = query_of(sets, tokens, None, _FREE)
    best, reads = Best(k), Reads()
    done = np.zeros(sets.sets, np.bool_)
    for place, list_id in enumerate(query.list_id.tolist()):
        if query.remaining[place] <= best.kth:
            break
        items = sets.items(np.array([list_id]))
        after = items.size - items.position - 1
        most = query.weight[place] + np.minimum(query.remaining[place + 1], after)
        new = ~done[items.set_id]
        read = new & (most > best.kth)
        members = sets.members(items.set_id[read], items.position[read] + 1)
        best.push(items.set_id[read], query.weight[place] + suffix_overlap(members, items.set_id[read], query))
        done[items.set_id[new]] = True
        reads = Reads(
            reads.lists + 1, reads.items + len(items.set_id), reads.sets + int(read.sum()), reads.look_ups + 2
        )
    return best.found(reads)
