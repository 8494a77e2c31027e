"""Native search of the tables of a batch: row filter, joint bounds of mappings, and the operators that count exactly.

A table under search numbers its key tuples without gaps, and its *options*: the table columns that may serve a key
column. A *hit* is a directory entry of a value in an option. Sets of key tuples are bit sets of 64-bit words.

The planner (`_by_row`, `_check_cost`, `_is_over_budget`) estimates costs and decides; the operators count:

- `_compare`: two columns, by the postings of their values alone;
- `_look_up`: several columns, row by row of each key tuple's rarest value;
- `_scan`: several columns, one pass over the rows;
- `_best_pair`, `_best_triple`, `_best_extension`: all mappings of a table at once, for keys of 2, 3 and more columns.

`_walk` goes through the mappings of a table, to have each one checked, or to read rows column by column.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from mate.lake._arrays cimport Segment, SegmentView, code_at, posting_row, rows_of, units_per_posting
from mate.native cimport Arena, Interrupt, Mark, Matrix, Span, ascending, lowest_bit, popcount, run
from mate.search._best cimport Best, kth_score, offer, view_best
from mate.search.column_first._cover cimport Batch, Prefixes, Run, Runs, Values, longer_prefix

from mate.errors import CancelledError


cdef struct Costs:
    # See mate.search.column_first.Costs.
    int64_t waiting
    int64_t by_row
    int64_t mask_words
    int64_t cache_bytes
    int64_t look_up
    int64_t read
    int64_t posting
    int64_t step


cdef struct Counts:
    int64_t tables_cut_rule_1
    int64_t tables_checked
    int64_t mappings_bounded
    int64_t mappings_checked
    int64_t checks_by_postings
    int64_t checks_by_scan
    int64_t tables_by_row
    int64_t rows_read


cdef struct Codes:
    # Of each key tuple whose value an option holds, the hit and the code there.
    Span[int32_t] hit
    Span[int32_t] code


cdef struct Worker:
    # One thread's search of some tables of a batch.
    Segment* segment
    Values* values
    Prefixes* prefixes
    Runs* runs
    Matrix[uint64_t] held
    Span[int64_t] bound
    Span[int64_t] batch_order
    int64_t part
    int64_t parts
    bint filtering
    Costs costs
    Best best
    Counts counts
    Interrupt* interrupt
    Arena* arena  # what a table needs
    Arena* columns  # the columns that were read of it
    Span[int64_t] local  # number of each key tuple in the table at hand, -1 for others
    Span[int64_t] run_of  # by value, its run in the table
    Span[int64_t] start  # by value, where its postings begin
    Span[int64_t] stop
    Span[int64_t] weight  # by value, the key tuples that have it: all 0 between tables
    Span[int32_t] row_stamp
    int32_t last_row_stamp
    Span[int64_t] prefix_stamp
    int64_t last_prefix_stamp


cdef struct Table:
    # A table under search.
    int64_t width  # of the key
    int64_t rows
    int64_t units
    Span[int64_t] tuples  # key tuples of the query that may join here
    Span[int64_t] option_first  # the options of key column w are option_first[w]:option_first[w + 1], best bound first
    Span[int64_t] column  # of each option, in the segment
    Span[int64_t] bound  # key tuples that each option may join at most
    Span[int64_t] postings  # of each option's hits
    Matrix[uint64_t] bits  # key tuples whose value each option holds
    Span[int64_t] hit_first  # the hits of option o are hit_first[o]:hit_first[o + 1], by value
    Span[int64_t] hit_value
    Span[int64_t] hit_start  # where the postings of each hit begin
    Span[int64_t] hit_stop
    Span[Span[int32_t]] decoded  # by option, the value in each row, -1 for none; empty if it was not read yet
    Span[Codes] loaded  # by option; empty likewise
    int64_t cached  # bytes of these
    Mark cache_start
    int64_t kth  # the score that the table needs to exceed
    int64_t score  # of its best mapping so far
    Span[int64_t] mapping  # the columns of it


# Bit sets


cdef inline void _set_bit(Span[uint64_t] bits, int64_t number) noexcept nogil:
    bits[number >> 6] |= <uint64_t>1 << (number & 63)


cdef inline bint _has_bit(Span[uint64_t] bits, int64_t number) noexcept nogil:
    return (bits[number >> 6] >> (number & 63)) & 1


cdef Span[int64_t] _members(Span[uint64_t] bits, Arena& arena) noexcept nogil:
    """Return the numbers of a bit set, ascending."""
    cdef int64_t word, count = 0
    cdef uint64_t left
    cdef Span[int64_t] found
    for word in range(bits.size):
        count += popcount(bits[word])
    found = arena.empty[int64_t](count)
    count = 0
    for word in range(bits.size):
        left = bits[word]
        while left:
            found[count] = (word << 6) + lowest_bit(left)
            count += 1
            left &= left - 1
    return found


cdef inline int64_t _intersect(Span[uint64_t] one, Span[uint64_t] other, Span[uint64_t] both) noexcept nogil:
    """Set `both` to what two sets have in common, and return how many that is."""
    cdef int64_t word, count = 0
    for word in range(both.size):
        both[word] = one[word] & other[word]
        count += popcount(both[word])
    return count


# Row filter: which key tuples can join in a table at all


cdef Span[int64_t] _locate(Worker* w, int64_t number) noexcept nogil:
    """Note where the runs and postings of a table's values in a key column are, and prefetch them; return the values."""
    cdef int64_t first = w.runs.first[number], place, count = w.runs.last[number] - first
    cdef Span[int64_t] used = w.arena.empty[int64_t](count)
    cdef Run* found
    for place in range(count):
        found = &w.runs.run[first + place]
        w.segment.postings.prefetch(found.unit_start)
        used[place] = found.value
        w.run_of[found.value] = first + place
        w.start[found.value] = found.unit_start
        w.stop[found.value] = found.unit_stop
    return used


cdef inline int64_t _first_stamped(Worker* w, int64_t units, int64_t start, int64_t stop) noexcept nogil:
    """Return the first place between two of the postings whose row has the last stamp; `stop` if there is none."""
    cdef uint16_t* postings = w.segment.postings.data
    cdef int32_t* stamp = w.row_stamp.data
    cdef int32_t wanted = w.last_row_stamp
    cdef int64_t at
    if units == 1:
        for at in range(start, stop):
            if stamp[postings[at]] == wanted:
                return at
        return stop
    for at in range(start, stop, 2):
        if w.row_stamp[posting_row(w.segment, at, 2)] == wanted:
            return at
    return stop


cdef inline void _stamp_rows(Worker* w, int64_t units, int64_t start, int64_t stop) noexcept nogil:
    """Give the rows of the postings between two places a stamp of their own."""
    cdef uint16_t* postings = w.segment.postings.data
    cdef int32_t* stamp = w.row_stamp.data
    cdef int64_t at
    if w.last_row_stamp == 0x7FFFFFFF:
        w.row_stamp.fill(0)
        w.last_row_stamp = 0
    w.last_row_stamp += 1
    if units == 1:
        for at in range(start, stop):
            stamp[postings[at]] = w.last_row_stamp
        return
    for at in range(start, stop, 2):
        w.row_stamp[posting_row(w.segment, at, 2)] = w.last_row_stamp


cdef inline int64_t _drop_apart(
    Worker* w, Span[int64_t] used, Span[int64_t] other, bint ties, int64_t units, Span[uint64_t] held, int64_t left,
    int64_t least, int64_t* read
) noexcept nogil:
    """Drop the key tuples whose values in two columns share no row; return how many of `left` are left.

    These are the ones held; without such a set, those that have a local number, which a dropped one loses.

    `used` are values of the first column, `other` has those of the second one by key tuple. Of two values, the one with
    more postings has its rows stamped, for all of its key tuples; the postings of the other are read until a row has
    the stamp. So this considers the key tuples whose value in the first column has more postings, or as many if `ties`.
    Stops when fewer than `least` are left.
    """
    cdef Values* values = w.values
    cdef int64_t number, value, size, place, t, partner, at
    cdef bint stamped
    for number in range(used.size):
        value = used[number]
        size = w.stop[value] - w.start[value]
        stamped = False
        for place in range(values.group_first[value], values.group_first[value + 1]):
            t = values.group_tuple[place]
            if w.local[t] < 0 or (held.size and not _has_bit(held, w.local[t])):
                continue
            partner = other[t]
            if size < w.stop[partner] - w.start[partner] + (not ties):
                continue
            if not stamped:
                stamped = True
                _stamp_rows(w, units, w.start[value], w.stop[value])
                w.interrupt.tick(size)
                read[0] += size
            at = _first_stamped(w, units, w.start[partner], w.stop[partner])
            read[0] += at - w.start[partner]
            if at == w.stop[partner]:
                if not held.size:
                    w.local[t] = -1
                left -= 1
                if left < least:
                    return left
    return left


