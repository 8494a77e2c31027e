"""The loops of `mate.search.query.key_tuples`: distinct tokens, and distinct combinations of them, in one call."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from mate.native cimport Arena, Interrupt, Matrix, Span, bytes_of, int64s, run
from mate.search.evidence._evidence cimport FREE, mix, new_slots

import numpy as np

ctypedef Span[uint8_t] Text

cdef struct Key:
    Arena* arena
    Text text
    Span[int64_t] bounds
    int64_t nulls
    int64_t width
    # Found: the cell in which each distinct token comes first, spellings of "no value" before all others, and the distinct
    # combinations of these others. Slots of hash tables have their numbers.
    Span[int32_t] slots
    Span[int64_t] first
    int64_t count
    Span[int32_t] tuple_slots
    Matrix[int64_t] tuples
    int64_t tuple_count
    Span[int64_t] row_tuple


cdef inline Text _token(Key* k, int64_t cell) noexcept nogil:
    return k.text.slice(k.bounds[cell], k.bounds[cell + 1])


cdef int64_t _token_number(Key* k, int64_t cell) noexcept nogil:
    """The number of a cell's token, a new one if it was not seen before."""
    cdef Text token = _token(k, cell), other
    cdef uint64_t hash = <uint64_t>token.size
    cdef int64_t i, slot, mask = k.slots.size - 1
    for i in range(token.size):
        hash = (hash ^ token[i]) * <uint64_t>0x100000001B3
    slot = mix(hash, 0) & mask
    while k.slots[slot] != FREE:
        other = _token(k, k.first[k.slots[slot]])
        if other.size == token.size and memcmp(other.data, token.data, token.size) == 0:
            return k.slots[slot]
        slot = (slot + 1) & mask
    k.slots[slot] = <int32_t>k.count
    k.first[k.count] = cell
    k.count += 1
    return k.slots[slot]


cdef int64_t _tuple_number(Key* k, Span[int64_t] combination) noexcept nogil:
    """The number of a combination of tokens, a new one if it was not seen before."""
    cdef uint64_t hash = 0
    cdef int64_t i, slot, mask = k.tuple_slots.size - 1
    for i in range(k.width):
        hash = mix(hash, combination[i])
    slot = hash & mask
    while k.tuple_slots[slot] != FREE:
        if memcmp(k.tuples[k.tuple_slots[slot]].data, combination.data, k.width * sizeof(int64_t)) == 0:
            return k.tuple_slots[slot]
        slot = (slot + 1) & mask
    k.tuple_slots[slot] = <int32_t>k.tuple_count
    k.tuples[k.tuple_count].copy_from(combination)
    k.tuple_count += 1
    return k.tuple_slots[slot]


cdef void _number_key(void* state) noexcept nogil:
    cdef Key* k = <Key*>state
    cdef int64_t cells = k.bounds.size - 1, width = k.width, rows = k.row_tuple.size, cell, row, key
    cdef Span[int64_t] numbers = k.arena.empty[int64_t](cells - k.nulls), combination = k.arena.empty[int64_t](width)
    cdef Interrupt interrupt
    k.slots, k.tuple_slots = new_slots(cells, k.arena[0]), new_slots(rows, k.arena[0])
    k.first, k.count = k.arena.empty[int64_t](cells), 0
    for cell in range(k.nulls):
        _token_number(k, cell)
    for cell in range(k.nulls, cells):
        interrupt.tick()
        numbers[cell - k.nulls] = _token_number(k, cell) - k.nulls
    k.tuples, k.tuple_count = k.arena.empty_matrix[int64_t](rows, width), 0
    for row in range(rows):
        interrupt.tick()
        key = 0
        while key < width and numbers[key * rows + row] >= 0:
            combination[key] = numbers[key * rows + row]
            key += 1
        k.row_tuple[row] = _tuple_number(k, combination) if key == width else -1


def number_key(const uint8_t[::1] text, const int64_t[::1] bounds, int64_t nulls, int64_t width):
    """Number tokens, column after column behind spellings of "no value", and the rows that they make up.

    Return the cell of each distinct token, the distinct rows, and the number of each row. All come in their order.
    """
    cdef Arena arena
    cdef Key k
    row_tuple = np.empty((len(bounds) - 1 - nulls) // width, np.int64)
    k.arena, k.nulls, k.width = &arena, nulls, width
    k.text, k.bounds, k.row_tuple = bytes_of(text), int64s(bounds), int64s(row_tuple)
    with nogil:
        run(&_number_key, &k)
    cell = np.empty(k.count - nulls, np.int64)
    place = np.empty((k.tuple_count, width), np.int64)
    int64s(cell).copy_from(k.first.slice(nulls, k.count))
    int64s(place.reshape(-1)).copy_from(k.tuples.all().slice(0, k.tuple_count * width))
    return cell, place, row_tuple
