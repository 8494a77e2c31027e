"""The loops of `mate.search.column_first` over the directory: cover, bounds of tables, and entries by table.

Values of the key are numbered through all key columns: those of key column w are ``key_first[w]:key_first[w + 1]``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mate.search.held_kernel import bound_by_held, hold_tuples
from mate.search.order_kernel import ascending
from mate.search.prefix_kernel import Prefixes, number_prefixes
from mate.values.kernels import inner, kernel

Array = npt.NDArray[Any]

SHIFT = 32
"""Where the cover of a column begins in the number that also counts its entries: they are always read together."""
ENTRIES = (1 << SHIFT) - 1


class Values(NamedTuple):
    """The distinct values of each key column, and the key tuples that have them."""

    token: Array
    """Place in the segment of each value, ascending within a key column."""
    key_first: Array
    group_first: Array
    """The key tuples with value v are ``group_tuple[group_first[v]:group_first[v + 1]]``, ascending."""
    group_tuple: Array
    tuple_value: Array
    """The value of each key tuple: one row per key column."""


RUN = np.dtype(
    [
        ("value", np.int32),
        ("entries", np.int32),
        ("start", np.int64),  # its first directory entry
        ("unit_start", np.int64),  # where the postings of its entries begin
        ("unit_stop", np.int64),
    ]
)
"""What a table has of one value. Records are written in the order of values and read in that of tables: half of one
line of the processor's caches each. Where postings are is noted while the entries of a value are passed one after the
other, for those of a table are far from each other."""


class Runs(NamedTuple):
    """The directory entries of values, by table and key column: a *run* is what a table has of one value.

    Runs of table number n of the batch under key column w are ``first[n * W + w]:last[n * W + w]``, ascending by value.
    """

    table: Array
    first: Array
    last: Array
    run: Array
    """Records of the kind `RUN`."""


class Collected(NamedTuple):
    """Tables of a batch, and what the directory has of them."""

    runs: Runs
    held: Array
    """Key tuples all of whose values each table has: a bit set per table."""
    bound: Array
    """Key tuples that each table may join at most: as many as it holds, and as its columns cover."""


class Cover(NamedTuple):
    """What the directory tells of a segment's tables."""

    values: Values
    prefixes: Prefixes
    room: Array
    """By table and key column, the directory entries of the query's values."""
    table: Array
    """Tables that may join at all, by falling bound."""
    bound: Array
    """Their bounds."""
    work: Array
    """Their directory entries."""


@inner
def _number_column(places, numbers, found, first, tuple_value):
    """Number the values of a key column from `first` on, by their places in the segment; return these places."""
    token = np.empty(len(places), np.int64)
    count = 0
    for t in range(len(places)):
        if found[numbers[t]] < first:
            found[numbers[t]] = first + count
            token[count] = places[t]
            count += 1
    order = ascending(token[:count])
    rank = np.empty(count, np.int64)
    for place in range(count):
        rank[order[place]] = first + place
    for t in range(len(places)):
        tuple_value[t] = rank[found[numbers[t]] - first]
    return token[:count][order]


@inner
def _number_values(places, numbers, count):
    """Return the `Values` of key tuples, given as places in the segment and as numbers below `count`."""
    tuples, width = places.shape
    found = np.full(count, -1, np.int64)
    token = np.empty(tuples * width, np.int64)
    key_first = np.zeros(width + 1, np.int64)
    tuple_value = np.empty((width, tuples), np.int64)
    for key in range(width):
        first = key_first[key]
        own = _number_column(places[:, key], numbers[:, key], found, first, tuple_value[key])
        token[first : first + len(own)] = own
        key_first[key + 1] = first + len(own)
    values = key_first[width]
    group_first = np.zeros(values + 1, np.int64)
    for key in range(width):
        for t in range(tuples):
            group_first[tuple_value[key, t] + 1] += 1
    for value in range(values):
        group_first[value + 1] += group_first[value]
    cursor = group_first[:-1].copy()
    group_tuple = np.empty(tuples * width, np.int64)
    for key in range(width):
        for t in range(tuples):
            group_tuple[cursor[tuple_value[key, t]]] = t
            cursor[tuple_value[key, t]] += 1
    return Values(token[:values].copy(), key_first, group_first, group_tuple, tuple_value)


