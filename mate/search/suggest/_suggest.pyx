"""Native loops of suggestions and of the join graph: directories, longer keys, and joint checks of them."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.algorithm cimport sort

from mate.lake._arrays cimport Segment, SegmentView, rows_of
from mate.native cimport (
    Arena, Interrupt, Mark, Matrix, Offsets, Span, bytes_of, int64_matrix, int64s, offsets_of, run,
)
from mate.search.evidence._evidence cimport KeyTuples, count_tuples, hold_columns, index_tuples

import numpy as np


cdef struct Covering:
    Segment* segment
    Span[int64_t] places
    Span[int64_t] weights
    Span[int64_t] found


cdef void _add_weights(void* state) noexcept nogil:
    cdef Covering* c = <Covering*>state
    cdef int64_t number, token, entry
    cdef Interrupt interrupt
    for number in range(c.places.size):
        token = c.places[number]
        if token < 0:
            continue
        for entry in range(c.segment.entry_first[token], c.segment.entry_first[token + 1]):
            c.found[c.segment.entry_column[entry]] += c.weights[number]
        interrupt.tick(1 + c.segment.entry_first[token + 1] - c.segment.entry_first[token])


def add_weights(SegmentView view not None, const int64_t[::1] places, const int64_t[::1] weights):
    """Add up the weights of tokens by the columns of a segment that hold them; a negative place is no token."""
    found = np.zeros(view.segment.column_table.size, np.int64)
    cdef Covering state
    state.segment, state.found = &view.segment, int64s(found)
    state.places, state.weights = int64s(places), int64s(weights)
    with nogil:
        run(&_add_weights, &state)
    return found


cdef struct Overlapping:
    Offsets values
    Offsets rows
    Span[int64_t] value_first
    Offsets value_column
    int64_t most_columns
    Span[int64_t] counts
    Span[int64_t] touched
    int64_t size


cdef void _add_overlaps(void* state) noexcept nogil:
    cdef Overlapping* o = <Overlapping*>state
    cdef int64_t number, start, stop, place, column
    cdef Interrupt interrupt
    for number in range(o.values.size):
        start, stop = o.value_first[o.values[number]], o.value_first[o.values[number] + 1]
        if 0 < o.most_columns < stop - start:
            continue
        for place in range(start, stop):
            column = o.value_column[place]
            if o.counts[column] == 0:
                o.touched[o.size] = column
                o.size += 1
            o.counts[column] += o.rows[number]
        interrupt.tick(1 + stop - start)
    sort(o.touched.data, o.touched.data + o.size)


cdef Offsets _numbers(array):
    """View numbers that are not negative and have 32 or 64 bits."""
    return offsets_of(array.view(np.uint32) if array.dtype.itemsize == 4 else array)


def add_overlaps(
    values, rows, const int64_t[::1] value_first, value_column, int64_t most_columns, int64_t[:, ::1] room
):
    """Return the columns that hold values, ascending, and the sum of the rows of these values.

    Values that more than `most_columns` columns hold do not count, unless it is 0. The first row of `room`, which has
    two places per column, is 0 before and after.
    """
    cdef Overlapping state
    state.values, state.rows, state.value_column = _numbers(values), _numbers(rows), _numbers(value_column)
    state.value_first, state.most_columns, state.size = int64s(value_first), most_columns, 0
    state.counts, state.touched = int64_matrix(room)[0], int64_matrix(room)[1]
    counts, touched = np.asarray(room)
    try:
        with nogil:
            run(&_add_overlaps, &state)
    except BaseException:
        counts.fill(0)
        raise
    columns = touched[:state.size].copy()
    found = counts[columns]
    counts[columns] = 0
    return columns, found


cdef struct Growing:
    Span[int64_t] own
    Span[int64_t] other
    const double* share
    Span[int64_t] distinct
    Matrix[int64_t] mappings
    const double* containment
    const double* uniqueness
    Matrix[int64_t] unique
    double least
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
    return min(g.containment[part], g.share[added]) * min(1.0, g.uniqueness[part] * g.distinct[added])


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
    cdef double bound
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
            if bound < g.least or (g.count == most and not _is_before(bound, digits, bounds[most - 1], g.found[most - 1])):
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


def longer_mappings(growing, grown, const int64_t[:, ::1] unique, double least, int64_t most):
    """Return up to `most` longer mappings, the highest of their least bounds first."""
    cdef const double[::1] share = growing.share, containment = grown.containment, uniqueness = grown.uniqueness
    found = np.empty((most, grown.mappings.shape[1] + 1), np.int64)
    cdef Growing state
    state.own, state.other, state.distinct = int64s(growing.own), int64s(growing.other), int64s(growing.distinct)
    state.share, state.containment, state.uniqueness = &share[0], &containment[0], &uniqueness[0]
    state.mappings, state.unique, state.found = int64_matrix(grown.mappings), int64_matrix(unique), int64_matrix(found)
    state.least, state.count = least, 0
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
    Matrix[int64_t] places
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


cdef int64_t _needed(int64_t count, double least) noexcept nogil:
    """Return how many of some tuples are at least a share of them."""
    cdef int64_t needed = <int64_t>(least * count)
    while <double>needed / count < least:
        needed += 1
    while needed > 0 and <double>(needed - 1) / count >= least:
        needed -= 1
    return needed


cdef void _check(Checking* c, int64_t number, Arena& arena, Interrupt& interrupt) noexcept nogil:
    """Count the key tuples of a mapping that join."""
    cdef Span[int64_t] mapping = c.mappings[number]
    cdef int64_t first = c.places[number][0], count = c.places[number][1] - first
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
    needed = _needed(count, c.least)
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
        if c.places[number][1] > c.places[number][0]:
            _check(c, number, arena, interrupt)
            arena.release(mark)


@cython.boundscheck(False)
cdef Matrix[int32_t] _int32_matrix(const int32_t[:, ::1] array) noexcept:
    cdef Matrix[int32_t] found
    found.data, found.rows, found.columns = <int32_t*>&array[0, 0], array.shape[0], array.shape[1]
    return found


def check_mappings(
    SegmentView view not None,
    const int64_t[::1] own,
    const int64_t[::1] column,
    sample,
    lookups,
    const int64_t[:, ::1] mappings,
    const int32_t[:, ::1] tuples,
    const int64_t[:, ::1] places,
    double least,
):
    """Return how many key tuples of some mappings join, fewer where a smaller share than the least does.

    Mappings are places among pairs of an own column and a column of the segment. The tuples of mapping number n are
    those of ``places[n]``, from one to another.
    """
    joined = np.zeros(len(mappings), np.int64)
    cdef Checking state
    state.segment, state.own, state.column = &view.segment, int64s(own), int64s(column)
    state.sample_first, state.sample_place = int64s(sample.first), int64s(sample.place)
    state.sample_value = int64s(sample.value)
    state.codes, state.is_known = _int32_matrix(lookups.code), bytes_of(lookups.is_known.view(np.uint8))
    state.mappings, state.tuples, state.places = int64_matrix(mappings), _int32_matrix(tuples), int64_matrix(places)
    state.least, state.joined = least, int64s(joined)
    with nogil:
        run(&_check_mappings, &state)
    return joined