cdef Span[int64_t] _filter_tuples(
    Worker* w, int64_t number, int64_t units, Span[int64_t] tuples, int64_t least
) noexcept nogil:
    """Return the key tuples whose values in key columns that follow each other share a row, or fewer than `least`."""
    cdef int64_t width = w.values.tuple_value.rows, left = tuples.size, key, side, place, t, read = 0
    cdef Span[uint64_t] no_set = w.arena.empty[uint64_t](0)
    cdef Span[Span[int64_t]] used = w.arena.empty[Span[int64_t]](width)
    cdef Span[int64_t] found
    for place in range(tuples.size):
        w.local[tuples[place]] = place
    for key in range(width):
        used[key] = _locate(w, number * width + key)
    for key in range(1, width):
        for side in range(2):
            if left >= least:
                left = _drop_apart(
                    w, used[key - 1 + side], w.values.tuple_value[key - side], side == 0, units, no_set, left, least,
                    &read
                )
    found = w.arena.empty[int64_t](left)
    left = 0
    for place in range(tuples.size):
        t = tuples[place]
        if w.local[t] >= 0:
            found[left] = t
            w.local[t] = left
            left += 1
    return found


# Options of a table


cdef Span[int64_t] _weigh(Worker* w, int64_t key, Span[int64_t] tuples) noexcept nogil:
    """Count the key tuples of each value of a key column; return the values that have any. Prefetch their entries."""
    cdef Values* values = w.values
    cdef Span[int64_t] used = w.arena.empty[int64_t](tuples.size), own = values.tuple_value[key]
    cdef int64_t place, value, count = 0
    for place in range(tuples.size):
        w.weight[own[tuples[place]]] += 1
    for value in range(values.key_first[key], values.key_first[key + 1]):
        if w.weight[value]:
            used[count] = value
            count += 1
            w.segment.entry_column.prefetch(w.runs.run[w.run_of[value]].start)
    return used.slice(0, count)