@inner
def _cover_columns(arrays, values, counts):
    """For every key column and table column, bound the key tuples that may join, and count the entries below `SHIFT`.

    A value joins as many key tuples as have it, and not more than it has postings in the column.
    """
    for key in range(len(values.key_first) - 1):
        own = counts[key]
        for value in range(values.key_first[key], values.key_first[key + 1]):
            token = values.token[value]
            start, stop = np.int64(arrays.entry_first[token]), np.int64(arrays.entry_first[token + 1])
            weight = values.group_first[value + 1] - values.group_first[value]
            if weight == 1:
                for entry in range(start, stop):
                    own[arrays.entry_column[entry]] += (1 << SHIFT) + 1
                continue
            before = np.int64(arrays.posting_first[start])
            for entry in range(start, stop):
                after = np.int64(arrays.posting_first[entry + 1])
                own[arrays.entry_column[entry]] += (min(weight, after - before) << SHIFT) + 1
                before = after


@inner
def _best_two(counts, start, stop):
    """Return the best column, its cover, that of the next best, and the entries of all."""
    column, first, second, total = np.int64(-1), np.int64(0), np.int64(0), np.int64(0)
    for other in range(start, stop):
        count = counts[other] >> SHIFT
        total += counts[other]
        if count > first:
            column, first, second = other, count, first
        elif count > second:
            second = count
    return column, first, second, total & ENTRIES


@inner
def _entries_by_key(arrays, values):
    """Return the number of directory entries of each key column's values."""
    found = np.zeros(len(values.key_first) - 1, np.int64)
    for key in range(len(found)):
        for value in range(values.key_first[key], values.key_first[key + 1]):
            token = values.token[value]
            found[key] += np.int64(arrays.entry_first[token + 1]) - np.int64(arrays.entry_first[token])
    return found


@inner
def _tables_with(arrays, values, key, wanted):
    """Return which of the wanted tables have a value of a key column, as flags."""
    found = np.zeros(len(wanted), np.bool_)
    for value in range(values.key_first[key], values.key_first[key + 1]):
        token = values.token[value]
        for entry in range(np.int64(arrays.entry_first[token]), np.int64(arrays.entry_first[token + 1])):
            table = arrays.column_table[arrays.entry_column[entry]]
            found[table] = wanted[table]
    return found


@inner
def _bound_tables(arrays, counts, wanted, bound, room):
    """For every wanted table, bound its joinability by the best columns of any two key columns; count its entries."""
    width = len(counts)
    column, entries = np.empty(width, np.int64), np.empty(width, np.int64)
    first, second = np.empty(width, np.int64), np.empty(width, np.int64)
    for table in range(len(wanted)):
        start, stop = arrays.table_column_first[table], arrays.table_column_first[table + 1]
        if not wanted[table] or stop - start < width:
            continue
        least = arrays.table_row_first[table + 1] - arrays.table_row_first[table]
        for key in range(width):
            column[key], first[key], second[key], entries[key] = _best_two(counts[key], start, stop)
            least = min(least, first[key])
            if least == 0:
                break
            for other in range(key):
                if column[other] == column[key]:
                    least = min(least, max(min(first[key], second[other]), min(second[key], first[other])))
        bound[table] = least
        if least:
            room[table] = entries


@inner
def _by_bound(bound):
    """Return the tables that may join at all, by falling bound, of equals the first one first."""
    most = bound.max() if len(bound) else np.int64(0)
    place = np.zeros(most + 1, np.int64)  # by bound: how many have it, then where the next one goes
    for number in bound:
        place[number] += 1
    count = np.int64(0)
    for number in range(most, 0, -1):
        place[number], count = count, count + place[number]
    found = np.empty(count, np.int64)
    for table in range(len(bound)):
        if bound[table]:
            found[place[bound[table]]] = table
            place[bound[table]] += 1
    return found


@kernel
def cover(arrays, places, numbers, count, wanted):
    """Number the values of key tuples, given as places in the segment and as numbers below `count`; bound the tables.

    One kernel: every call from Python costs as much as going through hundreds of directory entries. Where the rarest
    key column has few entries, only the tables that these lead to are looked at, not all of the segment.
    """
    values = _number_values(places, numbers, count)
    width = places.shape[1]
    sizes = _entries_by_key(arrays, values)
    counts = np.zeros((width, len(arrays.column_table)), np.int64)
    _cover_columns(arrays, values, counts)
    if sizes.min() < len(arrays.column_table):
        wanted = _tables_with(arrays, values, np.argmin(sizes), wanted)
    bound = np.zeros(len(wanted), np.int64)
    room = np.zeros((len(wanted), width), np.int64)
    _bound_tables(arrays, counts, wanted, bound, room)
    table = _by_bound(bound)
    work = np.zeros(len(table), np.int64)
    for number in range(len(table)):
        for key in range(width):
            work[number] += room[table[number], key]
    return Cover(values, number_prefixes(values, ascending(sizes)), room, table, bound[table], work)


