"""Native loops of the Bloom filters, with MurmurHash3 (x86, 32 bits), and of SimHash: many values at a time."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from mate.native cimport Arena, Matrix, Span, bytes_of, int32s, int64s, run, uint32s, uint64_matrix, uint64s


cdef struct Filters:
    Span[uint8_t] data
    Span[int64_t] offsets
    int64_t count
    Matrix[uint64_t] keys


cdef struct Shingles:
    Span[uint32_t] points
    Span[int64_t] bounds
    Span[uint64_t] packed


cdef struct Votes:
    Span[int32_t] features
    Span[int64_t] offsets
    Matrix[uint64_t] digests
    Matrix[uint64_t] keys


def bloom_filters(
    const uint8_t[::1] data, const int64_t[::1] offsets, int64_t hashes, uint64_t[:, ::1] keys
):
    """Set in the key of every string the bits that so many hash functions name."""
    cdef Filters state
    state.data, state.offsets, state.count, state.keys = bytes_of(data), int64s(offsets), hashes, uint64_matrix(keys)
    with nogil:
        run(&_bloom_filters, &state)


def less_hashing_filters(
    const uint8_t[::1] data, const int64_t[::1] offsets, int64_t probes, uint64_t[:, ::1] keys
):
    """Set in the key of every string so many bits, which two hash functions name."""
    cdef Filters state
    state.data, state.offsets, state.count, state.keys = bytes_of(data), int64s(offsets), probes, uint64_matrix(keys)
    with nogil:
        run(&_less_hashing_filters, &state)


cdef inline uint32_t _rotate(uint32_t x, int left) noexcept nogil:
    return (x << left) | (x >> (32 - left))


cdef inline uint32_t _scramble(uint32_t block) noexcept nogil:
    return _rotate(block * 0xCC9E2D51U, 15) * 0x1B873593U


cdef void _murmur3(Span[uint8_t] value, Span[uint32_t] states) noexcept nogil:
    """Put the hash of a value with seed s into ``states[s]``, for every s.

    A block of four bytes is scrambled in the same way whatever the seed, so one pass over a value feeds the states of
    all seeds, and the loop over seeds vectorises.
    """
    cdef int64_t seed, p = 0, q
    cdef uint32_t block, h
    for seed in range(states.size):
        states[seed] = seed
    while value.size - p >= 4:
        block = value[p] | <uint32_t>value[p + 1] << 8 | <uint32_t>value[p + 2] << 16 | <uint32_t>value[p + 3] << 24
        block = _scramble(block)
        for seed in range(states.size):
            states[seed] = _rotate(states[seed] ^ block, 13) * 5 + 0xE6546B64U
        p += 4
    block = 0
    for q in range(value.size - 1, p - 1, -1):
        block = block << 8 | value[q]
    block = _scramble(block) ^ <uint32_t>value.size
    for seed in range(states.size):
        h = states[seed] ^ block
        h = (h ^ h >> 16) * 0x85EBCA6BU
        h = (h ^ h >> 13) * 0xC2B2AE35U
        states[seed] = h ^ h >> 16


cdef inline void _set_bit(Span[uint64_t] key, int64_t number) noexcept nogil:
    """Set the bit that a number names, modulo the bits of the key."""
    cdef int64_t position = number & (64 * key.size - 1)
    key[position >> 6] |= <uint64_t>1 << (63 - (position & 63))


cdef void _bloom_filters(void* state) noexcept nogil:
    cdef Filters* s = <Filters*>state
    cdef int64_t i, seed
    cdef Span[uint64_t] key
    cdef Arena arena
    cdef Span[uint32_t] states = arena.empty[uint32_t](s.count)
    for i in range(s.keys.rows):
        _murmur3(s.data.slice(s.offsets[i], s.offsets[i + 1]), states)
        key = s.keys[i]
        for seed in range(states.size):
            _set_bit(key, states[seed])


cdef void _less_hashing_filters(void* state) noexcept nogil:
    cdef Filters* s = <Filters*>state
    cdef int64_t i, position, step
    cdef Arena arena
    cdef Span[uint32_t] states = arena.empty[uint32_t](2)
    for i in range(s.keys.rows):
        _murmur3(s.data.slice(s.offsets[i], s.offsets[i + 1]), states)
        position, step = states[0], 1 + states[1] % (64 * s.keys.columns - 1)
        for _ in range(s.count):
            _set_bit(s.keys[i], position)
            position += step


def pack_shingles(const uint32_t[::1] points, const int64_t[::1] bounds, uint64_t[::1] packed):
    """Write the 3-character shingles of the values ``points[bounds[i]:bounds[i + 1]]`` one after the other.

    A shingle is three code points of 21 bits each; the only one of a shorter value is padded with zeros.
    """
    cdef Shingles state
    state.points, state.bounds, state.packed = uint32s(points), int64s(bounds), uint64s(packed)
    with nogil:
        run(&_pack_shingles, &state)


cdef void _pack_shingles(void* state) noexcept nogil:
    cdef Shingles* s = <Shingles*>state
    cdef int64_t i, first, p, start, end, count = 0
    cdef uint64_t shingle
    for i in range(s.bounds.size - 1):
        start, end = s.bounds[i], s.bounds[i + 1]
        for first in range(start, max(end - 2, start + 1)):
            shingle = 0
            for p in range(first, first + 3):
                shingle = shingle << 21 | (s.points[p] if p < end else 0)
            s.packed[count] = shingle
            count += 1


def vote(
    const int32_t[::1] features, const int64_t[::1] offsets, const uint64_t[:, ::1] digests, uint64_t[:, ::1] keys
):
    """Set in the key of every value the bits that are set in more than half of the digests of its features."""
    cdef Votes state
    state.features, state.offsets = int32s(features), int64s(offsets)
    state.digests, state.keys = uint64_matrix(digests), uint64_matrix(keys)
    with nogil:
        run(&_vote, &state)


cdef void _vote(void* state) noexcept nogil:
    """Count all 64 bits of a word at once: bit b of ``counter[d]`` is binary digit d of the count of bit b.

    A count starts so far below a power of two that it overflows just when more than half of the votes are in;
    what is carried out of the counter is the result.
    """
    cdef Votes* s = <Votes*>state
    cdef int64_t i, word, f, d, digits, needed
    cdef uint64_t[64] counter
    cdef uint64_t carry, before
    for i in range(s.keys.rows):
        needed = (s.offsets[i + 1] - s.offsets[i]) // 2 + 1
        digits = 0
        while needed >> digits:
            digits += 1
        for word in range(s.keys.columns):
            for d in range(digits):
                counter[d] = -(((<uint64_t>1 << digits) - needed) >> d & 1)
            for f in range(s.offsets[i], s.offsets[i + 1]):
                carry = s.digests[s.features[f]][word]
                for d in range(digits):
                    before = counter[d]
                    counter[d] = before ^ carry
                    carry &= before
                s.keys[i][word] |= carry
