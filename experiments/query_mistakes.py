"""Bits of a query put together wrongly: systems like MATE whose key tuples ask for less than they should.

The super key of a key tuple is the OR of the hashes of its values. Each system here does something else, as a slip in
one line of code would: rows are filtered less well, and none that joins is lost. See `experiments.bloom_mistakes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mate.hashing import Keys
from mate.search.algorithm_1 import scan
from mate.search.algorithm_1.candidates import with_unknown
from mate.search.algorithm_1.row_filter import fixed_filter
from mate.search.engine import NamedStrategy, SearchSettings, SegmentSearch, run
from mate.search.systems import settings_with

if TYPE_CHECKING:
    from mate.lake.base import Index
    from mate.search.engine import AnyQuery
    from mate.search.results import SearchResult

Combine = Callable[[Keys], Keys]
"""From the hashes of values, ``uint64[tuples, key columns, words]``, to one key per tuple."""


class MistakenSystem:
    """Algorithm 1 with wrong super keys of key tuples."""

    def __init__(self, name: str, combine: Combine) -> None:
        self.name, self._combine = name, combine

    def __call__(
        self,
        index: Index,
        query: AnyQuery,
        key: Sequence[str],
        k: int | None = None,
        settings: SearchSettings | None = None,
    ) -> SearchResult:
        """Return the k tables with the highest joinability."""
        return run(NamedStrategy(self.name, self._visit), index, query, key, settings_with(k, settings))

    def _visit(self, part: SegmentSearch) -> None:
        part, search = with_unknown(part), part.search
        if not len(part.tuples):
            return
        assert search.hash_number is not None
        spec = search.index.manifest.hashes[search.hash_number]
        search.statistics.hash = str(spec)
        keys = self._combine(spec.function().hash(search.key.tokens)[search.key.place[part.tuple_id]])
        scan(part, fixed_filter(part.segment.arrays, part.segment.keys[search.hash_number], keys))


def _last(hashes: Keys) -> Keys:
    last: Keys = np.ascontiguousarray(hashes[:, -1])
    return last


last_value = MistakenSystem("last value", _last)
"""``key = hash`` in the loop instead of ``key |= hash``."""
and_of_values = MistakenSystem("AND of values", lambda hashes: np.bitwise_and.reduce(hashes, axis=1))
"""``key &= hash``."""
xor_of_values = MistakenSystem("XOR of values", lambda hashes: np.bitwise_xor.reduce(hashes, axis=1))
"""``key ^= hash``: bits that two values share are lost."""

QUERY_MISTAKES = {
    "experiments.query_mistakes:last_value": "query: bits of the last value only",
    "experiments.query_mistakes:and_of_values": "query: AND of the values' bits",
    "experiments.query_mistakes:xor_of_values": "query: XOR of the values' bits",
}
"""Mistakes by the name of their system."""
