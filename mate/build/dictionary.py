"""The tokens of a corpus, by their 63-bit ids: how many there are, and the dictionary of a segment.

The parameters of hash functions follow from how many distinct tokens there are (equation 5). They are counted exactly
and without bringing them together: each task counts a range of ids.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.build.engine import Engine
from mate.build.progress import Progress
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
    ids = np.concatenate([np.empty(0, np.int64), *(batch.column(0).to_numpy() for batch in flat)])
    texts = pa.chunked_array([batch.column(1) for batch in flat], pa.string()).cast(pa.large_string())
    texts = pa.concat_arrays([pa.array([], pa.large_string()), *texts.chunks])
    known, first, place = np.unique(ids, return_index=True, return_inverse=True)
    differs = pc.not_equal(texts, texts.take(pa.array(first)).take(pa.array(place)))
    shared = np.unique(place[differs.to_numpy(zero_copy_only=False)])
    if len(shared):
        known, first, place = _split_shared(ids, texts, (known, first, place), shared)
    text, bounds = _text_bytes(texts.take(pa.array(first)))
    merged = Texts(known, bounds.astype(offset_type(int(bounds[-1]))), text[: int(bounds[-1])])
    ends = iter(np.cumsum([batch.num_rows for batch in flat]).tolist())
    place = place.astype(np.int32)
    no_place = np.array([NO_PLACE], np.int32)  # that of a code of -1
    places = [
        [np.append(place[(end := next(ends)) - batch.num_rows : end], no_place) for batch in lot] for lot in batches
    ]
    return merged, places


def _text_bytes(texts: pa.LargeStringArray) -> tuple[Array, Array]:
    """Return the bytes of texts, and where each begins; one more at the end."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[: len(texts) + 1] if len(texts) else np.zeros(1, np.int64)
    return np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8), bounds


def _split_shared(
    ids: Array, texts: pa.LargeStringArray, merged: tuple[Array, Array, Array], shared: Array
) -> tuple[Array, Array, Array]:
    """Give each text of the ids that several texts share a place of its own, in the order of the texts.

    `merged` has the known ids, the first occurrence of each, and the place of every id among the known ones.
    """
    known, first, place = merged
    occurrences = np.flatnonzero(np.isin(place, shared))
    pairs = list(zip(ids[occurrences].tolist(), texts.take(pa.array(occurrences)).to_pylist(), strict=True))
    example = dict(zip(reversed(pairs), reversed(occurrences.tolist()), strict=True))
    distinct = sorted(example)
    unshared = np.setdiff1d(np.arange(len(known)), shared)
    new_ids = np.concatenate([known[unshared], np.array([number for number, _ in distinct], np.int64)])
    new_first = np.concatenate([first[unshared], np.array([example[pair] for pair in distinct], np.int64)])
    order = np.argsort(new_ids, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    moved = np.zeros(len(known), np.int64)
    moved[unshared] = rank[: len(unshared)]
    new_place = moved[place]
    rank_of = {pair: int(rank[len(unshared) + at]) for at, pair in enumerate(distinct)}
    new_place[occurrences] = [rank_of[pair] for pair in pairs]
    return new_ids[order], new_first[order], new_place
