"""The loops of `mate.search.evidence` over the rows of a table: both look combinations of codes up in a hash table."""

from __future__ import annotations

import numpy as np

from mate.lake.reading_kernel import code_at
from mate.values.kernels import inner, kernel

_EMPTY = -1


@inner
def _room(count):
    """Return a hash table for so many numbers, at most half full."""
    size = 16
    while size < 2 * count:
        size *= 2
    return np.full(size, _EMPTY, np.int32)


@inner
def _mixed(mixed, code):
    """Return a hash of a combination with one more code."""
    mixed = (mixed ^ np.uint64(code)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(29))


@inner
def _read(codes, first, size, row, found):
    """Read the codes of a row; return a hash of them, 0 if one of its cells is empty."""
    mixed = np.uint64(0)
    for key in range(len(first)):
        found[key] = code_at(codes, first[key], size[key], row)
        if found[key] == 0:
            return np.uint64(0)
        mixed = _mixed(mixed, found[key])
    return mixed | np.uint64(1)


@inner
def _is_same_row(codes, first, size, row, found):
    """Tell whether a row has these codes."""
    for key in range(len(first)):  # noqa: SIM110
        if code_at(codes, first[key], size[key], row) != found[key]:
            return False
    return True


@kernel
def count_distinct(codes, first, size, rows):
    """Return how many rows have a value in every column, and how many distinct combinations these have."""
    known = _room(rows)
    mask = np.uint64(len(known) - 1)
    found = np.empty(len(first), np.int64)
    whole, distinct = 0, 0
    for row in range(rows):
        mixed = _read(codes, first, size, row, found)
        if mixed == 0:
            continue
        whole += 1
        slot = (mixed >> np.uint64(1)) & mask
        while known[slot] != _EMPTY and not _is_same_row(codes, first, size, known[slot], found):
            slot = (slot + np.uint64(1)) & mask
        if known[slot] == _EMPTY:
            known[slot] = row
            distinct += 1
    return whole, distinct


@inner
def _is_same_tuple(asked, number, found):
    for key in range(len(found)):  # noqa: SIM110
        if asked[number, key] != found[key]:
            return False
    return True


@inner
def _stored(asked):
    """Return a hash table of distinct key tuples, without those that have a value that a column does not have."""
    known = _room(len(asked))
    mask = np.uint64(len(known) - 1)
    for number in range(len(asked)):
        mixed = np.uint64(0)
        for key in range(asked.shape[1]):
            mixed = _mixed(mixed, asked[number, key])
            if asked[number, key] == 0:
                mixed = np.uint64(0)
                break
        else:
            slot = ((mixed | np.uint64(1)) >> np.uint64(1)) & mask
            while known[slot] != _EMPTY:
                slot = (slot + np.uint64(1)) & mask
            known[slot] = number
    return known


@inner
def count_tuples(codes, first, size, rows, asked, leading, values, needed, counts):
    """Count the rows that hold each of some distinct key tuples; return how many tuples there are such rows for.

    Most rows are passed over by their code in the leading column, which has so many values. Ends early where fewer
    tuples than needed can be found.
    """
    flags = np.zeros(values + 1, np.bool_)
    for number in range(len(asked)):
        flags[asked[number, leading]] = True
    flags[0] = False
    known = _stored(asked)
    mask = np.uint64(len(known) - 1)
    found = np.empty(len(first), np.int64)
    joined = 0
    for row in range(rows):
        if joined + rows - row < needed:
            break
        if not flags[code_at(codes, first[leading], size[leading], row)]:
            continue
        mixed = _read(codes, first, size, row, found)
        if mixed == 0:
            continue
        slot = (mixed >> np.uint64(1)) & mask
        while known[slot] != _EMPTY:
            if _is_same_tuple(asked, known[slot], found):
                joined += counts[known[slot]] == 0
                counts[known[slot]] += 1
                break
            slot = (slot + np.uint64(1)) & mask
    return joined


@kernel
def count_rows(codes, first, size, rows, asked, leading, values):
    """Return how many rows hold each of some distinct key tuples: codes, 0 for a value that a column does not have."""
    counts = np.zeros(len(asked), np.int64)
    count_tuples(codes, first, size, rows, asked, leading, values, 0, counts)
    return counts
