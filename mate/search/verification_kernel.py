"""Compare candidates with their rows, and count the key tuples that each mapping joins: kernels of Algorithm 1.

A value of the query is looked up once per table: its *options* are the columns that hold it and its code there. A
candidate then reads the codes of these columns only. Loops take arrays out of their tuples before they begin: every
time that is done, references are counted.
"""

from __future__ import annotations

import numpy as np

from mate.lake.reading_kernel import code_at, first_entry, posting_row, units_per_posting
from mate.search.candidates import Counter
from mate.search.scratch import Used
from mate.values.kernels import inner

DONE, TOO_MANY_MAPPINGS, NO_ROOM, NOWHERE = range(4)
"""How work on a table ends: all done; done but for its score; to be done again with a larger scratch. And that on a key
tuple: the table does not have one of its values."""

_HASH = 0x9E3779B1


@inner
def _find_options(arrays, codes, group, table, number, token, options, used):
    """Look a value up in the directory for the table at hand; return whether there was room."""
    first_column, last_column = arrays.table_column_first[table], arrays.table_column_first[table + 1]
    units = units_per_posting(arrays, table)
    place = used[Used.options]
    options.first[number] = place
    if token < 0:  # the segment does not have it
        options.stop[number] = place
        options.resolved[number] = group
        return True
    for entry in range(first_entry(arrays, token, first_column), np.int64(arrays.entry_first[token + 1])):
        column = np.int64(arrays.entry_column[entry])
        if column >= last_column:
            break
        if place == len(options.code):
            return False
        row = posting_row(arrays.postings, np.int64(arrays.posting_first[entry]), units)
        first, size = np.int64(arrays.code_first[column]), arrays.code_bytes[column]
        options.column[place] = column - first_column
        options.byte[place] = first
        options.size[place] = size
        options.code[place] = code_at(codes, first, size, row)
        place += 1
    options.stop[number] = used[Used.options] = place
    options.resolved[number] = group
    return True


# Keys of two columns: for every initial column and key tuple, a bit per column that held the other value


@inner
def fits_masks(wide, tuples, pairs):
    """Tell whether there is room to count a table of so many columns by bits."""
    return wide * wide <= len(pairs.cell_count) and wide * tuples * ((wide + 63) >> 6) <= len(pairs.masks)


@inner
def verify_pairs(arrays, codes, probes, groups, group, kept, held, options, pairs, used, tally):
    """Note which columns of the candidates' rows hold the other value; return how that ended."""
    table = groups.table[group]
    words = (arrays.table_column_first[table + 1] - arrays.table_column_first[table] + 63) >> 6
    numbers, tuples, other = probes.number, len(probes.number), 1 - probes.initial
    held_row, held_column, held_stop, held_tuple = held.row, held.column, held.stop, held.key_tuple
    resolved, first, stop, columns = options.resolved, options.first, options.stop, options.column
    option_code, option_byte, option_size = options.code, options.byte, options.size
    masks, mask_used, masked = pairs.masks, pairs.mask_used, used[Used.masks]
    begin = joined = same = np.int64(0)
    for posting in range(kept):
        row, own, end = np.int64(held_row[posting]), np.int64(held_column[posting]), np.int64(held_stop[posting])
        for i in range(begin, end):
            key_tuple = np.int64(held_tuple[i])
            number = numbers[key_tuple, other]
            if resolved[number] != group and not _find_options(
                arrays, codes, group, table, number, probes.token[number], options, used
            ):
                return NO_ROOM
            joins = False
            for place in range(first[number], stop[number]):
                option = np.uint64(place)
                if code_at(codes, option_byte[option], option_size[option], row) != option_code[option]:
                    continue
                column = columns[option]
                if column != own:
                    joins = True
                    place = (own * tuples + key_tuple) * words + (column >> 6)
                    if not masks[place]:
                        mask_used[masked] = place
                        masked += 1
                    masks[place] |= np.uint64(1) << np.uint64(column & 63)
            joined += joins
            # Where values differ, the column of one is not that of the other: a row that holds both joins.
            same += not joins and number == numbers[key_tuple, probes.initial]
        begin = end
    used[Used.masks] = masked
    tally[Counter.rows_read] += kept
    tally[Counter.true_positives] += joined
    tally[Counter.false_positives] += begin - joined
    tally[Counter.false_positives_held] += same
    return DONE


