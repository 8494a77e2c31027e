"""Native loops over the directory: which tables may join at all, how well at most, and their entries by table."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from mate.lake._arrays cimport Segment, SegmentView, rows_of
from mate.native cimport Arena, Interrupt, Matrix, Span, ascending, bytes_of, int64_matrix, popcount, run

from mate.errors import CancelledError

cdef enum:
    COVER = 32  # the cover of a column is above this bit, the number of its entries below: they are read together
    ENTRIES = 0xFFFFFFFF


cdef class Cover:
    """The tables of a segment that may join at all, by falling bound."""

    def __len__(self):
        return self.covered.table.size

    def bound_of(self, int64_t number):
        """Return the most key tuples that the table at this place may join."""
        if not 0 <= number < self.covered.bound.size:
            raise IndexError(number)
        return self.covered.bound[number]


cdef class TableBatch:
    """Tables that are searched together, with their directory entries and the key tuples all of whose values they have."""

    def __len__(self):
        return self.collected.bound.size

    @property
    def entries(self):
        """Directory entries of the tables."""
        return self.collected.runs.run.size


# Values and prefixes


cdef Span[int64_t] _number_column(
    Matrix[int64_t] places, Matrix[int64_t] numbers, int64_t key, Span[int64_t] found, int64_t first,
    Span[int64_t] tuple_value, Arena& arena,
) noexcept nogil:
    """Number the values of a key column from `first` on, by their places in the segment; return these places."""
    cdef int64_t t, count = 0, place
    cdef Span[int64_t] token = arena.empty[int64_t](places.rows), order, rank, ordered
    for t in range(places.rows):
        if found[numbers[t][key]] < first:
            found[numbers[t][key]] = first + count
            token[count] = places[t][key]
            count += 1
    order = ascending(token.slice(0, count), arena)
    rank, ordered = arena.empty[int64_t](count), arena.empty[int64_t](count)
    for place in range(count):
        rank[order[place]] = first + place
        ordered[place] = token[order[place]]
    for t in range(places.rows):
        tuple_value[t] = rank[found[numbers[t][key]] - first]
    return ordered


cdef Values _number_values(
    Matrix[int64_t] places, Matrix[int64_t] numbers, int64_t count, Arena& arena, Arena& scratch
) noexcept nogil:
    """Return the values of key tuples, given as places in the segment and as numbers below `count`."""
    cdef Values values
    cdef int64_t tuples = places.rows, width = places.columns, key, t, value
    cdef Span[int64_t] found = scratch.full[int64_t](count, -1), own, cursor
    cdef Span[int64_t] token = arena.empty[int64_t](tuples * width)
    values.key_first = arena.zeros[int64_t](width + 1)
    values.tuple_value = arena.empty_matrix[int64_t](width, tuples)
    for key in range(width):
        own = _number_column(places, numbers, key, found, values.key_first[key], values.tuple_value[key], scratch)
        token.slice(values.key_first[key], token.size).copy_from(own)
        values.key_first[key + 1] = values.key_first[key] + own.size
    values.token = token.slice(0, values.key_first[width])
    values.group_first = arena.zeros[int64_t](values.token.size + 1)
    values.group_tuple = arena.empty[int64_t](tuples * width)
    for key in range(width):
        for t in range(tuples):
            values.group_first[values.tuple_value[key][t] + 1] += 1
    for value in range(values.token.size):
        values.group_first[value + 1] += values.group_first[value]
    cursor = scratch.empty[int64_t](values.token.size + 1)
    cursor.copy_from(values.group_first)
    for key in range(width):
        for t in range(tuples):
            value = values.tuple_value[key][t]
            values.group_tuple[cursor[value]] = t
            cursor[value] += 1
    return values


cdef Prefixes _number_prefixes(Values* values, Span[int64_t] order, Arena& arena) noexcept nogil:
    """Number the prefixes of all key tuples in an order of the key columns."""
    cdef Prefixes prefixes
    cdef int64_t width = values.tuple_value.rows, tuples = values.tuple_value.columns, room = 16
    cdef int64_t length, t, key, slot
    cdef Span[int64_t] own
    while room < 2 * tuples * (width - 1):
        room *= 2
    prefixes.order = order
    prefixes.values = prefixes.count = values.token.size
    prefixes.slot_key = arena.full[int64_t](room, -1)
    prefixes.slot_prefix = arena.empty[int64_t](room)
    prefixes.tuple_prefix = arena.empty_matrix[int64_t](width, tuples)
    prefixes.tuple_prefix[0].copy_from(values.tuple_value[order[0]])
    for length in range(1, width):
        own = values.tuple_value[order[length]]
        for t in range(tuples):
            key = prefixes.tuple_prefix[length - 1][t] * prefixes.values + own[t]
            slot = prefix_slot(key, room - 1)
            while prefixes.slot_key[slot] != key:
                if prefixes.slot_key[slot] < 0:
                    prefixes.slot_key[slot] = key
                    prefixes.slot_prefix[slot] = prefixes.count
                    prefixes.count += 1
                    break
                slot = (slot + 1) & (room - 1)
            prefixes.tuple_prefix[length][t] = prefixes.slot_prefix[slot]
    return prefixes


# Cover


cdef Span[int64_t] _entries_by_key(Segment* segment, Values* values, Arena& arena) noexcept nogil:
    """Return the number of directory entries of each key column's values."""
    cdef int64_t key, value, token
    cdef Span[int64_t] found = arena.zeros[int64_t](values.tuple_value.rows)
    for key in range(found.size):
        for value in range(values.key_first[key], values.key_first[key + 1]):
            token = values.token[value]
            found[key] += segment.entry_first[token + 1] - segment.entry_first[token]
    return found


