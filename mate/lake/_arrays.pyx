"""Native loops that make the arrays of a segment, and count and look up in them."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp
from libcpp.algorithm cimport lower_bound, sort

from mate.native cimport (
    Arena,
    Interrupt,
    Matrix,
    Span,
    bytes_of,
    int32s,
    int64s,
    offsets_of,
    run,
    uint16s,
    uint32s,
    uint64_matrix,
    uint64s,
)

import numpy as np

cdef enum:
    AHEAD = 16  # cells whose tokens are prefetched


cdef class SegmentView:
    """The arrays of a segment, for native loops; it keeps them alive."""

    def __init__(self, arrays):
        self.arrays = arrays
        self.segment.token_id = int64s(arrays.token_id)
        self.segment.text_first = offsets_of(arrays.text_first)
        self.segment.text = bytes_of(arrays.text)
        self.segment.entry_first = offsets_of(arrays.entry_first)
        self.segment.entry_column = uint32s(arrays.entry_column)
        self.segment.posting_first = offsets_of(arrays.posting_first)
        self.segment.postings = uint16s(arrays.postings)
        self.segment.column_table = uint32s(arrays.column_table)
        self.segment.column_entry_first = offsets_of(arrays.column_entry_first)
        self.segment.column_token = uint32s(arrays.column_token)
        self.segment.code_first = int64s(arrays.code_first)
        self.segment.code_bytes = bytes_of(arrays.code_bytes)
        self.segment.codes = bytes_of(arrays.codes)
        self.segment.table_column_first = int64s(arrays.table_column_first)
        self.segment.table_row_first = int64s(arrays.table_row_first)
        self.segment.table_id = int64s(arrays.table_id)


# How the columns of a segment follow from its cells

ctypedef fused Code:
    uint8_t
    uint16_t
    uint32_t


cdef struct NewColumns:
    Span[int32_t] cells
    Span[int64_t] rows
    Span[int64_t] column_entry_first
    Span[uint32_t] column_token
    Span[uint32_t] sizes
    Span[int64_t] code_first
    Span[uint8_t] code_bytes
    Span[uint8_t] codes
    Span[int64_t] entry_first
    Span[uint32_t] entry_column
    Span[int64_t] posting_first
    Span[uint16_t] postings


def make_columns(const int32_t[::1] cells, const int64_t[::1] rows, int64_t tokens):
    """Return the arrays that follow from the cells of columns of so many rows each (`mate.lake.layout`), by name.

    Those whose length is not known at first are made as long as they may get: the system gives no memory for the rest.
    """
    cdef NewColumns c
    column_entry_first, code_first = np.zeros(len(rows) + 1, np.int64), np.zeros(len(rows) + 1, np.int64)
    code_bytes, entry_first = np.empty(len(rows), np.uint8), np.zeros(tokens + 1, np.int64)
    column_token, sizes = np.empty(len(cells), np.uint32), np.zeros(len(cells), np.uint32)
    codes = np.zeros(4 * len(cells), np.uint8)
    c.cells, c.rows, c.column_entry_first = int32s(cells), int64s(rows), int64s(column_entry_first)
    c.code_first, c.code_bytes, c.entry_first = int64s(code_first), bytes_of(code_bytes), int64s(entry_first)
    c.column_token, c.sizes, c.codes = uint32s(column_token), uint32s(sizes), bytes_of(codes)
    with nogil:
        run(&_encode_columns, &c)
    entries = column_entry_first[len(rows)]
    entry_column, posting_first = np.empty(entries, np.uint32), np.zeros(entries + 1, np.int64)
    c.entry_column, c.posting_first = uint32s(entry_column), int64s(posting_first)
    with nogil:
        run(&_fill_directory, &c)
    postings = np.empty(posting_first[entries], np.uint16)
    c.postings = uint16s(postings)
    with nogil:
        run(&_fill_postings, &c)
    return {
        "entry_first": entry_first,
        "entry_column": entry_column,
        "posting_first": posting_first,
        "postings": postings,
        "column_entry_first": column_entry_first,
        "column_token": column_token[:entries],
        "code_first": code_first[: len(rows)],
        "code_bytes": code_bytes,
        "codes": codes[: code_first[len(rows)]],
    }


cdef inline int64_t _units(int64_t rows) noexcept nogil:
    return 2 if rows >= WIDE_ROWS else 1


cdef void _encode_columns(void* state) noexcept nogil:
    """Number the tokens of every column and write its codes; `sizes` gets how many rows have each of them."""
    cdef NewColumns* c = <NewColumns*>state
    cdef Span[int32_t] own
    cdef Span[uint32_t] tokens, sizes
    cdef int64_t column, place, token, first, size, at = 0
    cdef uint8_t* codes
    cdef Arena arena
    cdef Interrupt interrupt
    cdef Span[uint32_t] code_of = arena.zeros[uint32_t](c.entry_first.size)
    for column in range(c.rows.size):
        interrupt.tick(c.rows[column])
        own = c.cells.slice(at, at + c.rows[column])
        at += c.rows[column]
        first = c.column_entry_first[column]
        tokens = _number_tokens(own, c.column_token.slice(first, c.column_token.size), code_of)
        size = 0 if tokens.size == 0 else 1 if tokens.size < 1 << 8 else 2 if tokens.size < 1 << 16 else 4
        c.column_entry_first[column + 1] = first + tokens.size
        c.code_bytes[column] = size
        c.code_first[column + 1] = c.code_first[column] + ((own.size * size + 3) & ~3)
        sizes = c.sizes.slice(first, first + tokens.size)
        codes = c.codes.slice(c.code_first[column], c.code_first[column + 1]).data
        if size == 1:
            _write_codes(own, code_of, sizes, codes)
        elif size == 2:
            _write_codes(own, code_of, sizes, <uint16_t*>codes)
        elif size == 4:
            _write_codes(own, code_of, sizes, <uint32_t*>codes)
        for place in range(tokens.size):
            code_of[tokens[place]] = 0
            c.entry_first[tokens[place] + 1] += 1
    for token in range(1, c.entry_first.size):
        c.entry_first[token] += c.entry_first[token - 1]


cdef Span[uint32_t] _number_tokens(Span[int32_t] cells, Span[uint32_t] tokens, Span[uint32_t] code_of) noexcept nogil:
    """Collect the distinct tokens of a column, ascending, and number them from 1."""
    cdef int64_t row, place, token, found = 0
    for row in range(cells.size):
        token = cells[row]
        if token >= 0 and code_of[token] == 0:
            code_of[token] = 1
            tokens[found] = token
            found += 1
    tokens = tokens.slice(0, found)
    sort(tokens.data, tokens.data + found)
    for place in range(found):
        code_of[tokens[place]] = place + 1
    return tokens


cdef void _write_codes(
    Span[int32_t] cells, Span[uint32_t] code_of, Span[uint32_t] sizes, Code* codes
) noexcept nogil:
    """Write the codes of a column, and count the rows of each of its tokens."""
    cdef int64_t row, token, code
    for row in range(cells.size):
        token = cells[row]
        if token >= 0:
            code = code_of[token]
            sizes[code - 1] += 1
            codes[row] = code


cdef void _fill_directory(void* state) noexcept nogil:
    """Turn columns with their tokens into tokens with their columns."""
    cdef NewColumns* c = <NewColumns*>state
    cdef int64_t column, at, token, entry
    cdef Arena arena
    cdef Interrupt interrupt
    cdef Span[int64_t] cursor = arena.empty[int64_t](c.entry_first.size)
    cursor.copy_from(c.entry_first)
    for column in range(c.rows.size):
        interrupt.tick(c.column_entry_first[column + 1] - c.column_entry_first[column])
        for at in range(c.column_entry_first[column], c.column_entry_first[column + 1]):
            token = c.column_token[at]
            entry = cursor[token]
            cursor[token] += 1
            c.entry_column[entry] = column
            c.posting_first[entry + 1] = c.sizes[at] * _units(c.rows[column])
    for entry in range(1, c.posting_first.size):
        c.posting_first[entry] += c.posting_first[entry - 1]


cdef void _fill_postings(void* state) noexcept nogil:
    """Write the rows of every token, column after column: its directory entries have the same order."""
    cdef NewColumns* c = <NewColumns*>state
    cdef int64_t column, row, token, place, units, at = 0
    cdef Arena arena
    cdef Interrupt interrupt
    cdef Span[int64_t] cursor = arena.empty[int64_t](c.entry_first.size)
    for token in range(cursor.size):
        cursor[token] = c.posting_first[c.entry_first[token]]
    for column in range(c.rows.size):
        interrupt.tick(c.rows[column])
        units = _units(c.rows[column])
        for row in range(c.rows[column]):
            if at + row + AHEAD < c.cells.size:
                cursor.prefetch(c.cells[at + row + AHEAD])
            token = c.cells[at + row]
            if token < 0:
                continue
            place = cursor[token]
            cursor[token] = place + units
            c.postings[place] = row & 0xFFFF
            if units == 2:
                c.postings[place + 1] = row >> 16
        at += c.rows[column]


# The super keys of rows

cdef struct RowKeys:
    Span[int32_t] cells
    Span[int64_t] rows
    Span[int64_t] columns
    Matrix[uint64_t] hashes
    int64_t bits
    Span[int64_t] first
    Span[uint64_t] keys


def fill_keys(
    const int32_t[::1] cells,
    const int64_t[::1] rows,
    const int64_t[::1] columns,
    const uint64_t[:, ::1] hashes,
    int64_t bits,
    const int64_t[::1] first,
    uint64_t[::1] keys,
):
    """OR the hashes of every row's tokens into its key, or with `bits`, put these fingerprints side by side.

    The cells of a table are given column after column; `first` has where the keys of each table begin.
    """
    cdef RowKeys state
    state.cells, state.rows, state.columns = int32s(cells), int64s(rows), int64s(columns)
    state.hashes, state.bits, state.first, state.keys = uint64_matrix(hashes), bits, int64s(first), uint64s(keys)
    with nogil:
        run(&_fill_keys, &state)


cdef void _fill_keys(void* state) noexcept nogil:
    cdef RowKeys* s = <RowKeys*>state
    cdef int64_t table, column, at = 0
    cdef Interrupt interrupt
    for table in range(s.rows.size):
        for column in range(s.columns[table]):
            interrupt.tick(s.rows[table])
            if s.bits:
                _put_fingerprints(s, table, column, at)
            else:
                _or_hashes(s, table, at)
            at += s.rows[table]


cdef void _or_hashes(RowKeys* s, int64_t table, int64_t at) noexcept nogil:
    """OR the hashes of a column, whose cells begin at a place, into the keys of a table's rows."""
    cdef Span[uint64_t] key, own, hashes = s.hashes.all()
    cdef int64_t row, word, words = s.hashes.columns, token
    for row in range(s.rows[table]):
        if at + row + AHEAD < s.cells.size:
            hashes.prefetch(s.cells[at + row + AHEAD] * words)
        token = s.cells[at + row]
        if token < 0:
            continue
        key, own = s.keys.slice(s.first[table] + row * words, s.first[table] + (row + 1) * words), s.hashes[token]
        if words == 2:
            key[0] |= own[0]
            key[1] |= own[1]
        else:
            for word in range(words):
                key[word] |= own[word]


