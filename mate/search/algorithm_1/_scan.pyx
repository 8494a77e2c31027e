"""The loops of Algorithm 1: runs of the initial values by table, bounds, the row filter, and what candidates join.

A value of the query is looked up once per table: its *options* are the columns that hold it and its code there. A
candidate then reads the codes of these columns only.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from mate.lake._arrays cimport Segment, SegmentView, code_at, first_entry, posting_row, units_per_posting
from mate.native cimport Arena, Interrupt, Mark, Matrix, Span, ascending, bytes_of, int64s, lowest_bit, run, uint64s
from mate.search._best cimport Best, kth_score, offer, view_best

import numpy as np

cdef enum:
    # So many postings, or runs, before a row's key is read it is asked for from memory.
    AHEAD = 8


cdef struct Groups:
    Segment* segment
    Span[int64_t] table
    Span[int64_t] first
    Span[int64_t] entry
    Span[int64_t] value


cdef inline int64_t _size(Segment* segment, int64_t entry, int64_t units) noexcept nogil:
    """Postings of a directory entry."""
    return (segment.posting_first[entry + 1] - segment.posting_first[entry]) // units


cdef inline int64_t _columns(Segment* segment, int64_t table) noexcept nogil:
    return segment.table_column_first[table + 1] - segment.table_column_first[table]


# Groups: the runs of each table


cdef struct Grouping:
    Groups groups
    Span[int64_t] token
    Span[uint8_t] wanted
    int64_t count
    int64_t total


cdef void _group_runs(void* state) noexcept nogil:
    """Count the runs of each table, then put them in their places."""
    cdef Grouping* g = <Grouping*>state
    cdef Groups groups = g.groups
    cdef Segment* segment = groups.segment
    cdef int64_t value, entry, table, place
    cdef Arena arena
    cdef Span[int64_t] runs = arena.zeros[int64_t](g.wanted.size)
    cdef Interrupt interrupt
    for value in range(g.token.size):
        for entry in range(segment.entry_first[g.token[value]], segment.entry_first[g.token[value] + 1]):
            interrupt.tick()
            table = segment.column_table[segment.entry_column[entry]]
            runs[table] += g.wanted[table]
    for table in range(runs.size):
        if runs[table]:
            groups.table[g.count], groups.first[g.count] = table, g.total
            g.total += runs[table]
            runs[table] = groups.first[g.count]  # the place of its next run
            g.count += 1
    groups.first[g.count] = g.total
    for value in range(g.token.size):
        for entry in range(segment.entry_first[g.token[value]], segment.entry_first[g.token[value] + 1]):
            interrupt.tick()
            table = segment.column_table[segment.entry_column[entry]]
            if g.wanted[table]:
                place = runs[table]
                groups.entry[place], groups.value[place] = entry, value
                runs[table] += 1


cdef Groups _view_groups(SegmentView view, groups):
    cdef Groups found
    found.segment = &view.segment
    found.table, found.first = int64s(groups[0]), int64s(groups[1])
    found.entry, found.value = int64s(groups[2]), int64s(groups[3])
    return found


def group_runs(SegmentView view not None, const int64_t[::1] token, const uint8_t[::1] wanted):
    """Return the fields of `mate.search.algorithm_1.candidates.Groups` for tokens, in the tables that are wanted."""
    cdef Grouping g
    cdef int64_t value, most = 0
    for value in range(len(token)):
        most += view.segment.entry_first[token[value] + 1] - view.segment.entry_first[token[value]]
    table, first, entry, run_value = (np.empty(size, np.int64) for size in (len(wanted), len(wanted) + 1, most, most))
    g.groups, g.token, g.wanted = _view_groups(view, (table, first, entry, run_value)), int64s(token), bytes_of(wanted)
    g.count = g.total = 0
    with nogil:
        run(&_group_runs, &g)
    return table[: g.count], first[: g.count + 1], entry[: g.total], run_value[: g.total]


# The scan of groups


cdef struct Counts:
    int64_t tables_cut_rule_1
    int64_t tables_cut_rule_2
    int64_t tables_checked
    int64_t rows_compared
    int64_t rows_cut_by_first_bits
    int64_t pairs_compared
    int64_t pairs_cut_by_first_bits
    int64_t candidates
    int64_t rows_read
    int64_t true_positives
    int64_t false_positives
    int64_t false_positives_held


cdef struct Filter:
    Span[uint64_t] row_keys
    Span[int64_t] row_first
    Span[int64_t] words
    Span[uint64_t] tuple_keys
    Span[int64_t] tuple_first
    int64_t fingerprint
    # The bits of a key's first word that are compared before all others; 0: no bits are.
    uint64_t first_bits


cdef struct Option:
    int64_t column
    int64_t code
    # Where the codes of the column begin, and the bytes of each.
    int64_t first
    int64_t size


cdef struct Candidate:
    int32_t row
    int32_t column
    int32_t key_tuple


cdef struct Choice:
    int64_t candidate
    int64_t column


cdef struct Scan:
    Arena* arena
    Interrupt* interrupt
    Segment* segment
    Filter filter
    Groups groups
    Span[int64_t] limit
    Span[int64_t] most
    bint filtering
    bint tight
    Span[int64_t] order
    Best best
    Counts counts
    # The key tuples: see `mate.search.algorithm_1.candidates.Probes`.
    int64_t initial
    Span[int64_t] tuple_first
    Matrix[int32_t] number
    Matrix[int32_t] needed
    Span[int64_t] token
    # Where the row filter is in a group: the run, its next posting, and the slack of rule 2.
    int64_t run
    int64_t posting
    int64_t slack
    # Candidates that were not compared with their rows yet: postings, each with the end of its key tuples.
    int64_t room
    int64_t kept
    Span[int32_t] held_row
    Span[int32_t] held_column
    Span[int32_t] held_stop
    Span[int32_t] held_tuple
    # The last group that each key tuple had a candidate in.
    Span[int64_t] met
    # The options of each token in the table at hand, and the last group that it was looked up for.
    Span[int64_t] resolved
    Span[int64_t] option_first
    Span[int64_t] option_stop
    Span[Option] options
    int64_t option_count
    # Keys of two columns: for every initial column and key tuple a bit per column that holds the other value.
    int64_t most_masks
    Span[uint64_t] masks
    Span[int64_t] mask_used
    int64_t masks_used
    Span[int64_t] cells
    Span[int64_t] cell_used
    # Other keys: the candidates that join, and the best mapping so far. A mapping has -1 where it is not decided.
    Span[Candidate] joined
    int64_t joined_count
    Span[int64_t] counted  # the number of the last count that each key tuple was in
    int64_t last_count
    Span[int64_t] mapping
    Span[int64_t] best_mapping
    int64_t best_score


cdef void _make_room(Scan* s) noexcept nogil:
    """Make room for what is held and counted."""
    cdef Arena* arena = s.arena
    cdef int64_t width = s.number.columns
    s.held_row, s.held_column = arena.empty[int32_t](s.room), arena.empty[int32_t](s.room)
    s.held_stop, s.held_tuple = arena.empty[int32_t](s.room), arena.empty[int32_t](s.room)
    s.met, s.resolved = arena.full[int64_t](s.number.rows, -1), arena.full[int64_t](s.token.size, -1)
    s.option_first, s.option_stop = arena.empty[int64_t](s.token.size), arena.empty[int64_t](s.token.size)
    s.options = arena.empty[Option](64)
    s.masks, s.mask_used = arena.empty[uint64_t](0), arena.empty[int64_t](0)
    s.cells, s.cell_used = arena.empty[int64_t](0), arena.empty[int64_t](0)
    s.mapping, s.best_mapping = arena.full[int64_t](width, -1), arena.empty[int64_t](width)
    s.joined = arena.empty[Candidate](64)
    s.counted, s.last_count = arena.zeros[int64_t](s.number.rows), 0


cdef void _scan(void* state) noexcept nogil:
    """Go through groups, and offer their tables."""
    cdef Scan* s = <Scan*>state
    cdef Segment* segment = s.segment
    cdef int64_t at, group, table, score
    cdef bint masked, cut
    _make_room(s)
    for at in range(s.order.size):
        group = s.order[at]
        if s.filtering and s.limit[group] <= kth_score(&s.best):
            s.counts.tables_cut_rule_1 += s.order.size - at
            return
        table = s.groups.table[group]
        s.run, s.posting, s.slack = s.groups.first[group], 0, s.most[group] - kth_score(&s.best)
        masked = _make_masks(s, _columns(segment, table))
        s.option_count = s.joined_count = 0
        cut = False
        while s.run < s.groups.first[group + 1] and not cut:
            cut = _filter_rows(s, group)
            if not cut:
                if masked:
                    _verify_pairs(s, group)
                else:
                    _verify(s, group)
        if masked:  # what is not offered has to be cleared, too
            score = _best_pair(s, _columns(segment, table))
        else:
            score = 0 if cut else _best_mapping(s, _columns(segment, table))
        if cut:
            s.counts.tables_cut_rule_2 += 1
            continue
        s.counts.tables_checked += 1
        if score > 0:
            offer(&s.best, score, segment.table_id[table], s.best_mapping)


# The row filter


cdef inline int64_t _covered(
    Span[uint64_t] keys, int64_t first, int64_t last, Span[uint64_t] row_key, Span[int32_t] noted, int64_t count,
    int64_t words,
) noexcept nogil:
    """Note the key tuples without a bit that the row's key lacks; return the end of the notes.

    With a constant number of words, up to 8, the row's key stays in registers, and there is no branch.
    """
    cdef uint64_t lacks[8]
    cdef uint64_t missing
    cdef int64_t word, key_tuple
    for word in range(words):
        lacks[word] = ~row_key[word]
    for key_tuple in range(first, last):
        noted[count] = <int32_t>key_tuple
        missing = 0
        for word in range(words):
            missing |= keys[key_tuple * words + word] & lacks[word]
        count += missing == 0
    return count


cdef int64_t _covered_any(
    Span[uint64_t] keys, int64_t first, int64_t last, Span[uint64_t] row_key, Span[int32_t] noted, int64_t count
) noexcept nogil:
    """Do the same for any number of words, none of them included."""
    cdef uint64_t missing
    cdef int64_t word, key_tuple, words = row_key.size
    for key_tuple in range(first, last):
        noted[count] = <int32_t>key_tuple
        missing = 0
        for word in range(words):
            missing |= keys[key_tuple * words + word] & ~row_key[word]
        count += missing == 0
    return count


cdef int64_t _covered_in_steps(
    Filter* filter, Counts* counts, Span[uint64_t] keys, int64_t first, int64_t last, Span[uint64_t] row_key,
    Span[int32_t] noted, int64_t count,
) noexcept nogil:
    """Do the same in two steps, and count what the first bits reject alone: where they do, nothing else is compared."""
    cdef uint64_t lacks = ~row_key[0] & filter.first_bits
    cdef int64_t word, key_tuple, words = row_key.size, cut = 0
    for key_tuple in range(first, last):
        if keys[key_tuple * words] & lacks:
            cut += 1
            continue
        for word in range(words):
            if keys[key_tuple * words + word] & ~row_key[word]:
                break
        else:
            noted[count] = <int32_t>key_tuple
            count += 1
    counts.rows_compared += 1
    counts.rows_cut_by_first_bits += cut == last - first
    counts.pairs_compared += last - first
    counts.pairs_cut_by_first_bits += cut
    return count


cdef bint _lists_all(
    Span[uint64_t] key, int64_t initial, Span[uint64_t] row_key, int64_t columns, int64_t bits, int64_t own
) noexcept nogil:
    """Whether a row lists the fingerprint of every value but the initial one, outside the initial one's column."""
    cdef uint64_t mask = (<uint64_t>1 << bits) - 1, listed
    cdef int64_t i, column, word, shift
    for i in range(key.size):
        if i == initial:
            continue
        for column in range(columns):
            word, shift = (column * bits) >> 6, (column * bits) & 63
            listed = row_key[word] >> shift
            if shift + bits > 64:
                listed |= row_key[word + 1] << (64 - shift)
            if listed & mask == key[i] and column != own:
                break
        else:
            return False
    return True


