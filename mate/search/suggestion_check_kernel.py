"""The loops of `mate.search.suggestion_check`: key tuples in the codes of a table's columns, and the rows with them."""

from __future__ import annotations

import numpy as np

from mate.search.check_kernel import find_code
from mate.search.evidence_kernel import count_tuples
from mate.values.kernels import inner, kernel


@inner
def _look_up(known, places, values, codes):
    """Write the codes of values in a column with these tokens: both ascend."""
    low = np.int64(0)
    for number in range(len(places)):
        low = find_code(known, low, places[number])
        if low < len(known) and known[low] == places[number]:
            codes[values[number]] = low + 1


@inner
def _write_codes(held, sample, mapping, lookups, tuples, asked):
    """Write the codes of key tuples; return how many tuples have all their values in the columns."""
    for digit in mapping:
        if not lookups.is_known[digit]:
            lookups.is_known[digit] = True
            own, column = held.own[digit], held.column[digit]
            these = slice(sample.first[own], sample.first[own + 1])
            known = held.column_token[held.column_entry_first[column] : held.column_entry_first[column + 1]]
            _look_up(known, sample.place[these], sample.value[these], lookups.code[digit])
    count = 0
    for number in range(len(tuples)):
        has_all = True
        for key in range(len(mapping)):
            code = lookups.code[mapping[key], tuples[number, key]]
            asked[number, key] = code
            has_all &= code > 0
        count += has_all
    return count


@inner
def _needed(count, least):
    """Return how many of some tuples are at least a share of them."""
    needed = np.int64(least * count)
    while needed / count < least:
        needed += 1
    while needed > 0 and (needed - 1) / count >= least:
        needed -= 1
    return needed


@kernel
def check_mappings(codes, held, sample, lookups, mappings, tuples, places, least):
    """Return how many key tuples of some mappings join, fewer where a smaller share than the least does.

    The tuples of mapping number n are those of ``places[n]``, from one to another.
    """
    width = mappings.shape[1]
    most = 0
    for number in range(len(mappings)):
        most = max(most, places[number, 1] - places[number, 0])
    room = np.empty((most, width), np.int64)
    joined = np.zeros(len(mappings), np.int64)
    begin, size = np.empty(width, np.int64), np.empty(width, np.int64)
    for number in range(len(mappings)):
        own = tuples[places[number, 0] : places[number, 1]]
        if len(own) == 0:
            continue
        asked = room[: len(own)]
        known = _write_codes(held, sample, mappings[number], lookups, own, asked)
        needed = _needed(len(own), least)
        if min(known, held.rows) < needed:
            continue
        leading, values = 0, np.int64(0)
        for key in range(width):
            digit = mappings[number, key]
            begin[key], size[key] = held.code_first[digit], held.code_bytes[digit]
            if held.values[digit] > values:
                leading, values = key, held.values[digit]
        counts = np.zeros(len(own), np.int64)
        joined[number] = count_tuples(codes, begin, size, held.rows, asked, leading, values, needed, counts)
    return joined
