"""The loops of `mate.search.query.key_tuples`: distinct tokens, and distinct combinations of them, in one call."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from mate.native cimport Arena, Interrupt, Span, bytes_of, int64s, run
from mate.search.query._numbering cimport FREE, Numbering, mix, new_numbering, number_of

import numpy as np

ctypedef Span[uint8_t] Text


cdef struct Key:
    Arena* arena
    Text text
    Span[int64_t] bounds
    int64_t width
    Text nulls
    Span[int64_t] null_bounds
    # Found: the distinct tokens, those of nulls first, and the distinct combinations of the others.
    Span[int64_t] slots
    Span[Text] tokens
    int64_t count
    Numbering tuples
    Span[int64_t] row_tuple
    # Where the result goes.
    Text found
    Span[int64_t] found_bounds


cdef int64_t _token_number(Key* k, Text token) noexcept nogil:
    """The number of a token, a new one if it was not seen before."""
    cdef uint64_t hash = <uint64_t>token.size
    cdef int64_t i, slot, mask = k.slots.size - 1
    cdef Text other
    for i in range(token.size):
        hash = (hash ^ token[i]) * <uint64_t>0x100000001B3
    slot = mix(hash, 0) & mask
    while k.slots[slot] != FREE:
        other = k.tokens[k.slots[slot]]
        if other.size == token.size and memcmp(other.data, token.data, token.size) == 0:
            return k.slots[slot]
        slot = (slot + 1) & mask
    k.slots[slot] = k.count
    k.tokens[k.count] = token
    k.count += 1
    return k.slots[slot]


cdef void _number_key(void* state) noexcept nogil:
    cdef Key* k = <Key*>state
    cdef int64_t nulls = k.null_bounds.size - 1, cells = k.bounds.size - 1, width = k.width, rows = k.row_tuple.size
    cdef int64_t i, row, key, room = 16
    cdef Span[int64_t] numbers = k.arena.empty[int64_t](cells), combination = k.arena.empty[int64_t](width)
    cdef Interrupt interrupt
    while room < 2 * (nulls + cells):
        room *= 2
    k.slots = k.arena.full[int64_t](room, FREE)
    k.tokens = k.arena.empty[Text](nulls + cells)
    k.count = 0
    for i in range(nulls):
        _token_number(k, k.nulls.slice(k.null_bounds[i], k.null_bounds[i + 1]))
    for i in range(cells):
        interrupt.tick()
        numbers[i] = _token_number(k, k.text.slice(k.bounds[i], k.bounds[i + 1])) - nulls
    k.tuples = new_numbering(k.arena, width)
    for row in range(rows):
        interrupt.tick()
        key = 0
        while key < width and numbers[key * rows + row] >= 0:
            combination[key] = numbers[key * rows + row]
            key += 1
        k.row_tuple[row] = number_of(&k.tuples, combination) if key == width else -1


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
    place = np.empty((k.tuples.count, width), np.int64)
    k.found = bytes_of(found)
    int64s(place.reshape(-1)).copy_from(k.tuples.keys.slice(0, k.tuples.count * width))
    with nogil:
        run(&_copy_tokens, &k)
    return found, found_bounds, place, row_tuple
