"""How many key tuples a mapping joins in a table, exactly: the checks of column-first search.

A table under search is a `TableSearch`: its key tuples are numbered without gaps, and so are its *options*, the table
columns that may serve a key column. Sets of key tuples are bit sets of 64-bit words.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.reading_kernel import posting_row
from mate.search.bits_kernel import popcount, set_bit
from mate.search.compare_kernel import compare_rows
from mate.search.prefix_kernel import extend
from mate.search.rows_kernel import Stamps
from mate.search.slots_kernel import Slots, new_slots, take_slot
from mate.values.kernels import inner

Array = npt.NDArray[Any]

TOO_LONG = 1 << 60
"""Nanoseconds of what is not to be done."""


class TableSearch(NamedTuple):
    """One table under search."""

    rows: int
    units: int
    """Units per posting: 2 in a wide table."""
    tuples: Array
    """Key tuples of the query that may join here: by local number."""
    number: Array
    """The local number of each key tuple of the query, -1 for others."""
    option_first: Array
    """The options of key column w are ``option_first[w]:option_first[w + 1]``, best bound first."""
    hit_first: Array
    """The *hits* of option o, directory entries of values in its column, are ``hit_first[o]:hit_first[o + 1]``."""
    hit_value: Array
    """Value of each hit, ascending within an option."""
    hit_start: Array
    """Where the postings of each hit begin."""
    hit_stop: Array
    column: Array
    """Column in the segment of each option."""
    bound: Array
    """Key tuples that each option may join at most."""
    postings: Array
    """Postings of each option's hits."""
    bits: Array
    """Key tuples whose value each option holds."""
    loaded: Slots
    """Options that `hit` and `code` are filled for."""
    hit: Array
    """Hit of the value of each key tuple, by slot of the option that holds it."""
    code: Array
    """Its code in the column."""
    decoded: Slots
    """Options that `value` is filled for."""
    value: Array
    """Value of the option's key column in each row, by slot of the option; -1 for none."""
    stamps: Stamps
    """What marks rows."""


@inner
def only_options(search, ranges):
    """Return a table with some options of each key column: one range per key column, first and last."""
    option_first = np.zeros(len(ranges) + 1, np.int64)
    hits = np.int64(0)
    for key in range(len(ranges)):
        option_first[key + 1] = option_first[key] + ranges[key, 1] - ranges[key, 0]
        hits += search.hit_first[ranges[key, 1]] - search.hit_first[ranges[key, 0]]
    count = option_first[-1]
    kept = np.empty(count, np.int64)
    hit_first = np.zeros(count + 1, np.int64)
    hit_value, hit_start, hit_stop = np.empty(hits, np.int64), np.empty(hits, np.int64), np.empty(hits, np.int64)
    for key in range(len(ranges)):
        for option in range(ranges[key, 0], ranges[key, 1]):
            own = option_first[key] + option - ranges[key, 0]
            kept[own] = option
            start, stop = search.hit_first[option], search.hit_first[option + 1]
            hit_first[own + 1] = hit_first[own] + stop - start
            hit_value[hit_first[own] : hit_first[own + 1]] = search.hit_value[start:stop]
            hit_start[hit_first[own] : hit_first[own + 1]] = search.hit_start[start:stop]
            hit_stop[hit_first[own] : hit_first[own + 1]] = search.hit_stop[start:stop]
    return TableSearch(
        search.rows,
        search.units,
        search.tuples,
        search.number,
        option_first,
        hit_first,
        hit_value,
        hit_start,
        hit_stop,
        search.column[kept],
        search.bound[kept],
        search.postings[kept],
        search.bits[kept],
        new_slots(count, len(search.tuples), 0, 0),
        search.hit,
        search.code,
        new_slots(count, search.rows, 0, 0),
        search.value,
        search.stamps,
    )


@inner
def _width(search):
    return len(search.option_first) - 1


