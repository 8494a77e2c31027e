"""Native loops of `mate.search.evidence` over the rows of a table."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from mate.lake._arrays cimport Segment, SegmentView
from mate.native cimport Arena, Interrupt, Matrix, Span, int64_matrix, int64s, run
from mate.search.evidence._evidence cimport (
    FREE, ROWS_PER_TICK, HeldColumns, KeyTuples, held_code, hold_columns, index_tuples, mix_row, new_slots,
    tuple_of,
)

import numpy as np


cdef struct Counting:
    Segment* segment
    Span[int64_t] columns
    Matrix[int64_t] tuples
    Span[int64_t] found


cdef void _count_distinct(void* state) noexcept nogil:
    cdef Counting* c = <Counting*>state
    cdef Arena arena
    cdef Interrupt interrupt
    cdef HeldColumns held = hold_columns(c.segment, c.columns, arena)
    cdef Span[int32_t] slots = new_slots(held.rows, arena)
    cdef int64_t row, slot, key, whole = 0, distinct = 0, mask = slots.size - 1
    cdef uint64_t mixed
    for row in range(held.rows):
        if row % ROWS_PER_TICK == 0:
            interrupt.tick(ROWS_PER_TICK)
        if not mix_row(&held, row, &mixed):
            continue
        whole += 1
        slot = mixed & <uint64_t>mask
        while slots[slot] != FREE:
            for key in range(held.first.size):
                if held_code(&held, key, slots[slot]) != held_code(&held, key, row):
                    break
            else:
                break
            slot = (slot + 1) & mask
        if slots[slot] == FREE:
            slots[slot] = <int32_t>row
            distinct += 1
    c.found[0], c.found[1] = whole, distinct


cdef void _tuples_of_rows(void* state) noexcept nogil:
    cdef Counting* c = <Counting*>state
    cdef Arena arena
    cdef Interrupt interrupt
    cdef int64_t row
    cdef KeyTuples tuples = index_tuples(hold_columns(c.segment, c.columns, arena), c.tuples, arena)
    for row in range(tuples.held.rows):
        if row % ROWS_PER_TICK == 0:
            interrupt.tick(ROWS_PER_TICK)
        c.found[row] = tuple_of(&tuples, row)


cdef _count(void (*loop)(void*) noexcept nogil, SegmentView view, columns, tuples, found):
    cdef Counting state
    state.segment, state.columns, state.found = &view.segment, int64s(columns), int64s(found)
    state.tuples = int64_matrix(tuples)
    with nogil:
        run(loop, &state)
    return found


def count_distinct(SegmentView view not None, columns):
    """Return how many rows of a table have a value in every column, and how many distinct combinations these have."""
    return tuple(_count(&_count_distinct, view, columns, np.empty((0, 0), np.int64), np.zeros(2, np.int64)).tolist())


def tuples_of_rows(SegmentView view not None, columns, tuples, int64_t rows):
    """Return for each row of a table the number of the key tuple that it holds, -1 for none."""
    return _count(&_tuples_of_rows, view, columns, tuples, np.full(rows, -1))
