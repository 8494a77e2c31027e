"""Native loops of suggestions and of the join graph: cover, distinct tuples, longer keys, and joint checks of them."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.algorithm cimport sort

from mate.lake._arrays cimport Segment, SegmentView, rows_of
from mate.native cimport Arena, Interrupt, Mark, Matrix, Span, bytes_of, int64_matrix, int64s, matrix, run
from mate.search.evidence._evidence cimport FREE, KeyTuples, count_tuples, hold_columns, index_tuples, mix, new_slots

import numpy as np


cdef Matrix[int32_t] _int32_matrix(const int32_t[:, ::1] array) noexcept:
    return matrix(&array[0, 0] if array.shape[0] and array.shape[1] else NULL, array.shape[0], array.shape[1])


cdef struct Covering:
    Segment* segment
    Span[int64_t] places
    Span[int64_t] rows
    int64_t needed
    Span[int64_t] row_count
    Span[int64_t] value_count
    Span[int64_t] columns
    int64_t size


cdef void _cover(void* state) noexcept nogil:
    cdef Covering* c = <Covering*>state
    cdef int64_t number, token, entry, column, met = 0
    cdef Interrupt interrupt
    for number in range(c.places.size):
        token = c.places[number]
        if token < 0:
            continue
        for entry in range(c.segment.entry_first[token], c.segment.entry_first[token + 1]):
            column = c.segment.entry_column[entry]
            if c.value_count[column] == 0:
                c.columns[met] = column
                met += 1
            c.value_count[column] += 1
            c.row_count[column] += c.rows[number]
        interrupt.tick(1 + c.segment.entry_first[token + 1] - c.segment.entry_first[token])
    for number in range(met):
        column = c.columns[number]
        if c.row_count[column] >= c.needed:
            c.columns[c.size] = column
            c.size += 1
        else:
            c.value_count[column] = c.row_count[column] = 0
    sort(c.columns.data, c.columns.data + c.size)


def cover(
    SegmentView view not None,
    const int64_t[::1] places,
    const int64_t[::1] rows,
    int64_t needed,
    int64_t[:, ::1] room,
):
    """Return the columns of a segment that hold values found in enough rows.

    Places are those of the values, negative where the segment does not have one; `rows` tells how many rows have each.
    Three arrays: the columns, ascending; the rows whose value each holds, at least `needed`; how many values these are.
    `room` has three places per column of the segment; the first two are 0 before and after.
    """
    cdef Covering state
    state.segment, state.places, state.rows, state.needed = &view.segment, int64s(places), int64s(rows), needed
    state.row_count, state.value_count = int64_matrix(room)[0], int64_matrix(room)[1]
    state.columns, state.size = int64_matrix(room)[2], 0
    row_count, value_count, columns = np.asarray(room)
    try:
        with nogil:
            run(&_cover, &state)
    except BaseException:
        row_count.fill(0)
        value_count.fill(0)
        raise
    found = columns[:state.size].copy()
    counts = row_count[found], value_count[found]
    row_count[found] = value_count[found] = 0
    return found, *counts


cdef struct Tupling:
    Matrix[int32_t] numbers
    Matrix[int32_t] tuples
    int64_t size


cdef void _collect_tuples(void* state) noexcept nogil:
    cdef Tupling* t = <Tupling*>state
    cdef Arena arena
    cdef Interrupt interrupt
    cdef int64_t row, key, slot, number
    cdef int64_t rows = t.numbers.columns, width = t.numbers.rows
    cdef Span[int32_t] slots = new_slots(rows, arena)
    cdef uint64_t mixed
    for row in range(rows):
        interrupt.tick()
        mixed = 0
        for key in range(width):
            number = t.numbers[key][row]
            if number < 0:
                break
            t.tuples[t.size][key] = <int32_t>number
            mixed = mix(mixed, number)
        else:
            slot = mixed & <uint64_t>(slots.size - 1)
            while slots[slot] != FREE:
                for key in range(width):
                    if t.tuples[slots[slot]][key] != t.tuples[t.size][key]:
                        break
                else:
                    break
                slot = (slot + 1) & (slots.size - 1)
            if slots[slot] == FREE:
                slots[slot] = <int32_t>t.size
                t.size += 1


def distinct_tuples(const int32_t[:, ::1] numbers):
    """Return the distinct tuples of columns: one row per tuple, in the order of the rows that have them first.

    Numbers, one row per column, stand for values; a negative one for none, and such rows have no tuple.
    """
    tuples = np.empty((numbers.shape[1] + 1, numbers.shape[0]), np.int32)
    cdef Tupling state
    state.numbers, state.tuples, state.size = _int32_matrix(numbers), _int32_matrix(tuples), 0
    with nogil:
        run(&_collect_tuples, &state)
    return tuples[:state.size].copy()


cdef struct Growing:
    Span[int64_t] own
    Span[int64_t] other
    const double* share
    const double* fit
    Span[int64_t] distinct
    Matrix[int64_t] mappings
    const double* containment
    const double* uniqueness
    Matrix[int64_t] unique
    double least
    double room  # what columns that may still be added multiply distinct values by, at most
    Matrix[int64_t] found
    int64_t count


cdef double _bound(Growing* g, int64_t part, int64_t added) noexcept nogil:
    """Return the bound of a mapping with a pair added; -1 if it has one of its columns."""
    cdef Span[int64_t] mapping = g.mappings[part]
    cdef int64_t key, digit
    for key in range(mapping.size):
        digit = mapping[key]
        if g.own[digit] == g.own[added] or g.other[digit] == g.other[added]:
            return -1.0
    return min(g.containment[part], g.share[added]) * min(1.0, g.uniqueness[part] * g.distinct[added] * g.room)


cdef void _extend(Span[int64_t] mapping, int64_t added, Span[int64_t] digits) noexcept nogil:
    """Write a mapping with a pair added, ascending."""
    cdef int64_t place = mapping.size
    while place > 0 and mapping[place - 1] > added:
        digits[place] = mapping[place - 1]
        place -= 1
    digits[place] = added
    while place > 0:
        place -= 1
        digits[place] = mapping[place]


cdef int64_t _left_over(Span[int64_t] mapping, Span[int64_t] digits) noexcept nogil:
    """Return the one digit that a part of a mapping lacks, -1 if it is no part of it."""
    cdef int64_t key, place = 0, left = -1
    for key in range(digits.size):
        if place < mapping.size and mapping[place] == digits[key]:
            place += 1
        else:
            left = digits[key]
    return left if place == mapping.size else -1


cdef double _least_bound(Growing* g, int64_t part, Span[int64_t] digits, double bound) noexcept nogil:
    """Return the least bound that parts of a mapping give; -1 if an earlier one than this gives one."""
    cdef int64_t other, added
    for other in range(g.mappings.rows):
        added = _left_over(g.mappings[other], digits) if other != part else -1
        if added >= 0:
            if other < part:
                return -1.0
            bound = min(bound, _bound(g, other, added))
    return bound


cdef bint _has_unique_part(Matrix[int64_t] unique, Span[int64_t] digits) noexcept nogil:
    cdef int64_t row, key, place
    for row in range(unique.rows):
        place = 0
        for key in range(digits.size):
            if place < unique.columns and unique[row][place] == digits[key]:
                place += 1
        if place == unique.columns or unique[row][place] == -1:
            return True
    return False


cdef bint _is_before(double bound, Span[int64_t] digits, double other_bound, Span[int64_t] other) noexcept nogil:
    """Tell whether a mapping has the higher bound, or the same and comes first."""
    cdef int64_t key
    if bound != other_bound:
        return bound > other_bound
    for key in range(digits.size):
        if digits[key] != other[key]:
            return digits[key] < other[key]
    return False


cdef void _grow(void* state) noexcept nogil:
    cdef Growing* g = <Growing*>state
    cdef Arena arena
    cdef Interrupt interrupt
    cdef int64_t most = g.found.rows, width = g.mappings.columns, part, added, place
    cdef Span[double] bounds = arena.empty[double](most)
    cdef Span[int64_t] digits = arena.empty[int64_t](width + 1)
    # Where mappings are single pairs, the one of each pair: the only other part of a mapping of two.
    cdef Span[int64_t] part_of = arena.full[int64_t](g.own.size, -1)
    cdef double bound, fit
    cdef int64_t key
    if width == 1:
        for part in range(g.mappings.rows):
            part_of[g.mappings[part][0]] = part
    for part in range(g.mappings.rows):
        for added in range(g.own.size):
            interrupt.tick(1)
            bound = _bound(g, part, added)
            if bound < g.least:
                continue
            _extend(g.mappings[part], added, digits)
            if width > 1:
                interrupt.tick(g.mappings.rows)
                bound = _least_bound(g, part, digits, bound)
            elif part_of[added] >= 0:
                if part_of[added] < part:
                    continue
                bound = min(bound, _bound(g, part_of[added], g.mappings[part][0]))
            if bound < g.least:
                continue
            fit = 0.0
            for key in range(width + 1):
                fit += g.fit[digits[key]]
            bound *= 1 + fit / (width + 1)
            if (g.count == most and not _is_before(bound, digits, bounds[most - 1], g.found[most - 1])):
                continue
            if _has_unique_part(g.unique, digits):
                continue
            place = min(g.count, most - 1)
            while place > 0 and _is_before(bound, digits, bounds[place - 1], g.found[place - 1]):
                bounds[place] = bounds[place - 1]
                g.found[place].copy_from(g.found[place - 1])
                place -= 1
            bounds[place] = bound
            g.found[place].copy_from(digits)
            g.count = min(g.count + 1, most)


def longer_mappings(growing, grown, const int64_t[:, ::1] unique, double least, int64_t most, double room):
    """Return up to `most` longer mappings without a unique part, by falling bound of their usefulness and names.

    A mapping is bounded by each of its parts that was measured, if columns that may still be added have `room`
    combinations. Unique mappings have a row each, -1 where they end.
    """
    cdef const double[::1] share = growing.share, containment = grown.containment, uniqueness = grown.uniqueness
    cdef const double[::1] fit = growing.fit
    found = np.empty((most, grown.mappings.shape[1] + 1), np.int64)
    cdef Growing state
    state.own, state.other, state.distinct = int64s(growing.own), int64s(growing.other), int64s(growing.distinct)
    state.share, state.containment, state.uniqueness = &share[0], &containment[0], &uniqueness[0]
    state.fit = &fit[0]
    state.mappings, state.unique, state.found = int64_matrix(grown.mappings), int64_matrix(unique), int64_matrix(found)
    state.least, state.room, state.count = least, room, 0
    with nogil:
        run(&_grow, &state)
    return found[:state.count]


cdef struct Checking:
    Segment* segment
    Span[int64_t] own
    Span[int64_t] column
    Span[int64_t] sample_first
    Span[int64_t] sample_place
    Span[int64_t] sample_value
    Matrix[int32_t] codes
    Span[uint8_t] is_known
    Matrix[int64_t] mappings
    Matrix[int32_t] tuples
    Span[int64_t] tuple_first
    double least
    Span[int64_t] joined


cdef void _look_up(Checking* c, int64_t digit) noexcept nogil:
    """Write the codes of the sample's values in a column: both ascend, so that each is looked for in growing steps."""
    cdef Segment* segment = c.segment
    cdef int64_t first = segment.column_entry_first[c.column[digit]], last = segment.column_entry_first[c.column[digit] + 1]
    cdef int64_t low = first, high, middle, step, at, token
    c.is_known[digit] = 1
    for at in range(c.sample_first[c.own[digit]], c.sample_first[c.own[digit] + 1]):
        token = c.sample_place[at]
        step = 1
        while low + step < last and segment.column_token[low + step] <= token:
            low += step
            step *= 2
        high = min(low + step, last)
        while high - low > 1:
            middle = (low + high) // 2
            if segment.column_token[middle] <= token:
                low = middle
            else:
                high = middle
        if low < last and segment.column_token[low] == token:
            c.codes[digit][c.sample_value[at]] = <int32_t>(low - first + 1)


