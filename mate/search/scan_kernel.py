"""The loops of `mate.search.scan`: interpreted for a handful of pairs, and compiled, by `compile_all`, for more.

Key tuples are sorted by their value in the initial column: those of value v are ``value_first[v]:value_first[v + 1]``.
A *run* is the part of a value's posting list that lies in one table; a *group* is all runs of one table.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

CUT_1, CUT_2, CHECKED, CANDIDATES, ROWS, TRUE, FALSE = range(7)
"""What the counters count."""

DONE, TOO_MANY_MAPPINGS, NO_ROOM = range(3)
"""How a scan ends."""

_lock = Lock()

Array = npt.NDArray[Any]


class Index(NamedTuple):
    """What of the flat file is read for every posting."""

    posting_row: Array
    posting_column: Array
    row_first: Array
    cell_token: Array
    keys: Array


class Groups(NamedTuple):
    """The postings of the initial column's values, by table."""

    table: Array
    first: Array
    """The runs of group g are ``first[g]:first[g + 1]``."""
    run_value: Array
    run_start: Array
    run_stop: Array
    value_first: Array
    tuple_id: Array
    """The key tuples in the order of their initial value."""
    tuples: Array
    """Their tokens, as places in the flat file."""


class Bench(NamedTuple):
    """Where the candidates of one table are held and counted.

    Mappings are numbered as they come: `numbers` finds a number by open addressing, `columns` and `counts` have what it
    stands for and how many key tuples it joins. A key tuple counts once a mapping: `flags` tell which were counted, for
    the first mappings, and the hash set `pairs` for the others, with `used` to empty it again.

    Keys of two columns are counted by bits: `masks` has, for every initial column and key tuple, which columns held the
    other value, and `touched` the masks that are not empty. `slots` then has the number of every pair of columns.
    """

    posting: Array
    key_tuple: Array
    met: Array
    """The last group that a key tuple had a candidate in."""
    options: Array
    """Columns that hold the value of each key column."""
    numbers: Array
    columns: Array
    counts: Array
    flags: Array
    slots: Array
    pairs: Array
    used: Array
    masks: Array
    touched: Array


def compile_all() -> None:
    """Compile the loops, or load them compiled, once."""
    from numba import njit

    with _lock:
        for function in COMPILED:
            if globals()[function.__name__] is function:
                globals()[function.__name__] = njit(cache=True, nogil=True)(function)


def find_runs(start, stop, posting_row, row_table, table_first, run_value, run_table, run_start, run_stop):
    """Cut posting lists, sorted by row, where the table changes; return the number of runs."""
    count = 0
    for value in range(len(start)):
        p, end = start[value], stop[value]
        while p < end:
            table = row_table[posting_row[p]]
            last = table_first[table + 1]
            low, step = p, 1  # posting_row[low] < last
            while low + step < end and posting_row[low + step] < last:
                low += step
                step *= 2
            high = min(low + step, end)
            while high - low > 1:
                middle = (low + high) // 2
                if posting_row[middle] < last:
                    low = middle
                else:
                    high = middle
            run_value[count], run_table[count], run_start[count], run_stop[count] = value, table, p, high
            count += 1
            p = high
    return count


def by_table(run_table, tables):
    """Return the order of runs by table, those of a table in the order in which they are, by counting."""
    place = np.zeros(tables + 1, np.int64)
    for run in range(len(run_table)):
        place[run_table[run] + 1] += 1
    for table in range(tables):
        place[table + 1] += place[table]
    order = np.empty(len(run_table), np.int64)
    for run in range(len(run_table)):
        order[place[run_table[run]]] = run
        place[run_table[run]] += 1
    return order