cdef bint _filter_rows(Scan* s, int64_t group) noexcept nogil:
    """Hold the next pairs of a posting and a key tuple whose keys agree, while there is room.

    Rule 2 compares what may still match with the k-th score. Their difference is the slack: it begins with all postings
    of the table, or key tuples that may have one, and loses those that turn out to have no candidate. Return whether
    the table is cut.
    """
    cdef Segment* segment = s.segment
    cdef Span[int32_t] noted = s.held_tuple
    cdef Span[uint64_t] row_keys = s.filter.row_keys, keys, row_key
    cdef Interrupt* interrupt = s.interrupt
    cdef int64_t table = s.groups.table[group], end = s.groups.first[group + 1], width = s.number.columns
    cdef int64_t units = units_per_posting(segment, table), words = s.filter.words[table], bits = s.filter.fingerprint
    cdef int64_t first_key = s.filter.row_first[table], first_column = segment.table_column_first[table]
    cdef int64_t columns = _columns(segment, table), room = s.room
    cdef int64_t place = s.run, posting = s.posting, slack = s.slack, kept = 0, count = 0
    cdef int64_t value, entry, first, last, start, stop, own, ahead, at, row, before, i, postings = 0
    cdef bint cut = False, full = False, tight = s.tight, filtering = s.filtering, stepwise = s.filter.first_bits != 0
    keys = s.filter.tuple_keys.slice(s.filter.tuple_first[table], s.filter.tuple_keys.size)
    while place < end and not cut:
        value, entry = s.groups.value[place], s.groups.entry[place]
        first, last = s.tuple_first[value], s.tuple_first[value + 1]
        start, stop = segment.posting_first[entry], segment.posting_first[entry + 1]
        own = segment.entry_column[entry] - first_column
        ahead = segment.posting_first[s.groups.entry[min(place + AHEAD, end - 1)]]
        row_keys.prefetch(first_key + posting_row(segment, ahead, units) * words)
        at = start + posting * units
        while at < stop:
            if count + last - first > room:
                full = True
                break
            interrupt.tick(last - first)
            ahead = posting_row(segment, min(at + AHEAD * units, stop - units), units)
            row_keys.prefetch(first_key + ahead * words)
            row = posting_row(segment, at, units)
            row_key = row_keys.slice(first_key + row * words, first_key + (row + 1) * words)
            before = count
            if bits:
                for i in range(first, last):
                    noted[count] = <int32_t>i
                    count += _lists_all(keys.slice(i * width, (i + 1) * width), s.initial, row_key, columns, bits, own)
            elif stepwise:
                count = _covered_in_steps(&s.filter, &s.counts, keys, first, last, row_key, noted, count)
            elif words == 2:
                count = _covered(keys, first, last, row_key, noted, count, 2)
            elif words == 4:
                count = _covered(keys, first, last, row_key, noted, count, 4)
            elif words == 8:
                count = _covered(keys, first, last, row_key, noted, count, 8)
            else:
                count = _covered_any(keys, first, last, row_key, noted, count)
            if count > before:
                s.held_row[kept], s.held_column[kept] = <int32_t>row, <int32_t>own
                s.held_stop[kept] = <int32_t>count
                kept += 1
            if tight:
                for i in range(before, count):
                    slack += s.met[noted[i]] != group
                    s.met[noted[i]] = group
            elif count == before:
                slack -= 1
                if filtering and slack <= 0:
                    cut = True
                    break
            at += units
        if full or cut:
            posting = (at - start) // units
            break
        place, posting = place + 1, 0
        if tight and (place == end or s.groups.value[place] != value):
            slack -= min(last - first, _postings_before(s, group, place, units))
            cut = filtering and slack <= 0
    s.kept = kept
    s.counts.candidates += count
    s.run, s.posting, s.slack = place, posting, slack
    return cut