cdef void _check(Checking* c, int64_t number, Arena& arena, Interrupt& interrupt) noexcept nogil:
    """Count the key tuples of a mapping that join."""
    cdef Span[int64_t] mapping = c.mappings[number]
    cdef int64_t first = c.tuple_first[number], count = c.tuple_first[number + 1] - first
    cdef int64_t key, at, code, has_all, known = 0, needed
    cdef Span[int64_t] columns = arena.empty[int64_t](mapping.size)
    cdef Matrix[int64_t] asked = arena.empty_matrix[int64_t](count, mapping.size)
    cdef KeyTuples tuples
    for key in range(mapping.size):
        columns[key] = c.column[mapping[key]]
        if not c.is_known[mapping[key]]:
            _look_up(c, mapping[key])
    for at in range(count):
        has_all = 1
        for key in range(mapping.size):
            code = c.codes[mapping[key]][c.tuples[first + at][key]]
            asked[at][key] = code
            has_all &= code > 0
        known += has_all
    interrupt.tick(count)
    needed = <int64_t>(c.least * count)
    if min(known, rows_of(c.segment, c.segment.column_table[columns[0]])) >= needed:
        tuples = index_tuples(hold_columns(c.segment, columns, arena), asked, arena)
        c.joined[number] = count_tuples(&tuples, needed, arena.zeros[int64_t](count), interrupt)