def bounds(groups, posting_column, columns, postings, pairs, tight):
    """For every group, count its postings, pairs, and the key tuples that may join under any one initial column.

    A value joins as many key tuples as have it, and not more than it has postings in the column.
    """
    hits = np.zeros(columns, np.int64)
    total = np.zeros(columns, np.int64)
    touched = np.empty(columns, np.int64)
    present = np.empty(columns, np.int64)
    for group in range(len(postings)):
        count = work = best = here = 0
        for run in range(groups.first[group], groups.first[group + 1]):
            count += groups.run_stop[run] - groups.run_start[run]
            tuples = groups.value_first[groups.run_value[run] + 1] - groups.value_first[groups.run_value[run]]
            work += tuples * (groups.run_stop[run] - groups.run_start[run])
            several = 0
            for p in range(groups.run_start[run], groups.run_stop[run]):
                column = posting_column[p]
                if hits[column] == 0:
                    touched[several] = column
                    several += 1
                hits[column] += 1
            for i in range(several):
                column = touched[i]
                if total[column] == 0:
                    present[here] = column
                    here += 1
                total[column] += min(hits[column], tuples)
                hits[column] = 0
        for i in range(here):
            best = max(best, total[present[i]])
            total[present[i]] = 0
        postings[group] = count
        pairs[group] = work
        tight[group] = best


def _is_new(pair, pairs, used, members):
    """Put a pair into the hash set, as member of that number, unless it is there."""
    slot = ((pair * 0x9E3779B1) >> 7) & (len(pairs) - 1)
    while pairs[slot] >= 0:
        if pairs[slot] == pair:
            return False
        slot = (slot + 1) & (len(pairs) - 1)
    pairs[slot] = pair
    used[members] = slot
    return True


def _verify(count, index, tuples, initial, bench, known, tally):
    """Compare candidates with their rows and count those that hold by mapping; return how that ended.

    ``known`` holds the number of mappings and of pairs.
    """
    width = tuples.shape[1]
    most = bench.options.shape[1]
    found = np.zeros(width, np.int64)
    wheel = np.zeros(width, np.int64)
    mapping = np.zeros(width, np.int64)
    before = -1
    for i in range(count):
        if known[0] + most > len(bench.counts) or known[1] + most > len(bench.used):
            return NO_ROOM
        p, t = bench.posting[i], bench.key_tuple[i]
        row, own = index.posting_row[p], index.posting_column[p]
        if p != before:
            tally[ROWS] += 1
            before = p
        first, last = index.row_first[row], index.row_first[row + 1]
        ways = 1
        for key in range(width):
            several = 0
            if key == initial:
                bench.options[key, 0] = own
                several = 1
            else:
                token = tuples[t, key]
                for q in range(first, last):
                    if index.cell_token[q] == token and q - first != own:
                        if several < most:
                            bench.options[key, several] = q - first
                        several += 1
            found[key] = several
            wheel[key] = 0
            ways *= several
            if ways == 0:
                break
            ways = min(ways, most + 1)
        if ways > most:
            return TOO_MANY_MAPPINGS
        holds = False
        for _ in range(ways):
            apart = True
            for key in range(width):
                mapping[key] = bench.options[key, wheel[key]]
                for other in range(key):
                    if mapping[other] == mapping[key]:
                        apart = False
            if apart:
                holds = True
                slot = 0
                for key in range(width):
                    slot = (slot * 1000003 + mapping[key]) & (len(bench.numbers) - 1)
                number = bench.numbers[slot]
                while number >= 0:
                    same = True
                    for key in range(width):
                        if bench.columns[number, key] != mapping[key]:
                            same = False
                            break
                    if same:
                        break
                    slot = (slot + 1) & (len(bench.numbers) - 1)
                    number = bench.numbers[slot]
                if number < 0:
                    number = known[0]
                    known[0] += 1
                    bench.numbers[slot] = number
                    bench.counts[number] = 0
                    for key in range(width):
                        bench.columns[number, key] = mapping[key]
                pair = number * len(tuples) + t
                if pair < len(bench.flags):
                    bench.counts[number] += 1 - bench.flags[pair]
                    bench.flags[pair] = 1
                elif _is_new(pair, bench.pairs, bench.used, known[1]):
                    known[1] += 1
                    bench.counts[number] += 1
            key = width - 1
            while key >= 0:
                wheel[key] += 1
                if wheel[key] < found[key]:
                    break
                wheel[key] = 0
                key -= 1
        if holds:
            tally[TRUE] += 1
        else:
            tally[FALSE] += 1
    return DONE