cdef void _bound_columns(
    Worker* w, Span[int64_t] used, int64_t units, int64_t base, Span[int64_t] bound, Span[int64_t] hits
) noexcept nogil:
    """For each column of a table, bound the key tuples that may join under a key column, and count its hits."""
    cdef Segment* segment = w.segment
    cdef int64_t place, value, entry, column, most
    cdef Run* found
    for place in range(used.size):
        value = used[place]
        found = &w.runs.run[w.run_of[value]]
        for entry in range(found.start, found.start + found.entries):
            column = segment.entry_column[entry] - base
            most = w.weight[value]
            if most > 1:
                most = min(most, (segment.posting_first[entry + 1] - segment.posting_first[entry]) // units)
            bound[column] += most
            hits[column] += 1


cdef Span[int64_t] _choose_columns(Span[int64_t] bound, int64_t kth, Arena& arena) noexcept nogil:
    """Return the columns whose bound exceeds the k-th score, best first."""
    cdef int64_t column, count = 0
    cdef Span[int64_t] chosen = arena.empty[int64_t](bound.size), key = arena.empty[int64_t](bound.size), order, found
    for column in range(bound.size):
        if bound[column] > kth:
            chosen[count], key[count] = column, -bound[column]
            count += 1
    order = ascending(key.slice(0, count), arena)
    found = arena.empty[int64_t](count)
    for column in range(count):
        found[column] = chosen[order[column]]
    return found


cdef void _fill_hits(Worker* w, Table* table, Span[int64_t] used, int64_t base, Span[int64_t] option_of) noexcept nogil:
    """Write the hits of the options of a key column; hit_first of the next option counts those written."""
    cdef int64_t place, value, entry, option, hit
    cdef Run* found
    for place in range(used.size):
        value = used[place]
        found = &w.runs.run[w.run_of[value]]
        for entry in range(found.start, found.start + found.entries):
            option = option_of[w.segment.entry_column[entry] - base]
            if option >= 0:
                hit = table.hit_first[option + 1]
                table.hit_first[option + 1] += 1
                table.hit_value[hit] = value
                table.hit_start[hit] = w.segment.posting_first[entry]
                table.hit_stop[hit] = w.segment.posting_first[entry + 1]


cdef bint _open_table(Worker* w, int64_t place, Span[int64_t] tuples, int64_t kth, Table* table) noexcept nogil:
    """Prepare the search of a table for key tuples; tell whether each key column has an option that exceeds `kth`."""
    cdef Segment* segment = w.segment
    cdef Values* values = w.values
    cdef Arena* arena = w.arena
    cdef int64_t width = values.tuple_value.rows, base = segment.table_column_first[place]
    cdef int64_t columns = segment.table_column_first[place + 1] - base
    cdef int64_t key, option, options = 0, hits = 0, hit, at, t, group
    cdef Span[Span[int64_t]] used = arena.empty[Span[int64_t]](width), chosen = arena.empty[Span[int64_t]](width)
    cdef Matrix[int64_t] bound = arena.zero_matrix[int64_t](width, columns)
    cdef Matrix[int64_t] size = arena.zero_matrix[int64_t](width, columns)
    cdef Span[int64_t] option_of
    table.width, table.rows, table.units = width, rows_of(segment, place), units_per_posting(segment, place)
    table.tuples, table.kth, table.score = tuples, kth, 0
    table.mapping = arena.zeros[int64_t](width)
    table.option_first = arena.zeros[int64_t](width + 1)
    for key in range(width):
        used[key] = _weigh(w, key, tuples)
        _bound_columns(w, used[key], table.units, base, bound[key], size[key])
        for at in range(used[key].size):
            w.weight[used[key][at]] = 0
        chosen[key] = _choose_columns(bound[key], kth, arena[0])
        options += chosen[key].size
        table.option_first[key + 1] = options
        for at in range(chosen[key].size):
            hits += size[key][chosen[key][at]]
    for key in range(width):
        if not chosen[key].size:
            return False
    table.column, table.bound = arena.empty[int64_t](options), arena.empty[int64_t](options)
    table.postings = arena.zeros[int64_t](options)
    table.hit_first = arena.zeros[int64_t](options + 1)
    table.hit_value, table.hit_start = arena.empty[int64_t](hits), arena.empty[int64_t](hits)
    table.hit_stop = arena.empty[int64_t](hits)
    table.bits = arena.zero_matrix[uint64_t](options, (tuples.size + 63) >> 6)
    table.decoded = arena.zeros[Span[int32_t]](options)
    table.loaded = arena.zeros[Codes](options)
    table.cached, table.cache_start = 0, w.columns.mark()
    option_of = arena.empty[int64_t](columns)
    hits = 0
    for key in range(width):
        option_of.fill(-1)
        for at in range(chosen[key].size):
            option = table.option_first[key] + at
            table.column[option] = chosen[key][at] + base
            table.bound[option] = bound[key][chosen[key][at]]
            table.hit_first[option + 1] = hits
            hits += size[key][chosen[key][at]]
            option_of[chosen[key][at]] = option
        _fill_hits(w, table, used[key], base, option_of)
    for option in range(options):
        for hit in range(table.hit_first[option], table.hit_first[option + 1]):
            table.postings[option] += (table.hit_stop[hit] - table.hit_start[hit]) // table.units
            group = table.hit_value[hit]
            for at in range(values.group_first[group], values.group_first[group + 1]):
                t = w.local[values.group_tuple[at]]
                if t >= 0:
                    _set_bit(table.bits[option], t)
    return True


# The best mapping of a table so far


cdef inline int64_t _least_of_table(Table* table) noexcept nogil:
    return max(table.kth + 1, table.score)


cdef inline int64_t _least_score(Table* table, Span[int64_t] columns) noexcept nogil:
    """Return the score that a mapping, -1 where it is not decided, needs to become the best of its table."""
    cdef int64_t key
    if not table.score:
        return table.kth + 1
    for key in range(columns.size):
        if columns[key] < 0 or columns[key] < table.mapping[key]:
            return max(table.kth + 1, table.score)
        if columns[key] > table.mapping[key]:
            break
    return max(table.kth + 1, table.score + 1)


cdef inline void _take(Table* table, int64_t score, Span[int64_t] columns) noexcept nogil:
    """Take a mapping for the best of its table if it is: of equal ones the one with the smaller columns."""
    if score >= _least_score(table, columns):
        table.score = score
        table.mapping.copy_from(columns)


cdef inline bint _is_taken(Span[int64_t] columns, int64_t column) noexcept nogil:
    cdef int64_t key
    for key in range(columns.size):
        if columns[key] == column:
            return True
    return False


# Columns of a table, read when first needed


cdef void _make_room(Worker* w, Table* table) noexcept nogil:
    """Forget the columns that were read if they take too much memory."""
    if table.cached > w.costs.cache_bytes:
        w.columns.release(table.cache_start)
        table.cached = 0
        for option in range(table.column.size):
            table.decoded[option].size = table.loaded[option].code.size = 0


cdef inline int64_t _find_code(Span[uint32_t] tokens, int64_t low, int64_t token) noexcept nogil:
    """Return the place of a token that is among ascending ones, from `low` on, by galloping."""
    cdef int64_t step = 1, high, middle
    while low + step < tokens.size and tokens[low + step] <= token:
        low += step
        step *= 2
    high = min(low + step, tokens.size)
    while high - low > 1:
        middle = (low + high) >> 1
        if tokens[middle] <= token:
            low = middle
        else:
            high = middle
    return low


cdef inline Span[uint32_t] _dictionary(Segment* segment, int64_t column) noexcept nogil:
    return segment.column_token.slice(segment.column_entry_first[column], segment.column_entry_first[column + 1])


cdef void _load(Worker* w, Table* table, int64_t option) noexcept nogil:
    """Find hit and code of each key tuple's value in an option."""
    cdef Values* values = w.values
    cdef Codes* codes = &table.loaded[option]
    cdef Span[uint32_t] tokens = _dictionary(w.segment, table.column[option])
    cdef int64_t place = 0, hit, value, at, t
    if codes.code.size:
        return
    codes.hit = w.columns.empty[int32_t](table.tuples.size)
    codes.code = w.columns.empty[int32_t](table.tuples.size)
    table.cached += 8 * table.tuples.size
    for hit in range(table.hit_first[option], table.hit_first[option + 1]):
        value = table.hit_value[hit]
        place = _find_code(tokens, place, values.token[value])
        for at in range(values.group_first[value], values.group_first[value + 1]):
            t = w.local[values.group_tuple[at]]
            if t >= 0:
                codes.hit[t] = <int32_t>hit
                codes.code[t] = <int32_t>(place + 1)


cdef void _decode(Worker* w, Table* table, int64_t option) noexcept nogil:
    """Read the values of an option, row by row."""
    cdef Segment* segment = w.segment
    cdef int64_t column = table.column[option], place = 0, hit, row
    cdef int64_t size = segment.code_bytes[column], first = segment.code_first[column]
    cdef Span[uint32_t] tokens = _dictionary(segment, column)
    cdef Span[int32_t] found, meaning
    cdef Mark mark
    cdef uint8_t* narrow
    cdef uint16_t* half
    if table.decoded[option].size:
        return
    found = table.decoded[option] = w.columns.empty[int32_t](table.rows)
    table.cached += 4 * table.rows
    mark = w.arena.mark()
    meaning = w.arena.full[int32_t](tokens.size + 1, -1)
    for hit in range(table.hit_first[option], table.hit_first[option + 1]):
        place = _find_code(tokens, place, w.values.token[table.hit_value[hit]])
        meaning[place + 1] = <int32_t>table.hit_value[hit]
    if size == 1:
        narrow = &segment.codes[first]
        for row in range(table.rows):
            found[row] = meaning[narrow[row]]
    elif size == 2:
        half = <uint16_t*>&segment.codes[first]
        for row in range(table.rows):
            found[row] = meaning[half[row]]
    else:
        for row in range(table.rows):
            found[row] = meaning[code_at(segment, first, 4, row)]
    w.arena.release(mark)
    w.interrupt.tick(table.rows)


# Operators: how many key tuples a mapping joins


cdef int64_t _key_of(Table* table, int64_t option) noexcept nogil:
    """Return the key column that an option may serve."""
    cdef int64_t key = 0
    while table.option_first[key + 1] <= option:
        key += 1
    return key


cdef int64_t _compare(
    Worker* w, Table* table, Span[int64_t] options, Span[uint64_t] held, int64_t total, int64_t least
) noexcept nogil:
    """Return how many of the key tuples held two options join, by the postings alone; or fewer than `least` if so."""
    cdef int64_t read = 0, side, option, hit
    cdef Span[int64_t] other
    for side in range(2):
        for hit in range(table.hit_first[options[side]], table.hit_first[options[side] + 1]):
            w.start[table.hit_value[hit]] = table.hit_start[hit]
            w.stop[table.hit_value[hit]] = table.hit_stop[hit]
    for side in range(2):
        if total >= least:
            option, other = options[side], w.values.tuple_value[_key_of(table, options[1 - side])]
            total = _drop_apart(
                w, table.hit_value.slice(table.hit_first[option], table.hit_first[option + 1]), other, side == 0,
                table.units, held, total, least, &read
            )
    w.counts.rows_read += read // table.units
    return total


cdef inline bint _row_has(Worker* w, Table* table, Span[int64_t] options, int64_t skipped, int64_t t, int64_t row) noexcept nogil:
    """Tell whether a row holds a key tuple in these options, all but one of which are looked at."""
    cdef int64_t place, option, column
    for place in range(options.size):
        if place != skipped:
            option = options[place]
            column = table.column[option]
            if code_at(w.segment, w.segment.code_first[column], w.segment.code_bytes[column], row) != table.loaded[option].code[t]:
                return False
    return True


cdef int64_t _look_up(
    Worker* w, Table* table, Span[int64_t] options, Span[uint64_t] held, int64_t total, int64_t least, int64_t most_rows
) noexcept nogil:
    """Return how many of the key tuples held a mapping joins, going through the rows of each one's rarest value.

    Return fewer than `least` if so, and -1 if more than `most_rows` rows would have to be read.
    """
    cdef int64_t count = 0, read = 0, done = 0, word, t, place, hit, chosen, start, stop, at, row
    cdef uint64_t left
    _make_room(w, table)
    for place in range(options.size):
        _load(w, table, options[place])
    for word in range(held.size):
        left = held[word]
        while left:
            if count + total - done < least:
                w.counts.rows_read += read
                return count
            t = (word << 6) + lowest_bit(left)
            left &= left - 1
            done += 1
            chosen, start, stop = 0, 0, -1
            for place in range(options.size):
                hit = table.loaded[options[place]].hit[t]
                if stop < 0 or table.hit_stop[hit] - table.hit_start[hit] < stop - start:
                    chosen, start, stop = place, table.hit_start[hit], table.hit_stop[hit]
            at = start
            while at < stop:
                row = posting_row(w.segment, at, table.units)
                at += table.units
                if _row_has(w, table, options, chosen, t, row):
                    count += 1
                    break
            read += (at - start) // table.units
            if read > most_rows:
                w.counts.rows_read += read
                return -1
        w.interrupt.tick(64)
    w.counts.rows_read += read
    return count


cdef inline bint _stamp_prefix(Worker* w, int64_t prefix) noexcept nogil:
    """Give a prefix the last stamp; tell whether it is new to it."""
    if prefix < 0 or w.prefix_stamp[prefix] == w.last_prefix_stamp:
        return False
    w.prefix_stamp[prefix] = w.last_prefix_stamp
    return True


cdef int64_t _scan(Worker* w, Table* table, Span[int64_t] options, int64_t total) noexcept nogil:
    """Return how many key tuples a mapping joins, going through the rows until `total` are met."""
    cdef int64_t count = 0, place, row, prefix, value, width = options.size
    cdef Span[int32_t] first, second
    _make_room(w, table)
    for place in range(width):
        _decode(w, table, options[place])
    first, second = table.decoded[options[0]], table.decoded[options[1]]
    w.last_prefix_stamp += 1
    for row in range(table.rows):
        if first[row] < 0 or second[row] < 0:
            continue
        prefix = longer_prefix(w.prefixes, first[row], second[row])
        place = 2
        while prefix >= 0 and place < width:
            value = table.decoded[options[place]][row]
            prefix = longer_prefix(w.prefixes, prefix, value) if value >= 0 else -1
            place += 1
        count += _stamp_prefix(w, prefix)
        if count == total:
            w.counts.rows_read += row + 1
            return count
    w.counts.rows_read += table.rows
    w.interrupt.tick(table.rows)
    return count


# Planner: one mapping


cdef int64_t _scanned_rows(Table* table, Span[int64_t] options) noexcept nogil:
    """Return how many rows a scan reads, those that have to be decoded before counted again."""
    cdef int64_t rows = table.rows, place
    for place in range(options.size):
        if not table.decoded[options[place]].size:
            rows += table.rows
    return rows


cdef int64_t _postings_cost(Worker* w, Table* table, Span[int64_t] options, int64_t total) noexcept nogil:
    """Return about how many nanoseconds it takes to check a mapping by postings."""
    if options.size == 2:
        return (table.postings[options[0]] + table.postings[options[1]]) * w.costs.posting
    return total * w.costs.look_up


cdef int64_t _check_cost(Worker* w, Table* table, Span[int64_t] options, int64_t total) noexcept nogil:
    """Return about how many nanoseconds it takes to check a mapping that holds so many key tuples."""
    return min(_postings_cost(w, table, options, total), _scanned_rows(table, options) * w.costs.read)


cdef int64_t _check(
    Worker* w, Table* table, Span[int64_t] options, Span[uint64_t] held, int64_t total, int64_t least
) noexcept nogil:
    """Return how many of the `total` key tuples held a mapping joins; if fewer than `least`, any number below it.

    `options` are in the order of the prefixes.
    """
    cdef int64_t rows = _scanned_rows(table, options), count = -1
    w.counts.mappings_checked += 1
    if _postings_cost(w, table, options, total) <= rows * w.costs.read:
        w.counts.checks_by_postings += 1
        if options.size == 2:
            return _compare(w, table, options, held, total, least)
        count = _look_up(w, table, options, held, total, least, rows)
    if count < 0:
        w.counts.checks_by_scan += 1
        count = _scan(w, table, options, total)
    return count


# Planner: all mappings of a table


cdef struct Budget:
    int64_t most  # nanoseconds
    Counts before


cdef bint _is_over_budget(Worker* w, Table* table, Budget* budget, int64_t more) noexcept nogil:
    """Tell whether what was spent on a table, and `more`, is over budget; a word of a joint bound is a nanosecond."""
    cdef int64_t spent = (w.counts.rows_read - budget.before.rows_read) * w.costs.read
    if table.width > 2:
        spent += (w.counts.checks_by_postings - budget.before.checks_by_postings) * table.tuples.size * w.costs.look_up
    spent += (w.counts.mappings_bounded - budget.before.mappings_bounded) * table.bits.columns
    return spent + more > budget.most


cdef struct Waiting:
    # Whole mappings that wait for their check: the option of each key column, in the order of the prefixes.
    int64_t size
    Span[int64_t] bound
    Matrix[int64_t] options


cdef struct RowLists:
    # The rows that hold a prefix in the first columns of a mapping, and the number of the prefix, by depth.
    Span[int64_t] size
    Matrix[int32_t] row
    Matrix[int32_t] prefix


cdef struct Walk:
    # Mappings are extended key column by key column, in the order of the prefixes. By depth: the option chosen, and the
    # key tuples that any extension of these options may join.
    Span[int64_t] chosen
    Matrix[uint64_t] held
    Span[int64_t] bound
    bint by_row
    RowLists lists  # if it goes by row
    Waiting waiting  # unless it does
    Budget* budget


cdef bint _check_waiting(Worker* w, Table* table, Waiting* waiting, Budget* budget) noexcept nogil:
    """Check the mappings that wait, best bound first, of equals the first column first.

    If that is over budget, check only the first, and return False.
    """
    cdef Mark mark = w.arena.mark()
    cdef Span[int64_t] order = w.prefixes.order, rank = w.arena.empty[int64_t](waiting.size), options
    cdef Span[int64_t] columns = w.arena.empty[int64_t](table.width)
    cdef Span[uint64_t] held = w.arena.empty[uint64_t](table.bits.columns)
    cdef int64_t first = 0, place, length, total, least, score, cost
    cdef bint done = True
    for length in range(table.width):
        if order[length] == 0:
            first = length
    for place in range(waiting.size):
        rank[place] = table.column[waiting.options[place][first]] - (waiting.bound[place] << 32)
    rank = ascending(rank, w.arena[0])
    for place in range(waiting.size):
        if place == 1:
            cost = 0
            for length in range(waiting.size):
                if waiting.bound[length] >= _least_of_table(table):
                    cost += _check_cost(w, table, waiting.options[length], waiting.bound[length])
            if _is_over_budget(w, table, budget, cost):
                done = False
                break
        options = waiting.options[rank[place]]
        for length in range(table.width):
            columns[order[length]] = table.column[options[length]]
        least = _least_score(table, columns)
        if waiting.bound[rank[place]] < least:
            continue
        total = waiting.bound[rank[place]]
        held.copy_from(table.bits[options[0]])
        for length in range(1, table.width):
            total = _intersect(held, table.bits[options[length]], held)
        score = _check(w, table, options, held, total, least)
        if score >= least:
            table.score = score
            table.mapping.copy_from(columns)
    waiting.size = 0
    w.arena.release(mark)
    return done


cdef bint _walk(Worker* w, Table* table, Walk* walk) noexcept nogil:
    """Go through the mappings of a table that may be its best, and leave out what cannot be as soon as it is known.

    Return False, and leave it unfinished, if that is over budget.
    """
    cdef int64_t width = table.width, depth = 0, key, option, least
    cdef Span[int64_t] at = w.arena.zeros[int64_t](width), columns = w.arena.full[int64_t](width, -1)
    walk.chosen, walk.bound = w.arena.empty[int64_t](width), w.arena.empty[int64_t](width)
    walk.held = w.arena.empty_matrix[uint64_t](width, table.bits.columns)
    while depth >= 0:
        key = w.prefixes.order[depth]
        option = table.option_first[key] + at[depth]
        columns[key] = -1
        if option == table.option_first[key + 1] or table.bound[option] < _least_score(table, columns):
            depth -= 1
            continue
        at[depth] += 1
        if _is_taken(columns, table.column[option]):
            continue
        columns[key] = table.column[option]
        walk.chosen[depth] = option
        least = _least_score(table, columns)
        _bound_extension(w, table, walk, depth)
        if walk.bound[depth] >= least and walk.by_row:
            _extend_rows(w, table, walk, depth)
        if walk.bound[depth] < least:
            continue
        if not walk.by_row and depth and _is_over_budget(w, table, walk.budget, 0):
            return False
        if depth < width - 1:
            depth += 1
            at[depth] = 0
        elif walk.by_row:
            _take(table, walk.bound[depth], columns)
        elif not _await_check(w, table, walk):
            return False
    return True


cdef inline void _bound_extension(Worker* w, Table* table, Walk* walk, int64_t depth) noexcept nogil:
    """Bound what any extension of the options chosen joins by the key tuples all of whose values they have."""
    cdef int64_t option = walk.chosen[depth], count
    if depth == 0:
        walk.held[0].copy_from(table.bits[option])
        walk.bound[0] = table.bound[option]
        return
    count = _intersect(walk.held[depth - 1], table.bits[option], walk.held[depth])
    walk.bound[depth] = min(count, min(walk.bound[depth - 1], table.bound[option]))
    w.counts.mappings_bounded += 1
    w.interrupt.tick(walk.held.columns)


cdef bint _await_check(Worker* w, Table* table, Walk* walk) noexcept nogil:
    """Let a whole mapping wait for its check; if too many wait, check them, and tell whether that is within budget."""
    cdef Waiting* waiting = &walk.waiting
    waiting.bound[waiting.size] = walk.bound[table.width - 1]
    waiting.options[waiting.size].copy_from(walk.chosen)
    waiting.size += 1
    return waiting.size < w.costs.waiting or _check_waiting(w, table, waiting, walk.budget)


cdef bint _best_mapping(Worker* w, Table* table, Budget* budget) noexcept nogil:
    """Find the best mapping of a table by checking mappings; return False, and leave it unfinished, if over budget."""
    cdef Walk walk
    walk.by_row, walk.budget, walk.waiting.size = False, budget, 0
    walk.waiting.bound = w.arena.empty[int64_t](w.costs.waiting)
    walk.waiting.options = w.arena.empty_matrix[int64_t](w.costs.waiting, table.width)
    return _walk(w, table, &walk) and _check_waiting(w, table, &walk.waiting, budget)


# Operators: all pairs of columns at once
#
# A row holds a value in several columns: a row mask has a bit for each. For a key tuple (a, b), the OR of the row masks
# of a over the rows where column c holds b has a bit for every column that joins the tuple together with c. Masks are
# added up bit by bit: of 64 counters, plane p has the bit of value 2**p.


cdef struct ByValue:
    # The hits of a table by value: those of value v are first[v]:first[v + 1].
    Span[int64_t] first
    Span[int64_t] option
    Span[int64_t] start
    Span[int64_t] stop
    Span[int64_t] size  # postings of each value, in units


cdef struct Planes:
    # By option and 64 options of another key column, the counters of that pair of columns.
    Span[uint64_t] data
    int64_t words
    int64_t depth


cdef ByValue _by_value(Worker* w, Table* table) noexcept nogil:
    cdef ByValue found
    cdef int64_t count = w.values.token.size, hits = table.hit_value.size, hit, option, value, place
    cdef Span[int64_t] cursor = w.arena.empty[int64_t](count + 1)
    found.first, found.size = w.arena.zeros[int64_t](count + 1), w.arena.zeros[int64_t](count)
    found.option, found.start = w.arena.empty[int64_t](hits), w.arena.empty[int64_t](hits)
    found.stop = w.arena.empty[int64_t](hits)
    for hit in range(hits):
        found.first[table.hit_value[hit] + 1] += 1
    for value in range(count):
        found.first[value + 1] += found.first[value]
    cursor.copy_from(found.first)
    for option in range(table.column.size):
        for hit in range(table.hit_first[option], table.hit_first[option + 1]):
            value = table.hit_value[hit]
            place = cursor[value]
            cursor[value] += 1
            found.option[place], found.start[place], found.stop[place] = option, table.hit_start[hit], table.hit_stop[hit]
            found.size[value] += table.hit_stop[hit] - table.hit_start[hit]
    return found


cdef inline int64_t _options_of(Table* table, int64_t key) noexcept nogil:
    return table.option_first[key + 1] - table.option_first[key]


cdef inline int64_t _words_of(Table* table, int64_t key) noexcept nogil:
    """Return the words that have a bit for each option of a key column."""
    return (_options_of(table, key) + 63) >> 6


cdef inline int64_t _planes_for(int64_t count) noexcept nogil:
    """Return how many planes count up to a number."""
    cdef int64_t depth = 1
    while (<int64_t>1 << depth) <= count:
        depth += 1
    return depth


cdef Planes _zero_planes(Worker* w, int64_t options, int64_t words, int64_t depth) noexcept nogil:
    cdef Planes planes
    planes.data, planes.words, planes.depth = w.arena.zeros[uint64_t](options * words * depth), words, depth
    return planes


cdef inline Span[uint64_t] _planes_at(Planes* planes, int64_t option, int64_t word) noexcept nogil:
    cdef int64_t place = (option * planes.words + word) * planes.depth
    return planes.data.slice(place, place + planes.depth)


cdef inline void _count_mask(Planes* planes, int64_t option, int64_t word, uint64_t mask) noexcept nogil:
    """Add one to the counters that have a bit in a mask."""
    cdef int64_t plane = 0
    cdef uint64_t before
    cdef Span[uint64_t] own = _planes_at(planes, option, word)
    while mask:
        before = own[plane]
        own[plane] = before ^ mask
        mask &= before
        plane += 1


cdef inline int64_t _counter(Planes* planes, int64_t option, int64_t other) noexcept nogil:
    cdef int64_t count = 0, plane
    cdef Span[uint64_t] own = _planes_at(planes, option, other >> 6)
    for plane in range(planes.depth):
        count |= <int64_t>((own[plane] >> (other & 63)) & 1) << plane
    return count


cdef inline uint64_t _at_least(Span[uint64_t] planes, int64_t least) noexcept nogil:
    """Return which of 64 counters have at least that number."""
    cdef uint64_t more = 0, same = ~<uint64_t>0
    cdef int64_t plane
    if least >> planes.size:
        return 0
    for plane in range(planes.size - 1, -1, -1):
        if (least >> plane) & 1:
            same &= planes[plane]
        else:
            more |= same & planes[plane]
            same &= ~planes[plane]
    return more | same


cdef Span[int64_t] _same_column(Worker* w, Table* table, int64_t key, int64_t other) noexcept nogil:
    """Return, for each option of a key column, the option of the other one that is the same column; -1 for none."""
    cdef Span[int64_t] found = w.arena.full[int64_t](_options_of(table, key), -1)
    cdef int64_t option, another
    for option in range(found.size):
        for another in range(_options_of(table, other)):
            if table.column[table.option_first[key] + option] == table.column[table.option_first[other] + another]:
                found[option] = another
    return found


cdef inline uint64_t _without(uint64_t mask, int64_t word, int64_t option) noexcept nogil:
    """Return a word of a mask without the bit of an option, -1 for none."""
    if option >= 0 and option >> 6 == word:
        mask &= ~(<uint64_t>1 << (option & 63))
    return mask


cdef void _mask_rows(
    Worker* w, Table* table, ByValue* hits, int64_t value, int64_t base, Matrix[uint64_t] masks, Span[uint64_t] full,
    bint setting,
) noexcept nogil:
    """Set the row masks of a value and which columns hold it at all, or clear them."""
    cdef int64_t place, option, at, row
    cdef uint64_t bit
    cdef Span[uint64_t] own
    full.fill(0)
    for place in range(hits.first[value], hits.first[value + 1]):
        option = hits.option[place] - base
        bit = <uint64_t>1 << (option & 63)
        full[option >> 6] |= bit
        own = masks[option >> 6]
        at = hits.start[place]
        while at < hits.stop[place]:
            row = posting_row(w.segment, at, table.units)
            own[row] = own[row] | bit if setting else 0
            at += table.units


cdef bint _join_pairs(
    Worker* w, Table* table, ByValue* hits, int64_t value, int64_t base, Span[int64_t] same, Matrix[uint64_t] masks,
    Span[uint64_t] full, Planes* planes,
) noexcept nogil:
    """Count, for each option that holds the other value, which columns join with it; tell whether any does.

    The postings of an option are read until all columns that hold the first value, but its own, have joined.
    """
    cdef int64_t place, word, at, read = 0
    cdef uint64_t whole, mask
    cdef bint joined = False
    for place in range(hits.first[value], hits.first[value + 1]):
        for word in range(full.size):
            whole = _without(full[word], word, same[hits.option[place] - base])
            mask = 0
            at = hits.start[place]
            while at < hits.stop[place] and mask & whole != whole:
                mask |= masks[word][posting_row(w.segment, at, table.units)]
                at += table.units
            read += at - hits.start[place]
            mask &= whole
            if mask:
                joined = True
                _count_mask(planes, hits.option[place] - base, word, mask)
    w.counts.rows_read += read // table.units
    w.interrupt.tick(read)
    return joined


cdef Span[int64_t] _rarest_first(ByValue* hits, int64_t start, int64_t stop, Arena& arena) noexcept nogil:
    """Return the values from `start` on and below `stop` that the table has, rare ones first."""
    cdef int64_t value, count = 0
    cdef Span[int64_t] found = arena.empty[int64_t](stop - start), size = arena.empty[int64_t](stop - start), order, own
    for value in range(start, stop):
        if hits.size[value]:
            found[count], size[count] = value, hits.size[value]
            count += 1
    order, own = ascending(size.slice(0, count), arena), arena.empty[int64_t](count)
    for value in range(count):
        own[value] = found[order[value]]
    return own


cdef int64_t _count_pairs(
    Worker* w, Table* table, int64_t key, ByValue* hits, Planes* planes, int64_t missed, int64_t most_missed
) noexcept nogil:
    """Count the key tuples whose value in this key column has more postings, by option of the other and word.

    Stop when more key tuples than `most_missed` are not in any row; return how many were not, `missed` among them.
    """
    cdef Values* values = w.values
    cdef int64_t other = 1 - key, words = _words_of(table, key), rank, value, place, t, partner
    cdef int64_t base = table.option_first[key], other_base = table.option_first[other]
    cdef Matrix[uint64_t] masks = w.arena.zero_matrix[uint64_t](words, table.rows)
    cdef Span[uint64_t] full = w.arena.empty[uint64_t](words)
    cdef Span[int64_t] same = _same_column(w, table, other, key)
    cdef Span[int64_t] ordered = _rarest_first(hits, values.key_first[key], values.key_first[key + 1], w.arena[0])
    cdef bint filled
    for rank in range(ordered.size):
        value = ordered[rank]
        filled = False
        for place in range(values.group_first[value], values.group_first[value + 1]):
            t = values.group_tuple[place]
            partner = values.tuple_value[other][t]
            if w.local[t] < 0 or hits.size[value] < hits.size[partner] + key:  # of equal ones the first key column
                continue
            if not filled:
                _mask_rows(w, table, hits, value, base, masks, full, True)
                filled = True
            if not _join_pairs(w, table, hits, partner, other_base, same, masks, full, planes):
                missed += 1
                if missed > most_missed:
                    return missed
        if filled and hits.size[value] > words * table.rows // 4:
            masks.all().fill(0)
        elif filled:
            _mask_rows(w, table, hits, value, base, masks, full, False)
    return missed


cdef void _best_pair(Worker* w, Table* table) noexcept nogil:
    """Find the best mapping of a key of two columns by counting all pairs of columns."""
    cdef ByValue hits = _by_value(w, table)
    cdef int64_t depth = _planes_for(table.tuples.size), missed, one, other
    cdef int64_t most_missed = table.tuples.size - _least_of_table(table)
    cdef Planes first = _zero_planes(w, _options_of(table, 1), _words_of(table, 0), depth)
    cdef Planes second = _zero_planes(w, _options_of(table, 0), _words_of(table, 1), depth)
    cdef Span[int64_t] columns = w.arena.empty[int64_t](2)
    missed = _count_pairs(w, table, 0, &hits, &first, 0, most_missed)
    if missed <= most_missed:
        missed = _count_pairs(w, table, 1, &hits, &second, missed, most_missed)
    if missed > most_missed:
        return
    for one in range(_options_of(table, 0)):
        for other in range(_options_of(table, 1)):
            columns[0], columns[1] = table.column[one], table.column[table.option_first[1] + other]
            if columns[0] != columns[1]:
                _take(table, _counter(&first, other, one) + _counter(&second, one, other), columns)


# Operators: all triples of columns at once
#
# For a key tuple (a, b, c) the postings of c in a column are gone through: in each row, the columns that hold a join
# with every column that holds b. So the row masks of a are ORed into one mask for each column of b. A column of b whose
# mask has all columns of a is done; when all are, so is the column of c: frequent values are done after a few rows.


cdef struct Triple:
    # What the key columns of a key of three are to the count.
    int64_t through  # its postings are gone through
    int64_t kept  # the row masks of all its values are kept
    int64_t bits  # the bits of the counted masks stand for its options
    int64_t postings  # that are gone through
    int64_t words  # of the masks that are kept


cdef struct KeptMasks:
    Span[int64_t] slot  # place of each value, counted from the key column's first; -1 for those that no key tuple has
    Span[Matrix[uint64_t]] rows  # by place: the masks by word and row
    Matrix[uint64_t] full  # by place and word: the options that hold the value at all


cdef struct Joined:
    # One column that is gone through.
    Span[uint64_t] open  # options of the kept key column that may still join with more columns
    Span[uint64_t] wanted  # those that were open at first
    Matrix[uint64_t] target  # by option of the kept key column and word: the columns that it may join with
    Matrix[uint64_t] reached  # those that it has joined with
    Span[int64_t] through_kept  # options that are the same column
    Span[int64_t] through_bits
    Span[int64_t] kept_bits


cdef int64_t _number_used(Worker* w, Table* table, int64_t key, Span[int64_t] slot) noexcept nogil:
    """Number the values of a key column that key tuples of the table have; return how many there are."""
    cdef int64_t base = w.values.key_first[key], place, value, count = 0
    slot.fill(-1)
    for place in range(table.tuples.size):
        value = w.values.tuple_value[key][table.tuples[place]] - base
        if slot[value] < 0:
            slot[value] = count
            count += 1
    return count


cdef Triple _plan_triple(Worker* w, Table* table) noexcept nogil:
    """Choose the roles of three key columns: the fewest postings are gone through, the smaller masks kept."""
    cdef Triple found
    cdef Mark mark = w.arena.mark()
    cdef int64_t key, place, value, count, one, other, room, other_room
    cdef Span[int64_t] slot = w.arena.empty[int64_t](w.values.token.size)
    found.through, found.postings = 0, -1
    for key in range(3):
        count = 0
        for place in range(table.tuples.size):
            value = w.values.tuple_value[key][table.tuples[place]]
            count += w.stop[value] - w.start[value]
        if found.postings < 0 or count < found.postings:
            found.through, found.postings = key, count
    one, other = (found.through + 1) % 3, (found.through + 2) % 3
    room = _number_used(w, table, one, slot) * _words_of(table, one)
    other_room = _number_used(w, table, other, slot) * _words_of(table, other)
    found.kept, found.bits = (one, other) if room <= other_room else (other, one)
    found.words = min(room, other_room) * table.rows
    w.arena.release(mark)
    return found


cdef KeptMasks _keep_masks(Worker* w, Table* table, int64_t key, ByValue* hits) noexcept nogil:
    """Return the row masks of all values of a key column."""
    cdef KeptMasks kept
    cdef int64_t first = w.values.key_first[key], words = _words_of(table, key), value, count
    kept.slot = w.arena.empty[int64_t](w.values.key_first[key + 1] - first)
    count = _number_used(w, table, key, kept.slot)
    kept.rows = w.arena.empty[Matrix[uint64_t]](count)
    kept.full = w.arena.empty_matrix[uint64_t](count, words)
    for value in range(kept.slot.size):
        if kept.slot[value] >= 0:
            kept.rows[kept.slot[value]] = w.arena.zero_matrix[uint64_t](words, table.rows)
            _mask_rows(
                w, table, hits, value + first, table.option_first[key], kept.rows[kept.slot[value]],
                kept.full[kept.slot[value]], True,
            )
    return kept


cdef int64_t _open_kept(Span[uint64_t] kept_full, Span[uint64_t] full, int64_t option, Joined* joined) noexcept nogil:
    """Note what the options of the kept key column may join with in a column; return how many may with anything."""
    cdef int64_t left = 0, word, other, place
    cdef uint64_t rest, target, some
    for word in range(kept_full.size):
        joined.open[word] = 0
        rest = _without(kept_full[word], word, joined.through_kept[option])
        while rest:
            other = (word << 6) + lowest_bit(rest)
            rest &= rest - 1
            some = 0
            for place in range(full.size):
                target = _without(full[place], place, joined.through_bits[option])
                target = _without(target, place, joined.kept_bits[other])
                joined.target[other][place] = target
                joined.reached[other][place] = 0
                some |= target
            if some:
                joined.open[word] |= <uint64_t>1 << (other & 63)
                left += 1
        joined.wanted[word] = joined.open[word]
    return left


cdef int64_t _join_row(int64_t row, Matrix[uint64_t] masks, Matrix[uint64_t] kept, Joined* joined) noexcept nogil:
    """Join the columns of a row; return how many options of the kept key column are done by it."""
    cdef int64_t done = 0, word, other, place
    cdef uint64_t rest, missing
    for word in range(kept.rows):
        rest = kept[word][row] & joined.open[word]
        while rest:
            other = (word << 6) + lowest_bit(rest)
            rest &= rest - 1
            missing = 0
            for place in range(masks.rows):
                joined.reached[other][place] |= masks[place][row]
                missing |= joined.target[other][place] & ~joined.reached[other][place]
            if missing == 0:
                joined.open[word] ^= <uint64_t>1 << (other & 63)
                done += 1
    return done


cdef inline bint _has_mask(Matrix[uint64_t] masks, int64_t row) noexcept nogil:
    cdef int64_t place
    for place in range(masks.rows):
        if masks[place][row]:
            return True
    return False


cdef void _join_triples(
    Worker* w, Table* table, ByValue* hits, int64_t value, int64_t base, Matrix[uint64_t] masks, Span[uint64_t] full,
    Matrix[uint64_t] kept, Span[uint64_t] kept_full, Joined* joined, Planes* planes,
) noexcept nogil:
    """Go through the postings of a value, column by column, and count what joins."""
    cdef int64_t read = 0, place, option, left, at, row, word, other, number
    cdef uint64_t rest, mask
    for place in range(hits.first[value], hits.first[value + 1]):
        option = hits.option[place] - base
        left = _open_kept(kept_full, full, option, joined)
        at = hits.start[place]
        while at < hits.stop[place] and left:
            row = posting_row(w.segment, at, table.units)
            if _has_mask(masks, row):
                left -= _join_row(row, masks, kept, joined)
            at += table.units
            read += 1
        for word in range(joined.wanted.size):
            rest = joined.wanted[word]
            while rest:
                other = (word << 6) + lowest_bit(rest)
                rest &= rest - 1
                for number in range(joined.reached.columns):
                    mask = joined.reached[other][number] & joined.target[other][number]
                    if mask:
                        _count_mask(planes, option * joined.target.rows + other, number, mask)
    w.counts.rows_read += read
    w.interrupt.tick(read)


cdef bint _reaches(Planes* planes, int64_t least) noexcept nogil:
    """Tell whether any counter has at least that number."""
    cdef int64_t place = 0
    while place < planes.data.size:
        if _at_least(planes.data.slice(place, place + planes.depth), least):
            return True
        place += planes.depth
    return False


cdef bint _count_triples(Worker* w, Table* table, Triple* triple, Planes* planes) noexcept nogil:
    """Count all key tuples, those of rare values first; return False if no mapping can be the best any more."""
    cdef Values* values = w.values
    cdef ByValue hits = _by_value(w, table)
    cdef int64_t through = triple.through, key = triple.bits, other = triple.kept
    cdef int64_t words = _words_of(table, key), kept_words = _words_of(table, other), options = _options_of(table, other)
    cdef int64_t left = table.tuples.size, least = _least_of_table(table), rank, value, place, t, slot
    cdef KeptMasks kept = _keep_masks(w, table, other, &hits)
    cdef Matrix[uint64_t] masks = w.arena.zero_matrix[uint64_t](words, table.rows)
    cdef Span[uint64_t] full = w.arena.empty[uint64_t](words)
    cdef Span[int64_t] ordered = _rarest_first(&hits, values.key_first[key], values.key_first[key + 1], w.arena[0])
    cdef Joined joined
    cdef bint filled
    joined.open, joined.wanted = w.arena.empty[uint64_t](kept_words), w.arena.empty[uint64_t](kept_words)
    joined.target = w.arena.empty_matrix[uint64_t](options, words)
    joined.reached = w.arena.empty_matrix[uint64_t](options, words)
    joined.through_kept = _same_column(w, table, through, other)
    joined.through_bits = _same_column(w, table, through, key)
    joined.kept_bits = _same_column(w, table, other, key)
    for rank in range(ordered.size):
        value = ordered[rank]
        filled = False
        for place in range(values.group_first[value], values.group_first[value + 1]):
            t = values.group_tuple[place]
            if w.local[t] < 0:
                continue
            if not filled:
                _mask_rows(w, table, &hits, value, table.option_first[key], masks, full, True)
                filled = True
            slot = kept.slot[values.tuple_value[other][t] - values.key_first[other]]
            _join_triples(
                w, table, &hits, values.tuple_value[through][t], table.option_first[through], masks, full,
                kept.rows[slot], kept.full[slot], &joined, planes,
            )
            left -= 1
            if left % w.costs.step == 0 and least > left and not _reaches(planes, least - left):
                return False
        if filled:
            _mask_rows(w, table, &hits, value, table.option_first[key], masks, full, False)
    return True


cdef void _best_triple(Worker* w, Table* table, Triple* triple) noexcept nogil:
    """Find the best mapping of a key of three columns by counting all triples of columns."""
    cdef int64_t kept = _options_of(table, triple.kept), pairs = _options_of(table, triple.through) * kept
    cdef int64_t number, word, option
    cdef uint64_t rest
    cdef Planes planes = _zero_planes(w, pairs, _words_of(table, triple.bits), _planes_for(table.tuples.size))
    cdef Span[int64_t] columns = w.arena.empty[int64_t](3), first = table.option_first
    if not _count_triples(w, table, triple, &planes):
        return
    for number in range(pairs):
        columns[triple.through] = table.column[first[triple.through] + number // kept]
        columns[triple.kept] = table.column[first[triple.kept] + number % kept]
        for word in range(planes.words):
            rest = _at_least(_planes_at(&planes, number, word), _least_of_table(table))
            while rest:
                option = (word << 6) + lowest_bit(rest)
                rest &= rest - 1
                columns[triple.bits] = table.column[first[triple.bits] + option]
                _take(table, _counter(&planes, number, option), columns)


# Operator: longer keys, column by column
#
# The rows that hold a prefix of a key tuple in the first columns of a mapping are listed. Only these are read to extend
# it by another column, and the key tuples that begin with a prefix that is left bound what any extension joins. So a
# column that is chosen early is read once for all mappings that begin with it.


cdef void _begin_rows(Table* table, int64_t option, RowLists* lists) noexcept nogil:
    """List the rows that hold a value of the first key column."""
    cdef Span[int32_t] value = table.decoded[option]
    cdef int64_t row, size = 0
    for row in range(value.size):
        if value[row] >= 0:
            lists.row[0][size] = <int32_t>row
            lists.prefix[0][size] = value[row]
            size += 1
    lists.size[0] = size


cdef int64_t _list_rows(Worker* w, Span[int32_t] value, RowLists* lists, int64_t depth) noexcept nogil:
    """List the rows that hold a longer prefix with the values of a column, and stamp these prefixes."""
    cdef Span[int32_t] before = lists.prefix[depth - 1], rows = lists.row[depth - 1]
    cdef int64_t place, prefix, size = 0
    for place in range(lists.size[depth - 1]):
        if value[rows[place]] >= 0:
            prefix = longer_prefix(w.prefixes, before[place], value[rows[place]])
            if prefix >= 0:
                w.prefix_stamp[prefix] = w.last_prefix_stamp
                lists.row[depth][size] = rows[place]
                lists.prefix[depth][size] = <int32_t>prefix
                size += 1
    lists.size[depth] = size
    return lists.size[depth - 1]


cdef int64_t _drop_unmet(Worker* w, Table* table, Span[uint64_t] held, int64_t depth) noexcept nogil:
    """Leave of the key tuples held those whose prefix has the last stamp; return how many there are."""
    cdef int64_t count = 0, word, t
    cdef uint64_t left
    for word in range(held.size):
        left = held[word]
        while left:
            t = table.tuples[(word << 6) + lowest_bit(left)]
            if w.prefix_stamp[w.prefixes.tuple_prefix[depth][t]] == w.last_prefix_stamp:
                count += 1
            else:
                held[word] ^= left & -left
            left &= left - 1
    return count


cdef int64_t _count_rows(
    Worker* w, Span[int32_t] value, RowLists* lists, int64_t depth, int64_t total
) noexcept nogil:
    """Count the key tuples that rows hold with the last column, until so many are met."""
    cdef Span[int32_t] before = lists.prefix[depth - 1], rows = lists.row[depth - 1]
    cdef int64_t place, last, count = 0
    for place in range(lists.size[depth - 1]):
        last = value[rows[place]]
        if last >= 0:
            count += _stamp_prefix(w, longer_prefix(w.prefixes, before[place], last))
            if count == total:
                w.counts.rows_read += place + 1
                return count
    w.counts.rows_read += lists.size[depth - 1]
    return count


cdef void _extend_rows(Worker* w, Table* table, Walk* walk, int64_t depth) noexcept nogil:
    """Bound by the rows what any extension of the options chosen joins; of a whole mapping this is its joinability."""
    cdef int64_t option = walk.chosen[depth]
    cdef RowLists* lists = &walk.lists
    _make_room(w, table)
    _decode(w, table, option)
    if depth == 0:
        _begin_rows(table, option, lists)
        return
    w.interrupt.tick(lists.size[depth - 1])
    w.last_prefix_stamp += 1
    if depth == table.width - 1:
        w.counts.mappings_checked += 1
        walk.bound[depth] = _count_rows(w, table.decoded[option], lists, depth, walk.bound[depth])
    else:
        w.counts.rows_read += _list_rows(w, table.decoded[option], lists, depth)
        walk.bound[depth] = _drop_unmet(w, table, walk.held[depth], depth)


cdef void _best_extension(Worker* w, Table* table) noexcept nogil:
    """Find the best mapping of a table, column after column."""
    cdef Walk walk
    walk.by_row = True
    walk.lists.size = w.arena.empty[int64_t](table.width)
    walk.lists.row = w.arena.empty_matrix[int32_t](table.width, table.rows)
    walk.lists.prefix = w.arena.empty_matrix[int32_t](table.width, table.rows)
    _walk(w, table, &walk)


# A table, and all tables of a batch


cdef struct ByRow:
    # How a table would be counted by row.
    int64_t width  # 2: all pairs, 3: all triples, 0: column after column
    Triple triple
    int64_t work  # beside the hits, in hits


cdef ByRow _plan_by_row(Worker* w, Table* table) noexcept nogil:
    """Choose the operator that counts all mappings at once: pairs and triples take memory, which is limited."""
    cdef ByRow plan
    cdef int64_t depth = _planes_for(table.tuples.size), option, counters, words
    plan.width, plan.work = 0, table.rows * table.column.size >> 2
    plan.triple = Triple(0, 0, 0, 0, 0)
    if table.width == 2:
        counters = _options_of(table, 0) * _words_of(table, 1) + _options_of(table, 1) * _words_of(table, 0)
        words = max(_words_of(table, 0), _words_of(table, 1)) * table.rows
        if counters * depth + words <= w.costs.mask_words:
            plan.width, plan.work = 2, 0
            for option in range(table.column.size):
                plan.work += table.postings[option]
            plan.work >>= 2
    elif table.width == 3:
        plan.triple = _plan_triple(w, table)
        counters = _options_of(table, plan.triple.through) * _options_of(table, plan.triple.kept)
        counters *= _words_of(table, plan.triple.bits)
        if max(plan.triple.words, counters * depth) <= w.costs.mask_words:
            plan.width = 3
            plan.work = (table.tuples.size * counters + plan.triple.postings + plan.triple.words) >> 3
    return plan


cdef void _search_table(Worker* w, Table* table) noexcept nogil:
    """Find the best mapping of a table: mapping by mapping, as long as that costs less than counting all by row."""
    cdef ByRow plan
    cdef Budget budget
    cdef int64_t option, best = 0
    if table.width == 1:
        for option in range(table.column.size):
            if table.bound[option] == table.bound[0] and table.column[option] < table.column[best]:
                best = option
        table.score, table.mapping[0] = table.bound[best], table.column[best]
        return
    plan = _plan_by_row(w, table)
    budget.most = w.costs.by_row * (table.tuples.size + 8 * table.column.size + table.hit_value.size + plan.work)
    budget.before = w.counts
    if _best_mapping(w, table, &budget):
        return
    w.counts.tables_by_row += 1
    if plan.width == 2:
        _best_pair(w, table)
    elif plan.width == 3:
        _best_triple(w, table, &plan.triple)
    else:
        _best_extension(w, table)


cdef void _search_tables(void* state) noexcept nogil:
    cdef Worker* w = <Worker*>state
    cdef Segment* segment = w.segment
    cdef Arena arena, columns, lasting
    cdef Interrupt interrupt = w.interrupt[0]
    cdef int64_t place, number, found, kth, rows, t, key, values = w.values.token.size
    cdef int64_t width = w.values.tuple_value.rows, count = (w.batch_order.size - w.part + w.parts - 1) // w.parts
    cdef Span[int64_t] tuples, kept
    cdef Table table
    cdef Mark mark, column_mark
    w.arena, w.columns, w.interrupt = &arena, &columns, &interrupt
    w.local = lasting.full[int64_t](w.values.tuple_value.columns, -1)
    w.run_of, w.start = lasting.empty[int64_t](values), lasting.empty[int64_t](values)
    w.stop, w.weight = lasting.empty[int64_t](values), lasting.zeros[int64_t](values)
    w.row_stamp, w.last_row_stamp = lasting.zeros[int32_t](0), 0
    w.prefix_stamp, w.last_prefix_stamp = lasting.zeros[int64_t](w.prefixes.count), 0
    for place in range(count):
        number = w.batch_order[w.part + place * w.parts]
        found = w.runs.table[number]
        kth = kth_score(&w.best) if w.filtering else 0
        if w.bound[number] <= kth:
            w.counts.tables_cut_rule_1 += count - place
            break
        w.counts.tables_checked += 1
        mark, column_mark = arena.mark(), columns.mark()
        rows = rows_of(segment, found)
        if rows > w.row_stamp.size:
            w.row_stamp, w.last_row_stamp = lasting.zeros[int32_t](max(rows, 2 * w.row_stamp.size)), 0
        tuples = _members(w.held[number], arena)
        kept = _filter_tuples(w, number, units_per_posting(segment, found), tuples, kth + 1)
        if kept.size > kth and _open_table(w, found, kept, kth, &table):
            _search_table(w, &table)
            if table.score:
                for key in range(width):
                    table.mapping[key] -= segment.table_column_first[found]
                offer(&w.best, table.score, segment.table_id[found], table.mapping)
        for t in range(tuples.size):
            w.local[tuples[t]] = -1
        arena.release(mark)
        columns.release(column_mark)
        interrupt.tick(16)


def search_tables(
    SegmentView view not None, Batch batch not None, int64_t part, int64_t parts, bint filtering, costs, best,
    const uint8_t[::1] cancelled,
):
    """Offer one of several parts of the tables of a batch to the best, by falling bound; return what was counted."""
    cdef Worker w
    cdef Interrupt interrupt = Interrupt(&cancelled[0])
    cdef bint done
    w.segment, w.values, w.prefixes = &view.segment, &batch.cover.values, &batch.cover.prefixes
    w.runs, w.held, w.bound, w.batch_order = &batch.runs, batch.held, batch.bound, batch.order
    w.part, w.parts = part, parts
    w.filtering, w.costs, w.best, w.interrupt = filtering, costs._asdict(), view_best(best), &interrupt
    w.counts = Counts(0, 0, 0, 0, 0, 0, 0, 0)
    with nogil:
        done = run(&_search_tables, &w)
    if not done:
        raise CancelledError("the search was cancelled")
    return w.counts
