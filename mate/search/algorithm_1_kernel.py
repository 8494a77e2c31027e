"""The loop of Algorithm 1 over tables, and its row filter."""

from __future__ import annotations

import numpy as np

from mate.lake.reading_kernel import posting_row, units_per_posting
from mate.search.best_kernel import kth_score, offer
from mate.search.candidates import Counter
from mate.search.scratch import Used
from mate.search.verification_kernel import (
    DONE,
    NO_ROOM,
    TOO_MANY_MAPPINGS,
    best_mapping,
    best_pair,
    fits_masks,
    verify,
    verify_pairs,
)
from mate.values.kernels import inner, kernel, prefetch

_AHEAD = 8
"""So many postings, or runs, before a row's key is read it is asked for from memory."""

_1, _2 = np.uint64(1), np.uint64(2)
"""Steps of places without a sign: those of others are looked at for being counted from the end, every time."""


@kernel
def scan(task, order, at, scratch, best, tally):
    """Go through groups in this order, from number `at`, and offer their tables.

    Return where the scan stopped and why: at the end; at a group that was counted but has too many mappings to be
    scored here; or at one that needs a larger scratch.
    """
    arrays, codes, row_filter, probes, groups = task.arrays, task.codes, task.filter, task.probes, task.groups
    limit, postings, filtering, tight = task.limit, task.postings, task.filtering, task.tight
    used, held, options, pairs, mappings = scratch
    initial, (tuples, width) = probes.initial, probes.number.shape
    own = np.zeros(len(tally), np.int64)
    mapping = np.zeros(width, np.int64)
    for i in range(at, len(order)):
        group, kth = order[i], kth_score(best)
        if filtering and limit[group] <= kth:
            tally[Counter.tables_cut_rule_1] += len(order) - i
            break
        table = groups.table[group]
        wide = arrays.table_column_first[table + 1] - arrays.table_column_first[table]
        masked = width == 2 and fits_masks(wide, tuples, pairs)
        slack = postings[group] - kth
        if tight:
            slack = _tuples_at_most(arrays, probes, groups, group) - kth
        own[:] = 0
        used[Used.options] = 0
        run, place, end, state, cut = groups.first[group], np.int64(0), groups.first[group + 1], DONE, False
        while run < end and not cut and state != NO_ROOM:
            run, place, kept, count, slack, cut = _filter_rows(
                arrays, row_filter, probes, groups, group, run, place, held, slack, filtering, tight
            )
            own[Counter.candidates] += count
            if cut:
                break
            if masked:
                ended = verify_pairs(arrays, codes, probes, groups, group, kept, held, options, pairs, used, own)
            else:
                ended = verify(arrays, codes, probes, groups, group, kept, held, options, mappings, used, own)
            state = max(state, ended)
        if state == NO_ROOM:
            return i, NO_ROOM
        tally += own
        tally[Counter.tables_cut_rule_2 if cut else Counter.tables_checked] += 1
        # Also what is not offered has to be cleared.
        if masked:
            score = best_pair(wide, tuples, initial, pairs, used, mapping)
        else:
            score = best_mapping(mappings, used, mapping)
        if not cut and state == TOO_MANY_MAPPINGS:
            return i, TOO_MANY_MAPPINGS
        if not cut and score > 0:
            offer(best, score, arrays.table_id[table], mapping)
    return len(order), DONE


@inner
def _tuples_at_most(arrays, probes, groups, group):
    """Return how many key tuples may have a candidate in a table: per value not more than it has postings.

    The postings, which are read next, are asked for from memory.
    """
    entries, values, tuple_first, posting_first = groups.entry, groups.value, probes.first, arrays.posting_first
    units, lists = units_per_posting(arrays, groups.table[group]), arrays.postings
    run, end = groups.first[group], groups.first[group + 1]
    total = np.int64(0)
    while run < end:
        value = values[run]
        postings = np.int64(0)
        while run < end and values[run] == value:
            entry = entries[run]
            prefetch(lists, np.int64(posting_first[entry]))
            postings += (np.int64(posting_first[entry + 1]) - np.int64(posting_first[entry])) // units
            run += 1
        total += min(postings, tuple_first[value + 1] - tuple_first[value])
    return total


