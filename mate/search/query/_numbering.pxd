"""Number combinations of integers as they come: an open-addressing hash table that grows, for native loops."""

from libc.stdint cimport int64_t, uint64_t

from mate.native cimport Arena, Span

cdef enum:
    FREE = -1


cdef struct Numbering:
    Arena* arena
    int64_t width
    int64_t count
    # The number in each slot, and the slot of each number.
    Span[int64_t] slots
    Span[int64_t] slot_of
    # The combinations, `width` integers each, and a count that is the caller's for each.
    Span[int64_t] keys
    Span[int64_t] counts


cdef inline uint64_t mix(uint64_t hash, uint64_t more) noexcept nogil:
    """Mix more bits into a hash."""
    hash = (hash ^ more) * <uint64_t>0x9E3779B97F4A7C15
    return hash ^ (hash >> 32)


cdef inline Span[int64_t] key_of(Numbering* n, int64_t number) noexcept nogil:
    """The combination with a number."""
    return n.keys.slice(number * n.width, (number + 1) * n.width)


cdef inline int64_t _find_slot(Numbering* n, Span[int64_t] key) noexcept nogil:
    """The slot that has a combination, or the free one where it belongs."""
    cdef int64_t slot, i, mask = n.slots.size - 1, width = n.width
    cdef int64_t* other
    cdef uint64_t hash = 0
    for i in range(width):
        hash = mix(hash, key[i])
    slot = hash & mask
    while n.slots[slot] != FREE:
        other = key_of(n, n.slots[slot]).data
        i = 0
        while i < width and other[i] == key[i]:
            i += 1
        if i == width:
            break
        slot = (slot + 1) & mask
    return slot


cdef inline Span[int64_t] _larger(Arena* arena, Span[int64_t] old, int64_t size) noexcept nogil:
    cdef Span[int64_t] found = arena.empty[int64_t](size)
    found.copy_from(old)
    return found


cdef inline void _grow(Numbering* n, int64_t room) noexcept nogil:
    """Make room for so many combinations, a power of 2; half of the slots stay free."""
    cdef int64_t number
    n.keys = _larger(n.arena, n.keys, room * n.width)
    n.counts = _larger(n.arena, n.counts, room)
    n.slot_of = n.arena.empty[int64_t](room)
    n.slots = n.arena.full[int64_t](2 * room, FREE)
    for number in range(n.count):
        n.slot_of[number] = _find_slot(n, key_of(n, number))
        n.slots[n.slot_of[number]] = number


cdef inline Numbering new_numbering(Arena* arena, int64_t width) noexcept nogil:
    """No combinations yet."""
    cdef Numbering n
    n.arena, n.width, n.count = arena, width, 0
    n.keys = arena.empty[int64_t](0)
    n.counts = arena.empty[int64_t](0)
    _grow(&n, 64)
    return n


cdef inline int64_t number_of(Numbering* n, Span[int64_t] key) noexcept nogil:
    """The number of a combination: a new one, with a count of 0, if it was not seen before."""
    cdef int64_t slot = _find_slot(n, key)
    if n.slots[slot] == FREE:
        if n.count == n.counts.size:
            _grow(n, 2 * n.count)
            slot = _find_slot(n, key)
        n.slots[slot] = n.count
        n.slot_of[n.count] = slot
        key_of(n, n.count).copy_from(key)
        n.counts[n.count] = 0
        n.count += 1
    return n.slots[slot]


cdef inline void forget_all(Numbering* n) noexcept nogil:
    """Begin again, with the room that there is."""
    cdef int64_t number
    for number in range(n.count):
        n.slots[n.slot_of[number]] = FREE
    n.count = 0
