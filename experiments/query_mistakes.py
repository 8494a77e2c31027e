"""Bits of a query put together wrongly: systems like MATE whose key tuples ask for less than they should.

The super key of a key tuple is the OR of the hashes of its values. Each system here does something else, as a slip in
one line of code would: rows are filtered less well, and none that joins is lost. See `experiments.bloom_mistakes`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mate.hashing import Keys
from mate.search.algorithm_1 import scan
from mate.search.algorithm_1.candidates import with_unknown
from mate.search.algorithm_1.row_filter import fixed_filter
from mate.search.search import SegmentSearch
from mate.search.systems import System

Combine = Callable[[Keys], Keys]
"""From the hashes of values, ``uint64[tuples, key columns, words]``, to one key per tuple."""


def mistaken(name: str, combine: Combine) -> System:
    """Return Algorithm 1 with wrong super keys of key tuples."""

    def visit(part: SegmentSearch) -> None:
        part, search = with_unknown(part), part.search
        if not len(part.tuples):
            return
        assert search.hash_number is not None
        spec = search.index.manifest.hashes[search.hash_number]
        search.statistics.hash = str(spec)
        keys = combine(spec.function().hash(search.key.tokens)[search.key.place[part.tuple_id]])
        scan(part, fixed_filter(part.segment.arrays, part.segment.keys[search.hash_number], keys))

    return System(name, visit)


def _last(hashes: Keys) -> Keys:
    last: Keys = np.ascontiguousarray(hashes[:, -1])
    return last


last_value = mistaken("last value", _last)
"""``key = hash`` in the loop instead of ``key |= hash``."""
and_of_values = mistaken("AND of values", lambda hashes: np.bitwise_and.reduce(hashes, axis=1))
"""``key &= hash``."""
xor_of_values = mistaken("XOR of values", lambda hashes: np.bitwise_xor.reduce(hashes, axis=1))
"""``key ^= hash``: bits that two values share are lost."""

QUERY_MISTAKES = {
    "experiments.query_mistakes:last_value": "query: bits of the last value only",
    "experiments.query_mistakes:and_of_values": "query: AND of the values' bits",
    "experiments.query_mistakes:xor_of_values": "query: XOR of the values' bits",
}
"""Mistakes by the name of their system."""
