"""All triples of columns of a table at once, as `pairs_kernel` counts all pairs.

For a key tuple (a, b, c) the postings of c in a column are *gone through*: in each row, the columns that hold a join
with every column that holds b. So the row masks of a are ORed into one mask for each column of b. A column of b whose
mask has all columns of a is done; when all are, so is the column of c: frequent values are done after a few rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.reading_kernel import posting_row
from mate.search.bits_kernel import popcount
from mate.search.order_kernel import ascending
from mate.search.pairs_kernel import count_mask, counter, mask_rows, planes_for, same_column, take, without, words_of
from mate.values.kernels import inner

Array = npt.NDArray[Any]


class Roles(NamedTuple):
    """What the three key columns of a key are to the count."""

    through: int
    """Its postings are gone through."""
    kept: int
    """The row masks of all its values are kept."""
    bits: int
    """Bits of the counted masks stand for its options."""


class KeptMasks(NamedTuple):
    """The row masks of the values of a key column."""

    slot: Array
    """Place of each value, counted from the key column's first; -1 for those that no key tuple has."""
    rows: Array
    """By place, word and row."""
    full: Array
    """By place and word: the options that hold the value at all."""


class Same(NamedTuple):
    """For the options of one key column, the options of another that are the same column."""

    through_kept: Array
    through_bits: Array
    kept_bits: Array


class Joined(NamedTuple):
    """Room for one column that is gone through."""

    open: Array
    """Options of the kept key column that may still join with more columns: one bit each."""
    wanted: Array
    """Those that were open at first."""
    target: Array
    """By option of the kept key column and word: the columns that it may join with."""
    reached: Array
    """Those that it has joined with."""


@inner
def _used(values, search, key):
    """Number the values of a key column that key tuples of the table have; return the numbers and how many."""
    base = values.key_first[key]
    slot = np.full(values.key_first[key + 1] - base, -1, np.int64)
    count = np.int64(0)
    for t in search.tuples:
        value = values.tuple_value[key, t] - base
        if slot[value] < 0:
            slot[value] = count
            count += 1
    return slot, count


@inner
def _postings(values, search, key, size):
    """Return the postings of the key tuples' values in a key column, those of a value once per key tuple."""
    count = np.int64(0)
    for t in search.tuples:
        count += size[values.tuple_value[key, t]]
    return count


@inner
def choose_roles(values, search, size):
    """Return the roles of the key columns, the postings that are gone through, and the words of the masks kept.

    `size` has the postings of each value in the table.
    """
    through, least = 0, _postings(values, search, 0, size)
    for key in range(1, 3):
        count = _postings(values, search, key, size)
        if count < least:
            through, least = key, count
    one, other = (through + 1) % 3, (through + 2) % 3
    room = _used(values, search, one)[1] * words_of(search, one)
    other_room = _used(values, search, other)[1] * words_of(search, other)
    if room <= other_room:
        return Roles(through, one, other), least, room * search.rows
    return Roles(through, other, one), least, other_room * search.rows


@inner
def _keep_masks(arrays, values, search, key, held):
    """Return the row masks of all values of a key column."""
    slot, count = _used(values, search, key)
    words = words_of(search, key)
    kept = KeptMasks(slot, np.zeros((count, words, search.rows), np.uint64), np.zeros((count, words), np.uint64))
    for value in range(len(slot)):
        if slot[value] >= 0:
            place = slot[value]
            number = value + values.key_first[key]
            mask_rows(arrays, search, held, number, search.option_first[key], kept.rows[place], kept.full[place], True)
    return kept


@inner
def _lowest(word):
    """Return the number of the lowest bit that is set."""
    return popcount((word & (~word + np.uint64(1))) - np.uint64(1))


@inner
def _open(kept_full, full, option, same, joined):
    """Note what the options of the kept key column may join with in a column; return how many may with anything."""
    left = np.int64(0)
    for word in range(len(kept_full)):
        joined.wanted[word] = joined.open[word] = 0
        rest = without(kept_full[word], word, same.through_kept[option])
        while rest:
            other = (word << 6) + _lowest(rest)
            rest &= rest - np.uint64(1)
            any_column = False
            for place in range(len(full)):
                target = without(full[place], place, same.through_bits[option])
                target = without(target, place, same.kept_bits[other])
                joined.target[other, place] = target
                joined.reached[other, place] = 0
                any_column |= target != 0
            if any_column:
                joined.open[word] |= np.uint64(1) << np.uint64(other & 63)
                left += 1
        joined.wanted[word] = joined.open[word]
    return left


@inner
def _join_row(row, masks, kept_rows, joined):
    """Join the columns of a row; return how many options of the kept key column are done by it."""
    done = np.int64(0)
    for word in range(len(kept_rows)):
        rest = kept_rows[word, row] & joined.open[word]
        while rest:
            other = (word << 6) + _lowest(rest)
            missing = np.uint64(0)
            for place in range(len(masks)):
                joined.reached[other, place] |= masks[place, row]
                missing |= joined.target[other, place] & ~joined.reached[other, place]
            if missing == 0:
                joined.open[word] ^= np.uint64(1) << np.uint64(other & 63)
                done += 1
            rest &= rest - np.uint64(1)
    return done