# Which key tuples of a value a row may hold: noted from a place on, without a branch in between. The sizes of keys that
# are usual have loops of their own, which read the row's key once.


@inner
def _covered_two(keys, first_key, first, last, row_keys, row, key_tuples, count):
    """Note the key tuples whose two words have no bit that the row's have not; return where the notes end."""
    lacks_0, lacks_1 = ~row_keys[row], ~row_keys[row + 1]
    at, place = np.uint64(first_key + first * 2), np.uint64(count)
    for key_tuple in range(first, last):
        key_tuples[place] = key_tuple
        place += np.uint64(((keys[at] & lacks_0) | (keys[at + _1] & lacks_1)) == 0)
        at += _2
    return np.int64(place)


@inner
def _covered_four(keys, first_key, first, last, row_keys, row, key_tuples, count):
    """Do the same for four words."""
    lacks_0, lacks_1, lacks_2, lacks_3 = ~row_keys[row], ~row_keys[row + 1], ~row_keys[row + 2], ~row_keys[row + 3]
    at, place = np.uint64(first_key + first * 4), np.uint64(count)
    for key_tuple in range(first, last):
        key_tuples[place] = key_tuple
        missing = (keys[at] & lacks_0) | (keys[at + _1] & lacks_1)
        at += _2
        place += np.uint64((missing | (keys[at] & lacks_2) | (keys[at + _1] & lacks_3)) == 0)
        at += _2
    return np.int64(place)


@inner
def _covered_eight(keys, first_key, first, last, row_keys, row, key_tuples, count):
    """Do the same for eight words."""
    lacks_0, lacks_1, lacks_2, lacks_3 = ~row_keys[row], ~row_keys[row + 1], ~row_keys[row + 2], ~row_keys[row + 3]
    row += 4
    lacks_4, lacks_5, lacks_6, lacks_7 = ~row_keys[row], ~row_keys[row + 1], ~row_keys[row + 2], ~row_keys[row + 3]
    at, place = np.uint64(first_key + first * 8), np.uint64(count)
    for key_tuple in range(first, last):
        key_tuples[place] = key_tuple
        missing = (keys[at] & lacks_0) | (keys[at + _1] & lacks_1)
        at += _2
        missing |= (keys[at] & lacks_2) | (keys[at + _1] & lacks_3)
        at += _2
        missing |= (keys[at] & lacks_4) | (keys[at + _1] & lacks_5)
        at += _2
        place += np.uint64((missing | (keys[at] & lacks_6) | (keys[at + _1] & lacks_7)) == 0)
        at += _2
    return np.int64(place)


@inner
def _covered_any(keys, first_key, first, last, row_keys, row, words, key_tuples, count):
    """Do the same for any number of words, none of them included."""
    for key_tuple in range(first, last):
        at = first_key + key_tuple * words
        key_tuples[count] = key_tuple
        missing = np.uint64(0)
        for word in range(words):
            missing |= keys[at + word] & ~row_keys[row + word]
        count += missing == 0
    return count


@inner
def _lists_all(keys, at, width, initial, row_keys, row, columns, bits, own):
    """Tell whether a row lists the fingerprint of every value but the initial one, outside the initial one's column."""
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for key in range(width):
        if key == initial:
            continue
        wanted, found = keys[at + key], False
        for column in range(columns):
            word, shift = row + ((column * bits) >> 6), (column * bits) & 63
            listed = row_keys[word] >> np.uint64(shift)
            if shift + bits > 64:
                listed |= row_keys[word + 1] << np.uint64(64 - shift)
            if listed & mask == wanted and column != own:
                found = True
                break
        if not found:
            return False
    return True


