"""The loops of `mate.search.query.key_tuples`: distinct tokens, and distinct combinations of them, in one call."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from mate.native cimport Arena, Interrupt, Matrix, Span, bytes_of, int64s, run

import numpy as np

ctypedef Span[uint8_t] Text

cdef enum:
    FREE = -1


cdef struct Key:
    Arena* arena
    Text text
    Span[int64_t] bounds
    int64_t width
    Text nulls
    Span[int64_t] null_bounds
    # Found: the distinct tokens, those of nulls first, and the distinct combinations of the others. Slots of hash tables
    # have their numbers.
    Span[int64_t] slots
    Span[Text] tokens
    int64_t count
    Span[int64_t] tuple_slots
    Matrix[int64_t] tuples
    int64_t tuple_count
    Span[int64_t] row_tuple
    # Where the result goes.
    Text found
    Span[int64_t] found_bounds


cdef inline uint64_t _mix(uint64_t hash, uint64_t more) noexcept nogil:
    hash = (hash ^ more) * <uint64_t>0x9E3779B97F4A7C15
    return hash ^ (hash >> 32)


cdef inline Span[int64_t] _free_slots(Arena* arena, int64_t count) noexcept nogil:
    """Return slots for so many numbers, at most half of which are taken."""
    cdef int64_t room = 16
    while room < 2 * count:
        room *= 2
    return arena.full[int64_t](room, FREE)


cdef int64_t _token_number(Key* k, Text token) noexcept nogil:
    """The number of a token, a new one if it was not seen before."""
    cdef uint64_t hash = <uint64_t>token.size
    cdef int64_t i, slot, mask = k.slots.size - 1
    cdef Text other
    for i in range(token.size):
        hash = (hash ^ token[i]) * <uint64_t>0x100000001B3
    slot = _mix(hash, 0) & mask
    while k.slots[slot] != FREE:
        other = k.tokens[k.slots[slot]]
        if other.size == token.size and memcmp(other.data, token.data, token.size) == 0:
            return k.slots[slot]
        slot = (slot + 1) & mask
    k.slots[slot] = k.count
    k.tokens[k.count] = token
    k.count += 1
    return k.slots[slot]


cdef int64_t _tuple_number(Key* k, Span[int64_t] combination) noexcept nogil:
    """The number of a combination of tokens, a new one if it was not seen before."""
    cdef uint64_t hash = 0
    cdef int64_t i, slot, mask = k.tuple_slots.size - 1
    for i in range(k.width):
        hash = _mix(hash, combination[i])
    slot = hash & mask
    while k.tuple_slots[slot] != FREE:
        if memcmp(k.tuples[k.tuple_slots[slot]].data, combination.data, k.width * sizeof(int64_t)) == 0:
            return k.tuple_slots[slot]
        slot = (slot + 1) & mask
    k.tuple_slots[slot] = k.tuple_count
    k.tuples[k.tuple_count].copy_from(combination)
    k.tuple_count += 1
    return k.tuple_slots[slot]


cdef void _number_key(void* state) noexcept nogil:
    cdef Key* k = <Key*>state
    cdef int64_t nulls = k.null_bounds.size - 1, cells = k.bounds.size - 1, width = k.width, rows = k.row_tuple.size
    cdef int64_t i, row, key
    cdef Span[int64_t] numbers = k.arena.empty[int64_t](cells), combination = k.arena.empty[int64_t](width)
    cdef Interrupt interrupt
    k.slots, k.tuple_slots = _free_slots(k.arena, nulls + cells), _free_slots(k.arena, rows)
    k.tokens = k.arena.empty[Text](nulls + cells)
    k.count = 0
    for i in range(nulls):
        _token_number(k, k.nulls.slice(k.null_bounds[i], k.null_bounds[i + 1]))
    for i in range(cells):
        interrupt.tick()
        numbers[i] = _token_number(k, k.text.slice(k.bounds[i], k.bounds[i + 1])) - nulls
    k.tuples, k.tuple_count = k.arena.empty_matrix[int64_t](rows, width), 0
    for row in range(rows):
        interrupt.tick()
        key = 0
        while key < width and numbers[key * rows + row] >= 0:
            combination[key] = numbers[key * rows + row]
            key += 1
        k.row_tuple[row] = _tuple_number(k, combination) if key == width else -1


cdef void _copy_tokens(void* state) noexcept nogil:
    cdef Key* k = <Key*>state
    cdef int64_t i, nulls = k.null_bounds.size - 1
    for i in range(k.found_bounds.size - 1):
        k.found.slice(k.found_bounds[i], k.found_bounds[i + 1]).copy_from(k.tokens[nulls + i])


def number_key(
    const uint8_t[::1] text,
    const int64_t[::1] bounds,
    int64_t width,
    const uint8_t[::1] nulls,
    const int64_t[::1] null_bounds,
):
    """Number tokens, given column after column, and the rows that they make up; both in the order of their coming."""
    cdef Arena arena
    cdef Key k
    cdef int64_t i, first = len(null_bounds) - 1
    row_tuple = np.empty((len(bounds) - 1) // width, np.int64)
    k.arena, k.width = &arena, width
    k.text, k.bounds, k.nulls, k.null_bounds = bytes_of(text), int64s(bounds), bytes_of(nulls), int64s(null_bounds)
    k.row_tuple = int64s(row_tuple)
    with nogil:
        run(&_number_key, &k)
    found_bounds = np.zeros(k.count - first + 1, np.int64)
    k.found_bounds = int64s(found_bounds)
    for i in range(first, k.count):
        k.found_bounds[i - first + 1] = k.found_bounds[i - first] + k.tokens[i].size
    found = np.empty(k.found_bounds[k.count - first], np.uint8)
    place = np.empty((k.tuple_count, width), np.int64)
    k.found = bytes_of(found)
    int64s(place.reshape(-1)).copy_from(k.tuples.all().slice(0, k.tuple_count * width))
    with nogil:
        run(&_copy_tokens, &k)
    return found, found_bounds, place, row_tuple
