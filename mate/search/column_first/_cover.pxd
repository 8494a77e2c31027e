"""What the directory of a segment tells of its tables: the data that cover and check share."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from mate.native cimport Arena, Matrix, Span


cdef struct Values:
    # The distinct values of all key columns, numbered: those of key column w are key_first[w]:key_first[w + 1].
    Span[int64_t] token  # place in the segment, ascending within a key column
    Span[int64_t] key_first
    Span[int64_t] group_first  # the key tuples with value v are group_tuple[group_first[v]:group_first[v + 1]]
    Span[int64_t] group_tuple
    Matrix[int64_t] tuple_value  # by key column, the value of each key tuple


cdef struct Prefixes:
    # A prefix is the values of a key tuple in the first key columns of an order. One value has its own number; a longer
    # prefix is found by that of the prefix before it and its last value, in one hash table for all lengths.
    Span[int64_t] order
    int64_t values
    int64_t count
    Span[int64_t] slot_key  # prefix * values + value, -1 in a free slot
    Span[int64_t] slot_prefix
    Matrix[int64_t] tuple_prefix  # by length less one, the prefix of each key tuple


cdef struct Run:
    # What a table has of one value. Records are written in the order of values and read in that of tables: half a cache
    # line each.
    int32_t value
    int32_t entries
    int64_t start  # its first directory entry
    int64_t unit_start  # where the postings of its entries begin
    int64_t unit_stop


cdef struct Runs:
    # Those of table number n of the batch under key column w are run[first[n * W + w]:last[n * W + w]], by value.
    Span[int64_t] table
    Span[int64_t] first
    Span[int64_t] last
    Span[Run] run


cdef inline int64_t prefix_slot(int64_t key, int64_t mask) noexcept nogil:
    return <int64_t>((<uint64_t>key * <uint64_t>0x9E3779B97F4A7C15) >> 30) & mask


cdef inline int64_t longer_prefix(Prefixes* prefixes, int64_t prefix, int64_t value) noexcept nogil:
    """The prefix that follows with a value, -1 if no key tuple begins so."""
    cdef int64_t key = prefix * prefixes.values + value, mask = prefixes.slot_key.size - 1
    cdef int64_t slot = prefix_slot(key, mask)
    while prefixes.slot_key[slot] >= 0:
        if prefixes.slot_key[slot] == key:
            return prefixes.slot_prefix[slot]
        slot = (slot + 1) & mask
    return -1


cdef struct Covered:
    # The tables of a segment that may join at all, by falling bound.
    Values values
    Prefixes prefixes
    Matrix[int64_t] room  # by table of the segment and key column, directory entries
    Span[int64_t] table
    Span[int64_t] bound


cdef struct Collected:
    # The tables of a batch, which key tuples each may join, and how many.
    Runs runs
    Matrix[uint64_t] held
    Span[int64_t] bound
    Span[int64_t] order  # by falling bound, of equals the first one first


cdef class Cover:
    cdef Arena arena
    cdef Covered covered


cdef class TableBatch:
    cdef Arena arena
    cdef Cover cover
    cdef Collected collected