@inner
def _filter_rows(arrays, row_filter, probes, groups, group, run, place, held, slack, filtering, tight):
    """Hold the pairs of a posting and a key tuple whose keys agree, from a run's posting on, while there is room.

    Rule 2 compares what may still match with the k-th score. Their difference is the slack: it begins with all postings
    of the table, or key tuples that may have one, and loses those that turn out to have no candidate. Return run and
    posting to go on with, how many postings and pairs are held, the slack, and whether the table is cut.
    """
    posting_first, postings, tuple_first = arrays.posting_first, arrays.postings, probes.first
    keys, row_keys, bits = row_filter.tuple_keys, row_filter.row_keys, row_filter.fingerprint
    entries, values, end = groups.entry, groups.value, groups.first[group + 1]
    rows, own_columns, stops, key_tuples, met = held
    table = groups.table[group]
    units, words = units_per_posting(arrays, table), row_filter.words[table]
    first_key, first_tuple = row_filter.row_first[table], row_filter.tuple_first[table]
    first_column = arrays.table_column_first[table]
    columns, width = arrays.table_column_first[table + 1] - first_column, probes.number.shape[1]
    kept = count = np.int64(0)
    while run < end:
        value = values[run]
        first, last = tuple_first[value], tuple_first[value + 1]
        start, stop = np.int64(posting_first[entries[run]]), np.int64(posting_first[entries[run] + 1])
        own = np.int64(arrays.entry_column[entries[run]]) - first_column
        ahead = posting_row(postings, np.int64(posting_first[entries[min(run + _AHEAD, end - 1)]]), units)
        prefetch(row_keys, first_key + ahead * words)
        for at in range(start + place * units, stop, units):
            if count + last - first > len(key_tuples):
                return run, (at - start) // units, kept, count, slack, False
            row = posting_row(postings, at, units)
            ahead = posting_row(postings, min(at + _AHEAD * units, stop - units), units)
            prefetch(row_keys, first_key + ahead * words)
            before = count
            row_key = first_key + row * words
            if bits:
                for key_tuple in range(first, last):
                    key_tuples[count] = key_tuple
                    at_tuple = first_tuple + key_tuple * width
                    count += _lists_all(keys, at_tuple, width, probes.initial, row_keys, row_key, columns, bits, own)
            elif words == 2:
                count = _covered_two(keys, first_tuple, first, last, row_keys, row_key, key_tuples, count)
            elif words == 4:
                count = _covered_four(keys, first_tuple, first, last, row_keys, row_key, key_tuples, count)
            elif words == 8:
                count = _covered_eight(keys, first_tuple, first, last, row_keys, row_key, key_tuples, count)
            else:
                count = _covered_any(keys, first_tuple, first, last, row_keys, row_key, words, key_tuples, count)
            rows[kept], own_columns[kept], stops[kept] = row, own, count
            kept += count > before
            if tight:
                for i in range(before, count):
                    slack += met[key_tuples[i]] != group
                    met[key_tuples[i]] = group
            elif count == before:
                slack -= 1
                if filtering and slack <= 0:
                    return run, place, kept, count, slack, True
        run, place = run + 1, np.int64(0)
        if tight and (run == end or values[run] != value):
            slack -= min(last - first, _postings_of(posting_first, entries, values, groups.first[group], run, units))
            if filtering and slack <= 0:
                return run, place, kept, count, slack, True
    return run, place, kept, count, slack, False


@inner
def _postings_of(posting_first, entries, values, first, run, units):
    """Return the number of postings of the value whose runs end before a run."""
    total = np.int64(0)
    value = values[run - 1]
    while run > first and values[run - 1] == value:
        run -= 1
        total += np.int64(posting_first[entries[run] + 1]) - np.int64(posting_first[entries[run]])
    return total // units
