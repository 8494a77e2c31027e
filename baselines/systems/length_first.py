"""MATE with the short circuit of sections 5.3.3, 7.3 and 7.4: the length segment is compared first, alone.

XASH has its length segment on the left. Where a row has no value as long as one of the key tuple's, which its super key
tells by these bits, its characters need not be compared. By this the paper explains that XASH is faster than a Bloom
filter of equal precision. The code that its authors released has no such step: it ORs whole keys.

Algorithm 1 otherwise compares all words of a key without a branch. Here each pair of row and key tuple has two steps,
and the statistics say how many rows and pairs the first decides alone: ``rows_cut_by_first_bits`` of ``rows_compared``,
``pairs_cut_by_first_bits`` of ``pairs_compared``. Answers and candidates are the same. Any hash function of one size
will do: the same number of bits of a Bloom filter, which mean nothing, is what the length segment has to beat.
"""

from __future__ import annotations

from mate.errors import QueryError
from mate.hashing.xash import BitLayout
from mate.search.algorithm_1 import scan
from mate.search.algorithm_1.candidates import Groups, Probes, with_unknown
from mate.search.algorithm_1.row_filter import MakeFilter, RowFilter, super_key_filter
from mate.search.search import SegmentSearch
from mate.search.systems import System

NAME = "mate-length-first"


def length_first(part: SegmentSearch) -> None:
    """Offer the tables of a segment as Algorithm 1 does, rows filtered in two steps."""
    part, search = with_unknown(part), part.search
    if len(part.tuples):
        scan(part, None if search.hash_number is None else _in_steps(part, search.hash_number))


def _in_steps(part: SegmentSearch, hash_number: int) -> MakeFilter:
    spec = part.search.index.manifest.hashes[hash_number]
    if spec.function().by_width:
        raise QueryError(f"{NAME} needs keys of one size, which {spec} does not have; name another hash function")
    make, length_bits = super_key_filter(part), BitLayout.of(spec.bits).length_bits

    def in_steps(probe: Probes, groups: Groups) -> RowFilter:
        return make(probe, groups)._replace(first_bits=length_bits)

    return in_steps


SYSTEM = System(NAME, length_first, by_directory=True)