cdef void _put_fingerprints(RowKeys* s, int64_t table, int64_t column, int64_t at) noexcept nogil:
    """Put the fingerprints of a column, whose cells begin at a place, behind those of the columns before it."""
    cdef Span[uint64_t] prints = s.hashes.all()
    cdef int64_t row, place, words = (s.bits * s.columns[table] + 63) >> 6
    cdef int64_t word = (column * s.bits) >> 6, shift = (column * s.bits) & 63
    for row in range(s.rows[table]):
        if s.cells[at + row] >= 0:
            place = s.first[table] + row * words + word
            s.keys[place] |= prints[s.cells[at + row]] << shift
            if shift + s.bits > 64:
                s.keys[place + 1] |= prints[s.cells[at + row]] >> (64 - shift)


# The places of tokens, by interpolation search. Ids are hashes, so that an id nearly tells its place. The id found there
# gives the second guess, which is hardly ever wrong by more than a hundred. Each step prefetches for all tokens what the
# next one reads: tokens are scattered through a large file.

cdef double IDS = 2.0**63


cdef struct Places:
    Segment* segment
    Span[int64_t] ids
    Span[uint8_t] data
    Span[int64_t] bounds
    Span[int64_t] found


def find_places(
    SegmentView view not None, const int64_t[::1] ids, const uint8_t[::1] data, const int64_t[::1] bounds
):
    """Return the place of each token, given by its id and its text ``data[bounds[i]:bounds[i + 1]]``; -1 for none."""
    cdef Places state
    found = np.empty(len(ids), np.int64)
    state.segment, state.ids, state.data, state.bounds = &view.segment, int64s(ids), bytes_of(data), int64s(bounds)
    state.found = int64s(found)
    with nogil:
        run(&_find_places, &state)
    return found


