"""Native search of the tables of a batch: row filter, joint bounds of mappings, and the operators that count exactly.

A table under search numbers its key tuples without gaps, and its *options*: the table columns that may serve a key
column. Sets of key tuples are bit sets of 64-bit words. What a table has of a value is a run of directory entries
(`Run`), one for each column that holds it.

Mappings that may be the best are checked one by one, by looking their key tuples up (`_best_mapping`). Where these are
so many that this would take longer than a pass over the table's rows, all mappings are counted at once: `_best_pair`,
`_best_triple` and `_best_extension`, for keys of 2, 3 and more columns.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from mate.lake._arrays cimport Segment, SegmentView, code_at, posting_row, rows_of, units_per_posting
from mate.native cimport Arena, Interrupt, Mark, Matrix, Span, ascending, lowest_bit, popcount, run
from mate.search._best cimport Best, kth_score, offer, view_best
from mate.search.column_first._cover cimport Collected, Prefixes, Run, TableBatch, Values, longer_prefix

from mate.errors import CancelledError


cdef struct Costs:
    # See mate.search.column_first.Costs.
    int64_t waiting
    int64_t by_row
    int64_t mask_words
    int64_t look_up
    int64_t read
    int64_t step


cdef struct Counts:
    int64_t tables_cut_rule_1
    int64_t tables_checked
    int64_t mappings_bounded
    int64_t mappings_checked
    int64_t tables_by_row
    int64_t rows_read


cdef struct Worker:
    # One thread's search of some tables of a batch.
    Segment* segment
    Values* values
    Prefixes* prefixes
    Collected* batch
    int64_t part
    int64_t parts
    bint filtering
    Costs costs
    Best best
    Counts counts
    Interrupt* interrupt
    Arena* arena  # what a table needs
    Span[int64_t] local  # number of each key tuple in the table at hand, -1 for others
    Span[Run] run  # by value, what the table at hand has of it
    Span[int64_t] weight  # by value, the key tuples that have it: all 0 between tables
    Span[int32_t] row_stamp
    int32_t last_row_stamp
    Span[int64_t] prefix_stamp
    int64_t last_prefix_stamp


cdef struct Table:
    # A table under search. Its columns are counted within it.
    int64_t width  # of the key
    int64_t rows
    int64_t units
    int64_t first_column
    Span[int64_t] tuples  # key tuples of the query that may join here
    Span[Span[int64_t]] used  # by key column, the values that these have, ascending
    Span[int64_t] option_first  # the options of key column w are option_first[w]:option_first[w + 1], best bound first
    Span[int64_t] column  # of each option
    Span[int64_t] bound  # key tuples that each option may join at most
    Matrix[int64_t] option_of  # by key column and column, its option, counted from the key column's first; -1 for none
    Matrix[uint64_t] bits  # key tuples whose value each option holds
    int64_t entries  # directory entries of the values in options
    int64_t postings  # of these
    Span[Span[int32_t]] decoder  # by option, the value of each code, -1 for none; empty if it was not needed yet
    int64_t kth  # the score that the table needs to exceed
    int64_t score  # of its best mapping so far
    Span[int64_t] mapping  # the columns of it


# Bit sets


cdef inline void _set_bit(Span[uint64_t] bits, int64_t number) noexcept nogil:
    bits[number >> 6] |= <uint64_t>1 << (number & 63)


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


cdef inline int64_t _postings_of(Worker* w, int64_t value) noexcept nogil:
    """Return how many units the postings of a value have in the table."""
    return w.run[value].unit_stop - w.run[value].unit_start


cdef Span[int64_t] _take_runs(Worker* w, int64_t number) noexcept nogil:
    """Note the runs of a table's values in a key column, and prefetch their postings; return the values."""
    cdef int64_t first = w.batch.runs.first[number], place, count = w.batch.runs.last[number] - first
    cdef Span[int64_t] values = w.arena.empty[int64_t](count)
    cdef Run* found
    for place in range(count):
        found = &w.batch.runs.run[first + place]
        w.segment.postings.prefetch(found.unit_start)
        values[place] = found.value
        w.run[found.value] = found[0]
    return values


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
    Worker* w, Span[int64_t] used, Span[int64_t] other, bint ties, int64_t units, int64_t left, int64_t least
) noexcept nogil:
    """Take the local number from key tuples whose values in two key columns share no row; return how many are left.

    `used` are values of the first column, `other` has those of the second one by key tuple. Of two values, the one with
    more postings has its rows stamped, for all of its key tuples; the postings of the other are read until a row has
    the stamp. So this considers the key tuples whose value in the first column has more postings, or as many if `ties`.
    Stops when fewer than `least` are left.
    """
    cdef Values* values = w.values
    cdef int64_t number, value, size, place, t, partner
    cdef bint stamped
    for number in range(used.size):
        value = used[number]
        size = _postings_of(w, value)
        stamped = False
        for place in range(values.group_first[value], values.group_first[value + 1]):
            t = values.group_tuple[place]
            if w.local[t] < 0:
                continue
            partner = other[t]
            if size < _postings_of(w, partner) + (not ties):
                continue
            if not stamped:
                stamped = True
                _stamp_rows(w, units, w.run[value].unit_start, w.run[value].unit_stop)
                w.interrupt.tick(size)
            if _first_stamped(w, units, w.run[partner].unit_start, w.run[partner].unit_stop) == w.run[partner].unit_stop:
                w.local[t] = -1
                left -= 1
                if left < least:
                    return left
    return left