cdef int64_t _postings_before(Scan* s, int64_t group, int64_t place, int64_t units) noexcept nogil:
    """Postings of the value whose runs end before a run."""
    cdef int64_t first = s.groups.first[group], value = s.groups.value[place - 1], total = 0
    while place > first and s.groups.value[place - 1] == value:
        place -= 1
        total += _size(s.segment, s.groups.entry[place], units)
    return total


# What candidates join


cdef void _find_options(Scan* s, int64_t group, int64_t number) noexcept nogil:
    """Look a value up in the directory for the table at hand."""
    cdef Segment* segment = s.segment
    cdef int64_t table = s.groups.table[group], token = s.token[number], entry, column, row
    cdef int64_t first_column = segment.table_column_first[table], last_column = segment.table_column_first[table + 1]
    cdef int64_t units = units_per_posting(segment, table)
    cdef Span[Option] larger
    cdef Option option
    s.resolved[number] = group
    s.option_first[number] = s.option_count
    if token >= 0:
        for entry in range(first_entry(segment, token, first_column), segment.entry_first[token + 1]):
            column = segment.entry_column[entry]
            if column >= last_column:
                break
            if s.option_count == s.options.size:
                larger = s.arena.empty[Option](2 * s.options.size)
                larger.copy_from(s.options)
                s.options = larger
            row = posting_row(segment, segment.posting_first[entry], units)
            option.column, option.first, option.size = (
                column - first_column, segment.code_first[column], segment.code_bytes[column]
            )
            option.code = code_at(segment, option.first, option.size, row)
            s.options[s.option_count] = option
            s.option_count += 1
    s.option_stop[number] = s.option_count