cdef void _cover_columns(Segment* segment, Values* values, Matrix[int64_t] counts, Interrupt& interrupt) noexcept nogil:
    """For every key column and table column, bound the key tuples that may join, and count the directory entries.

    A value joins as many key tuples as have it, and not more than it has postings in the column.
    """
    cdef int64_t key, value, token, start, stop, weight, before, after, entry
    cdef Span[int64_t] own
    cdef uint32_t* column = segment.entry_column.data
    for key in range(counts.rows):
        own = counts[key]
        for value in range(values.key_first[key], values.key_first[key + 1]):
            token = values.token[value]
            start, stop = segment.entry_first[token], segment.entry_first[token + 1]
            weight = values.group_first[value + 1] - values.group_first[value]
            interrupt.tick(stop - start)
            if weight == 1:
                for entry in range(start, stop):
                    own[column[entry]] += (<int64_t>1 << COVER) + 1
                continue
            before = segment.posting_first[start]
            for entry in range(start, stop):
                after = segment.posting_first[entry + 1]
                own[column[entry]] += (min(weight, after - before) << COVER) + 1
                before = after


cdef Span[uint8_t] _tables_with(
    Segment* segment, Values* values, int64_t key, Span[uint8_t] wanted, Arena& arena
) noexcept nogil:
    """Return which of the wanted tables have a value of a key column."""
    cdef int64_t value, token, entry, table
    cdef Span[uint8_t] found = arena.zeros[uint8_t](wanted.size)
    for value in range(values.key_first[key], values.key_first[key + 1]):
        token = values.token[value]
        for entry in range(segment.entry_first[token], segment.entry_first[token + 1]):
            table = segment.column_table[segment.entry_column[entry]]
            found[table] = wanted[table]
    return found


cdef struct BestTwo:
    int64_t column  # the best column
    int64_t first  # its cover
    int64_t second  # that of the next best
    int64_t entries  # of all columns


cdef inline BestTwo _best_two(Span[int64_t] counts, int64_t start, int64_t stop) noexcept nogil:
    """Return the two best columns of a table for a key column."""
    cdef BestTwo best
    cdef int64_t column, count, total = 0
    best.column, best.first, best.second = -1, 0, 0
    for column in range(start, stop):
        count = counts[column] >> COVER
        total += counts[column]
        if count > best.first:
            best.column, best.first, best.second = column, count, best.first
        elif count > best.second:
            best.second = count
    best.entries = total & <int64_t>ENTRIES
    return best