cdef void _find_places(void* state) noexcept nogil:
    cdef Places* s = <Places*>state
    cdef Segment* segment = s.segment
    cdef Span[int64_t] known = segment.token_id, found = s.found
    cdef int64_t i
    cdef Interrupt interrupt
    if known.size == 0:
        found.fill(-1)
        return
    for i in range(found.size):
        found[i] = min(<int64_t>(s.ids[i] / IDS * known.size), known.size - 1)
        known.prefetch(found[i])
    for i in range(found.size):
        interrupt.tick()
        found[i] += <int64_t>((s.ids[i] - known[found[i]]) / IDS * known.size)
        found[i] = min(max(found[i], <int64_t>0), known.size - 1)
        known.prefetch(found[i])
        segment.text_first.prefetch(found[i])
    for i in range(found.size):
        interrupt.tick()
        found[i] = _lower_bound(known, s.ids[i], found[i])
        if found[i] < known.size:
            segment.text.prefetch(segment.text_first[found[i]])
    for i in range(found.size):
        interrupt.tick()
        found[i] = _with_text(segment, s.ids[i], found[i], s.data.slice(s.bounds[i], s.bounds[i + 1]))


cdef int64_t _lower_bound(Span[int64_t] ids, int64_t wanted, int64_t guess) noexcept nogil:
    """Return the first place of an id that is not less than the one wanted, which is near the guess."""
    cdef int64_t low = guess, high = guess, step = 1
    while high < ids.size and ids[high] < wanted:
        low = high + 1
        high += step
        step *= 2
    step = 1
    while low > 0 and ids[low - 1] >= wanted:
        high = low - 1
        low -= step
        step *= 2
    low, high = max(low, <int64_t>0), min(high, ids.size)
    return lower_bound(ids.data + low, ids.data + high, wanted) - ids.data