cdef bint _make_masks(Scan* s, int64_t columns) noexcept nogil:
    """Make room to count a table of so many columns by bits; return whether it may be."""
    cdef int64_t masks = columns * s.number.rows * ((columns + 63) >> 6), cells = columns * columns
    if s.number.columns != 2 or masks + cells > s.most_masks:
        return False
    if masks > s.masks.size:
        s.masks = s.arena.zeros[uint64_t](2 * masks)
        s.mask_used = s.arena.empty[int64_t](2 * masks)
    if cells > s.cells.size:
        s.cells = s.arena.zeros[int64_t](2 * cells)
        s.cell_used = s.arena.empty[int64_t](2 * cells)
    return True


cdef void _verify_pairs(Scan* s, int64_t group) noexcept nogil:
    """Note which columns of the candidates' rows hold the other value."""
    cdef Segment* segment = s.segment
    cdef Matrix[int32_t] numbers = s.number
    cdef Span[int64_t] resolved = s.resolved, option_first = s.option_first, option_stop = s.option_stop
    cdef Span[Option] options = s.options
    cdef Span[uint64_t] masks = s.masks
    cdef int64_t words = (_columns(segment, s.groups.table[group]) + 63) >> 6, tuples = numbers.rows
    cdef int64_t initial = s.initial, other = 1 - initial, used = s.masks_used
    cdef int64_t posting, row, own, end, i, key_tuple, number, o, place, begin = 0, joined = 0, same = 0
    cdef Option* option
    cdef bint joins
    for posting in range(s.kept):
        row, own, end = s.held_row[posting], s.held_column[posting], s.held_stop[posting]
        s.interrupt.tick(end - begin)
        for i in range(begin, end):
            key_tuple = s.held_tuple[i]
            number = numbers[key_tuple][other]
            if resolved[number] != group:
                _find_options(s, group, number)
                options = s.options
            joins = False
            for o in range(option_first[number], option_stop[number]):
                option = &options[o]
                if code_at(segment, option.first, option.size, row) == option.code and option.column != own:
                    joins = True
                    place = (own * tuples + key_tuple) * words + (option.column >> 6)
                    if not masks[place]:
                        s.mask_used[used] = place
                        used += 1
                    masks[place] |= <uint64_t>1 << (option.column & 63)
            joined += joins
            # Where values differ, the column of one is not that of the other: a row that holds both joins.
            same += not joins and number == numbers[key_tuple][initial]
        begin = end
    s.masks_used = used
    s.counts.rows_read += s.kept
    s.counts.true_positives += joined
    s.counts.false_positives += begin - joined
    s.counts.false_positives_held += same