cdef void _bound_tables(
    Segment* segment, Matrix[int64_t] counts, Span[uint8_t] wanted, Span[int64_t] bound, Matrix[int64_t] room, Arena& arena
) noexcept nogil:
    """Bound the joinability of every wanted table by the best columns of any two key columns; count its entries."""
    cdef int64_t table, start, stop, least, key, other, width = counts.rows
    cdef Span[BestTwo] best = arena.empty[BestTwo](width)
    for table in range(wanted.size):
        start, stop = segment.table_column_first[table], segment.table_column_first[table + 1]
        if not wanted[table] or stop - start < width:
            continue
        least = rows_of(segment, table)
        for key in range(width):
            best[key] = _best_two(counts[key], start, stop)
            least = min(least, best[key].first)
            if least == 0:
                break
            for other in range(key):
                if best[other].column == best[key].column:
                    least = min(least, max(min(best[key].first, best[other].second), min(best[key].second, best[other].first)))
        bound[table] = least
        if least:
            for key in range(width):
                room[table][key] = best[key].entries


cdef Span[int64_t] _by_bound(Span[int64_t] bound, Arena& arena, Arena& scratch) noexcept nogil:
    """Return the tables that may join at all, by falling bound, of equals the first one first."""
    cdef int64_t table, count = 0
    cdef Span[int64_t] found = arena.empty[int64_t](bound.size), place = scratch.empty[int64_t](bound.size)
    cdef Span[int64_t] falling = scratch.empty[int64_t](bound.size), order
    for table in range(bound.size):
        if bound[table]:
            place[count], falling[count] = table, -bound[table]
            count += 1
    order = ascending(falling.slice(0, count), scratch)
    for table in range(count):
        found[table] = place[order[table]]
    return found.slice(0, count)


cdef struct CoverTask:
    Segment* segment
    Matrix[int64_t] places
    Matrix[int64_t] numbers
    int64_t count
    Span[uint8_t] wanted
    const uint8_t* cancelled
    Arena* arena
    Covered* covered


cdef void _cover(void* state) noexcept nogil:
    """Number the values and bound the tables.

    Where the rarest key column has few entries, only the tables that these lead to are looked at.
    """
    cdef CoverTask* task = <CoverTask*>state
    cdef Segment* segment = task.segment
    cdef Covered* covered = task.covered
    cdef Arena scratch
    cdef Interrupt interrupt = Interrupt(task.cancelled)
    cdef int64_t width = task.places.columns, rarest, number, key
    cdef Span[int64_t] sizes, bound
    cdef Matrix[int64_t] counts
    cdef Span[uint8_t] wanted = task.wanted
    covered.values = _number_values(task.places, task.numbers, task.count, task.arena[0], scratch)
    sizes = _entries_by_key(segment, &covered.values, scratch)
    counts = scratch.zero_matrix[int64_t](width, segment.column_table.size)
    _cover_columns(segment, &covered.values, counts, interrupt)
    rarest = ascending(sizes, scratch)[0]
    if sizes[rarest] < segment.column_table.size:
        wanted = _tables_with(segment, &covered.values, rarest, wanted, scratch)
    bound = scratch.zeros[int64_t](wanted.size)
    covered.room = task.arena.zero_matrix[int64_t](wanted.size, width)
    _bound_tables(segment, counts, wanted, bound, covered.room, scratch)
    covered.table = _by_bound(bound, task.arena[0], scratch)
    covered.bound = task.arena.empty[int64_t](covered.table.size)
    for number in range(covered.table.size):
        covered.bound[number] = bound[covered.table[number]]
    covered.prefixes = _number_prefixes(&covered.values, ascending(sizes, task.arena[0]), task.arena[0])


def cover(
    SegmentView view not None, const int64_t[:, ::1] places, const int64_t[:, ::1] numbers, int64_t count,
    const uint8_t[::1] wanted, const uint8_t[::1] cancelled,
):
    """Bound all wanted tables by the directory entries of key tuples.

    Key tuples are given as places of their values in the segment, and as numbers below `count` of their values.
    """
    cdef Cover found = Cover()
    cdef CoverTask task
    cdef bint done
    task.segment, task.arena, task.covered = &view.segment, &found.arena, &found.covered
    task.places, task.numbers, task.count = int64_matrix(places), int64_matrix(numbers), count
    task.wanted, task.cancelled = bytes_of(wanted), &cancelled[0]
    with nogil:
        done = run(&_cover, &task)
    if not done:
        raise CancelledError("the search was cancelled")
    return found


