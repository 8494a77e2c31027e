"""The best mapping of a table: the joint bound of column-first search, and the tables of a batch one after the other.

Mappings are extended key column by key column. What is held by a mapping, or the beginning of one, is the set of key
tuples whose values all occur in its columns; whole mappings are checked best bound first, many at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mate.search.best_kernel import kth_score, offer
from mate.search.check_kernel import TableSearch, check, load, look_up, popcount, set_bit
from mate.search.order_kernel import ascending
from mate.search.pairs_kernel import best_pair, by_value
from mate.search.rows_kernel import joining_tuples, keep_meeting, locate
from mate.values.kernels import inner, kernel

Array = npt.NDArray[Any]

LOOK_UP = 30
"""Nanoseconds that it takes to look one value of a key tuple up in a column, as many as to scan so many rows."""


class Limits(NamedTuple):
    """What decides between ways that give the same answer."""

    leaves: int
    """Whole mappings that are collected before they are checked."""
    pairwise: int
    """Longer keys: columns are checked two by two in tables that have this many mappings or more."""
    pair_words: int
    """Room for the key tuples that two options join, in 64-bit words: tables that need more do without."""
    all_pairs: int
    """Nanoseconds per hit that going by row takes at least: mappings that cost less are checked one by one."""


class Found(NamedTuple):
    """The best mapping of a table so far."""

    score: Array
    """One number: the key tuples that it joins."""
    kth: int
    """Score that the table needs to exceed."""
    columns: Array
    """Column in the segment of each key column."""


class Leaves(NamedTuple):
    """Whole mappings that wait for their check."""

    size: Array
    bound: Array
    options: Array
    """Option of each key column, in the order of the prefixes: one row per mapping."""


@inner
def _may_precede(columns, best):
    """Tell whether a mapping, -1 where it is not decided, may come before another by its columns."""
    for key in range(len(columns)):
        if columns[key] < 0:
            return True
        if columns[key] != best[key]:
            return columns[key] < best[key]
    return False


@inner
def _least(found, columns):
    """Return the score that a mapping needs to be the best of its table and to bring the table among the best."""
    best = found.score[0]
    return max(found.kth + 1, best if best and _may_precede(columns, found.columns) else best + 1)


@inner
def _weigh(values, tuples, weight):
    """Count the key tuples of each value; return the values that have any: where each key column's begin, and all."""
    width = len(values.tuple_value)
    used = np.empty(len(tuples) * width, np.int64)
    first = np.zeros(width + 1, np.int64)
    count = 0
    for key in range(width):
        for t in tuples:
            value = values.tuple_value[key, t]
            if weight[value] == 0:
                used[count] = value
                count += 1
            weight[value] += 1
        own = used[first[key] : count].copy()
        used[first[key] : count] = own[ascending(own)]
        first[key + 1] = count
    return first, used[:count]


