"""All pairs of columns of a table at once: how key tuples are counted, or left out, where pairs are too many to check.

A row holds a value in several columns: a *row mask* has a bit for each. For a key tuple (a, b), the OR of the row masks
of a over the rows where column c holds b has a bit for every column that joins the tuple together with c. Masks are
added up bit by bit: of 64 counters, plane p has the bit of value 2**p.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.reading_kernel import posting_row
from mate.search.check_kernel import only_options
from mate.search.order_kernel import ascending
from mate.values.kernels import inner

Array = npt.NDArray[Any]


class ByValue(NamedTuple):
    """The hits of a table by value: those of value v are ``first[v]:first[v + 1]``, ascending by column."""

    first: Array
    option: Array
    start: Array
    """Where their postings begin."""
    stop: Array
    size: Array
    """Postings of each value, in units."""


@inner
def by_value(values, search):
    """Return the hits of all options by value."""
    count = len(values.token)
    first = np.zeros(count + 1, np.int64)
    for value in search.hit_value:
        first[value + 1] += 1
    for value in range(count):
        first[value + 1] += first[value]
    cursor = first[:-1].copy()
    options, start, stop = np.empty(first[-1], np.int64), np.empty(first[-1], np.int64), np.empty(first[-1], np.int64)
    size = np.zeros(count, np.int64)
    for option in range(len(search.column)):
        for hit in range(search.hit_first[option], search.hit_first[option + 1]):
            value = search.hit_value[hit]
            place = cursor[value]
            cursor[value] += 1
            options[place], start[place], stop[place] = option, search.hit_start[hit], search.hit_stop[hit]
            size[value] += stop[place] - start[place]
    return ByValue(first, options, start, stop, size)


@inner
def words_of(search, key):
    """Return the words that have a bit for each option of a key column."""
    return (search.option_first[key + 1] - search.option_first[key] + 63) >> 6


@inner
def same_column(search, key, other):
    """Return, for each option of a key column, the option of the other one that is the same column; -1 for none."""
    start, stop = search.option_first[other], search.option_first[other + 1]
    found = np.full(search.option_first[key + 1] - search.option_first[key], -1, np.int64)
    if start == stop:
        return found
    base = search.column[start:stop].min()
    option_of = np.full(search.column[start:stop].max() - base + 1, -1, np.int64)
    for option in range(start, stop):
        option_of[search.column[option] - base] = option - start
    for one in range(len(found)):
        column = search.column[search.option_first[key] + one] - base
        if 0 <= column < len(option_of):
            found[one] = option_of[column]
    return found


@inner
def without(mask, word, option):
    """Return a word of a mask without the bit of an option, -1 for none."""
    if option >= 0 and option >> 6 == word:
        mask &= ~(np.uint64(1) << np.uint64(option & 63))
    return mask


@inner
def mask_rows(arrays, search, held, value, base, masks, full, setting):
    """Set the row masks of a value and which columns hold it at all, or clear them."""
    full[:] = 0
    for place in range(held.first[value], held.first[value + 1]):
        option = held.option[place] - base
        word = option >> 6
        bit = np.uint64(1) << np.uint64(option & 63)
        full[word] |= bit
        for at in range(held.start[place], held.stop[place], search.units):
            row = posting_row(arrays.postings, at, search.units)
            masks[word, row] = masks[word, row] | bit if setting else np.uint64(0)


@inner
def count_mask(planes, option, word, mask):
    """Add one to the counters that have a bit in a mask."""
    plane = 0
    while mask:
        before = planes[option, word, plane]
        planes[option, word, plane] = before ^ mask
        mask &= before
        plane += 1


@inner
def _join(arrays, search, held, value, base, same, masks, full, planes, tally):
    """Count, for each option that holds the other value, which columns join with it; tell whether any does.

    The postings of an option are read until all columns that hold the first value, but its own, have joined.
    """
    joined = False
    read = np.int64(0)
    for place in range(held.first[value], held.first[value + 1]):
        start, stop = held.start[place], held.stop[place]
        for word in range(len(full)):
            whole = without(full[word], word, same[held.option[place] - base])
            mask = np.uint64(0)
            at = start
            while at < stop and mask & whole != whole:
                mask |= masks[word, posting_row(arrays.postings, at, search.units)]
                at += search.units
            read += at - start
            mask &= whole
            if mask:
                joined = True
                count_mask(planes, held.option[place] - base, word, mask)
    tally[0].rows_read += read // search.units
    return joined


@inner
def _rarest_first(held, start, stop):
    """Return the values from `start` on and below `stop`: those that the table does not have, then rare ones first.

    Only those that it has are sorted: the query may have many more.
    """
    order = np.empty(stop - start, np.int64)
    absent, count = np.int64(0), stop - start
    for value in range(stop - 1, start - 1, -1):
        if held.size[value]:
            count -= 1
            order[count] = value
    for value in range(start, stop):
        if held.size[value] == 0:
            order[absent] = value
            absent += 1
    own = order[count:].copy()
    order[count:] = own[ascending(held.size[own])]
    return order


@inner
def _count(arrays, values, search, key, held, planes, missed, most_missed, tally):
    """Count the key tuples whose value in this key column has more postings, by option of the other and word.

    Those of rare values come first. Stop when more key tuples than `most_missed` are not in any row; return how many
    were not, `missed` among them.
    """
    other = 1 - key
    words = words_of(search, key)
    masks = np.zeros((words, search.rows), np.uint64)
    full = np.empty(words, np.uint64)
    base, other_base = search.option_first[key], search.option_first[other]
    same = same_column(search, other, key)
    for value in _rarest_first(held, values.key_first[key], values.key_first[key + 1]):
        size = held.size[value]
        filled = False
        for place in range(values.group_first[value], values.group_first[value + 1]):
            t = values.group_tuple[place]
            partner = values.tuple_value[other, t]
            if search.number[t] < 0 or size < held.size[partner] + key:  # of equal ones the first key column
                continue
            if not filled:
                mask_rows(arrays, search, held, value, base, masks, full, True)
                filled = True
            if not _join(arrays, search, held, partner, other_base, same, masks, full, planes, tally):
                missed += 1
                if missed > most_missed:
                    return missed
        if filled and size > words * search.rows // 4:
            masks[:] = 0
        elif filled:
            mask_rows(arrays, search, held, value, base, masks, full, False)
    return missed


@inner
def planes_for(count):
    """Return how many planes count up to a number."""
    depth = 1
    while (1 << depth) <= count:
        depth += 1
    return depth


@inner
def counter(planes, option, other):
    """Return the number that a counter has."""
    count = np.int64(0)
    for plane in range(planes.shape[2]):
        bit = (planes[option, other >> 6, plane] >> np.uint64(other & 63)) & np.uint64(1)
        count |= np.int64(bit) << plane
    return count


@inner
def take(found, score, columns):
    """Take a mapping for the best of its table if it is: of equal ones the one with the smaller columns."""
    if score <= found.kth or score < found.score[0]:
        return
    if score == found.score[0]:
        for key in range(len(columns)):
            if columns[key] != found.columns[key]:
                if columns[key] > found.columns[key]:
                    return
                break
    found.score[0] = score
    found.columns[:] = columns


@inner
def _planes(search, key, depth):
    """Return counters for each option of the other key column and 64 options of this one."""
    other = 1 - key
    count = search.option_first[other + 1] - search.option_first[other]
    return np.zeros((count, words_of(search, key), depth), np.uint64)


@inner
def pair_block(search, room):
    """Return how many options of each key column are counted together in so many words; 0 if there is room for none."""
    first = search.option_first
    options = first[1], first[2] - first[1]
    depth = planes_for(len(search.tuples))
    block = max(options[0], options[1])
    while block:
        one, other = min(block, options[0]), min(block, options[1])
        words, other_words = (one + 63) >> 6, (other + 63) >> 6
        if (one * other_words + other * words) * depth + max(words, other_words) * search.rows <= room:
            return block
        block >>= 1
    return block


@inner
def best_pair(arrays, values, search, block, found, tally):
    """Find the best mapping of a key of two columns by counting all of them; leave it in `found`.

    Blocks of so many options of each key column are counted one after the other: what has to be held is bounded.
    """
    first = search.option_first
    ranges = np.empty((2, 2), np.int64)
    for one in range(first[0], first[1], block):
        ranges[0, 0], ranges[0, 1] = one, min(one + block, first[1])
        for other in range(first[1], first[2], block):
            ranges[1, 0], ranges[1, 1] = other, min(other + block, first[2])
            if min(search.bound[one], search.bound[other]) < max(found.kth + 1, found.score[0]):
                break
            part = only_options(search, ranges)
            _best_of_block(arrays, values, part, by_value(values, part), found, tally)


@inner
def _best_of_block(arrays, values, search, held, found, tally):
    """Find the best mapping of the options of a block."""
    depth = planes_for(len(search.tuples))
    first, second = _planes(search, 0, depth), _planes(search, 1, depth)
    most_missed = len(search.tuples) - max(found.kth + 1, found.score[0])
    missed = _count(arrays, values, search, 0, held, first, np.int64(0), most_missed, tally)
    if missed <= most_missed:
        missed = _count(arrays, values, search, 1, held, second, missed, most_missed, tally)
    if missed > most_missed:
        return
    columns = np.empty(2, np.int64)
    for one in range(len(second)):
        for other in range(len(first)):
            columns[0], columns[1] = search.column[one], search.column[search.option_first[1] + other]
            if columns[0] != columns[1]:
                take(found, counter(first, other, one) + counter(second, one, other), columns)
