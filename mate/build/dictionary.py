"""The tokens of a corpus, by their 63-bit ids: how many there are, and the dictionary of a segment.

The parameters of hash functions follow from how many distinct tokens there are (equation 5). They are counted exactly
and without bringing them together: each task counts a range of ids.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.build.engine import Engine, Progress
from mate.build.stage import Lot
from mate.lake.arrays import Array, offset_type
from mate.lake.layout import NO_PLACE, Texts

PHASE = "count distinct tokens"
IDS_PER_TASK = 4_000_000
"""Ids of all lots that a task sorts at a time."""
_HIGHEST = 2**63


def count_distinct(engine: Engine, lots: Sequence[Lot], progress: Progress) -> int:
    """Return the number of distinct tokens of all lots."""
    paths = [lot.path("ids") for lot in lots if lot.cells]
    tasks = max(1, -(-sum(lot.distinct for lot in lots) // IDS_PER_TASK))
    bounds = [_HIGHEST * task // tasks for task in range(tasks + 1)]

    def run(task: int) -> tuple[int, dict[str, int]]:
        return _count_range(paths, bounds[task], bounds[task + 1]), {}

    return sum(engine.run(range(tasks), run, progress, PHASE))


def _count_range(paths: Sequence[str], low: int, high: int) -> int:
    pieces = [np.empty(0, np.int64)]
    for path in paths:
        ids = np.memmap(path, np.int64, "r")
        start = int(np.searchsorted(ids, low))
        stop = len(ids) if high == _HIGHEST else int(np.searchsorted(ids, high))
        pieces.append(ids[start:stop])
    return len(np.unique(np.concatenate(pieces)))


def merge_dictionaries(lots: Sequence[Lot]) -> tuple[Texts, list[list[Array]]]:
    """Merge the dictionaries of all batches; also return, by lot and batch, the place of each of its tokens."""
    batches = [list(lot.dictionaries()) for lot in lots]
    flat = [batch for lot in batches for batch in lot]
    texts = pa.chunked_array([batch.column(1) for batch in flat], pa.string()).cast(pa.large_string())
    encoded = pa.concat_arrays([pa.array([], pa.large_string()), *texts.chunks]).dictionary_encode()
    distinct, number = encoded.dictionary, encoded.indices.to_numpy()
    ids = np.empty(len(distinct), np.int64)
    ids[number] = np.concatenate([np.empty(0, np.int64), *(batch.column(0).to_numpy() for batch in flat)])
    order = np.argsort(ids)
    if not np.diff(ids[order]).all():  # several texts share an id: they are in the order of the texts
        order = pc.sort_indices(pa.table({"id": ids, "text": distinct}), [("id", "ascending"), ("text", "ascending")])
        order = order.to_numpy()
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    _, offsets, data = distinct.take(pa.array(order)).buffers()
    bounds = np.frombuffer(offsets, np.int64)[: len(order) + 1] if len(order) else np.zeros(1, np.int64)
    text = np.frombuffer(data, np.uint8)[: int(bounds[-1])] if data else np.empty(0, np.uint8)
    places = iter(np.split(place[number], np.cumsum([batch.num_rows for batch in flat])))
    merged = Texts(ids[order], bounds.astype(offset_type(int(bounds[-1]))), text)
    return merged, [[np.append(next(places), np.int32(NO_PLACE)) for _ in lot] for lot in batches]  # of a code of -1
