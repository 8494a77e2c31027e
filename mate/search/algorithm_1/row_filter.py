"""The row filter of Algorithm 1: what stands for rows and for key tuples, so that one can be seen to lack the other.

Super keys of one size are compared by their bits. Where the size follows the width of a table, the key tuples have keys
for each size. Fingerprints are compared with those of the row, column by column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from mate.errors import StoreError
from mate.hashing import Keys, SuperKeyHash, or_aggregate
from mate.lake.base import Ids
from mate.lake.layout import SegmentArrays
from mate.lake.super_keys import by_function, key_offsets, key_words
from mate.search.algorithm_1.candidates import Groups, Probes
from mate.search.search import SegmentSearch


class RowFilter(NamedTuple):
    """Keys as words, one after the other. No word for a table: each of its rows is a candidate."""

    row_keys: Keys
    row_first: Ids
    """Where the keys of each table begin."""
    words: Ids
    """How many words a row of each table has."""
    tuple_keys: Keys
    tuple_first: Ids
    """Where the keys of the key tuples begin that rows of each table are compared with."""
    fingerprint: int
    """Bits of a fingerprint; 0: a row must have all bits of the key tuple."""
    first_bits: int = 0
    """How many bits of a key, fewer than a word has, are compared before the others; what they reject alone is counted.
    0: all bits are compared at once."""


MakeFilter: TypeAlias = Callable[[Probes, Groups], RowFilter]


def fixed_filter(arrays: SegmentArrays, row_keys: Keys, tuple_keys: Keys) -> MakeFilter:
    """Filter by keys of one size, given for all rows and for the key tuples of the segment."""
    words = row_keys.shape[1]
    tables = len(arrays.table_id)

    def make(probe: Probes, groups: Groups) -> RowFilter:
        asked = np.ascontiguousarray(tuple_keys[probe.order]).reshape(-1)
        first = arrays.table_row_first[:-1] * words
        sizes, nowhere = np.full(tables, words), np.zeros(tables, np.int64)
        return RowFilter(row_keys.reshape(-1), first, sizes, asked, nowhere, 0)

    return make


def no_filter(part: SegmentSearch) -> MakeFilter:
    """Filter nothing."""
    arrays = part.segment.arrays
    counts = int(arrays.table_row_first[-1]), len(part.tuples)
    return fixed_filter(arrays, *(np.zeros((count, 0), np.uint64) for count in counts))


def super_key_filter(part: SegmentSearch) -> MakeFilter:
    """Filter by the super keys of the hash function that the search names."""
    search, arrays = part.search, part.segment.arrays
    assert search.hash_number is not None
    spec = search.index.manifest.hashes[search.hash_number]
    row_keys = part.segment.keys[search.hash_number]
    function = spec.function()
    if not function.by_width:
        with search.statistics.phase("hash query"):
            return fixed_filter(arrays, row_keys, search.all_tuple_keys[part.tuple_id])
    search.statistics.hash = str(spec)

    def make(probe: Probes, groups: Groups) -> RowFilter:
        words = key_words(function, np.diff(arrays.table_column_first))
        first = key_offsets(words, np.diff(arrays.table_row_first))
        if len(row_keys) != first[-1]:
            raise StoreError(f"the super keys of {spec} are not those of the tables: mate check --repair rebuilds them")
        with search.statistics.phase("hash query"):
            asked, asked_first = _tuple_keys(function, part, probe, groups)
        bits = function.bits if function.by_column else 0
        return RowFilter(row_keys, first[:-1], words, asked, asked_first, bits)

    return make


def _tuple_keys(function: SuperKeyHash, part: SegmentSearch, probe: Probes, groups: Groups) -> tuple[Keys, Ids]:
    """Return the keys of the key tuples for every size that is needed, and where those for each table begin."""
    search = part.search
    place = search.key.place[part.tuple_id[probe.order]]
    first = np.zeros(len(part.segment.arrays.table_id), np.int64)
    if function.by_column:
        return function.hash(search.key.tokens)[:, 0][place].reshape(-1), first
    functions, kind = by_function(function, np.diff(part.segment.arrays.table_column_first))
    offsets = np.arange(0, place.size + 1, place.shape[1])
    found, begin = [np.zeros(0, np.uint64)], 0
    for number in np.unique(kind[groups.table]).tolist():
        hashes = functions[number].hash(search.key.tokens)
        found.append(or_aggregate(hashes[place.ravel()], offsets).reshape(-1))
        first[kind == number] = begin
        begin += len(found[-1])
    return np.concatenate(found), first
