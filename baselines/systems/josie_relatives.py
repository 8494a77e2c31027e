"""The two algorithms between which JOSIE chooses at every step, each by itself: points of reference for JOSIE.

Merge-list reads all lists and no set; probe-set reads every set that it meets, unless the filters rule it out.
"""

from __future__ import annotations

import numpy as np

from baselines.systems.josie import Best, Found, Reads, merge, nothing_seen, query_of, suffix_overlap
from baselines.systems.josie_costs import Costs, Line
from mate.store.base import Ids
from mate.store.josie import JosieIndex

_FREE = Costs(Line(0, 0, 0), Line(0, 0, 0))


def merge_list(index: JosieIndex, token_ids: Ids, k: int) -> Found:
    """Return the k sets with the highest overlap by counting through all posting lists."""
    query = query_of(index, token_ids, None, _FREE)
    items = index.items(query.list_id)
    counted = merge(nothing_seen(), items, query)
    best = Best(k)
    best.push(counted.set_id, counted.overlap)
    return best.found(Reads(len(query.list_id), len(items.set_id), 0, 1))


def probe_set(index: JosieIndex, token_ids: Ids, k: int) -> Found:
    """Return the k sets with the highest overlap by reading lists one by one, and each new set that may be one."""
    query = query_of(index, token_ids, None, _FREE)
    best, reads = Best(k), Reads()
    done = np.empty(0, np.int64)
    for place, list_id in enumerate(query.list_id.tolist()):
        if query.remaining[place] <= best.kth:
            break
        items = index.items(np.array([list_id]))
        after = items.size - items.position - 1
        most = query.weight[place] + np.minimum(query.remaining[place + 1], after)
        new = ~np.isin(items.set_id, done)
        sets = items.set_id[new & (most > best.kth)]
        overlap = query.weight[place] + suffix_overlap(index.members(sets, list_id), sets, query)
        best.push(sets, overlap)
        done = np.append(done, items.set_id[new])
        reads = Reads(reads.lists + 1, reads.items + len(items.set_id), reads.sets + len(sets), reads.look_ups + 2)
    return best.found(reads)
