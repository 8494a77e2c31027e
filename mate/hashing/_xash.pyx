"""`mate.hashing.xash.xash` for many strings: straight from UTF-8 to bits, one pass over each value.

The sets of characters seen once and more than once are kept as 37-bit masks in lexicographical order, so that
"the least frequent, ties in lexicographical order" is mostly "the lowest bits of the first mask".
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from mate.native cimport Matrix, Span, bytes_of, int64s, lowest_bit, run, uint64_matrix

cdef enum:
    ALPHABET = 37


cdef struct Hashing:
    Span[uint8_t] data
    Span[int64_t] offsets
    Span[uint8_t] ranks
    Span[uint8_t] order
    Matrix[uint64_t] keys
    int64_t wanted
    int64_t beta
    int64_t length_bits
    bint with_length
    bint with_location
    bint rotated


cdef struct Tally:
    int64_t[ALPHABET] count
    int64_t[ALPHABET] place_sum
    bint done


def hash_strings(
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const uint8_t[::1] ranks,
    const uint8_t[::1] order,
    uint64_t[:, ::1] keys,
    int64_t wanted,
    int64_t beta,
    int64_t length_bits,
    bint with_length,
    bint with_location,
    bint rotated,
):
    """Set the bits of every string in its row of `keys`, `wanted` characters each.

    `ranks` has the place of code points in the alphabet, the space first. `order` has the ranks in the order of choice,
    none for "by how often the value has them".
    """
    cdef Hashing state
    state.data, state.offsets, state.ranks = bytes_of(data), int64s(offsets), bytes_of(ranks)
    state.order, state.keys = bytes_of(order), uint64_matrix(keys)
    state.wanted, state.beta, state.length_bits = wanted, beta, length_bits
    state.with_length, state.with_location, state.rotated = with_length, with_location, rotated
    with nogil:
        run(&_hash_strings, &state)


cdef inline int64_t _next_rank(Span[uint8_t] data, int64_t* p, Span[uint8_t] ranks) noexcept nogil:
    """Return the rank of the character at `p`, and move on to the one after it; Arrow has checked that it is valid."""
    cdef int64_t code = data[p[0]], more
    p[0] += 1
    if code < 0x80:
        return ranks[code]
    more = 1 if code < 0xE0 else 2 if code < 0xF0 else 3
    code &= 0x3F >> more
    for _ in range(more):
        code = (code << 6) | (data[p[0]] & 0x3F)
        p[0] += 1
    return ranks[code] if code < ranks.size else (code % ALPHABET + 1) % ALPHABET


cdef void _tally(Span[uint8_t] data, int64_t p, int64_t end, Span[uint8_t] ranks, Tally* tally) noexcept nogil:
    """Count every character of a value and sum up its places."""
    cdef int64_t rank, length = 0
    for rank in range(ALPHABET):
        tally.count[rank] = tally.place_sum[rank] = 0
    while p < end:
        rank = _next_rank(data, &p, ranks)
        length += 1
        tally.count[rank] += 1
        tally.place_sum[rank] += length
    tally.done = True


cdef int64_t _least_frequent(uint64_t mask, Tally* tally) noexcept nogil:
    cdef int64_t rank, least = lowest_bit(mask)
    while mask:
        rank = lowest_bit(mask)
        mask &= mask - 1
        if tally.count[rank] < tally.count[least]:
            least = rank
    return least


cdef int64_t _first_of(uint64_t mask, Span[uint8_t] order) noexcept nogil:
    """Return the first rank of an order that a mask has; it has one."""
    cdef int64_t i = 0
    while not mask >> order[i] & 1:
        i += 1
    return order[i]


cdef inline void _set_bit(Span[uint64_t] key, int64_t position) noexcept nogil:
    key[position >> 6] |= <uint64_t>1 << (63 - (position & 63))


cdef void _hash_strings(void* state) noexcept nogil:
    cdef Hashing* s = <Hashing*>state
    cdef Span[uint8_t] data = s.data, ranks = s.ranks
    cdef Span[uint64_t] key
    cdef int64_t beta = s.beta, length_bits = s.length_bits, character_bits = ALPHABET * s.beta
    cdef int64_t i, p, end, length, rank, shift, position
    cdef int64_t[ALPHABET] place
    cdef uint64_t present, repeated, singles, bit
    cdef double offset, per_length
    cdef Tally tally
    for i in range(s.offsets.size - 1):
        present = repeated = 0
        length = 0
        p, end = s.offsets[i], s.offsets[i + 1]
        while p < end:
            rank = _next_rank(data, &p, ranks)
            length += 1
            bit = <uint64_t>1 << rank
            repeated |= present & bit
            present |= bit
            place[rank] = length
        if length == 0:
            continue
        key = s.keys[i]
        if s.with_length:
            _set_bit(key, (length - 1) % length_bits)
        shift = length if s.rotated else 0
        if shift >= character_bits:  # a division takes long
            shift %= character_bits
        singles = present & ~repeated
        # ceil(a / b) - 1 = floor((a - 1/2) / b) for whole a, b, and the half keeps rounding errors harmless.
        per_length = 1.0 / length
        tally.done = False
        for _ in range(s.wanted):
            if not singles | repeated:
                break
            if (s.order.size or not singles) and not tally.done and repeated:
                _tally(data, s.offsets[i], end, ranks, &tally)
            if s.order.size:
                rank = _first_of(singles | repeated, s.order)
            else:
                rank = lowest_bit(singles) if singles else _least_frequent(repeated, &tally)
            bit = <uint64_t>1 << rank
            if singles & bit:
                singles ^= bit
                offset = (place[rank] * beta - 0.5) * per_length
            else:
                repeated ^= bit
                offset = (tally.place_sum[rank] * beta - 0.5) / (tally.count[rank] * length)
            position = (rank - 1 if rank else ALPHABET - 1) * beta - shift
            if s.with_location:
                position += <int64_t>offset
            if position < 0:
                position += character_bits
            _set_bit(key, position + length_bits)
