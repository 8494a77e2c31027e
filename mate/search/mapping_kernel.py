"""The best mapping of a table: the joint bound of column-first search, and the tables of a batch one after the other.

Mappings are extended key column by key column. What is held by a mapping, or the beginning of one, is the set of key
tuples whose values all occur in its columns; whole mappings are checked best bound first, many at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.reading_kernel import units_per_posting
from mate.search.best_kernel import kth_score, offer
from mate.search.bits_kernel import members, popcount, set_bit
from mate.search.check_kernel import TableSearch, check, check_cost
from mate.search.compare_kernel import compare_rows
from mate.search.extension_kernel import best_extension
from mate.search.found_kernel import Found, intersect, is_taken, least_score
from mate.search.order_kernel import ascending
from mate.search.pairs_kernel import best_pair, by_value, pair_block, planes_for, words_of
from mate.search.prefix_kernel import own_stamps
from mate.search.rows_kernel import Stamps, keep_meeting, locate
from mate.search.slots_kernel import new_slots
from mate.search.triples_kernel import Roles, best_triple, choose_roles
from mate.values.kernels import inner, kernel, prefetch

Array = npt.NDArray[Any]


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
    mask_words: int
    """Room for row masks and counters, in 64-bit words: tables that need more are counted in blocks or row lists."""
    look_ups: int
    """Room for what key tuples are looked up by, options times key tuples; there is always enough for one mapping."""
    decoded: int
    """Room for columns whose codes were read, options times rows; there is always enough for one mapping."""
    alone: int
    """Nanoseconds of going by row from which a table is put off, for threads to split it between them."""
    look_up: int
    """Nanoseconds that it takes to look one value of a key tuple up in a column, about."""
    read: int
    """Nanoseconds that it takes to read a row, about."""
    posting: int
    """Nanoseconds that it takes to read a posting of a table whose postings were read before, about."""
    step: int
    """Keys of three columns: key tuples that are counted before the counters are looked at."""


class Share(NamedTuple):
    """What a thread does of tables: all, or of a table that threads split between them some columns of a key column."""

    number: int
    of: int


class Budget(NamedTuple):
    """Nanoseconds that may be spent on checking mappings one by one before a table is gone through by row."""

    most: int
    rows: int
    """Rows read before."""
    look_ups: int
    """Checks by look-up before."""
    bounded: int
    """Mappings bounded before."""


class Leaves(NamedTuple):
    """Whole mappings that wait for their check."""

    size: Array
    bound: Array
    options: Array
    """Option of each key column, in the order of the prefixes: one row per mapping."""


@inner
def _weigh(arrays, values, runs, run_of, tuples, weight):
    """Count the key tuples of each value; return the values that have any: where each key column's begin, and all.

    They ascend within a key column. Their directory entries are asked for.
    """
    width = len(values.tuple_value)
    used = np.empty(len(tuples) * width, np.int64)
    first = np.zeros(width + 1, np.int64)
    count = 0
    for key in range(width):
        for t in tuples:
            weight[values.tuple_value[key, t]] += 1
        for value in range(values.key_first[key], values.key_first[key + 1]):
            if weight[value]:
                used[count] = value
                count += 1
                prefetch(arrays.entry_column, runs.run[run_of[value]].start)
        first[key + 1] = count
    return first, used[:count]


@inner
def _bound_columns(arrays, runs, run_of, used, weight, units, first_column, bound, size):
    """For each column of a table, bound the key tuples that may join under a key column, and count its hits."""
    for value in used:
        run = runs.run[run_of[value]]
        for entry in range(run.start, run.start + run.entries):
            column = np.int64(arrays.entry_column[entry]) - first_column
            most = weight[value]
            if most > 1:
                units_here = np.int64(arrays.posting_first[entry + 1]) - np.int64(arrays.posting_first[entry])
                most = min(most, units_here // units)
            bound[column] += most
            size[column] += 1


@inner
def _widest(bound, kth):
    """Return the key column that has the most options."""
    widest, most = 0, 0
    for key in range(len(bound)):
        options = (bound[key] > kth).sum()
        if options > most:
            widest, most = key, options
    return widest


@inner
def _choose_options(bound, kth, share):
    """Return the options whose bound exceeds the k-th score, best first: each key column's first, and columns.

    Of the key column that has the most, take those of the share.
    """
    width, columns = bound.shape
    option_first = np.zeros(width + 1, np.int64)
    column = np.empty(width * columns, np.int64)
    shared = _widest(bound, kth)
    count = 0
    for key in range(width):
        order = ascending(-bound[key])
        for rank in range(columns):
            if bound[key, order[rank]] <= kth:
                break
            if key != shared or rank % share.of == share.number:
                column[count] = order[rank]
                count += 1
        option_first[key + 1] = count
    return option_first, column[:count]


@inner
def open_table(arrays, values, runs, run_of, table, tuples, local, kth, share, limits, stamps):
    """Return a table, or a share of it, as a `TableSearch` of these key tuples, with options that may exceed `kth`."""
    width, count = len(values.tuple_value), len(tuples)
    rows = arrays.table_row_first[table + 1] - arrays.table_row_first[table]
    units = np.int64(units_per_posting(arrays, table))
    base = arrays.table_column_first[table]
    columns = arrays.table_column_first[table + 1] - base
    weight = np.zeros(len(values.token), np.int64)
    used_first, used = _weigh(arrays, values, runs, run_of, tuples, weight)
    bound, size = np.zeros((width, columns), np.int64), np.zeros((width, columns), np.int64)
    for key in range(width):
        own = used[used_first[key] : used_first[key + 1]]
        _bound_columns(arrays, runs, run_of, own, weight, units, base, bound[key], size[key])
    option_first, column = _choose_options(bound, kth, share)
    options = len(column)
    option_bound = np.empty(options, np.int64)
    hit_first = np.zeros(options + 1, np.int64)
    option_of = np.full((width, columns), -1, np.int64)
    for key in range(width):
        for option in range(option_first[key], option_first[key + 1]):
            option_bound[option] = bound[key, column[option]]
            hit_first[option + 1] = hit_first[option] + size[key, column[option]]
            option_of[key, column[option]] = option
    loaded = new_slots(options, count, limits.look_ups, width)
    decoded = new_slots(options, rows, limits.decoded, width)
    bits = np.zeros((options, (count + 63) >> 6), np.uint64)
    hits = hit_first[-1]
    hit_value, hit_start, hit_stop = np.empty(hits, np.int64), np.empty(hits, np.int64), np.empty(hits, np.int64)
    for key in range(width):
        own = used[used_first[key] : used_first[key + 1]]
        _fill_hits(arrays, runs, run_of, own, base, option_of[key], hit_first, hit_value, hit_start, hit_stop)
    postings = np.zeros(options, np.int64)
    for option in range(options):
        for hit in range(hit_first[option], hit_first[option + 1]):
            postings[option] += (hit_stop[hit] - hit_start[hit]) // units
            _set_bits(values, local, hit_value[hit], bits[option])
    return TableSearch(
        rows,
        units,
        tuples,
        local,
        option_first,
        hit_first,
        hit_value,
        hit_start,
        hit_stop,
        column + base,
        option_bound,
        postings,
        bits,
        loaded,
        np.empty((len(loaded.option), count), np.int64),
        np.empty((len(loaded.option), count), np.int32),
        decoded,
        np.empty((len(decoded.option), rows), np.int32),
        stamps,
    )


@inner
def _fill_hits(arrays, runs, run_of, used, base, option_of, hit_first, hit_value, hit_start, hit_stop):
    """Write the hits of the options of a key column."""
    cursor = hit_first[:-1].copy()
    for value in used:
        run = runs.run[run_of[value]]
        for entry in range(run.start, run.start + run.entries):
            option = option_of[np.int64(arrays.entry_column[entry]) - base]
            if option >= 0:
                hit = cursor[option]
                cursor[option] += 1
                hit_value[hit] = value
                hit_start[hit] = np.int64(arrays.posting_first[entry])
                hit_stop[hit] = np.int64(arrays.posting_first[entry + 1])


@inner
def _set_bits(values, local, value, bits):
    """Put the key tuples of a value into a bit set."""
    for place in range(values.group_first[value], values.group_first[value + 1]):
        t = local[values.group_tuple[place]]
        if t >= 0:
            set_bit(bits, t)


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
def _exceeds(budget, search, limits, tally, more):
    """Tell whether what was spent on a table, and `more`, is over budget; a word of a joint bound is a nanosecond."""
    look_ups = (tally[0].checks_by_look_up - budget.look_ups) * len(search.tuples)
    bounded = (tally[0].mappings_bounded - budget.bounded) * search.bits.shape[1]
    spent = (tally[0].rows_read - budget.rows) * limits.read + look_ups * limits.look_up + bounded
    return spent + more > budget.most


@inner
def _leaves_cost(search, leaves, limits, found):
    """Return about how many nanoseconds it takes to check the mappings that wait and may still be the best."""
    cost = np.int64(0)
    for leaf in range(leaves.size[0]):
        if leaves.bound[leaf] >= max(found.kth + 1, found.score[0]):
            cost += check_cost(search, leaves.options[leaf], leaves.bound[leaf], limits)
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
def _check_leaves(arrays, values, search, prefixes, leaves, limits, budget, found, tally):
    """Check the mappings that wait, best bound first; if that is over budget, only the first: return False."""
    width = leaves.options.shape[1]
    held = np.empty(search.bits.shape[1], np.uint64)
    kept = np.empty(search.bits.shape[1], np.uint64)
    columns = np.empty(width, np.int64)
    order = _by_bound(search, prefixes, leaves)
    for place in range(len(order)):
        if place == 1 and _exceeds(budget, search, limits, tally, _leaves_cost(search, leaves, limits, found)):
            return False
        leaf = order[place]
        options = leaves.options[leaf]
        for length in range(width):
            columns[prefixes.order[length]] = search.column[options[length]]
        least = least_score(found, columns)
        if leaves.bound[leaf] < least:
            continue
        total = _held(search, options, held)
        tally[0].mappings_checked += 1
        score = check(arrays, values, search, prefixes, options, held, total, least, limits, kept, tally)
        if score >= least:
            found.score[0] = score
            found.columns[:] = columns
    leaves.size[0] = 0
    return True


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
            _compare_pair(arrays, values, search, both, sets.bits[other, last], tally)
        count = intersect(held, sets.bits[other, last], held)
        if count < least:
            break
    return count


@inner
def _compare_pair(arrays, values, search, both, found, tally):
    """Set `found` to the key tuples that two options join."""
    held = np.empty(len(found), np.uint64)
    total = intersect(search.bits[both[0]], search.bits[both[1]], held)
    found[:] = 0
    tally[0].checks_by_postings += 1
    compare_rows(arrays, values, search, both, held, total, np.int64(0), found, tally)


@inner
def _add_leaf(leaves, bound, options):
    """Let a whole mapping wait for its check."""
    leaf = leaves.size[0]
    leaves.size[0] += 1
    leaves.bound[leaf] = bound
    leaves.options[leaf] = options


@inner
def best_mapping(arrays, values, search, prefixes, limits, budget, found, tally):
    """Find the best mapping of a table by extending mappings key column by key column; leave it in `found`.

    Return False, and leave it unfinished, if that is over budget.
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
        if option == search.option_first[key + 1] or search.bound[option] < least_score(found, columns):
            depth -= 1
            continue
        at[depth] += 1
        if is_taken(columns, search.column[option]):
            continue
        columns[key] = search.column[option]
        chosen[depth] = option
        count = np.int64(0)
        if depth == 0:
            held[0] = search.bits[option]
            bound[0] = search.bound[option]
        else:
            count = intersect(held[depth - 1], search.bits[option], held[depth])
            bound[depth] = min(count, bound[depth - 1], search.bound[option])
            tally[0].mappings_bounded += 1
        least = least_score(found, columns)
        if bound[depth] < least:
            continue
        if depth and len(sets.known):
            count = _and_pairs(arrays, values, search, sets, chosen[: depth + 1], held[depth], least, tally)
            bound[depth] = min(count, bound[depth])
            if bound[depth] < least:
                continue
        if depth and _exceeds(budget, search, limits, tally, 0):
            return False
        if depth == width - 1:
            _add_leaf(leaves, bound[depth], chosen)
            if leaves.size[0] == limits.leaves and not _check_leaves(
                arrays, values, search, prefixes, leaves, limits, budget, found, tally
            ):
                return False
            continue
        depth += 1
        at[depth] = 0
    return _check_leaves(arrays, values, search, prefixes, leaves, limits, budget, found, tally)