cdef int64_t _best_pair(Scan* s, int64_t columns) noexcept nogil:
    """Empty the masks into counts per pair of columns; return the highest, and the smallest pair that has it."""
    cdef int64_t words = (columns + 63) >> 6, per_column = words * s.number.rows
    cdef int64_t i, place, own, column, cell, used = 0, best = 0, best_cell = 0
    cdef uint64_t held
    for i in range(s.masks_used):
        place = s.mask_used[i]
        held, s.masks[place] = s.masks[place], 0
        own = place // per_column
        while held:
            column = ((place % words) << 6) + lowest_bit(held)
            held &= held - 1
            cell = own * columns + column if s.initial == 0 else column * columns + own
            if s.cells[cell] == 0:
                s.cell_used[used] = cell
                used += 1
            s.cells[cell] += 1
    s.masks_used = 0
    for i in range(used):
        cell = s.cell_used[i]
        if s.cells[cell] > best or (s.cells[cell] == best and cell < best_cell):
            best, best_cell = s.cells[cell], cell
        s.cells[cell] = 0
    if best:
        s.best_mapping[0], s.best_mapping[1] = best_cell // columns, best_cell % columns
    return best


cdef void _verify(Scan* s, int64_t group) noexcept nogil:
    """Note the candidates that join."""
    cdef int64_t posting, i, begin = 0, found, complete = 0, before = s.joined_count
    cdef Candidate candidate
    for posting in range(s.kept):
        candidate.row, candidate.column = s.held_row[posting], s.held_column[posting]
        s.interrupt.tick(s.held_stop[posting] - begin)
        for i in range(begin, s.held_stop[posting]):
            candidate.key_tuple = s.held_tuple[i]
            if not _find_all_options(s, group, candidate.key_tuple):
                continue
            found = _joins(s, &candidate)
            complete += found >= 0
            if found > 0:
                _add_joined(s, candidate)
        begin = s.held_stop[posting]
    s.counts.rows_read += s.kept
    s.counts.true_positives += s.joined_count - before
    s.counts.false_positives += begin - (s.joined_count - before)
    s.counts.false_positives_held += complete - (s.joined_count - before)


