"""Which key tuples can join in a table at all: it has each two values that follow each other in one row.

Postings of a value in a table follow each other whatever the columns, so that a value's rows are one range of units.
Each range is somewhere else in a large file, and waiting for memory is what takes most time: ranges that will be read
are asked for a step before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.reading_kernel import posting_row
from mate.values.kernels import inner, prefetch

Array = npt.NDArray[Any]


class Stamps(NamedTuple):
    """Room of a thread to mark rows in, and to note where the postings of values are."""

    stamp: Array
    """By row, the last stamp that it was given."""
    last: Array
    """One number: the last stamp that any row was given."""
    start: Array
    """By value, where its postings begin."""
    stop: Array


@inner
def locate(arrays, runs, number, width, run_of, start, stop):
    """For each value that the table has, note its run, and where its postings begin and end. They are asked for."""
    for key in range(width):
        for place in range(runs.first[number * width + key], runs.last[number * width + key]):
            run = runs.run[place]
            prefetch(arrays.postings, run.unit_start)
            run_of[run.value], start[run.value], stop[run.value] = place, run.unit_start, run.unit_stop


@inner
def first_stamped(arrays, units, start, stop, stamp, wanted):
    """Return the first place between two of the postings whose row has a stamp; `stop` if there is none."""
    if units == 1:
        for at in range(start, stop):
            if stamp[arrays.postings[at]] == wanted:
                return at
        return stop
    for at in range(start, stop, 2):
        if stamp[posting_row(arrays.postings, at, 2)] == wanted:
            return at
    return stop


@inner
def set_stamp(arrays, units, start, stop, stamp, value):
    """Stamp the rows of the postings between two places."""
    if units == 1:
        for at in range(start, stop):
            stamp[arrays.postings[at]] = value
        return
    for at in range(start, stop, 2):
        stamp[posting_row(arrays.postings, at, 2)] = value


@inner
def _drop_apart(arrays, values, runs, number, keys, units, stamps, local, left, least):
    """Unset the local numbers of key tuples whose values in two key columns share no row; return how many are left.

    Looks only at those whose value in the first of the two has more postings: its rows are stamped, those of the other
    looked through until one has the stamp. Stops when fewer than `least` are left.
    """
    width = len(values.tuple_value)
    start, stop = stamps.start, stamps.stop
    other = values.tuple_value[keys[1]]
    for run in range(runs.first[number * width + keys[0]], runs.last[number * width + keys[0]]):
        value = np.int64(runs.run[run].value)
        size = stop[value] - start[value]
        stamped = False
        for place in range(values.group_first[value], values.group_first[value + 1]):
            t = values.group_tuple[place]
            partner = other[t]
            if local[t] < 0 or size < stop[partner] - start[partner] + (keys[0] > keys[1]):
                continue
            if not stamped:
                stamps.last[0] += 1
                set_stamp(arrays, units, start[value], stop[value], stamps.stamp, stamps.last[0])
                stamped = True
            at = first_stamped(arrays, units, start[partner], stop[partner], stamps.stamp, stamps.last[0])
            if at == stop[partner]:
                local[t] = -1
                left -= 1
                if left < least:
                    return left
    return left


@inner
def keep_meeting(arrays, values, runs, number, units, stamps, tuples, local, least):
    """Return the key tuples whose values in key columns that follow each other share a row; fewer than `least` if so.

    `local` has a number that is not negative for each of the key tuples, and none for others then. `stamps` mark rows,
    and have where the postings of values are.
    """
    left = np.int64(len(tuples))
    for key in range(1, len(values.tuple_value)):
        for keys in ((key - 1, key), (key, key - 1)):
            if left >= least:
                left = _drop_apart(arrays, values, runs, number, keys, units, stamps, local, left, least)
    found = np.empty(left, np.int64)
    count = 0
    for t in tuples:
        if local[t] >= 0:
            found[count] = t
            local[t] = count
            count += 1
    return found