# Batches of tables


cdef Runs _room_for_runs(
    Covered* covered, int64_t start, int64_t most_tables, int64_t most, int64_t floor, Arena& arena
) noexcept nogil:
    """Take up to `most_tables` tables whose bounds exceed the floor, with `most` directory entries or one table."""
    cdef Runs runs
    cdef int64_t width = covered.room.columns, stop = start, total = 0, entries, key
    cdef Span[int64_t] own
    most_tables = min(most_tables, covered.table.size - start)
    runs.first, runs.last = arena.empty[int64_t](most_tables * width), arena.empty[int64_t](most_tables * width)
    while stop < start + most_tables and covered.bound[stop] > floor:
        own = covered.room[covered.table[stop]]
        entries = 0
        for key in range(width):
            entries += own[key]
        if total + entries > most and stop > start:
            break
        for key in range(width):
            runs.first[(stop - start) * width + key] = runs.last[(stop - start) * width + key] = total
            total += own[key]
        stop += 1
    runs.table, runs.run = covered.table.slice(start, stop), arena.empty[Run](total)
    return runs


cdef struct Found:
    # The directory entries of a value in tables of the batch, and the numbers of these tables.
    Span[int64_t] entry
    Span[int32_t] number
    int64_t count


cdef inline void _find_entries(Segment* segment, int64_t token, Span[int32_t] number_of, Found* found) noexcept nogil:
    """Find the directory entries of a token in tables of the batch.

    Each one is written, and the next one over it if it is not wanted: a branch that the processor cannot predict takes
    as long as ten entries.
    """
    cdef int64_t entry, count = 0
    cdef int32_t number
    cdef int64_t* entries = found.entry.data
    cdef int32_t* numbers = found.number.data
    cdef uint32_t* column = segment.entry_column.data
    for entry in range(segment.entry_first[token], segment.entry_first[token + 1]):
        number = number_of[column[entry]]
        entries[count] = entry
        numbers[count] = number
        count += number >= 0
    found.count = count


cdef inline void _add_runs(
    Segment* segment, Found* found, int64_t key, int64_t width, int32_t value, Runs* runs, Span[uint64_t] has
) noexcept nogil:
    """Write the runs of a value, and which tables have it."""
    cdef int64_t at = 0, entry, after
    cdef int32_t number
    cdef Run* written
    while at < found.count:
        entry, number = found.entry[at], found.number[at]
        at += 1
        while at < found.count and found.number[at] == number:
            at += 1
        after = found.entry[at - 1] + 1
        written = &runs.run[runs.last[number * width + key]]
        runs.last[number * width + key] += 1
        written.value, written.entries, written.start = value, <int32_t>(after - entry), entry
        written.unit_start, written.unit_stop = segment.posting_first[entry], segment.posting_first[after]
        has[number >> 6] |= <uint64_t>1 << (number & 63)


cdef void _transpose(Span[uint64_t] block) noexcept nogil:
    """Transpose 64 words of 64 bits: bit i of word j becomes bit j of word i."""
    cdef int64_t step = 32, place
    cdef uint64_t mask = 0xFFFFFFFF, changed
    while step:
        for place in range(64):
            if place & step == 0:
                changed = ((block[place] >> step) ^ block[place | step]) & mask
                block[place] ^= changed << step
                block[place | step] ^= changed
        step >>= 1
        mask ^= mask << step