cdef int64_t _with_text(Segment* segment, int64_t wanted, int64_t place, Span[uint8_t] text) noexcept nogil:
    """Return the place of the token that has this id and this text, from `place` on; -1 for none."""
    while place < segment.token_id.size and segment.token_id[place] == wanted:
        if _equal(segment.text.slice(segment.text_first[place], segment.text_first[place + 1]), text):
            return place
        place += 1  # two texts that share an id follow each other
    return -1


cdef inline bint _equal(Span[uint8_t] one, Span[uint8_t] other) noexcept nogil:
    return one.size == other.size and (one.size == 0 or memcmp(one.data, other.data, one.size) == 0)


# How many postings tokens have

cdef enum:
    STEPS = 16  # of a binary search for a table among the entries of a token


cdef struct Counting:
    Segment* segment
    Span[int64_t] places
    Span[uint8_t] live
    Span[int64_t] odd
    Span[int64_t] counts


def count_postings(
    SegmentView view not None, const int64_t[::1] places, const uint8_t[::1] live, const int64_t[::1] odd
):
    """Return how many postings each token has in the tables that are in use (flags); 0 for a place of -1.

    `odd` lists the tables whose units are not their postings in use: those not in use, and those with wide postings.
    """
    cdef Counting state
    counts = np.zeros(len(places), np.int64)
    state.segment, state.places, state.live = &view.segment, int64s(places), bytes_of(live)
    state.odd, state.counts = int64s(odd), int64s(counts)
    with nogil:
        run(&_count_postings, &state)
    return counts


cdef void _count_postings(void* state) noexcept nogil:
    """Count the units between the first and the last entry of a token, without what is too many in odd tables."""
    cdef Counting* c = <Counting*>state
    cdef Segment* segment = c.segment
    cdef int64_t i, token, start, stop, place, first, end
    cdef Interrupt interrupt
    for i in range(c.places.size):
        token = c.places[i]
        if token < 0:
            continue
        start, stop = segment.entry_first[token], segment.entry_first[token + 1]
        interrupt.tick(min(stop - start, <int64_t>1 << 16))
        c.counts[i] = segment.posting_first[stop] - segment.posting_first[start]
        if c.odd.size * STEPS > stop - start:
            c.counts[i] -= _excess(c, start, stop)
            continue
        for place in range(c.odd.size):
            first = first_entry(segment, token, segment.table_column_first[c.odd[place]])
            end = first_entry(segment, token, segment.table_column_first[c.odd[place] + 1])
            c.counts[i] -= _excess(c, first, end)


cdef int64_t _excess(Counting* c, int64_t start, int64_t stop) noexcept nogil:
    """Return by how many units of directory entries exceed postings in use."""
    cdef Segment* segment = c.segment
    cdef int64_t total = 0, entry, table, units
    for entry in range(start, stop):
        table = segment.column_table[segment.entry_column[entry]]
        units = segment.posting_first[entry + 1] - segment.posting_first[entry]
        total += units - units // units_per_posting(segment, table) if c.live[table] else units
    return total
