"""Which key tuples two columns of a table join, by comparing the rows of their values: no column is read.

It is for tables whose postings the row filter (`rows_kernel`) has read: they are still in the processor's caches.
"""

from __future__ import annotations

import numpy as np

from mate.search.bits_kernel import has_bit, set_bit
from mate.search.rows_kernel import first_stamped, set_stamp
from mate.values.kernels import inner


@inner
def _key_of(search, option):
    """Return the key column that an option may serve."""
    key = 0
    while search.option_first[key + 1] <= option:
        key += 1
    return key


@inner
def _note_postings(search, option):
    """Note where the postings of the values of an option are."""
    for hit in range(search.hit_first[option], search.hit_first[option + 1]):
        search.stamps.start[search.hit_value[hit]] = search.hit_start[hit]
        search.stamps.stop[search.hit_value[hit]] = search.hit_stop[hit]


@inner
def compare_rows(arrays, values, search, options, held, total, least, found, tally):
    """Note the key tuples held that two options join, by the postings alone.

    Of its two values, the rows of the one with more postings are stamped, for all key tuples with that value; those of
    the other are read until one has the stamp. Return how many are joined, or fewer than `least` if so.
    """
    stamps = search.stamps
    for option in options:
        _note_postings(search, option)
    count = done = read = np.int64(0)
    for turn in range(2):
        option, other = options[turn], values.tuple_value[_key_of(search, options[1 - turn])]
        for hit in range(search.hit_first[option], search.hit_first[option + 1]):
            value, start, stop = search.hit_value[hit], search.hit_start[hit], search.hit_stop[hit]
            stamped = False
            for place in range(values.group_first[value], values.group_first[value + 1]):
                t = search.number[values.group_tuple[place]]
                if t < 0 or not has_bit(held, t):
                    continue
                partner = other[values.group_tuple[place]]
                partner_start, partner_stop = stamps.start[partner], stamps.stop[partner]
                if stop - start < partner_stop - partner_start + turn:  # of equal ones the first option
                    continue
                if count + total - done < least:
                    tally[0].rows_read += read // search.units
                    return count
                done += 1
                if not stamped:
                    stamped = True
                    stamps.last[0] += 1
                    set_stamp(arrays, search.units, start, stop, stamps.stamp, stamps.last[0])
                    read += stop - start
                at = first_stamped(arrays, search.units, partner_start, partner_stop, stamps.stamp, stamps.last[0])
                read += at - partner_start
                if at < partner_stop:
                    set_bit(found, t)
                    count += 1
    tally[0].rows_read += read // search.units
    return count