@inner
def _bound_columns(arrays, runs, run_of, used, weight, units, first_column, bound, size):
    """For each column of a table, bound the key tuples that may join under a key column, and count its hits."""
    for value in used:
        for entry in range(runs.start[run_of[value]], runs.stop[run_of[value]]):
            column = np.int64(arrays.entry_column[entry]) - first_column
            most = weight[value]
            if most > 1:
                units_here = np.int64(arrays.posting_first[entry + 1]) - np.int64(arrays.posting_first[entry])
                most = min(most, units_here // units)
            bound[column] += most
            size[column] += 1


@inner
def _choose_options(bound, kth):
    """Return the options whose bound exceeds the k-th score, best first: each key column's first, and columns."""
    width, columns = bound.shape
    option_first = np.zeros(width + 1, np.int64)
    column = np.empty(width * columns, np.int64)
    count = 0
    for key in range(width):
        for place in ascending(-bound[key]):
            if bound[key, place] <= kth:
                break
            column[count] = place
            count += 1
        option_first[key + 1] = count
    return option_first, column[:count]


@inner
def open_table(arrays, values, runs, run_of, table, tuples, local, kth):
    """Return a table as a `TableSearch` of these key tuples, with the options whose bounds exceed `kth`."""
    width, count = len(values.tuple_value), len(tuples)
    rows = arrays.table_row_first[table + 1] - arrays.table_row_first[table]
    units = units_of(rows)
    base = arrays.table_column_first[table]
    columns = arrays.table_column_first[table + 1] - base
    weight = np.zeros(len(values.token), np.int64)
    used_first, used = _weigh(values, tuples, weight)
    bound, size = np.zeros((width, columns), np.int64), np.zeros((width, columns), np.int64)
    for key in range(width):
        own = used[used_first[key] : used_first[key + 1]]
        _bound_columns(arrays, runs, run_of, own, weight, units, base, bound[key], size[key])
    option_first, column = _choose_options(bound, kth)
    options = len(column)
    option_bound = np.empty(options, np.int64)
    hit_first = np.zeros(options + 1, np.int64)
    option_of = np.full((width, columns), -1, np.int64)
    for key in range(width):
        for option in range(option_first[key], option_first[key + 1]):
            option_bound[option] = bound[key, column[option]]
            hit_first[option + 1] = hit_first[option] + size[key, column[option]]
            option_of[key, column[option]] = option
    bits = np.zeros((options, (count + 63) >> 6), np.uint64)
    hit_value, hit_entry = np.empty(hit_first[-1], np.int64), np.empty(hit_first[-1], np.int64)
    for key in range(width):
        own = used[used_first[key] : used_first[key + 1]]
        _fill_hits(
            arrays, values, runs, run_of, own, base, option_of[key], local, hit_first, hit_value, hit_entry, bits
        )
    return TableSearch(
        rows,
        units,
        tuples,
        local,
        option_first,
        hit_first,
        hit_value,
        hit_entry,
        column + base,
        option_bound,
        bits,
        np.zeros(options, np.bool_),
        np.empty((options, count), np.int64),
        np.empty((options, count), np.int64),
        np.zeros(options, np.bool_),
        np.empty((options, rows), np.int32),
    )


@inner
def _fill_hits(arrays, values, runs, run_of, used, base, option_of, local, hit_first, hit_value, hit_entry, bits):
    """Write the hits of the options of a key column, and the key tuples that each option holds."""
    cursor = hit_first[:-1].copy()
    for value in used:
        for entry in range(runs.start[run_of[value]], runs.stop[run_of[value]]):
            option = option_of[np.int64(arrays.entry_column[entry]) - base]
            if option < 0:
                continue
            hit_value[cursor[option]] = value
            hit_entry[cursor[option]] = entry
            cursor[option] += 1
            for place in range(values.group_first[value], values.group_first[value + 1]):
                t = local[values.group_tuple[place]]
                if t >= 0:
                    set_bit(bits[option], t)


@inner
def units_of(rows):
    """Return the units per posting of a table with so many rows."""
    return np.int64(2 if rows >= 65_536 else 1)


@inner
def _held(search, options, held):
    """Set `held` to the key tuples that all these options hold, and return their number."""
    count = np.int64(0)
    for word in range(len(held)):
        left = search.bits[options[0], word]
        for place in range(1, len(options)):
            left &= search.bits[options[place], word]
        held[word] = left
        count += popcount(left)
    return count


@inner
def _leaves_cost(search, leaves, found):
    """Return about how many nanoseconds it takes to check the mappings that wait and may still be the best."""
    cost = np.int64(0)
    width = leaves.options.shape[1]
    for leaf in range(leaves.size[0]):
        if leaves.bound[leaf] >= max(found.kth + 1, found.score[0]):
            cost += min(leaves.bound[leaf] * LOOK_UP, search.rows) * width
    return cost


@inner
def _by_bound(search, prefixes, leaves):
    """Return the order of the mappings that wait: best bound first, of equals the first column first."""
    size = leaves.size[0]
    rank = leaves.bound[:size] << 32
    first = np.argmin(prefixes.order)
    for leaf in range(size):
        rank[leaf] -= search.column[leaves.options[leaf, first]]
    return ascending(-rank)


@inner
def _check_leaves(arrays, values, search, prefixes, leaves, limit, found, tally):
    """Check the mappings that wait, best bound first; if that costs more than `limit`, only the first: return False."""
    width = leaves.options.shape[1]
    held = np.empty(search.bits.shape[1], np.uint64)
    kept = np.empty(search.bits.shape[1], np.uint64)
    columns = np.empty(width, np.int64)
    order = _by_bound(search, prefixes, leaves)
    for place in range(len(order)):
        if place == 1 and _leaves_cost(search, leaves, found) > limit:
            return False
        leaf = order[place]
        options = leaves.options[leaf]
        for length in range(width):
            columns[prefixes.order[length]] = search.column[options[length]]
        least = _least(found, columns)
        if leaves.bound[leaf] < least:
            continue
        total = _held(search, options, held)
        tally[0].mappings_checked += 1
        score = check(arrays, values, search, prefixes, options, held, total, least, kept, tally)
        if score >= least:
            found.score[0] = score
            found.columns[:] = columns
    leaves.size[0] = 0
    return True


@inner
def _taken(columns, column):
    for other in columns:  # noqa: SIM110
        if other == column:
            return True
    return False


@inner
def _and(one, other, both):
    count = np.int64(0)
    for word in range(len(both)):
        left = one[word] & other[word]
        both[word] = left
        count += popcount(left)
    return count


class PairSets(NamedTuple):
    """The key tuples that two options join, found when first asked for."""

    known: Array
    """By option and option, whether `bits` is filled; without rows where the sets are not used."""
    bits: Array


@inner
def pair_sets(search, limits):
    """Return room for the sets of a table, none if they are not worth it."""
    width, options = len(search.option_first) - 1, len(search.column)
    mappings = np.int64(1)
    for key in range(width):
        mappings = min(mappings * (search.option_first[key + 1] - search.option_first[key]), np.int64(1) << 40)
    words = search.bits.shape[1]
    if width < 3 or mappings < limits.pairwise or options**2 * words > limits.pair_words:
        options = 0
    return PairSets(np.zeros((options, options), np.bool_), np.empty((options, options, words), np.uint64))


@inner
def _and_pairs(arrays, values, search, sets, chosen, held, least, tally):
    """Leave of the key tuples held those that each option before the last joins with it; return how many there are."""
    last = chosen[-1]
    count = np.int64(0)
    both = np.empty(2, np.int64)
    for place in range(len(chosen) - 1):
        other = chosen[place]
        if not sets.known[other, last]:
            sets.known[other, last] = True
            both[0], both[1] = other, last
            _look_up_pair(arrays, values, search, both, sets.bits[other, last], tally)
        count = _and(held, sets.bits[other, last], held)
        if count < least:
            break
    return count


@inner
def _look_up_pair(arrays, values, search, both, found, tally):
    """Set `found` to the key tuples that two options join."""
    held = np.empty(len(found), np.uint64)
    total = _and(search.bits[both[0]], search.bits[both[1]], held)
    for option in both:
        load(arrays, values, search, option)
    found[:] = 0
    tally[0].checks_by_look_up += 1
    look_up(arrays, search, both, held, total, np.int64(0), np.int64(1) << 62, found, tally)


@inner
def _add_leaf(leaves, bound, options):
    """Let a whole mapping wait for its check."""
    leaf = leaves.size[0]
    leaves.size[0] += 1
    leaves.bound[leaf] = bound
    leaves.options[leaf] = options


@inner
def best_mapping(arrays, values, search, prefixes, limits, limit, found, tally):
    """Find the best mapping of a table by extending mappings key column by key column; leave it in `found`.

    Return False, and leave it unfinished, if the mappings that wait for their check cost more than `limit`.
    """
    width = len(found.columns)
    order = prefixes.order
    words = search.bits.shape[1]
    held = np.empty((width, words), np.uint64)
    sets = pair_sets(search, limits)
    bound = np.empty(width, np.int64)
    at = np.zeros(width, np.int64)
    chosen = np.empty(width, np.int64)  # by place in `order`
    columns = np.full(width, -1, np.int64)
    leaves = Leaves(
        np.zeros(1, np.int64), np.empty(limits.leaves, np.int64), np.empty((limits.leaves, width), np.int64)
    )
    depth = 0
    while depth >= 0:
        key = order[depth]
        option = search.option_first[key] + at[depth]
        columns[key] = -1
        if option == search.option_first[key + 1] or search.bound[option] < _least(found, columns):
            depth -= 1
            continue
        at[depth] += 1
        if _taken(columns, search.column[option]):
            continue
        columns[key] = search.column[option]
        chosen[depth] = option
        count = np.int64(0)
        if depth == 0:
            held[0] = search.bits[option]
            bound[0] = search.bound[option]
        else:
            count = _and(held[depth - 1], search.bits[option], held[depth])
            bound[depth] = min(count, bound[depth - 1], search.bound[option])
            tally[0].mappings_bounded += 1
        least = _least(found, columns)
        if bound[depth] < least:
            continue
        if depth and len(sets.known):
            count = _and_pairs(arrays, values, search, sets, chosen[: depth + 1], held[depth], least, tally)
            bound[depth] = min(count, bound[depth])
            if bound[depth] < least:
                continue
        if depth == width - 1:
            _add_leaf(leaves, bound[depth], chosen)
            if leaves.size[0] == limits.leaves and not _check_leaves(
                arrays, values, search, prefixes, leaves, limit, found, tally
            ):
                return False
            continue
        depth += 1
        at[depth] = 0
    return _check_leaves(arrays, values, search, prefixes, leaves, limit, found, tally)


@inner
def _has_options(search):
    for key in range(len(search.option_first) - 1):  # noqa: SIM110
        if search.option_first[key] == search.option_first[key + 1]:
            return False
    return True


@inner
def _search_table(arrays, values, search, prefixes, limits, found, tally):
    """Find the best mapping of a table by the cheaper way."""
    width = len(found.columns)
    if width == 1:
        option = 0
        for other in range(len(search.bound)):
            if search.bound[other] == search.bound[0] and search.column[other] < search.column[option]:
                option = other
        found.score[0], found.columns[0] = search.bound[option], search.column[option]
        return
    limit = np.int64(1) << 62
    if width == 2:
        limit = limits.all_pairs * (len(search.tuples) + 8 * len(search.column) + len(search.hit_value))
    if not best_mapping(arrays, values, search, prefixes, limits, limit, found, tally):
        tally[0].tables_by_row += 1
        best_pair(arrays, values, search, by_value(arrays, values, search), found, tally)


@kernel
def search_tables(arrays, values, runs, prefixes, bound, numbers, filtering, limits, best, tally):
    """Offer the tables of these numbers in the batch, by falling bound, to the best."""
    width, count = values.tuple_value.shape
    mark, local = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    run_of = np.empty(len(values.token), np.int64)
    start, stop = np.empty(len(values.token), np.int64), np.empty(len(values.token), np.int64)
    for place in range(len(numbers)):
        number = numbers[place]
        table = runs.table[number]
        kth = kth_score(best) if filtering else np.int64(0)
        if bound[number] <= kth:
            tally[0].tables_cut_rule_1 += len(numbers) - place
            return
        tuples = joining_tuples(values, runs, number, mark, place * (width + 1))
        if len(tuples) <= kth:
            continue
        tally[0].tables_checked += 1
        for t in range(len(tuples)):
            local[tuples[t]] = t
        locate(arrays, runs, number, width, run_of, start, stop)
        rows = arrays.table_row_first[table + 1] - arrays.table_row_first[table]
        units = units_of(rows)
        kept = keep_meeting(arrays, values, runs, number, rows, units, (start, stop), tuples, local, kth + 1)
        if len(kept) > kth:
            search = open_table(arrays, values, runs, run_of, table, kept, local, kth)
            found = Found(np.zeros(1, np.int64), kth, np.zeros(width, np.int64))
            if _has_options(search):
                _search_table(arrays, values, search, prefixes, limits, found, tally)
            if found.score[0]:
                columns = found.columns - arrays.table_column_first[table]
                offer(best, found.score[0], arrays.table_id[table], columns)
        for t in tuples:
            local[t] = -1
