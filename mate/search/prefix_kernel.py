"""The beginnings of key tuples, numbered: how a row that holds a key tuple is told from one that does not.

A *prefix* of a key tuple is its values in the first key columns of an order. Prefixes of one value have its
number. A longer one is found by the number of the prefix before it and its last value: one hash table for all lengths.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mate.values.kernels import inner

Array = npt.NDArray[Any]


class Prefixes(NamedTuple):
    """The prefixes of all key tuples in an order of the key columns."""

    order: Array
    values: int
    """Number of values of all key columns."""
    slot_key: Array
    """Prefix * values + value, -1 in a free slot."""
    slot_prefix: Array
    tuple_prefix: Array
    """The prefix of each key tuple: one row per length."""
    stamp: Array
    """For each prefix, the last check that met it."""
    last_stamp: Array
    """One number: the check at hand."""


@inner
def _slot(key, mask):
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(30)) & mask


@inner
def number_prefixes(values, order):
    """Return the prefixes of the key tuples."""
    width, tuples = values.tuple_value.shape
    count = len(values.token)
    room = np.int64(16)
    while room < 2 * tuples * (width - 1):
        room *= 2
    slot_key, slot_prefix = np.full(room, -1, np.int64), np.empty(room, np.int64)
    tuple_prefix = np.empty((width, tuples), np.int64)
    tuple_prefix[0] = values.tuple_value[order[0]]
    following = np.int64(count)
    for length in range(1, width):
        own = values.tuple_value[order[length]]
        for t in range(tuples):
            key = tuple_prefix[length - 1, t] * count + own[t]
            slot = _slot(key, room - 1)
            while slot_key[slot] != key:
                if slot_key[slot] < 0:
                    slot_key[slot] = key
                    slot_prefix[slot] = following
                    following += 1
                    break
                slot = (slot + 1) & (room - 1)
            tuple_prefix[length, t] = slot_prefix[slot]
    return Prefixes(
        order, count, slot_key, slot_prefix, tuple_prefix, np.zeros(following, np.int64), np.zeros(1, np.int64)
    )


@inner
def own_stamps(prefixes):
    """Return prefixes that a thread can stamp while others do."""
    return Prefixes(
        prefixes.order,
        prefixes.values,
        prefixes.slot_key,
        prefixes.slot_prefix,
        prefixes.tuple_prefix,
        np.zeros(len(prefixes.stamp), np.int64),
        np.zeros(1, np.int64),
    )


@inner
def extend(prefixes, prefix, value):
    """Return the prefix that follows with a value, -1 if no key tuple begins so."""
    key = prefix * prefixes.values + value
    slot = _slot(key, len(prefixes.slot_key) - 1)
    while prefixes.slot_key[slot] >= 0:
        if prefixes.slot_key[slot] == key:
            return prefixes.slot_prefix[slot]
        slot = (slot + 1) & (len(prefixes.slot_key) - 1)
    return np.int64(-1)
