"""Which key tuples can join in a table at all: it has all their values, each two that follow each other in one row.

Postings of a value in a table follow each other whatever the columns, so that a value's rows are one range of units.
Each range is somewhere else in a large file, and waiting for memory is what takes most time: ranges that will be read
are asked for a step before.
"""

from __future__ import annotations

import numpy as np

from mate.lake.reading_kernel import posting_row
from mate.values.kernels import inner, prefetch


@inner
def joining_tuples(arrays, values, runs, number, mark, stamp):
    """Return the key tuples all of whose values the table of that number in the batch has.

    `mark` counts the key columns that have a tuple's value, from `stamp` on. The postings of values are asked for.
    """
    width = len(values.tuple_value)
    kept = np.int64(0)
    for key in range(width):
        kept = 0
        for run in range(runs.first[number * width + key], runs.last[number * width + key]):
            value = runs.value[run]
            prefetch(arrays.postings, runs.unit_start[run])
            for place in range(values.group_first[value], values.group_first[value + 1]):
                t = values.group_tuple[place]
                if key == 0 or mark[t] == stamp + key:
                    mark[t] = stamp + key + 1
                    kept += 1
        if kept == 0:
            break
    found = np.empty(kept, np.int64)
    at = 0
    if kept:
        for run in range(runs.first[number * width], runs.last[number * width]):
            value = runs.value[run]
            for place in range(values.group_first[value], values.group_first[value + 1]):
                t = values.group_tuple[place]
                if mark[t] == stamp + width:
                    found[at] = t
                    at += 1
    return found


@inner
def locate(runs, number, width, run_of, start, stop):
    """For each value that the table has, note its run, and where its postings begin and end."""
    for key in range(width):
        for run in range(runs.first[number * width + key], runs.last[number * width + key]):
            value = runs.value[run]
            run_of[value] = run
            start[value] = runs.unit_start[run]
            stop[value] = runs.unit_stop[run]


@inner
def _meets(arrays, units, start, stop, stamp, wanted):
    """Tell whether a row between two places of the postings has a stamp."""
    if units == 1:
        for at in range(start, stop):  # noqa: SIM110
            if stamp[arrays.postings[at]] == wanted:
                return True
        return False
    for at in range(start, stop, 2):  # noqa: SIM110
        if stamp[posting_row(arrays.postings, at, 2)] == wanted:
            return True
    return False


@inner
def _set_stamp(arrays, units, start, stop, stamp, value):
    if units == 1:
        for at in range(start, stop):
            stamp[arrays.postings[at]] = value
        return
    for at in range(start, stop, 2):
        stamp[posting_row(arrays.postings, at, 2)] = value


@inner
def _drop_apart(arrays, values, runs, number, keys, units, place, stamps, local, left, least):
    """Unset the local numbers of key tuples whose values in two key columns share no row; return how many are left.

    Looks only at those whose value in the first of the two has more postings: its rows are stamped, those of the other
    looked through until one has the stamp. Stops when fewer than `least` are left.
    """
    width = len(values.tuple_value)
    start, stop = place
    stamp, last_stamp = stamps
    other = values.tuple_value[keys[1]]
    for run in range(runs.first[number * width + keys[0]], runs.last[number * width + keys[0]]):
        value = np.int64(runs.value[run])
        size = stop[value] - start[value]
        stamped = False
        for at in range(values.group_first[value], values.group_first[value + 1]):
            t = values.group_tuple[at]
            partner = other[t]
            if local[t] < 0 or size < stop[partner] - start[partner] + (keys[0] > keys[1]):
                continue
            if not stamped:
                last_stamp[0] += 1
                _set_stamp(arrays, units, start[value], stop[value], stamp, last_stamp[0])
                stamped = True
            if not _meets(arrays, units, start[partner], stop[partner], stamp, last_stamp[0]):
                local[t] = -1
                left -= 1
                if left < least:
                    return left
    return left


@inner
def keep_meeting(arrays, values, runs, number, units, place, stamps, tuples, local, least):
    """Return the key tuples whose values in key columns that follow each other share a row; fewer than `least` if so.

    `local` has a number that is not negative for each of the key tuples, and none for others then. `stamps` are one for
    each row, and the last one that was set.
    """
    left = np.int64(len(tuples))
    for key in range(1, len(values.tuple_value)):
        for keys in ((key - 1, key), (key, key - 1)):
            if left >= least:
                left = _drop_apart(arrays, values, runs, number, keys, units, place, stamps, local, left, least)
    found = np.empty(left, np.int64)
    count = 0
    for t in tuples:
        if local[t] >= 0:
            found[count] = t
            local[t] = count
            count += 1
    return found
