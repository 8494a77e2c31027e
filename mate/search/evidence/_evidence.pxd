"""Which rows of a table hold which key tuple, for native loops: combinations of codes are looked up in a hash table."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from mate.lake._arrays cimport Segment, code_at, rows_of
from mate.native cimport Arena, Interrupt, Matrix, Span

cdef enum:
    FREE = -1
    ROWS_PER_TICK = 4_096


cdef struct HeldColumns:
    Segment* segment
    int64_t rows  # 0 where a column has no value: no row has a value in every column then
    Span[int64_t] first
    Span[int64_t] size
    int64_t leading  # the column with the most values
    int64_t values


cdef struct KeyTuples:
    HeldColumns held
    Matrix[int64_t] codes  # one row per tuple, 0 for a value that a column does not have
    Span[int32_t] slots
    Span[uint8_t] flags  # the codes of the leading column that a tuple has


cdef inline HeldColumns hold_columns(Segment* segment, Span[int64_t] columns, Arena& arena) noexcept nogil:
    """View columns of a table, numbered through the segment."""
    cdef HeldColumns held
    cdef int64_t key, column, values
    held.segment = segment
    held.rows = rows_of(segment, segment.column_table[columns[0]])
    held.first = arena.empty[int64_t](columns.size)
    held.size = arena.empty[int64_t](columns.size)
    held.leading = held.values = 0
    for key in range(columns.size):
        column = columns[key]
        held.first[key] = segment.code_first[column]
        held.size[key] = segment.code_bytes[column]
        values = segment.column_entry_first[column + 1] - segment.column_entry_first[column]
        if values == 0:
            held.rows = 0
        elif values > held.values:
            held.leading, held.values = key, values
    return held


cdef inline int64_t held_code(HeldColumns* held, int64_t key, int64_t row) noexcept nogil:
    """The code of a row in one of the columns."""
    return code_at(held.segment, held.first[key], held.size[key], row)


cdef inline Span[int32_t] new_slots(int64_t count, Arena& arena) noexcept nogil:
    """Return the slots of a hash table for so many numbers, at most half full."""
    cdef int64_t size = 16
    while size < 2 * count:
        size *= 2
    return arena.full[int32_t](size, FREE)


cdef inline uint64_t mix(uint64_t mixed, int64_t code) noexcept nogil:
    """Return a hash of a combination with one more code."""
    mixed = (mixed ^ <uint64_t>code) * 0x9E3779B97F4A7C15ULL
    return mixed ^ (mixed >> 29)


cdef inline bint mix_row(HeldColumns* held, int64_t row, uint64_t* mixed) noexcept nogil:
    """Hash the codes of a row; tell whether it has a value in every column."""
    cdef int64_t key, code
    mixed[0] = 0
    for key in range(held.first.size):
        code = held_code(held, key, row)
        if code == 0:
            return False
        mixed[0] = mix(mixed[0], code)
    return True


cdef inline KeyTuples index_tuples(HeldColumns held, Matrix[int64_t] codes, Arena& arena) noexcept nogil:
    """Put distinct key tuples into a hash table, without those that have a value that a column does not have."""
    cdef KeyTuples tuples
    cdef Span[int64_t] own
    cdef int64_t number, key, slot, mask
    cdef uint64_t mixed
    tuples.held, tuples.codes = held, codes
    tuples.slots = new_slots(codes.rows, arena)
    tuples.flags = arena.zeros[uint8_t](held.values + 1)
    mask = tuples.slots.size - 1
    for number in range(codes.rows):
        own = codes[number]
        mixed = 0
        for key in range(own.size):
            if own[key] == 0:
                break
            mixed = mix(mixed, own[key])
        else:
            tuples.flags[own[held.leading]] = 1
            slot = mixed & <uint64_t>mask
            while tuples.slots[slot] != FREE:
                slot = (slot + 1) & mask
            tuples.slots[slot] = <int32_t>number
    return tuples


cdef inline int64_t tuple_of(KeyTuples* tuples, int64_t row) noexcept nogil:
    """Return the number of the key tuple that a row holds, -1 for none."""
    cdef int64_t slot, number, key, mask = tuples.slots.size - 1
    cdef uint64_t mixed
    cdef Span[int64_t] own
    # Most rows are passed over by the code that tells the most.
    if not tuples.flags[held_code(&tuples.held, tuples.held.leading, row)] or not mix_row(&tuples.held, row, &mixed):
        return -1
    slot = mixed & <uint64_t>mask
    while True:
        number = tuples.slots[slot]
        if number == FREE:
            return -1
        own = tuples.codes[number]
        for key in range(own.size):
            if own[key] != held_code(&tuples.held, key, row):
                break
        else:
            return number
        slot = (slot + 1) & mask


cdef inline int64_t count_tuples(
    KeyTuples* tuples, int64_t needed, Span[int64_t] counts, Interrupt& interrupt
) noexcept nogil:
    """Count the rows that hold each key tuple; return how many tuples are held.

    Ends early where fewer tuples than needed can be.
    """
    cdef int64_t row, number, joined = 0, rows = tuples.held.rows
    for row in range(rows):
        if row % ROWS_PER_TICK == 0:
            interrupt.tick(ROWS_PER_TICK)
        if joined + rows - row < needed:
            break
        number = tuple_of(tuples, row)
        if number >= 0:
            joined += counts[number] == 0
            counts[number] += 1
    return joined