cdef Span[int64_t] _filter_tuples(
    Worker* w, int64_t number, int64_t units, Span[int64_t] tuples, int64_t least
) noexcept nogil:
    """Return the key tuples whose values in key columns that follow each other share a row, or fewer than `least`."""
    cdef int64_t width = w.values.tuple_value.rows, left = tuples.size, key, side, place, t
    cdef Span[Span[int64_t]] values = w.arena.empty[Span[int64_t]](width)
    cdef Span[int64_t] found
    for place in range(tuples.size):
        w.local[tuples[place]] = place
    for key in range(width):
        values[key] = _take_runs(w, number * width + key)
    for key in range(1, width):
        for side in range(2):
            if left >= least:
                left = _drop_apart(
                    w, values[key - 1 + side], w.values.tuple_value[key - side], side == 0, units, left, least
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
            w.segment.entry_column.prefetch(w.run[value].start)
    return used.slice(0, count)


cdef void _bound_columns(Worker* w, Table* table, int64_t key, Span[int64_t] bound) noexcept nogil:
    """For each column of a table, bound the key tuples that may join under a key column; reset the weights."""
    cdef Segment* segment = w.segment
    cdef Span[int64_t] used = table.used[key]
    cdef int64_t place, value, entry, most
    for place in range(used.size):
        value = used[place]
        for entry in range(w.run[value].start, w.run[value].start + w.run[value].entries):
            most = w.weight[value]
            if most > 1:
                most = min(most, (segment.posting_first[entry + 1] - segment.posting_first[entry]) // table.units)
            bound[segment.entry_column[entry] - table.first_column] += most
        w.weight[value] = 0


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


cdef void _set_bits(Worker* w, Table* table, int64_t key) noexcept nogil:
    """Note which key tuples have a value that each option of a key column holds; count their entries and postings."""
    cdef Segment* segment = w.segment
    cdef Values* values = w.values
    cdef Span[int64_t] used = table.used[key], option_of = table.option_of[key]
    cdef Span[uint64_t] bits
    cdef int64_t place, value, entry, option, at, t
    for place in range(used.size):
        value = used[place]
        for entry in range(w.run[value].start, w.run[value].start + w.run[value].entries):
            option = option_of[segment.entry_column[entry] - table.first_column]
            if option < 0:
                continue
            table.entries += 1
            table.postings += (segment.posting_first[entry + 1] - segment.posting_first[entry]) // table.units
            bits = table.bits[table.option_first[key] + option]
            for at in range(values.group_first[value], values.group_first[value + 1]):
                t = w.local[values.group_tuple[at]]
                if t >= 0:
                    _set_bit(bits, t)


cdef bint _open_table(Worker* w, int64_t place, Span[int64_t] tuples, int64_t kth, Table* table) noexcept nogil:
    """Prepare the search of a table for key tuples; tell whether each key column has an option that exceeds `kth`."""
    cdef Segment* segment = w.segment
    cdef Arena* arena = w.arena
    cdef int64_t width = w.values.tuple_value.rows, first_column = segment.table_column_first[place]
    cdef int64_t columns = segment.table_column_first[place + 1] - first_column, options = 0, key, at, option
    cdef Span[Span[int64_t]] chosen = arena.empty[Span[int64_t]](width)
    cdef Matrix[int64_t] bound = arena.zero_matrix[int64_t](width, columns)
    table.width, table.rows, table.units = width, rows_of(segment, place), units_per_posting(segment, place)
    table.first_column, table.tuples, table.kth, table.score = first_column, tuples, kth, 0
    table.entries = table.postings = 0
    table.mapping = arena.zeros[int64_t](width)
    table.used = arena.empty[Span[int64_t]](width)
    table.option_first = arena.zeros[int64_t](width + 1)
    for key in range(width):
        table.used[key] = _weigh(w, key, tuples)
        _bound_columns(w, table, key, bound[key])
        chosen[key] = _choose_columns(bound[key], kth, arena[0])
        if not chosen[key].size:
            return False
        options += chosen[key].size
        table.option_first[key + 1] = options
    table.column, table.bound = arena.empty[int64_t](options), arena.empty[int64_t](options)
    table.option_of = arena.empty_matrix[int64_t](width, columns)
    table.option_of.all().fill(-1)
    table.bits = arena.zero_matrix[uint64_t](options, (tuples.size + 63) >> 6)
    table.decoder = arena.zeros[Span[int32_t]](options)
    for key in range(width):
        for at in range(chosen[key].size):
            option = table.option_first[key] + at
            table.column[option] = chosen[key][at]
            table.bound[option] = bound[key][chosen[key][at]]
            table.option_of[key][chosen[key][at]] = at
        _set_bits(w, table, key)
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


# Mappings one by one


cdef inline int64_t _entry_of(Worker* w, int64_t value, int64_t column) noexcept nogil:
    """Return the directory entry of a value in a column of the segment, -1 if the column does not have it."""
    cdef Span[uint32_t] columns = w.segment.entry_column
    cdef int64_t low = w.run[value].start, stop = low + w.run[value].entries, high = stop, middle
    while low < high:
        middle = (low + high) >> 1
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and columns[low] == column else -1


cdef inline int64_t _code_of(Segment* segment, int64_t entry, int64_t units) noexcept nogil:
    """Return the code of a directory entry's value in its column: that of the first row that holds it."""
    cdef int64_t column = segment.entry_column[entry], row = posting_row(segment, segment.posting_first[entry], units)
    return code_at(segment, segment.code_first[column], segment.code_bytes[column], row)


cdef struct Probe:
    # An option of a mapping, and what its column has of the key tuple at hand.
    int64_t key
    int64_t column  # in the segment
    int64_t entry
    int64_t size  # units of its postings
    int64_t code


cdef inline int64_t _probe(Worker* w, Table* table, Span[Probe] probes, int64_t key_tuple) noexcept nogil:
    """Find the values of a key tuple in the options of a mapping; return the one with the fewest postings."""
    cdef Segment* segment = w.segment
    cdef int64_t place, rarest = 0
    cdef Probe* probe
    for place in range(probes.size):
        probe = &probes[place]
        probe.entry = _entry_of(w, w.values.tuple_value[probe.key][key_tuple], probe.column)
        probe.size = segment.posting_first[probe.entry + 1] - segment.posting_first[probe.entry]
        probe.code = _code_of(segment, probe.entry, table.units)
        if probe.size < probes[rarest].size:
            rarest = place
    return rarest


cdef inline bint _row_has(Worker* w, Span[Probe] probes, int64_t skipped, int64_t row) noexcept nogil:
    """Tell whether a row holds the key tuple at hand in the options of a mapping, all but one of which are looked at."""
    cdef Segment* segment = w.segment
    cdef int64_t place, column
    for place in range(probes.size):
        column = probes[place].column
        if place != skipped and probes[place].code != code_at(
            segment, segment.code_first[column], segment.code_bytes[column], row
        ):
            return False
    return True


cdef int64_t _look_up(
    Worker* w, Table* table, Span[Probe] probes, Span[uint64_t] held, int64_t total, int64_t least, int64_t most_rows
) noexcept nogil:
    """Return how many of the key tuples held a mapping joins, going through the rows of each one's rarest value.

    Return fewer than `least` if so, and -1 if more than `most_rows` rows would have to be read.
    """
    cdef int64_t count = 0, read = 0, done = 0, word, rarest, at, stop
    cdef uint64_t left
    w.counts.mappings_checked += 1
    for word in range(held.size):
        left = held[word]
        while left and count + total - done >= least and read <= most_rows:
            rarest = _probe(w, table, probes, table.tuples[(word << 6) + lowest_bit(left)])
            left &= left - 1
            done += 1
            at = w.segment.posting_first[probes[rarest].entry]
            stop = at + probes[rarest].size
            while at < stop:
                read += 1
                if _row_has(w, probes, rarest, posting_row(w.segment, at, table.units)):
                    count += 1
                    break
                at += table.units
        w.interrupt.tick(64)
    w.counts.rows_read += read
    return count if read <= most_rows else -1


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
    int64_t budget  # nanoseconds that are left to bound and to check mappings; a word of a joint bound is one


cdef bint _walk(Worker* w, Table* table, Walk* walk) noexcept nogil:
    """Go through the mappings of a table that may be its best, and leave out what cannot be as soon as it is known.

    Return False, and leave it unfinished, if that is over budget, or more mappings would wait than there is room for.
    """
    cdef int64_t width = table.width, depth = 0, key, option, least
    cdef Span[int64_t] at = w.arena.zeros[int64_t](width), columns = w.arena.full[int64_t](width, -1)
    cdef Waiting* waiting = &walk.waiting
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
        if not walk.by_row and walk.budget < 0:
            return False
        if depth < width - 1:
            depth += 1
            at[depth] = 0
        elif walk.by_row:
            _take(table, walk.bound[depth], columns)
        elif waiting.size == waiting.bound.size:
            return False
        else:
            waiting.bound[waiting.size] = walk.bound[depth]
            waiting.options[waiting.size].copy_from(walk.chosen)
            waiting.size += 1
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
    walk.budget -= walk.held.columns
    w.counts.mappings_bounded += 1
    w.interrupt.tick(walk.held.columns)


cdef bint _check(Worker* w, Table* table, Walk* walk, Span[int64_t] options, int64_t bound) noexcept nogil:
    """Look a whole mapping up if it may be the best of its table; return False if that was over budget."""
    cdef Span[int64_t] order = w.prefixes.order, columns = w.arena.empty[int64_t](table.width)
    cdef Span[uint64_t] held = walk.held[0]
    cdef Span[Probe] probes = w.arena.empty[Probe](table.width)
    cdef int64_t place, least, score, before = w.counts.rows_read
    for place in range(table.width):
        columns[order[place]] = table.column[options[place]]
        probes[place].key, probes[place].column = order[place], table.first_column + table.column[options[place]]
    least = _least_score(table, columns)
    if bound < least:
        return True
    held.copy_from(table.bits[options[0]])
    for place in range(1, table.width):
        bound = _intersect(held, table.bits[options[place]], held)
    score = _look_up(w, table, probes, held, bound, least, walk.budget // w.costs.read)
    walk.budget -= (w.counts.rows_read - before) * w.costs.read
    _take(table, score, columns)
    return score >= 0


cdef bint _check_waiting(Worker* w, Table* table, Walk* walk) noexcept nogil:
    """Check the mappings that wait, best bound first, of equals the first column first; stop when over budget.

    If the first one does not rule out so many others that these are within budget, return False.
    """
    cdef Waiting* waiting = &walk.waiting
    cdef Span[int64_t] rank = w.arena.empty[int64_t](waiting.size)
    cdef int64_t first = 0, place, length, cost = 0
    for length in range(table.width):
        if w.prefixes.order[length] == 0:
            first = length
    for place in range(waiting.size):
        rank[place] = table.column[waiting.options[place][first]] - (waiting.bound[place] << 32)
    rank = ascending(rank, w.arena[0])
    for place in range(waiting.size):
        if place == 1:
            for length in range(waiting.size):
                if waiting.bound[length] >= _least_of_table(table):
                    cost += waiting.bound[length] * w.costs.look_up
            if cost > walk.budget:
                return False
        if not _check(w, table, walk, waiting.options[rank[place]], waiting.bound[rank[place]]):
            return False
    return True


cdef bint _best_mapping(Worker* w, Table* table, int64_t budget) noexcept nogil:
    """Find the best mapping of a table by checking mappings; return False, and leave it unfinished, if over budget."""
    cdef Walk walk
    walk.by_row, walk.budget, walk.waiting.size = False, budget, 0
    walk.waiting.bound = w.arena.empty[int64_t](w.costs.waiting)
    walk.waiting.options = w.arena.empty_matrix[int64_t](w.costs.waiting, table.width)
    return _walk(w, table, &walk) and _check_waiting(w, table, &walk)


# All pairs of columns at once
#
# A row holds a value in several columns: a row mask has a bit for each. For a key tuple (a, b), the OR of the row masks
# of a over the rows where column c holds b has a bit for every column that joins the tuple together with c. Masks are
# added up bit by bit: of 64 counters, plane p has the bit of value 2**p. Options are counted within their key column.


cdef struct Planes:
    # By option and 64 options of another key column, the counters of that pair of columns.
    Span[uint64_t] data
    int64_t words
    int64_t depth


cdef inline int64_t _options_of(Table* table, int64_t key) noexcept nogil:
    return table.option_first[key + 1] - table.option_first[key]


cdef inline int64_t _words_of(Table* table, int64_t key) noexcept nogil:
    """Return the words that have a bit for each option of a key column."""
    return (_options_of(table, key) + 63) >> 6


cdef inline int64_t _column_of(Table* table, int64_t key, int64_t option) noexcept nogil:
    return table.column[table.option_first[key] + option]


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


cdef inline uint64_t _without(uint64_t mask, int64_t word, int64_t option) noexcept nogil:
    """Return a word of a mask without the bit of an option, -1 for none."""
    if option >= 0 and option >> 6 == word:
        mask &= ~(<uint64_t>1 << (option & 63))
    return mask


cdef void _mask_rows(
    Worker* w, Table* table, int64_t key, int64_t value, Matrix[uint64_t] masks, Span[uint64_t] full, bint setting
) noexcept nogil:
    """Set the row masks of a value, and which options of its key column hold it at all; or clear the row masks."""
    cdef Segment* segment = w.segment
    cdef Span[int64_t] option_of = table.option_of[key]
    cdef int64_t entry, option, at, stop, row
    cdef uint64_t bit
    cdef Span[uint64_t] own
    full.fill(0)
    for entry in range(w.run[value].start, w.run[value].start + w.run[value].entries):
        option = option_of[segment.entry_column[entry] - table.first_column]
        if option < 0:
            continue
        bit = <uint64_t>1 << (option & 63)
        full[option >> 6] |= bit
        own = masks[option >> 6]
        at, stop = segment.posting_first[entry], segment.posting_first[entry + 1]
        while at < stop:
            row = posting_row(segment, at, table.units)
            own[row] = own[row] | bit if setting else 0
            at += table.units


cdef bint _join_pairs(
    Worker* w, Table* table, int64_t key, int64_t value, Matrix[uint64_t] masks, Span[uint64_t] full, Planes* planes
) noexcept nogil:
    """Count, for each option that holds a value of the other key column, which columns join with it; tell if any does.

    The postings of an option are read until all columns that hold the masked value, but its own, have joined.
    """
    cdef Segment* segment = w.segment
    cdef Span[int64_t] option_of = table.option_of[1 - key], same = table.option_of[key]
    cdef int64_t entry, column, option, word, at, stop, read = 0
    cdef uint64_t whole, mask
    cdef bint joined = False
    for entry in range(w.run[value].start, w.run[value].start + w.run[value].entries):
        column = segment.entry_column[entry] - table.first_column
        option = option_of[column]
        if option < 0:
            continue
        stop = segment.posting_first[entry + 1]
        for word in range(full.size):
            whole = _without(full[word], word, same[column])
            mask = 0
            at = segment.posting_first[entry]
            while at < stop and mask & whole != whole:
                mask |= masks[word][posting_row(segment, at, table.units)]
                at += table.units
                read += 1
            mask &= whole
            if mask:
                joined = True
                _count_mask(planes, option, word, mask)
    w.counts.rows_read += read
    w.interrupt.tick(read)
    return joined


cdef Span[int64_t] _rarest_first(Worker* w, Span[int64_t] used) noexcept nogil:
    """Return values in the order of their postings."""
    cdef Span[int64_t] size = w.arena.empty[int64_t](used.size), order, found = w.arena.empty[int64_t](used.size)
    cdef int64_t place
    for place in range(used.size):
        size[place] = _postings_of(w, used[place])
    order = ascending(size, w.arena[0])
    for place in range(used.size):
        found[place] = used[order[place]]
    return found


cdef int64_t _count_pairs(
    Worker* w, Table* table, int64_t key, Planes* planes, int64_t missed, int64_t most_missed
) noexcept nogil:
    """Count the key tuples whose value in this key column has more postings, by option of the other and word.

    Stop when more key tuples than `most_missed` are not in any row; return how many were not, `missed` among them.
    """
    cdef Values* values = w.values
    cdef int64_t words = _words_of(table, key), rank, value, place, t, partner
    cdef Matrix[uint64_t] masks = w.arena.zero_matrix[uint64_t](words, table.rows)
    cdef Span[uint64_t] full = w.arena.empty[uint64_t](words)
    cdef Span[int64_t] ordered = _rarest_first(w, table.used[key])
    cdef bint filled
    for rank in range(ordered.size):
        value = ordered[rank]
        filled = False
        for place in range(values.group_first[value], values.group_first[value + 1]):
            t = values.group_tuple[place]
            partner = values.tuple_value[1 - key][t]
            if w.local[t] < 0 or _postings_of(w, value) < _postings_of(w, partner) + key:  # of equals the first column
                continue
            if not filled:
                _mask_rows(w, table, key, value, masks, full, True)
                filled = True
            if not _join_pairs(w, table, key, partner, masks, full, planes):
                missed += 1
                if missed > most_missed:
                    return missed
        if filled:
            _mask_rows(w, table, key, value, masks, full, False)
    return missed


cdef void _best_pair(Worker* w, Table* table) noexcept nogil:
    """Find the best mapping of a key of two columns by counting all pairs of columns."""
    cdef int64_t depth = _planes_for(table.tuples.size), missed, one, other
    cdef int64_t most_missed = table.tuples.size - _least_of_table(table)
    cdef Planes first = _zero_planes(w, _options_of(table, 1), _words_of(table, 0), depth)
    cdef Planes second = _zero_planes(w, _options_of(table, 0), _words_of(table, 1), depth)
    cdef Span[int64_t] columns = w.arena.empty[int64_t](2)
    missed = _count_pairs(w, table, 0, &first, 0, most_missed)
    if missed <= most_missed:
        missed = _count_pairs(w, table, 1, &second, missed, most_missed)
    if missed > most_missed:
        return
    for one in range(_options_of(table, 0)):
        for other in range(_options_of(table, 1)):
            columns[0], columns[1] = _column_of(table, 0, one), _column_of(table, 1, other)
            if columns[0] != columns[1]:
                _take(table, _counter(&first, other, one) + _counter(&second, one, other), columns)


# All triples of columns at once
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
    Span[int64_t] place  # of each value, counted from the key column's first
    Span[Matrix[uint64_t]] rows  # by place: the masks by word and row
    Matrix[uint64_t] full  # by place and word: the options that hold the value at all


cdef struct Joined:
    # What a column that is gone through joins with.
    Span[uint64_t] open  # options of the kept key column that may still join with more columns
    Span[uint64_t] wanted  # those that were open at first
    Matrix[uint64_t] target  # by option of the kept key column and word: the columns that it may join with
    Matrix[uint64_t] reached  # those that it has joined with


cdef Triple _plan_triple(Worker* w, Table* table) noexcept nogil:
    """Choose the roles of three key columns: the fewest postings are gone through, the smaller masks kept."""
    cdef Triple found
    cdef int64_t key, place, count, one, other, room, other_room
    found.through, found.postings = 0, -1
    for key in range(3):
        count = 0
        for place in range(table.tuples.size):
            count += _postings_of(w, w.values.tuple_value[key][table.tuples[place]])
        if found.postings < 0 or count < found.postings:
            found.through, found.postings = key, count
    one, other = (found.through + 1) % 3, (found.through + 2) % 3
    room = table.used[one].size * _words_of(table, one)
    other_room = table.used[other].size * _words_of(table, other)
    found.kept, found.bits = (one, other) if room <= other_room else (other, one)
    found.words = min(room, other_room) * table.rows
    return found


cdef KeptMasks _keep_masks(Worker* w, Table* table, int64_t key) noexcept nogil:
    """Return the row masks of all values of a key column."""
    cdef KeptMasks kept
    cdef Span[int64_t] used = table.used[key]
    cdef int64_t first = w.values.key_first[key], words = _words_of(table, key), place
    kept.place = w.arena.empty[int64_t](w.values.key_first[key + 1] - first)
    kept.rows = w.arena.empty[Matrix[uint64_t]](used.size)
    kept.full = w.arena.empty_matrix[uint64_t](used.size, words)
    for place in range(used.size):
        kept.place[used[place] - first] = place
        kept.rows[place] = w.arena.zero_matrix[uint64_t](words, table.rows)
        _mask_rows(w, table, key, used[place], kept.rows[place], kept.full[place], True)
    return kept


cdef int64_t _open_kept(
    Table* table, Triple* triple, int64_t column, Span[uint64_t] kept_full, Span[uint64_t] full, Joined* joined
) noexcept nogil:
    """Note what the options of the kept key column may join with in a column; return how many may with anything."""
    cdef Span[int64_t] same_bits = table.option_of[triple.bits]
    cdef int64_t left = 0, word, other, place
    cdef uint64_t rest, target, some
    for word in range(kept_full.size):
        joined.open[word] = 0
        rest = _without(kept_full[word], word, table.option_of[triple.kept][column])
        while rest:
            other = (word << 6) + lowest_bit(rest)
            rest &= rest - 1
            some = 0
            for place in range(full.size):
                target = _without(full[place], place, same_bits[column])
                target = _without(target, place, same_bits[_column_of(table, triple.kept, other)])
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
    Worker* w, Table* table, Triple* triple, int64_t value, Matrix[uint64_t] masks, Span[uint64_t] full,
    Matrix[uint64_t] kept, Span[uint64_t] kept_full, Joined* joined, Planes* planes,
) noexcept nogil:
    """Go through the postings of a value, column by column, and count what joins."""
    cdef Segment* segment = w.segment
    cdef int64_t read = 0, entry, column, option, left, at, stop, row, word, other, number
    cdef uint64_t rest, mask
    for entry in range(w.run[value].start, w.run[value].start + w.run[value].entries):
        column = segment.entry_column[entry] - table.first_column
        option = table.option_of[triple.through][column]
        if option < 0:
            continue
        left = _open_kept(table, triple, column, kept_full, full, joined)
        at, stop = segment.posting_first[entry], segment.posting_first[entry + 1]
        while at < stop and left:
            row = posting_row(segment, at, table.units)
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
    cdef int64_t key = triple.bits, other = triple.kept, words = _words_of(table, key), options = _options_of(table, other)
    cdef int64_t left = table.tuples.size, least = _least_of_table(table), rank, value, place, t, number
    cdef KeptMasks kept = _keep_masks(w, table, other)
    cdef Matrix[uint64_t] masks = w.arena.zero_matrix[uint64_t](words, table.rows)
    cdef Span[uint64_t] full = w.arena.empty[uint64_t](words)
    cdef Span[int64_t] ordered = _rarest_first(w, table.used[key])
    cdef Joined joined
    cdef bint filled
    joined.open = w.arena.empty[uint64_t](_words_of(table, other))
    joined.wanted = w.arena.empty[uint64_t](_words_of(table, other))
    joined.target = w.arena.empty_matrix[uint64_t](options, words)
    joined.reached = w.arena.empty_matrix[uint64_t](options, words)
    for rank in range(ordered.size):
        value = ordered[rank]
        filled = False
        for place in range(values.group_first[value], values.group_first[value + 1]):
            t = values.group_tuple[place]
            if w.local[t] < 0:
                continue
            if not filled:
                _mask_rows(w, table, key, value, masks, full, True)
                filled = True
            number = kept.place[values.tuple_value[other][t] - values.key_first[other]]
            _join_triples(
                w, table, triple, values.tuple_value[triple.through][t], masks, full, kept.rows[number],
                kept.full[number], &joined, planes,
            )
            left -= 1
            if left % w.costs.step == 0 and least > left and not _reaches(planes, least - left):
                return False
        _mask_rows(w, table, key, value, masks, full, False)
    return True


cdef void _best_triple(Worker* w, Table* table, Triple* triple) noexcept nogil:
    """Find the best mapping of a key of three columns by counting all triples of columns."""
    cdef int64_t kept = _options_of(table, triple.kept), pairs = _options_of(table, triple.through) * kept
    cdef int64_t number, word, option
    cdef uint64_t rest
    cdef Planes planes = _zero_planes(w, pairs, _words_of(table, triple.bits), _planes_for(table.tuples.size))
    cdef Span[int64_t] columns = w.arena.empty[int64_t](3)
    if not _count_triples(w, table, triple, &planes):
        return
    for number in range(pairs):
        columns[triple.through] = _column_of(table, triple.through, number // kept)
        columns[triple.kept] = _column_of(table, triple.kept, number % kept)
        for word in range(planes.words):
            rest = _at_least(_planes_at(&planes, number, word), _least_of_table(table))
            while rest:
                option = (word << 6) + lowest_bit(rest)
                rest &= rest - 1
                columns[triple.bits] = _column_of(table, triple.bits, option)
                _take(table, _counter(&planes, number, option), columns)


# Longer keys, column by column
#
# The rows that hold a prefix of a key tuple in the first columns of a mapping are listed. Only these are read to extend
# it by another column, and the key tuples that begin with a prefix that is left bound what any extension joins. So a
# column that is chosen early is read once for all mappings that begin with it.


cdef struct Column:
    # An option, read row by row.
    Segment* segment
    int64_t first  # where its codes begin
    int64_t size  # of each
    Span[int32_t] decoder


cdef Column _column(Worker* w, Table* table, int64_t key, int64_t option) noexcept nogil:
    """View an option of a key column, whose codes are decoded to values of the query."""
    cdef Segment* segment = w.segment
    cdef int64_t number = table.first_column + table.column[option], place, value, entry
    cdef Span[int64_t] used = table.used[key]
    cdef Span[int32_t] decoder = table.decoder[option]
    if not decoder.size:
        decoder = w.arena.full[int32_t](segment.column_entry_first[number + 1] - segment.column_entry_first[number] + 1, -1)
        for place in range(used.size):
            value = used[place]
            entry = _entry_of(w, value, number)
            if entry >= 0:
                decoder[_code_of(segment, entry, table.units)] = <int32_t>value
        table.decoder[option] = decoder
    return Column(segment, segment.code_first[number], segment.code_bytes[number], decoder)


cdef inline int32_t _value_at(Column* column, int64_t row) noexcept nogil:
    return column.decoder[code_at(column.segment, column.first, column.size, row)]


cdef void _begin_rows(Column* column, int64_t rows, RowLists* lists) noexcept nogil:
    """List the rows that hold a value of the first key column."""
    cdef int64_t row, size = 0
    cdef int32_t value
    for row in range(rows):
        value = _value_at(column, row)
        if value >= 0:
            lists.row[0][size] = <int32_t>row
            lists.prefix[0][size] = value
            size += 1
    lists.size[0] = size


cdef void _list_rows(Worker* w, Column* column, RowLists* lists, int64_t depth) noexcept nogil:
    """List the rows that hold a longer prefix with the values of a column, and stamp these prefixes."""
    cdef Span[int32_t] before = lists.prefix[depth - 1], rows = lists.row[depth - 1]
    cdef int64_t place, value, prefix, size = 0
    for place in range(lists.size[depth - 1]):
        value = _value_at(column, rows[place])
        prefix = longer_prefix(w.prefixes, before[place], value) if value >= 0 else -1
        if prefix >= 0:
            w.prefix_stamp[prefix] = w.last_prefix_stamp
            lists.row[depth][size] = rows[place]
            lists.prefix[depth][size] = <int32_t>prefix
            size += 1
    lists.size[depth] = size
    w.counts.rows_read += lists.size[depth - 1]


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


cdef int64_t _count_rows(Worker* w, Column* column, RowLists* lists, int64_t depth, int64_t total) noexcept nogil:
    """Count the key tuples that rows hold with the last column, until so many are met."""
    cdef Span[int32_t] before = lists.prefix[depth - 1], rows = lists.row[depth - 1]
    cdef int64_t place = 0, value, prefix, count = 0
    while place < lists.size[depth - 1] and count < total:
        value = _value_at(column, rows[place])
        prefix = longer_prefix(w.prefixes, before[place], value) if value >= 0 else -1
        if prefix >= 0 and w.prefix_stamp[prefix] != w.last_prefix_stamp:
            w.prefix_stamp[prefix] = w.last_prefix_stamp
            count += 1
        place += 1
    w.counts.rows_read += place
    return count


cdef void _extend_rows(Worker* w, Table* table, Walk* walk, int64_t depth) noexcept nogil:
    """Bound by the rows what any extension of the options chosen joins; of a whole mapping this is its joinability."""
    cdef Column column = _column(w, table, w.prefixes.order[depth], walk.chosen[depth])
    cdef RowLists* lists = &walk.lists
    if depth == 0:
        _begin_rows(&column, table.rows, lists)
        w.interrupt.tick(table.rows)
        return
    w.interrupt.tick(lists.size[depth - 1])
    w.last_prefix_stamp += 1
    if depth == table.width - 1:
        w.counts.mappings_checked += 1
        walk.bound[depth] = _count_rows(w, &column, lists, depth, walk.bound[depth])
    else:
        _list_rows(w, &column, lists, depth)
        walk.bound[depth] = _drop_unmet(w, table, walk.held[depth], depth)


cdef void _best_extension(Worker* w, Table* table) noexcept nogil:
    """Find the best mapping of a table, column after column."""
    cdef Walk walk
    walk.by_row, walk.budget = True, 0
    walk.lists.size = w.arena.empty[int64_t](table.width)
    walk.lists.row = w.arena.empty_matrix[int32_t](table.width, table.rows)
    walk.lists.prefix = w.arena.empty_matrix[int32_t](table.width, table.rows)
    _walk(w, table, &walk)


# A table, and all tables of a batch


cdef struct ByRow:
    # How a table would be counted by row.
    int64_t width  # 2: all pairs, 3: all triples, 0: column after column
    Triple triple
    int64_t work  # beside the directory entries, in these


cdef ByRow _plan_by_row(Worker* w, Table* table) noexcept nogil:
    """Choose the operator that counts all mappings at once: pairs and triples take memory, which is limited."""
    cdef ByRow plan
    cdef int64_t depth = _planes_for(table.tuples.size), counters, words
    plan.width, plan.work = 0, table.rows * table.column.size >> 2
    plan.triple = Triple(0, 0, 0, 0, 0)
    if table.width == 2:
        counters = _options_of(table, 0) * _words_of(table, 1) + _options_of(table, 1) * _words_of(table, 0)
        words = max(_words_of(table, 0), _words_of(table, 1)) * table.rows
        if counters * depth + words <= w.costs.mask_words:
            plan.width, plan.work = 2, table.postings >> 2
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
    cdef int64_t option, best = 0
    if table.width == 1:
        for option in range(table.column.size):
            if table.bound[option] == table.bound[0] and table.column[option] < table.column[best]:
                best = option
        table.score, table.mapping[0] = table.bound[best], table.column[best]
        return
    plan = _plan_by_row(w, table)
    if _best_mapping(w, table, w.costs.by_row * (table.tuples.size + 8 * table.column.size + table.entries + plan.work)):
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
    cdef Arena arena, lasting
    cdef Interrupt interrupt = w.interrupt[0]
    cdef int64_t place, number, found, kth, rows, t
    cdef int64_t count = (w.batch.order.size - w.part + w.parts - 1) // w.parts
    cdef Span[int64_t] tuples, kept
    cdef Table table
    cdef Mark mark
    w.arena, w.interrupt = &arena, &interrupt
    w.local = lasting.full[int64_t](w.values.tuple_value.columns, -1)
    w.run = lasting.empty[Run](w.values.token.size)
    w.weight = lasting.zeros[int64_t](w.values.token.size)
    w.row_stamp, w.last_row_stamp = lasting.zeros[int32_t](0), 0
    w.prefix_stamp, w.last_prefix_stamp = lasting.zeros[int64_t](w.prefixes.count), 0
    for place in range(count):
        number = w.batch.order[w.part + place * w.parts]
        found = w.batch.runs.table[number]
        kth = kth_score(&w.best) if w.filtering else 0
        if w.batch.bound[number] <= kth:
            w.counts.tables_cut_rule_1 += count - place
            break
        w.counts.tables_checked += 1
        mark = arena.mark()
        rows = rows_of(segment, found)
        if rows > w.row_stamp.size:
            w.row_stamp, w.last_row_stamp = lasting.zeros[int32_t](max(rows, 2 * w.row_stamp.size)), 0
        tuples = _members(w.batch.held[number], arena)
        kept = _filter_tuples(w, number, units_per_posting(segment, found), tuples, kth + 1)
        if kept.size > kth and _open_table(w, found, kept, kth, &table):
            _search_table(w, &table)
            if table.score:
                offer(&w.best, table.score, segment.table_id[found], table.mapping)
        for t in range(tuples.size):
            w.local[tuples[t]] = -1
        arena.release(mark)
        interrupt.tick(16)


def search_tables(
    SegmentView view not None, TableBatch batch not None, int64_t part, int64_t parts, bint filtering, costs, best,
    const uint8_t[::1] cancelled,
):
    """Offer one of several parts of the tables of a batch to the best, by falling bound; return what was counted."""
    cdef Worker w
    cdef Interrupt interrupt = Interrupt(&cancelled[0])
    cdef bint done
    w.segment, w.batch = &view.segment, &batch.collected
    w.values, w.prefixes = &batch.cover.covered.values, &batch.cover.covered.prefixes
    w.part, w.parts = part, parts
    w.filtering, w.costs, w.best, w.interrupt = filtering, costs._asdict(), view_best(best), &interrupt
    w.counts = Counts(0, 0, 0, 0, 0, 0)
    with nogil:
        done = run(&_search_tables, &w)
    if not done:
        raise CancelledError("the search was cancelled")
    return w.counts