@inner
def _has_options(search):
    for key in range(len(search.option_first) - 1):  # noqa: SIM110
        if search.option_first[key] == search.option_first[key + 1]:
            return False
    return True


@inner
def _search_table(arrays, values, search, prefixes, size, limits, found, tally):
    """Find the best mapping of a table by the cheaper way; return False if the table is put off.

    `size` has the postings of each value, in units.
    """
    width = len(found.columns)
    if width == 1:
        option = 0
        for other in range(len(search.bound)):
            if search.bound[other] == search.bound[0] and search.column[other] < search.column[option]:
                option = other
        found.score[0], found.columns[0] = search.bound[option], search.column[option]
        return True
    way = _choose_way(values, search, size, limits)
    budget = _budget(search, limits.all_pairs, way.more, tally)
    if best_mapping(arrays, values, search, prefixes, limits, budget, found, tally):
        return True
    if max(budget.most, way.cost) >= limits.alone:
        return False
    tally[0].tables_by_row += 1
    if way.block:
        best_pair(arrays, values, search, way.block, found, tally)
    elif way.by_triples:
        held = by_value(values, search)
        best_triple(arrays, values, search, way.roles, held, limits.step, found, tally)
    else:
        best_extension(arrays, values, search, prefixes, found, tally)
    return True


