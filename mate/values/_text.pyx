"""Native loops over the bytes of strings: `mate.values.text.token` for ASCII, and `mate.values.token_ids`."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from mate.native cimport Span, bytes_of, int64s, run

import numpy as np


cdef struct Strings:
    Span[uint8_t] data
    Span[int64_t] offsets


cdef struct Normalising:
    Strings cells
    Span[uint8_t] text
    Span[int64_t] bounds
    Span[uint8_t] ascii_only


cdef struct Numbering:
    Strings tokens
    Span[int64_t] ids


def normalise_ascii(const uint8_t[::1] data, const int64_t[::1] offsets):
    """Lower-case, trim and collapse white space of each ASCII string.

    Returns the new bytes and offsets and which strings are ASCII; the others come out empty.
    """
    cdef Normalising state
    cdef int64_t count = len(offsets) - 1
    text = np.empty(offsets[count] - offsets[0], np.uint8)
    bounds = np.zeros(count + 1, np.int64)
    ascii_only = np.ones(count, np.bool_)
    state.cells.data, state.cells.offsets = bytes_of(data), int64s(offsets)
    state.text, state.bounds, state.ascii_only = bytes_of(text), int64s(bounds), bytes_of(ascii_only.view(np.uint8))
    with nogil:
        run(&_normalise_ascii, &state)
    return text[: bounds[count]], bounds, ascii_only


cdef void _normalise_ascii(void* state) noexcept nogil:
    cdef Normalising* s = <Normalising*>state
    cdef Span[uint8_t] data = s.cells.data, text = s.text
    cdef Span[int64_t] offsets = s.cells.offsets
    cdef int64_t i, p, start, end = 0
    cdef uint8_t byte
    cdef bint gap
    for i in range(offsets.size - 1):
        start = end
        gap = False
        for p in range(offsets[i], offsets[i + 1]):
            byte = data[p]
            if byte >= 0x80:
                s.ascii_only[i] = False
                end = start
                break
            if byte == 0x20 or 0x09 <= byte <= 0x0D or 0x1C <= byte <= 0x1F:
                gap = end > start
                continue
            if gap:
                text[end] = 0x20
                end += 1
                gap = False
            text[end] = byte + 0x20 if 0x41 <= byte <= 0x5A else byte
            end += 1
        s.bounds[i + 1] = end


def hash_bytes(const uint8_t[::1] data, const int64_t[::1] offsets):
    """Return the number of each string."""
    cdef Numbering state
    ids = np.empty(len(offsets) - 1, np.int64)
    state.tokens.data, state.tokens.offsets, state.ids = bytes_of(data), int64s(offsets), int64s(ids)
    with nogil:
        run(&_hash_bytes, &state)
    return ids


cdef void _hash_bytes(void* state) noexcept nogil:
    cdef Numbering* s = <Numbering*>state
    cdef Span[uint8_t] data = s.tokens.data
    cdef int64_t i, p
    cdef uint64_t h
    for i in range(s.ids.size):
        h = 0xCBF29CE484222325ULL
        for p in range(s.tokens.offsets[i], s.tokens.offsets[i + 1]):
            h = (h ^ data[p]) * 0x100000001B3ULL
        h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCDULL
        h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53ULL
        s.ids[i] = (h ^ (h >> 33)) >> 1