@inner
def _has(masks, row):
    for place in range(len(masks)):  # noqa: SIM110
        if masks[place, row]:
            return True
    return False


@inner
def _count_joined(joined, first, planes):
    """Count what was joined."""
    for word in range(len(joined.wanted)):
        rest = joined.wanted[word]
        while rest:
            other = (word << 6) + _lowest(rest)
            rest &= rest - np.uint64(1)
            for place in range(joined.reached.shape[1]):
                mask = joined.reached[other, place] & joined.target[other, place]
                if mask:
                    count_mask(planes, first + other, place, mask)


@inner
def _join(arrays, search, held, value, base, masks, full, kept_rows, kept_full, same, joined, planes, tally):
    """Go through the postings of a value, column by column, and count what joins."""
    read = np.int64(0)
    for place in range(held.first[value], held.first[value + 1]):
        option = held.option[place] - base
        left = _open(kept_full, full, option, same, joined)
        at, stop = held.start[place], held.stop[place]
        while at < stop and left:
            row = posting_row(arrays.postings, at, search.units)
            if _has(masks, row):
                left -= _join_row(row, masks, kept_rows, joined)
            at += search.units
            read += 1
        _count_joined(joined, option * len(joined.target), planes)
    tally[0].rows_read += read


@inner
def _count(arrays, values, search, roles, held, planes, least, step, tally):
    """Count all key tuples, those of rare values first; return False if no mapping joins `least` of them.

    Look at the counters after every `step` key tuples.
    """
    through, key, other = roles.through, roles.bits, roles.kept
    words, options = words_of(search, key), search.option_first[other + 1] - search.option_first[other]
    kept = _keep_masks(arrays, values, search, other, held)
    same = Same(same_column(search, through, other), same_column(search, through, key), same_column(search, other, key))
    kept_words = words_of(search, other)
    joined = Joined(
        np.empty(kept_words, np.uint64),
        np.empty(kept_words, np.uint64),
        np.empty((options, words), np.uint64),
        np.empty((options, words), np.uint64),
    )
    masks, full = np.zeros((words, search.rows), np.uint64), np.empty(words, np.uint64)
    base, through_base = search.option_first[key], search.option_first[through]
    left = np.int64(len(search.tuples))
    for rank in ascending(held.size[values.key_first[key] : values.key_first[key + 1]]):
        value = rank + values.key_first[key]
        filled = False
        for place in range(values.group_first[value], values.group_first[value + 1]):
            t = values.group_tuple[place]
            if search.number[t] < 0:
                continue
            if not filled:
                mask_rows(arrays, search, held, value, base, masks, full, True)
                filled = True
            slot = kept.slot[values.tuple_value[other, t] - values.key_first[other]]
            partner = values.tuple_value[through, t]
            _join(
                arrays, search, held, partner, through_base, masks, full, kept.rows[slot], kept.full[slot], same,
                joined, planes, tally,
            )  # fmt: skip
            left -= 1
            if left % step == 0 and least > left and not _any_at_least(planes, least - left):
                return False
        if filled:
            mask_rows(arrays, search, held, value, base, masks, full, False)
    return True


@inner
def best_triple(arrays, values, search, roles, held, step, found, tally):
    """Find the best mapping of a key of three columns by counting all of them; leave it in `found`."""
    first = search.option_first
    through, kept = first[roles.through + 1] - first[roles.through], first[roles.kept + 1] - first[roles.kept]
    depth = planes_for(len(search.tuples))
    planes = np.zeros((through * kept, words_of(search, roles.bits), depth), np.uint64)
    least = max(found.kth + 1, found.score[0])
    if not _count(arrays, values, search, roles, held, planes, least, step, tally):
        return
    columns = np.empty(3, np.int64)
    for number in range(through * kept):
        columns[roles.through] = search.column[first[roles.through] + number // kept]
        columns[roles.kept] = search.column[first[roles.kept] + number % kept]
        for word in range(planes.shape[1]):
            rest = _at_least(planes[number, word], max(found.kth + 1, found.score[0]))
            while rest:
                option = (word << 6) + _lowest(rest)
                rest &= rest - np.uint64(1)
                columns[roles.bits] = search.column[first[roles.bits] + option]
                take(found, counter(planes, number, option), columns)


@inner
def _at_least(planes, least):
    """Return which of 64 counters have at least that number."""
    more, same = np.uint64(0), ~np.uint64(0)
    for plane in range(len(planes) - 1, -1, -1):
        if (least >> plane) & 1:
            same &= planes[plane]
        else:
            more |= same & planes[plane]
            same &= ~planes[plane]
    return more | same


@inner
def _any_at_least(planes, least):
    for number in range(planes.shape[0]):
        for word in range(planes.shape[1]):
            if _at_least(planes[number, word], least):
                return True
    return False