class Way(NamedTuple):
    """How a table would be gone through by row."""

    block: int
    """Options of each of two key columns that are counted together; 0: not so."""
    by_triples: bool
    roles: Roles
    more: int
    """What it takes at least, in hits, beside the hits themselves."""
    cost: int
    """Nanoseconds that it takes, about, where that is known."""


@inner
def _choose_way(values, search, size, limits):
    """Return how a table is gone through by row. `size` has the postings of each value."""
    width = len(search.option_first) - 1
    no_roles = Roles(0, 0, 0)
    if width == 2:
        block = pair_block(search, limits.mask_words)
        if block:
            return Way(block, False, no_roles, search.postings.sum() >> 2, _pairs_cost(search))
    if width == 3:
        roles, postings, words = choose_roles(values, search, size)
        counters = _counters(search, roles)
        if words <= limits.mask_words and counters * planes_for(len(search.tuples)) <= limits.mask_words:
            more = (len(search.tuples) * counters + postings + words) >> 3
            return Way(np.int64(0), True, roles, more, np.int64(0))
    return Way(np.int64(0), False, no_roles, search.rows * len(search.column) >> 2, np.int64(0))


@inner
def _pairs_cost(search):
    """Return about how many nanoseconds it takes to count all pairs of columns, five per key tuple, column and word."""
    least = np.int64(1) << 62
    for key in range(2):
        held = np.int64(0)
        for option in range(search.option_first[key], search.option_first[key + 1]):
            for word in search.bits[option]:
                held += popcount(word)
        least = min(least, held * words_of(search, 1 - key))
    return 5 * least