@inner
def best_pair(wide, tuples, initial, pairs, used, mapping):
    """Empty the masks into counts per pair of columns; return the highest, and the smallest pair that has it."""
    words = (wide + 63) >> 6
    cells = np.int64(0)
    for i in range(used[Used.masks]):
        place = pairs.mask_used[i]
        held = pairs.masks[place]
        pairs.masks[place] = 0
        own, column = place // (words * tuples), (place % words) << 6
        while held:
            if held & np.uint64(1):
                cell = own * wide + column if initial == 0 else column * wide + own
                if pairs.cell_count[cell] == 0:
                    pairs.cell_used[cells] = cell
                    cells += 1
                pairs.cell_count[cell] += 1
            held >>= np.uint64(1)
            column += 1
    used[Used.masks] = 0
    best = best_cell = np.int64(0)
    for i in range(cells):
        cell = pairs.cell_used[i]
        found = np.int64(pairs.cell_count[cell])
        pairs.cell_count[cell] = 0
        if found > best or (found == best and cell < best_cell):
            best, best_cell = found, cell
    if best:
        mapping[0], mapping[1] = best_cell // wide, best_cell % wide
    return best


# Other keys: mappings are numbered as they come, and pairs of mapping and key tuple told apart by hashing


@inner
def verify(arrays, codes, probes, groups, group, kept, held, options, mappings, used, tally):
    """List the mappings that fit each candidate, and count each key tuple once per mapping; return how that ended."""
    state = DONE
    held_row, held_column, held_stop, held_tuple = held.row, held.column, held.stop, held.key_tuple
    tuples, most = len(probes.number), mappings.choices.shape[1]
    begin = joined = complete = np.int64(0)
    for posting in range(kept):
        row, own, end = np.int64(held_row[posting]), np.int64(held_column[posting]), np.int64(held_stop[posting])
        for i in range(begin, end):
            key_tuple = np.int64(held_tuple[i])
            found = _find_all_options(arrays, codes, probes, key_tuple, groups, group, options, used)
            if found == NO_ROOM:
                return NO_ROOM
            if found == NOWHERE:
                continue
            ways = _find_choices(codes, probes, key_tuple, row, own, options, mappings)
            joined += ways > 0
            complete += ways >= 0
            if ways > most:
                state = TOO_MANY_MAPPINGS
            elif ways > 0 and state == DONE and not _count_mappings(ways, key_tuple, tuples, mappings, used):
                return NO_ROOM
        begin = end
    tally[Counter.rows_read] += kept
    tally[Counter.true_positives] += joined
    tally[Counter.false_positives] += begin - joined
    tally[Counter.false_positives_held] += complete - joined
    return state


@inner
def _find_all_options(arrays, codes, probes, key_tuple, groups, group, options, used):
    """Look up all values of a key tuple but the initial one; tell whether there was no room, or one is nowhere."""
    numbers = probes.number
    for key in range(numbers.shape[1]):
        number = numbers[key_tuple, key]
        if key == probes.initial:
            continue
        if options.resolved[number] != group and not _find_options(
            arrays, codes, group, groups.table[group], number, probes.token[number], options, used
        ):
            return NO_ROOM
        if options.first[number] == options.stop[number]:
            return NOWHERE
    return DONE


