"""A segment's arrays as native loops read them (`mate.lake.layout.SegmentArrays` describes each)."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libcpp.algorithm cimport lower_bound

from mate.native cimport Offsets, Span

cdef enum:
    WIDE_ROWS = 65_536


cdef struct Segment:
    Span[int64_t] token_id
    Offsets text_first
    Span[uint8_t] text
    Offsets entry_first
    Span[uint32_t] entry_column
    Offsets posting_first
    Span[uint16_t] postings
    Span[uint32_t] column_table
    Offsets column_entry_first
    Span[uint32_t] column_token
    Span[int64_t] code_first
    Span[uint8_t] code_bytes
    Span[uint8_t] codes
    Span[int64_t] table_column_first
    Span[int64_t] table_row_first
    Span[int64_t] table_id


cdef class SegmentView:
    cdef Segment segment
    cdef object arrays


cdef inline int64_t rows_of(Segment* segment, int64_t table) noexcept nogil:
    """Rows of a table."""
    return segment.table_row_first[table + 1] - segment.table_row_first[table]


cdef inline int64_t units_per_posting(Segment* segment, int64_t table) noexcept nogil:
    """Units of `postings` that a row takes in a table."""
    return 2 if rows_of(segment, table) >= WIDE_ROWS else 1


cdef inline int64_t posting_row(Segment* segment, int64_t place, int64_t units) noexcept nogil:
    """The row of the posting that begins at a unit."""
    if units == 1:
        return segment.postings[place]
    return segment.postings[place] | (<int64_t>segment.postings[place + 1] << 16)


cdef inline int64_t code_at(Segment* segment, int64_t first, int64_t size, int64_t row) noexcept nogil:
    """The code of a row in the column whose codes begin at a byte and take so many bytes each."""
    if size == 1:
        return segment.codes[first + row]
    if size == 2:
        return (<uint16_t*>&segment.codes[first + 2 * row])[0]
    return (<uint32_t*>&segment.codes[first + 4 * row])[0]


cdef inline int64_t first_entry(Segment* segment, int64_t token, int64_t column) noexcept nogil:
    """The first directory entry of a token at or behind a column."""
    cdef uint32_t* columns = segment.entry_column.data
    cdef int64_t first = segment.entry_first[token], end = segment.entry_first[token + 1]
    return lower_bound(columns + first, columns + end, column) - columns