cdef inline void _add_joined(Scan* s, Candidate candidate) noexcept nogil:
    cdef Span[Candidate] larger
    if s.joined_count == s.joined.size:
        larger = s.arena.empty[Candidate](2 * s.joined.size)
        larger.copy_from(s.joined)
        s.joined = larger
    s.joined[s.joined_count] = candidate
    s.joined_count += 1


cdef bint _find_all_options(Scan* s, int64_t group, int64_t key_tuple) noexcept nogil:
    """Look up all values of a key tuple but the initial one; return whether the table has them."""
    cdef int64_t key, number
    for key in range(s.number.columns):
        if key != s.initial:
            number = s.number[key_tuple][key]
            if s.resolved[number] != group:
                _find_options(s, group, number)
            if s.option_first[number] == s.option_stop[number]:
                return False
    return True


cdef inline bint _fits(Scan* s, Candidate* candidate, Option* option) noexcept nogil:
    """Tell whether a column, not the initial one, has the value of an option in the row of a candidate."""
    return (
        code_at(s.segment, option.first, option.size, candidate.row) == option.code
        and option.column != candidate.column
    )


cdef int64_t _joins(Scan* s, Candidate* candidate) noexcept nogil:
    """Tell whether a row joins: each value is in as many columns but the initial one's as the key tuple needs it in.

    Return -1 if the row lacks a value altogether.
    """
    cdef int64_t key, number, o, found
    cdef Span[int32_t] numbers = s.number[candidate.key_tuple], needed = s.needed[candidate.key_tuple]
    cdef bint joins = True
    for key in range(numbers.size):
        if key == s.initial:
            continue
        number, found = numbers[key], 0
        for o in range(s.option_first[number], s.option_stop[number]):
            found += _fits(s, candidate, &s.options[o])
        if found == 0 and number != numbers[s.initial]:
            return -1
        joins = joins and found >= needed[key]
    return joins


# The best mapping, by branch and bound: a mapping is extended key column by key column, and the key tuples that still join
# bound what any extension joins.


cdef int64_t _best_mapping(Scan* s, int64_t columns) noexcept nogil:
    """Find the mapping that most key tuples join, not fewer than the k-th score; of equals the smallest column list."""
    cdef Mark mark = s.arena.mark()
    cdef Span[int64_t] every = s.arena.empty[int64_t](s.joined_count)
    cdef int64_t i
    for i in range(every.size):
        every[i] = i
    s.best_score, s.best_mapping[0] = max(<int64_t>1, kth_score(&s.best)), columns
    if _count_tuples(s, every) >= s.best_score:
        _extend(s, 0, every, columns)
    s.arena.release(mark)
    return s.best_score if s.best_mapping[0] < columns else 0


cdef int64_t _count_tuples(Scan* s, Span[int64_t] candidates) noexcept nogil:
    """Return how many key tuples candidates have."""
    cdef int64_t i, key_tuple, count = 0
    s.last_count += 1
    for i in range(candidates.size):
        key_tuple = s.joined[candidates[i]].key_tuple
        count += s.counted[key_tuple] != s.last_count
        s.counted[key_tuple] = s.last_count
    return count