@inner
def _find_choices(codes, probes, key_tuple, row, own, options, mappings):
    """Find the columns that each value of a key tuple has in a row, all but the initial one outside its own column.

    Return the number of combinations, at most one more than there is room for; 0 if none of them is injective, which is
    so exactly if some value is in fewer columns than the key tuple needs it in; -1 if the row lacks a value altogether.
    """
    numbers, needed, initial = probes.number, probes.needed, probes.initial
    choices = mappings.choices
    width, most = choices.shape
    ways = np.int64(1)
    injective = True
    for key in range(width):
        if key == initial:
            choices[key, 0] = own
            mappings.found[key] = 1
            continue
        number = numbers[key_tuple, key]
        found = np.int64(0)
        for option in range(options.first[number], options.stop[number]):
            if code_at(codes, options.byte[option], options.size[option], row) != options.code[option]:
                continue
            column = options.column[option]
            if column != own:
                if found < most:
                    choices[key, found] = column
                found += 1
        if found == 0 and number != numbers[key_tuple, initial]:
            return np.int64(-1)
        injective &= found >= needed[key_tuple, key]
        mappings.found[key] = found
        ways = min(ways * found, most + 1)
    return ways if injective else np.int64(0)


@inner
def _count_mappings(ways, key_tuple, tuples, mappings, used):
    """Count a key tuple for every injective combination of its choices; return whether there was room."""
    if max(used[Used.mappings], used[Used.members]) + ways > len(mappings.counts):
        return False
    wheel = mappings.wheel
    wheel[:] = 0
    for _ in range(ways):
        if _is_injective(mappings):
            number = _mapping_number(mappings, used)
            if _is_new(number * tuples + key_tuple, mappings, used):
                mappings.counts[number] += 1
        key = len(wheel) - 1
        while key >= 0:
            wheel[key] += 1
            if wheel[key] < mappings.found[key]:
                break
            wheel[key] = 0
            key -= 1
    return True


@inner
def _is_injective(mappings):
    """Put the combination that the wheel shows into `mapping`, and tell whether its columns differ."""
    mapping = mappings.mapping
    for key in range(len(mapping)):
        mapping[key] = mappings.choices[key, mappings.wheel[key]]
        for other in range(key):
            if mapping[other] == mapping[key]:
                return False
    return True


@inner
def _mapping_number(mappings, used):
    """Return the number of the mapping in `mapping`, a new one if it was not seen before."""
    mapping, buckets = mappings.mapping, mappings.buckets
    mask = len(buckets) - 1
    slot = np.int64(0)
    for key in range(len(mapping)):
        slot = (slot * 1_000_003 + mapping[key]) & mask
    while buckets[slot] >= 0:
        number = buckets[slot]
        same = True
        for key in range(len(mapping)):
            same &= mappings.columns[number, key] == mapping[key]
        if same:
            return number
        slot = (slot + 1) & mask
    number = used[Used.mappings]
    used[Used.mappings] += 1
    buckets[slot] = number
    mappings.bucket_used[number] = slot
    mappings.columns[number, :] = mapping
    mappings.counts[number] = 0
    return number


@inner
def _is_new(member, mappings, used):
    """Put a pair of mapping and key tuple into the hash set; tell whether it was not there."""
    members = mappings.members
    mask = len(members) - 1
    slot = ((member * _HASH) >> 7) & mask
    while members[slot] >= 0:
        if members[slot] == member:
            return False
        slot = (slot + 1) & mask
    members[slot] = member
    mappings.member_used[used[Used.members]] = slot
    used[Used.members] += 1
    return True


@inner
def best_mapping(mappings, used, mapping):
    """Return the highest count, and the smallest column list that has it; forget all mappings."""
    best = -1
    for number in range(used[Used.mappings]):
        if best < 0 or _is_better(mappings, number, best):
            best = number
        mappings.buckets[mappings.bucket_used[number]] = -1
    for member in range(used[Used.members]):
        mappings.members[mappings.member_used[member]] = -1
    used[Used.mappings] = used[Used.members] = 0
    if best < 0:
        return np.int64(0)
    mapping[:] = mappings.columns[best]
    return mappings.counts[best]


@inner
def _is_better(mappings, one, other):
    if mappings.counts[one] != mappings.counts[other]:
        return mappings.counts[one] > mappings.counts[other]
    for key in range(mappings.columns.shape[1]):
        if mappings.columns[one, key] != mappings.columns[other, key]:
            return mappings.columns[one, key] < mappings.columns[other, key]
    return False