def _verify_pairs(count, index, tuples, initial, bench, touched, tally):
    """Do the same for keys of two columns, by noting which columns hold the other value; return how many masks are set.

    What is repeated, a key tuple that many rows hold or a value that many columns of a row do, costs little here.
    """
    cells, masks = index.cell_token, bench.masks
    before = np.int64(-1)
    own = words = np.int64(0)
    row_cells = cells[:0]
    for i in range(count):
        p, t = bench.posting[i], bench.key_tuple[i]
        if p != before:
            tally[ROWS] += 1
            before = p
            row, own = index.posting_row[p], np.int64(index.posting_column[p])
            row_cells = cells[index.row_first[row] : index.row_first[row + 1]]
            words = np.int64((len(row_cells) + 63) >> 6)
        token = tuples[t, 1 - initial]
        hits = -np.int32(row_cells[own] == token)
        for place in range(len(row_cells)):  # without a branch: most candidates end here
            hits += np.int32(row_cells[place] == token)
        if hits == 0:
            tally[FALSE] += 1
            continue
        tally[TRUE] += 1
        base = (own * len(tuples) + t) * words
        column = np.int64(0)
        while hits:
            if row_cells[column] == token and column != own:
                hits -= 1
                place = base + (column >> 6)
                if not masks[place]:
                    bench.touched[touched] = place
                    touched += 1
                masks[place] |= np.uint64(1) << np.uint64(column & 63)
            column += 1
    return touched


def _count_pairs(wide, touched, tuples, initial, bench, known, counting):
    """Empty the masks, and count the key tuples of each mapping if asked to; return how that ended."""
    words = (wide + 63) >> 6
    for i in range(touched):
        place = bench.touched[i]
        held = bench.masks[place]
        bench.masks[place] = 0
        if not counting:
            continue
        if known[0] + 64 > len(bench.counts):
            return NO_ROOM
        own = place // (words * tuples)
        column = (place % words) << 6
        while held:
            if held & np.uint64(1):
                slot = own * wide + column
                number = np.int64(bench.slots[slot])
                if number < 0:
                    number = known[0]
                    known[0] += 1
                    bench.slots[slot] = number
                    bench.counts[number] = 0
                    bench.columns[number, initial] = own
                    bench.columns[number, 1 - initial] = column
                bench.counts[number] += 1
            held >>= np.uint64(1)
            column += 1
    return DONE


