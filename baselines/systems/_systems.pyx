"""The loops of MCR, which marks rows, and of JOSIE, whose sets are put into a global order."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from mate.lake._arrays cimport Segment, SegmentView, posting_row, units_per_posting
from mate.native cimport Arena, Interrupt, Span, int64s, run, uint32s, uint64s

import numpy as np


cdef struct Marking:
    Segment* segment
    Span[int64_t] token
    uint64_t bit
    Span[uint64_t] marks
    int64_t postings


cdef void _mark(void* state) noexcept nogil:
    cdef Marking* m = <Marking*>state
    cdef Segment* segment = m.segment
    cdef Span[uint64_t] marks = m.marks
    cdef uint64_t bit = m.bit
    cdef int64_t i, entry, place, stop, table, first, units
    cdef Interrupt interrupt
    for i in range(m.token.size):
        for entry in range(segment.entry_first[m.token[i]], segment.entry_first[m.token[i] + 1]):
            table = segment.column_table[segment.entry_column[entry]]
            first, units = segment.table_row_first[table], units_per_posting(segment, table)
            place, stop = segment.posting_first[entry], segment.posting_first[entry + 1]
            interrupt.tick(stop - place)
            m.postings += (stop - place) // units
            while place < stop:
                marks[first + posting_row(segment, place, units)] |= bit
                place += units


def mark(SegmentView view not None, const int64_t[::1] token, int64_t number, uint64_t[::1] marks):
    """Set a bit, given by its number, of every row that has one of the tokens; return the number of postings."""
    cdef Marking m
    m.segment, m.token, m.bit, m.marks = &view.segment, int64s(token), <uint64_t>1 << number, uint64s(marks)
    m.postings = 0
    with nogil:
        run(&_mark, &m)
    return m.postings


cdef struct Ordering:
    Segment* segment
    Span[int64_t] token
    Span[uint32_t] position
    Span[uint32_t] members


cdef void _order_sets(void* state) noexcept nogil:
    cdef Ordering* o = <Ordering*>state
    cdef Segment* segment = o.segment
    cdef int64_t rank, entry, column
    cdef Span[uint32_t] filled
    cdef Arena arena
    cdef Interrupt interrupt
    filled = arena.zeros[uint32_t](segment.column_table.size)
    for rank in range(o.token.size):
        for entry in range(segment.entry_first[o.token[rank]], segment.entry_first[o.token[rank] + 1]):
            interrupt.tick()
            column = segment.entry_column[entry]
            o.position[entry] = filled[column]
            o.members[segment.column_entry_first[column] + filled[column]] = <uint32_t>rank
            filled[column] += 1


def order_sets(SegmentView view not None, const int64_t[::1] token):
    """Return the position of every directory entry in its set, and the sets as ranks of tokens in the global order."""
    cdef Ordering o
    position, members = (np.empty(view.segment.entry_column.size, np.uint32) for _ in range(2))
    o.segment, o.token, o.position, o.members = &view.segment, int64s(token), uint32s(position), uint32s(members)
    with nogil:
        run(&_order_sets, &o)
    return position, members