cdef void _extend(Scan* s, int64_t key, Span[int64_t] candidates, int64_t columns) noexcept nogil:
    """Extend the mapping by each column that may serve its next key column, that of most key tuples first."""
    cdef Mark mark = s.arena.mark()
    cdef Span[Choice] choices = _choices(s, key, candidates)
    cdef Span[int64_t] first = s.arena.zeros[int64_t](columns + 1), bound = s.arena.empty[int64_t](columns)
    cdef Span[int64_t] order, chosen = s.arena.empty[int64_t](choices.size)
    cdef int64_t i, column
    s.interrupt.tick(choices.size)
    for i in range(choices.size):
        first[choices[i].column + 1] += 1
    for column in range(columns):
        first[column + 1] += first[column]
    order = s.arena.empty[int64_t](columns + 1)
    order.copy_from(first)
    for i in range(choices.size):
        chosen[order[choices[i].column]] = choices[i].candidate
        order[choices[i].column] += 1
    for column in range(columns):
        bound[column] = -_count_tuples(s, chosen.slice(first[column], first[column + 1]))
    order = ascending(bound, s.arena[0])
    for i in range(columns):
        column = order[i]
        s.mapping[key] = column
        if not _may_be_best(s, key, -bound[column]):
            continue
        if key == s.mapping.size - 1:
            s.best_score = -bound[column]
            s.best_mapping.copy_from(s.mapping)
        else:
            _extend(s, key + 1, chosen.slice(first[column], first[column + 1]), columns)
    s.arena.release(mark)


cdef Span[Choice] _choices(Scan* s, int64_t key, Span[int64_t] candidates) noexcept nogil:
    """Return the columns that may serve a key column for each candidate, but those that the mapping has."""
    cdef int64_t i, o, place, number, room = 0, count = 0
    cdef Candidate* candidate
    cdef Option* option
    cdef Span[Choice] found
    for i in range(candidates.size):
        number = s.number[s.joined[candidates[i]].key_tuple][key]
        room += 1 if key == s.initial else s.option_stop[number] - s.option_first[number]
    found = s.arena.empty[Choice](room)
    for i in range(candidates.size):
        candidate = &s.joined[candidates[i]]
        if key == s.initial:
            count = _add_choice(s, key, candidates[i], candidate.column, found, count)
            continue
        number = s.number[candidate.key_tuple][key]
        for o in range(s.option_first[number], s.option_stop[number]):
            option = &s.options[o]
            if _fits(s, candidate, option):
                count = _add_choice(s, key, candidates[i], option.column, found, count)
    return found.slice(0, count)


cdef inline int64_t _add_choice(
    Scan* s, int64_t key, int64_t candidate, int64_t column, Span[Choice] choices, int64_t count
) noexcept nogil:
    cdef int64_t other
    for other in range(key):
        if s.mapping[other] == column:
            return count
    choices[count].candidate, choices[count].column = candidate, column
    return count + 1


cdef bint _may_be_best(Scan* s, int64_t key, int64_t bound) noexcept nogil:
    """Tell whether an extension of a mapping up to a key column may be better than the best one."""
    cdef int64_t other
    if bound != s.best_score:
        return bound > s.best_score
    for other in range(key + 1):
        if s.mapping[other] != s.best_mapping[other]:
            return s.mapping[other] < s.best_mapping[other]
    return True


cdef Matrix[int32_t] _int32_matrix(const int32_t[:, ::1] array):
    cdef Matrix[int32_t] found
    found.data, found.rows, found.columns = <int32_t*>&array[0, 0], array.shape[0], array.shape[1]
    return found


def scan_groups(task, const int64_t[::1] order, best, limits):
    """Go through the groups of a `mate.search.algorithm_1.Task` in this order, offer their tables, and count."""
    cdef SegmentView view = task.native
    cdef Arena arena
    cdef Interrupt interrupt
    cdef Scan s
    cdef int64_t first_bits = task.filter.first_bits
    s.arena, s.interrupt, s.segment = &arena, &interrupt, &view.segment
    s.filter.row_keys, s.filter.tuple_keys = uint64s(task.filter.row_keys), uint64s(task.filter.tuple_keys)
    s.filter.row_first, s.filter.words = int64s(task.filter.row_first), int64s(task.filter.words)
    s.filter.tuple_first, s.filter.fingerprint = int64s(task.filter.tuple_first), task.filter.fingerprint
    s.filter.first_bits = ~(<uint64_t>-1 >> first_bits)
    s.groups = _view_groups(view, task.groups)
    s.limit, s.most, s.filtering, s.tight = int64s(task.bounds.limit), int64s(task.bounds.most), task.filtering, task.tight
    s.order, s.best = int64s(order), view_best(best)
    s.counts = Counts(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    s.initial, s.tuple_first, s.token = task.probes.initial, int64s(task.probes.first), int64s(task.probes.token)
    s.number, s.needed = _int32_matrix(task.probes.number), _int32_matrix(task.probes.needed)
    s.kept, s.masks_used, s.room, s.most_masks = 0, 0, limits.held, limits.masks
    with nogil:
        run(&_scan, &s)
    return s.counts