def scan(at, order, limit, postings, groups, keys, index, initial, filtering, tight, bench, held, held_mapping, tally):
    """Go through the groups in this order, from number `at`, and keep the best.

    `held` has a record for each place of the top k: joinability (0 while it is free), table. Return where the scan
    stopped and why: at the end; at a group where a row fits too many mappings to list them; or at one that needs a
    larger bench.
    """
    tuples, run_value, value_first = groups.tuples, groups.run_value, groups.value_first
    words = keys.shape[1]
    known = np.zeros(2, np.int64)
    own = np.zeros(len(tally), np.int64)
    unset = np.zeros(words, np.uint64)
    most_tuples = 0
    for value in range(len(value_first) - 1):
        most_tuples = max(most_tuples, value_first[value + 1] - value_first[value])
    room = len(bench.posting) - most_tuples  # a posting's candidates are held together
    for i in range(at, len(order)):
        group = order[i]
        worst = 0
        for place in range(1, len(held)):
            if held[place, 0] < held[worst, 0] or (
                held[place, 0] == held[worst, 0] and held[place, 1] > held[worst, 1]
            ):
                worst = place
        kth = held[worst, 0]
        if filtering and limit[group] <= kth:
            tally[CUT_1] += len(order) - i
            return len(order), DONE
        own[:] = 0
        touched = np.int64(0)
        row = index.posting_row[groups.run_start[groups.first[group]]]
        wide = index.row_first[row + 1] - index.row_first[row]
        masked = tuples.shape[1] == 2 and wide**2 <= len(bench.slots)
        masked = masked and wide * len(tuples) * ((wide + 63) >> 6) <= len(bench.masks)
        matched = 0  # postings, or with the tight bound key tuples, that have a candidate
        left = postings[group]
        run, end = groups.first[group], groups.first[group + 1]
        if tight:
            left = 0
            for other in range(run, end):
                size = value_first[run_value[other] + 1] - value_first[run_value[other]]
                left += min(size, groups.run_stop[other] - groups.run_start[other])
        p = groups.run_start[run]
        cut = False
        state = DONE
        while state == DONE and not cut and run < end:
            # Row filter: pair postings with key tuples whose hash their row's super key covers.
            count = np.int64(0)
            while count <= room and run < end and not cut:
                first, last = value_first[run_value[run]], value_first[run_value[run] + 1]
                row = index.posting_row[p]
                hit = False
                for word in range(words):
                    unset[word] = ~index.keys[row, word]
                for t in range(first, last):
                    if words == 2:  # the usual 128 bits, without a branch in between
                        if (keys[t, 0] & unset[0]) | (keys[t, 1] & unset[1]):
                            continue
                    else:
                        covered = True
                        for word in range(words):
                            if keys[t, word] & unset[word]:
                                covered = False
                                break
                        if not covered:
                            continue
                    hit = True
                    if tight and bench.met[t] != group:
                        bench.met[t] = group
                        matched += 1
                    bench.posting[count] = p
                    bench.key_tuple[count] = t
                    count += 1
                p += 1
                ended = p == groups.run_stop[run]
                if not tight:
                    left -= 1
                    matched += hit
                if ended:
                    if tight:
                        left -= min(last - first, groups.run_stop[run] - groups.run_start[run])
                    run += 1
                    if run < end:
                        p = groups.run_start[run]
                if filtering and (ended or not tight) and left + matched <= kth:
                    cut = True
            own[CANDIDATES] += count
            if not cut:
                if masked:
                    touched = _verify_pairs(count, index, tuples, initial, bench, touched, own)
                else:
                    state = _verify(count, index, tuples, initial, bench, known, own)
        if masked:
            state = _count_pairs(wide, touched, len(tuples), initial, bench, known, not cut)
        best = -1
        if state == DONE and not cut:
            for number in range(known[0]):
                better = best < 0 or bench.counts[number] > bench.counts[best]
                if not better and bench.counts[number] == bench.counts[best]:
                    for key in range(tuples.shape[1]):
                        if bench.columns[number, key] != bench.columns[best, key]:
                            better = bench.columns[number, key] < bench.columns[best, key]
                            break
                if better:
                    best = number
        if best >= 0:
            score, table = bench.counts[best], groups.table[group]
            if score > kth or (score == kth and table < held[worst, 1]):
                held[worst, 0], held[worst, 1] = score, table
                held_mapping[worst, :] = bench.columns[best, :]
        # Leave the bench as it was found.
        if masked:
            for number in range(known[0]):
                bench.slots[bench.columns[number, initial] * wide + bench.columns[number, 1 - initial]] = -1
        else:
            bench.numbers[:] = -1
            bench.flags[: known[0] * len(tuples)] = 0
        for member in range(known[1]):
            bench.pairs[bench.used[member]] = -1
        known[:] = 0
        if state != DONE:
            for t in range(len(tuples)):
                bench.met[t] = -1
            return i, state
        tally += own
        tally[CUT_2 if cut else CHECKED] += 1
    return len(order), DONE


def matches(group, groups, index, initial, mapping, tuple_id, row_id):
    """Write the pairs of key tuple and row that a mapping joins in a group; return their number.

    Without room for them they are only counted.
    """
    count = 0
    value_first, tuples = groups.value_first, groups.tuples
    for run in range(groups.first[group], groups.first[group + 1]):
        for p in range(groups.run_start[run], groups.run_stop[run]):
            if index.posting_column[p] != mapping[initial]:
                continue
            row = index.posting_row[p]
            for t in range(value_first[groups.run_value[run]], value_first[groups.run_value[run] + 1]):
                joins = True
                for key in range(tuples.shape[1]):
                    if index.cell_token[index.row_first[row] + mapping[key]] != tuples[t, key]:
                        joins = False
                        break
                if joins:
                    if len(tuple_id):
                        tuple_id[count], row_id[count] = t, row
                    count += 1
    return count


COMPILED = (find_runs, by_table, bounds, _is_new, _verify, _verify_pairs, _count_pairs, scan, matches)
"""Those that are called before those that call them."""