@inner
def _budget(search, all_pairs, more, tally):
    """Return the budget of a table that going by row costs as much as its hits, and `more`, tell."""
    hits = len(search.tuples) + 8 * len(search.column) + len(search.hit_value)
    before = tally[0]
    return Budget(all_pairs * (hits + more), before.rows_read, before.checks_by_look_up, before.mappings_bounded)


@inner
def _counters(search, roles):
    """Return the words of counters that all triples of columns take."""
    first = search.option_first
    pairs = (first[roles.through + 1] - first[roles.through]) * (first[roles.kept + 1] - first[roles.kept])
    return pairs * words_of(search, roles.bits)


@kernel
def search_tables(arrays, values, collected, prefixes, numbers, share, filtering, limits, best, tally, put_off):
    """Offer the tables of these numbers in the batch, by falling bound, to the best.

    Marks those that are put off, and returns how many they are.
    """
    runs = collected.runs
    width, count = values.tuple_value.shape
    prefixes = own_stamps(prefixes)
    left = np.int64(0)
    local = np.full(count, -1, np.int64)
    run_of = np.empty(len(values.token), np.int64)
    start, stop = np.empty(len(values.token), np.int64), np.empty(len(values.token), np.int64)
    stamp, last_stamp = np.zeros(0, np.int32), np.zeros(1, np.int32)
    for place in range(len(numbers)):
        number = numbers[place]
        table = runs.table[number]
        kth = kth_score(best) if filtering else np.int64(0)
        if collected.bound[number] <= kth:
            tally[0].tables_cut_rule_1 += len(numbers) - place
            break
        tuples = members(collected.held[number])
        tally[0].tables_checked += 1
        for t in range(len(tuples)):
            local[tuples[t]] = t
        locate(arrays, runs, number, width, run_of, start, stop)
        rows = arrays.table_row_first[table + 1] - arrays.table_row_first[table]
        units = np.int64(units_per_posting(arrays, table))
        if rows > len(stamp):
            stamp = np.zeros(max(rows, 2 * len(stamp)), np.int32)
        stamps = Stamps(stamp, last_stamp, start, stop)
        kept = keep_meeting(arrays, values, runs, number, units, stamps, tuples, local, kth + 1)
        if len(kept) > kth:
            search = open_table(arrays, values, runs, run_of, table, kept, local, kth, share, limits, stamps)
            found = Found(np.zeros(1, np.int64), kth, np.zeros(width, np.int64))
            if _has_options(search):
                size = stop - start
                put_off[number] = not _search_table(arrays, values, search, prefixes, size, limits, found, tally)
                left += put_off[number]
            if found.score[0] and not put_off[number]:
                columns = found.columns - arrays.table_column_first[table]
                offer(best, found.score[0], arrays.table_id[table], columns)
        for t in tuples:
            local[t] = -1
    return left