cdef void _check_mappings(void* state) noexcept nogil:
    cdef Checking* c = <Checking*>state
    cdef Arena arena
    cdef Mark mark = arena.mark()
    cdef Interrupt interrupt
    cdef int64_t number
    for number in range(c.mappings.rows):
        if c.tuple_first[number + 1] > c.tuple_first[number]:
            _check(c, number, arena, interrupt)
            arena.release(mark)


def check_mappings(
    SegmentView view not None,
    const int64_t[::1] own,
    const int64_t[::1] column,
    sample,
    lookups,
    const int64_t[:, ::1] mappings,
    const int32_t[:, ::1] tuples,
    const int64_t[::1] tuple_first,
    double least,
):
    """Return how many key tuples of some mappings join, fewer where a smaller share than the least does.

    Mappings are places among pairs of an own column and a column of the segment. The tuples of mapping number n are
    ``tuples[tuple_first[n]:tuple_first[n + 1]]``.
    """
    joined = np.zeros(len(mappings), np.int64)
    cdef Checking state
    state.segment, state.own, state.column = &view.segment, int64s(own), int64s(column)
    state.sample_first, state.sample_place = int64s(sample.first), int64s(sample.place)
    state.sample_value = int64s(sample.value)
    state.codes, state.is_known = _int32_matrix(lookups.code), bytes_of(lookups.is_known.view(np.uint8))
    state.mappings, state.tuples, state.tuple_first = int64_matrix(mappings), _int32_matrix(tuples), int64s(tuple_first)
    state.least, state.joined = least, int64s(joined)
    with nogil:
        run(&_check_mappings, &state)
    return joined
