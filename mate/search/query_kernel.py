"""The loops of `mate.search.query.key_tuples`: distinct tokens, and distinct combinations of them, in one call.

Both are numbered as they come, with the help of a table of their hashes (open addressing, half full at most).
"""

from __future__ import annotations

import numpy as np

from mate.values.kernels import inner, kernel

_BASIS = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)
_FREE = -1


@inner
def _table_for(count):
    """Return a free table for so many things."""
    size = 16
    while size < 2 * count:
        size *= 2
    return np.full(size, _FREE, np.int64)


@inner
def _spread(h, table):
    """Return where in a table a hash begins to look."""
    h *= _MIX
    return np.int64((h ^ (h >> _HALF)) & np.uint64(len(table) - 1))


@inner
def _hash_text(text, start, stop):
    h = _BASIS
    for at in range(start, stop):
        h = (h ^ np.uint64(text[at])) * _PRIME
    return h


@inner
def _same_text(text, start, stop, other, other_start, other_stop):
    if stop - start != other_stop - other_start:
        return False
    for at in range(stop - start):  # noqa: SIM110
        if text[start + at] != other[other_start + at]:
            return False
    return True


@inner
def _add_token(text, start, stop, table, found, bounds, count):
    """Return the number of a token among those found, which it is added to if it is new."""
    slot = _spread(_hash_text(text, start, stop), table)
    while table[slot] != _FREE:
        number = table[slot]
        if _same_text(text, start, stop, found, bounds[number], bounds[number + 1]):
            return number
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = count
    end = bounds[count] + stop - start
    found[bounds[count] : end] = text[start:stop]
    bounds[count + 1] = end
    return np.int64(count)


@inner
def _number_tokens(text, bounds, nulls, null_bounds):
    """Return the number of each token, negative for a null, and the distinct ones with their bounds: nulls first."""
    absent, cells = len(null_bounds) - 1, len(bounds) - 1
    table = _table_for(absent + cells)
    found = np.empty(null_bounds[-1] + bounds[-1] - bounds[0], np.uint8)
    found_bounds = np.zeros(absent + cells + 1, np.int64)
    for null in range(absent):
        _add_token(nulls, null_bounds[null], null_bounds[null + 1], table, found, found_bounds, null)
    numbers = np.empty(cells, np.int64)
    count = absent
    for cell in range(cells):
        number = _add_token(text, bounds[cell], bounds[cell + 1], table, found, found_bounds, count)
        count = max(count, number + 1)
        numbers[cell] = number - absent
    return numbers, found[found_bounds[absent] : found_bounds[count]], found_bounds[absent : count + 1]


@inner
def _tuple_of(numbers, row, rows, combination):
    """Write the numbers of a row's tokens, and return their hash; 0 if one of them is a null."""
    h = _BASIS
    for key in range(len(combination)):
        number = numbers[key * rows + row]
        if number < 0:
            return np.uint64(0)
        combination[key] = number
        h = (h ^ np.uint64(number)) * _PRIME
    return h | np.uint64(1)


@inner
def _is_same(one, other):
    for key in range(len(one)):  # noqa: SIM110
        if one[key] != other[key]:
            return False
    return True


@inner
def _number_tuples(numbers, width):
    """Return the distinct combinations of tokens, and which of them each row has, -1 for rows with a null."""
    rows = len(numbers) // width
    table = _table_for(rows)
    place = np.empty((rows + 1, width), np.int64)  # the last one has room for a row that is not new
    row_tuple = np.full(rows, -1, np.int64)
    count = 0
    for row in range(rows):
        h = _tuple_of(numbers, row, rows, place[count])
        if h == 0:
            continue
        slot = _spread(h, table)
        while table[slot] != _FREE and not _is_same(place[table[slot]], place[count]):
            slot = (slot + 1) & (len(table) - 1)
        if table[slot] == _FREE:
            table[slot] = count
            count += 1
        row_tuple[row] = table[slot]
    return place[:count], row_tuple


@kernel
def number_key(text, bounds, width, nulls, null_bounds):
    """Number tokens, given column after column, and the rows that they make up; both in the order of their coming.

    Returns the text of the distinct tokens and its bounds, the tokens of each distinct key tuple, and the key tuple of
    each row, -1 for rows with a null.
    """
    numbers, found, found_bounds = _number_tokens(text, bounds, nulls, null_bounds)
    place, row_tuple = _number_tuples(numbers, width)
    return found, found_bounds - found_bounds[0], place, row_tuple