@kernel
def collect(arrays, cover, start, size, words, floor):
    """Return the tables from `start` on whose bounds exceed the floor, with about `size` directory entries.

    Which table has which value is noted in so many words of 64 bits, or for 64 tables if that takes more.
    """
    values = cover.values
    most_tables = max(1, words // len(values.token)) * 64
    tables = cover.table[start : min(_end_of_batch(cover, start, size, floor), start + most_tables)]
    runs = _room_for_runs(cover, tables)
    has = np.zeros((len(values.token), (len(tables) + 63) >> 6), np.uint64)
    number_of = _number_columns(arrays, tables)
    most = _most_entries(arrays, values) + 1
    entries = np.empty(most, np.int64), np.empty(most, np.int32)
    for key in range(len(values.key_first) - 1):
        for value in range(values.key_first[key], values.key_first[key + 1]):
            count = _entries_in(arrays, values.token[value], number_of, entries)
            _add_runs(arrays, entries, count, key, value, runs, has[value])
    held = hold_tuples(values.tuple_value, has, len(tables))
    return Collected(runs, held, bound_by_held(held, cover.bound[start : start + len(tables)]))


@inner
def _room_for_runs(cover, tables):
    """Return room for the runs of tables."""
    width = cover.room.shape[1]
    first = np.empty(len(tables) * width, np.int64)
    room = np.int64(0)
    for number in range(len(tables)):
        for key in range(width):
            first[number * width + key] = room
            room += cover.room[tables[number], key]
    return Runs(tables, first, first.copy(), np.empty(room, RUN))


@inner
def _add_runs(arrays, entries, count, key, value, runs, has):
    """Write the runs of a value, given its directory entries, and which tables have it."""
    wanted, wanted_number = entries
    width = len(runs.first) // max(1, len(runs.table))
    at = 0
    while at < count:
        entry, number = wanted[at], wanted_number[at]
        at += 1
        while at < count and wanted_number[at] == number:
            at += 1
        after = wanted[at - 1] + 1
        run = runs.run[runs.last[number * width + key]]
        runs.last[number * width + key] += 1
        run.value, run.entries, run.start = value, after - entry, entry
        run.unit_start = np.int64(arrays.posting_first[entry])
        run.unit_stop = np.int64(arrays.posting_first[after])
        has[number >> 6] |= np.uint64(1) << np.uint64(number & 63)


@inner
def _most_entries(arrays, values):
    """Return the most directory entries that a value has."""
    most = np.int64(0)
    for token in values.token:
        most = max(most, np.int64(arrays.entry_first[token + 1]) - np.int64(arrays.entry_first[token]))
    return most


@inner
def _entries_in(arrays, token, number_of, entries):
    """Write the directory entries of a token in tables that have a number, and that; return how many there are.

    Each one is written, and the next one over it if it is not wanted: which ones are cannot be foreseen, and a wrong
    guess of the processor takes as long as ten entries.
    """
    found, found_number = entries
    count = np.int64(0)
    for entry in range(np.int64(arrays.entry_first[token]), np.int64(arrays.entry_first[token + 1])):
        number = number_of[arrays.entry_column[entry]]
        found[count], found_number[count] = entry, number
        count += number >= 0
    return count


@inner
def _end_of_batch(cover, start, size, floor):
    """Return the table behind a batch: of `size` directory entries at most, or one table; bounds exceed the floor."""
    stop, entries = start, np.int64(0)
    while stop < len(cover.table) and cover.bound[stop] > floor:
        entries += cover.work[stop]
        if entries > size and stop > start:
            break
        stop += 1
    return stop


@inner
def _number_columns(arrays, tables):
    """Return the number in the batch of every column's table, -1 for other tables."""
    number_of = np.full(len(arrays.column_table), -1, np.int32)
    for number in range(len(tables)):
        table = tables[number]
        number_of[arrays.table_column_first[table] : arrays.table_column_first[table + 1]] = number
    return number_of