@inner
def read_code(codes, first, size, row):
    """Return the code of a row in a column whose codes begin at byte `first`."""
    if size == 1:
        return np.int64(codes[first + row])
    if size == 2:
        at = first + 2 * row
        return np.int64(codes[at]) | (np.int64(codes[at + 1]) << 8)
    at = first + 4 * row
    low = np.int64(codes[at]) | (np.int64(codes[at + 1]) << 8)
    return low | (np.int64(codes[at + 2]) << 16) | (np.int64(codes[at + 3]) << 24)


@inner
def find_code(tokens, low, token):
    """Return the place of a token that is among ascending ones, from `low` on: first in growing steps."""
    step = np.int64(1)
    while low + step < len(tokens) and tokens[low + step] <= token:
        low += step
        step *= 2
    high = min(low + step, np.int64(len(tokens)))
    while high - low > 1:
        middle = (low + high) // 2
        if tokens[middle] <= token:
            low = middle
        else:
            high = middle
    return low


@inner
def _dictionary(arrays, column):
    return arrays.column_token[
        np.int64(arrays.column_entry_first[column]) : np.int64(arrays.column_entry_first[column + 1])
    ]


@inner
def load(arrays, values, search, option):
    """Fill hit and code of an option."""
    if not take_slot(search.loaded, option, _width(search)):
        return
    slot = search.loaded.of[option]
    tokens = _dictionary(arrays, search.column[option])
    place = np.int64(0)
    for hit in range(search.hit_first[option], search.hit_first[option + 1]):
        value = search.hit_value[hit]
        place = find_code(tokens, place, values.token[value])
        for at in range(values.group_first[value], values.group_first[value + 1]):
            t = search.number[values.group_tuple[at]]
            if t >= 0:
                search.hit[slot, t] = hit
                search.code[slot, t] = place + 1


@inner
def _decode_rows(codes, meaning, found):
    for row in range(len(found)):
        found[row] = meaning[codes[row]]


@inner
def values_by_row(search, option):
    """Return the values of an option that was decoded, row by row."""
    return search.value[search.decoded.of[option]]


@inner
def decode(arrays, values, search, option):
    """Fill the values of an option, row by row."""
    if not take_slot(search.decoded, option, _width(search)):
        return
    found = values_by_row(search, option)
    column = search.column[option]
    tokens = _dictionary(arrays, column)
    meaning = np.full(len(tokens) + 1, -1, np.int32)
    place = np.int64(0)
    for hit in range(search.hit_first[option], search.hit_first[option + 1]):
        place = find_code(tokens, place, values.token[search.hit_value[hit]])
        meaning[place + 1] = search.hit_value[hit]
    size = np.int64(arrays.code_bytes[column])
    codes = arrays.codes[arrays.code_first[column] : arrays.code_first[column] + size * search.rows]
    if size == 1:
        _decode_rows(codes, meaning, found)
    elif size == 2:
        _decode_rows(codes.view(np.uint16), meaning, found)
    else:
        _decode_rows(codes.view(np.uint32), meaning, found)


@inner
def _row_has(arrays, search, options, skipped, t, row):
    """Tell whether a row holds a key tuple in these options, but for one of them that is not looked at."""
    for place in range(len(options)):
        option = options[place]
        if place != skipped:
            column = search.column[option]
            code = read_code(arrays.codes, arrays.code_first[column], arrays.code_bytes[column], row)
            if code != search.code[search.loaded.of[option], t]:
                return False
    return True


@inner
def _rarest(search, options, t):
    """Return where the postings of a key tuple's rarest value are, and in which of the options."""
    chosen, start, stop = np.int64(0), np.int64(0), np.int64(-1)
    for place in range(len(options)):
        hit = search.hit[search.loaded.of[options[place]], t]
        first, last = search.hit_start[hit], search.hit_stop[hit]
        if stop < 0 or last - first < stop - start:
            chosen, start, stop = place, first, last
    return chosen, start, stop