cdef Matrix[uint64_t] _hold_tuples(
    Matrix[int64_t] tuple_value, Matrix[uint64_t] has, int64_t tables, Arena& arena, Arena& scratch, Interrupt& interrupt
) noexcept nogil:
    """Return the key tuples all of whose values each table has, a bit set per table.

    The AND of the tables that have the values of a key tuple has a bit for each table that may join it. Blocks of 64 key
    tuples by 64 tables are then transposed.
    """
    cdef int64_t width = tuple_value.rows, tuples = tuple_value.columns, word, base, place, key, number
    cdef Matrix[uint64_t] held = arena.zero_matrix[uint64_t](tables, (tuples + 63) >> 6)
    cdef Span[uint64_t] block = scratch.empty[uint64_t](64)
    cdef uint64_t some, both
    for word in range(has.columns):
        for base in range(0, tuples, 64):
            interrupt.tick(64)
            block.fill(0)
            some = 0
            for place in range(min(<int64_t>64, tuples - base)):
                both = has[tuple_value[0][base + place]][word]
                for key in range(1, width):
                    both &= has[tuple_value[key][base + place]][word]
                block[place] = both
                some |= both
            if some:
                _transpose(block)
                for number in range(min(<int64_t>64, tables - (word << 6))):
                    held[(word << 6) + number][base >> 6] = block[number]
    return held


cdef struct CollectTask:
    Segment* segment
    Covered* covered
    int64_t start
    int64_t size
    int64_t words
    int64_t floor
    const uint8_t* cancelled
    Arena* arena
    Collected* collected


cdef void _collect(void* state) noexcept nogil:
    cdef CollectTask* task = <CollectTask*>state
    cdef Segment* segment = task.segment
    cdef Values* values = &task.covered.values
    cdef Collected* collected = task.collected
    cdef Arena scratch
    cdef Interrupt interrupt = Interrupt(task.cancelled)
    cdef int64_t width = values.tuple_value.rows, key, value, number, word, size, most = 0
    cdef int64_t most_tables = max(<int64_t>1, task.words // values.token.size) * 64
    cdef Found found
    cdef Matrix[uint64_t] has
    cdef Span[int32_t] number_of = scratch.full[int32_t](segment.column_table.size, -1)
    cdef Span[int64_t] falling, table
    collected.runs = _room_for_runs(task.covered, task.start, most_tables, task.size, task.floor, task.arena[0])
    table = collected.runs.table
    has = scratch.zero_matrix[uint64_t](values.token.size, (table.size + 63) >> 6)
    for number in range(table.size):
        value = table[number]
        number_of.slice(segment.table_column_first[value], segment.table_column_first[value + 1]).fill(<int32_t>number)
    for value in range(values.token.size):
        size = segment.entry_first[values.token[value] + 1] - segment.entry_first[values.token[value]]
        most = max(most, size)
    found.entry, found.number = scratch.empty[int64_t](most + 1), scratch.empty[int32_t](most + 1)
    for key in range(width):
        for value in range(values.key_first[key], values.key_first[key + 1]):
            _find_entries(segment, values.token[value], number_of, &found)
            _add_runs(segment, &found, key, width, <int32_t>value, &collected.runs, has[value])
            interrupt.tick(found.count + 1)
    collected.held = _hold_tuples(values.tuple_value, has, table.size, task.arena[0], scratch, interrupt)
    collected.bound, falling = task.arena.empty[int64_t](table.size), scratch.empty[int64_t](table.size)
    for number in range(table.size):
        size = 0
        for word in range(collected.held.columns):
            size += popcount(collected.held[number][word])
        collected.bound[number] = min(size, task.covered.bound[task.start + number])
        falling[number] = -collected.bound[number]
    collected.order = ascending(falling, task.arena[0])


def collect(
    SegmentView view not None, Cover cover not None, int64_t start, int64_t size, int64_t words, int64_t floor,
    const uint8_t[::1] cancelled,
):
    """Collect the tables from `start` on whose bounds exceed the floor, with about `size` directory entries.

    Which table has which value is noted in so many words of 64 bits, or for 64 tables if that takes more.
    """
    cdef TableBatch batch = TableBatch()
    cdef CollectTask task
    cdef bint done
    batch.cover = cover
    task.segment, task.covered, task.collected = &view.segment, &cover.covered, &batch.collected
    task.start, task.size, task.words, task.floor = start, size, words, floor
    task.cancelled, task.arena = &cancelled[0], &batch.arena
    with nogil:
        done = run(&_collect, &task)
    if not done:
        raise CancelledError("the search was cancelled")
    return batch
