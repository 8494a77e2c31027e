"""Which tables have all values of which key tuples: 64 tables and 64 key tuples at a time, as bits.

For each value there is a bit set of the tables that have it. The AND of those of a key tuple's values has a bit for
each table that may join it. Blocks of 64 key tuples by 64 tables are then turned: each table gets a bit set of tuples.
"""

from __future__ import annotations

import numpy as np

from mate.search.bits_kernel import size
from mate.values.kernels import inner


@inner
def hold_tuples(tuple_value, has, tables):
    """Return the key tuples all of whose values each table has, a bit set per table.

    `tuple_value` has the value of each key tuple, one row per key column, `has` the tables that have each value.
    """
    width, tuples = tuple_value.shape
    held = np.zeros((tables, (tuples + 63) >> 6), np.uint64)
    block = np.empty(64, np.uint64)
    for word in range(has.shape[1]):
        last = min(64, tables - (word << 6))
        for base in range(0, tuples, 64):
            block[:] = 0
            some = np.uint64(0)
            for place in range(min(64, tuples - base)):
                both = has[tuple_value[0, base + place], word]
                for key in range(1, width):
                    both &= has[tuple_value[key, base + place], word]
                block[place] = both
                some |= both
            if some:
                turn(block)
                for number in range(last):
                    held[(word << 6) + number, base >> 6] = block[number]
    return held


@inner
def turn(block):
    """Turn 64 words of 64 bits: bit i of word j becomes bit j of word i."""
    step, mask = 32, np.uint64(0xFFFFFFFF)
    while step:
        by = np.uint64(step)
        for place in range(64):
            if place & step == 0:
                changed = ((block[place] >> by) ^ block[place | step]) & mask
                block[place] ^= changed << by
                block[place | step] ^= changed
        step >>= 1
        mask ^= mask << np.uint64(step)


@inner
def bound_by_held(held, bound):
    """Return the lesser of each table's bound and the number of key tuples that it holds."""
    found = np.empty(len(bound), np.int64)
    for number in range(len(bound)):
        found[number] = min(size(held[number]), bound[number])
    return found