@inner
def look_up(arrays, search, options, held, total, least, most_rows, found, tally):
    """Look every key tuple held up by its rarest value; note it if found.

    Return how many, or fewer than `least` if so; -1 if more rows would have to be read than `most_rows`.
    """
    count = read = done = np.int64(0)
    for word in range(len(held)):
        left = held[word]
        while left:
            if count + total - done < least:
                tally[0].rows_read += read
                return count
            lowest = left & (~left + np.uint64(1))
            t = (word << 6) + popcount(lowest - np.uint64(1))
            left ^= lowest
            done += 1
            chosen, start, stop = _rarest(search, options, t)
            at = start
            while at < stop:
                row = posting_row(arrays.postings, at, search.units)
                at += search.units
                if _row_has(arrays, search, options, chosen, t, row):
                    set_bit(found, t)
                    count += 1
                    break
            read += (at - start) // search.units
            if read > most_rows:
                tally[0].rows_read += read
                return np.int64(-1)
    tally[0].rows_read += read
    return count


@inner
def _scan_two(search, prefixes, one, other, total):
    """Stamp the prefixes of two values that rows hold, until so many are met; return how many, and the rows read."""
    stamp, own = prefixes.stamp, prefixes.last_stamp[0]
    first, second = values_by_row(search, one), values_by_row(search, other)
    count = np.int64(0)
    for row in range(len(first)):
        if first[row] >= 0 and second[row] >= 0:
            prefix = extend(prefixes, np.int64(first[row]), np.int64(second[row]))
            if prefix >= 0 and stamp[prefix] != own:
                stamp[prefix] = own
                count += 1
                if count == total:
                    return count, row + 1
    return count, len(first)


@inner
def _scan_more(search, prefixes, options, total):
    """Do the same for prefixes of any length."""
    stamp, own = prefixes.stamp, prefixes.last_stamp[0]
    slots = search.decoded.of[options]
    count = np.int64(0)
    for row in range(search.rows):
        prefix = np.int64(search.value[slots[0], row])
        place = 1
        while prefix >= 0 and place < len(options):
            value = np.int64(search.value[slots[place], row])
            prefix = extend(prefixes, prefix, value) if value >= 0 else np.int64(-1)
            place += 1
        if prefix >= 0 and stamp[prefix] != own:
            stamp[prefix] = own
            count += 1
            if count == total:
                return count, row + 1
    return count, search.rows


@inner
def scan(arrays, values, search, prefixes, options, total, tally):
    """Go through all rows and stamp the prefixes that they hold in the options; return how many there are."""
    for option in options:
        decode(arrays, values, search, option)
    prefixes.last_stamp[0] += 1
    if len(options) == 2:
        count, rows = _scan_two(search, prefixes, options[0], options[1], total)
    else:
        count, rows = _scan_more(search, prefixes, options, total)
    tally[0].rows_read += rows
    return count


@inner
def _scan_rows(search, options):
    """Return how many rows a scan reads, those that have to be decoded before counted again."""
    rows = search.rows
    for option in options:
        if search.decoded.of[option] < 0:
            rows += search.rows
    return rows


@inner
def _compare_cost(search, options, limits):
    """Return about how many nanoseconds it takes to compare rows, which is for two options only."""
    if len(options) > 2:
        return TOO_LONG
    return (search.postings[options[0]] + search.postings[options[1]]) * limits.posting


@inner
def check_cost(search, options, total, limits):
    """Return about how many nanoseconds it takes to check a mapping that holds so many key tuples."""
    by_row = min(_compare_cost(search, options, limits), _scan_rows(search, options) * limits.read)
    return min(by_row, total * limits.look_up)


@inner
def check(arrays, values, search, prefixes, options, held, total, least, limits, found, tally):
    """Return how many of the `total` key tuples held a mapping joins; if fewer than `least`, any number below it.

    `options` are in the order of the prefixes; `found` is room for a set of key tuples.
    """
    rows = _scan_rows(search, options)
    cost = check_cost(search, options, total, limits)
    if cost == _compare_cost(search, options, limits):
        found[:] = 0
        tally[0].checks_by_postings += 1
        return compare_rows(arrays, values, search, options, held, total, least, found, tally)
    if cost == total * limits.look_up:
        found[:] = 0
        for option in options:
            load(arrays, values, search, option)
        tally[0].checks_by_look_up += 1
        count = look_up(arrays, search, options, held, total, least, rows, found, tally)
        if count >= 0:
            return count
    tally[0].checks_by_scan += 1
    return scan(arrays, values, search, prefixes, options, total, tally)
