"""Native loops of the Bloom filters, with MurmurHash3 (x86, 32 bits), of SimHash and of XASH as released: many values
at a time."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort

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


cdef struct Released:
    Span[uint8_t] data
    Span[int64_t] offsets
    int64_t characters
    int64_t beta
    int64_t length_bits
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


def released_keys(
    const uint8_t[::1] data, const int64_t[::1] offsets, int64_t characters, int64_t beta, int64_t length_bits,
    uint64_t[:, ::1] keys,
):
    """Set the bits of `baselines.hashes.released.released` in the key of every string."""
    cdef Released state
    state.data, state.offsets, state.keys = bytes_of(data), int64s(offsets), uint64_matrix(keys)
    state.characters, state.beta, state.length_bits = characters, beta, length_bits
    with nogil:
        run(&_released_keys, &state)


cdef inline uint32_t _next_point(Span[uint8_t] data, int64_t* p) noexcept nogil:
    """Return the code point at `p`, and move on to the one after it; Arrow has checked that it is valid."""
    cdef uint32_t point = data[p[0]]
    cdef int64_t more = 0 if point < 0x80 else 1 if point < 0xE0 else 2 if point < 0xF0 else 3
    if more:
        point &= 0x3F >> more
    p[0] += 1
    for _ in range(more):
        point = point << 6 | (data[p[0]] & 0x3F)
        p[0] += 1
    return point


cdef inline int64_t _segment_of(uint32_t point) noexcept nogil:
    """Return the number of a character's segment, -1 if it has none."""
    if c"0" <= point <= c"9":
        return point - c"0" + 1
    if c"a" <= point <= c"z":
        return point - c"a" + 11
    return 0 if point == c" " else -1


cdef int64_t _rarest(Span[uint32_t] points, int64_t wanted, Span[uint32_t] chosen, Span[int64_t] count) noexcept nogil:
    """Put the least frequent of sorted code points into `chosen`, of equals the lowest; return how many there are."""
    cdef int64_t i = 0, first, place, found = 0
    while i < points.size:
        first = i
        while i < points.size and points[i] == points[first]:
            i += 1
        place = found
        while place and count[place - 1] > i - first:
            if place < wanted:
                chosen[place], count[place] = chosen[place - 1], count[place - 1]
            place -= 1
        if place < wanted:
            chosen[place], count[place] = points[first], i - first
            found = min(found + 1, wanted)
    return found


cdef void _released_keys(void* state) noexcept nogil:
    cdef Released* s = <Released*>state
    cdef Arena arena
    cdef Span[uint32_t] points = arena.empty[uint32_t](64), chosen = arena.empty[uint32_t](s.characters)
    cdef Span[int64_t] count = arena.empty[int64_t](s.characters), places = arena.empty[int64_t](37)
    cdef int64_t character_bits = 37 * s.beta, last = 64 * s.keys.columns - 1
    cdef int64_t i, p, end, length, segment, area, turned, c
    for i in range(s.keys.rows):
        p, end, length = s.offsets[i], s.offsets[i + 1], 0
        if end - p > points.size:
            points = arena.empty[uint32_t](2 * (end - p))
        places.fill(0)
        while p < end:
            points[length] = _next_point(s.data, &p)
            segment = _segment_of(points[length])
            if segment >= 0:
                places[segment] += length
            length += 1
        sort(points.data, points.data + length)
        _set_bit(s.keys[i], last - character_bits - length % s.length_bits)
        turned = character_bits * (length % s.length_bits) // s.length_bits
        for c in range(_rarest(points.slice(0, length), s.characters, chosen, count)):
            segment = _segment_of(chosen[c])
            if segment >= 0:
                # The mean place, times beta, by the length, rounded up, and one less: from 0 on.
                area = (places[segment] * s.beta + count[c] * length - 1) // (count[c] * length) - 1
                _set_bit(s.keys[i], last - (segment * s.beta + max(area, 0) + turned) % character_bits)
