"""Tables and columns of a synthetic lake before any cell is made, and the draws that all of it depends on.

Every key has a stream of draws, each at its place: splitmix64 as a hash of key and place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Hashes: TypeAlias = npt.NDArray[np.uint64]
Numbers: TypeAlias = npt.NDArray[np.int64]
Units: TypeAlias = npt.NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

# Places in a table's, a column's or a domain's own stream; columns, choices and slots take the places after.
HEIGHT, WIDTH, WIDTH_ANGLE, MEMBER, DOMAIN, NEAR, STEP, START, REACH = range(9)
KIND, CHOICES, CATEGORICAL, MAGNITUDE = (1 << 40) + np.arange(4)
COLUMN, SLOT, CHOICE, DOMAINS = (np.arange(4) + 2) << 40


def mix(x: Hashes) -> Hashes:
    """Scramble the bits of each number."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def stream(key: Hashes, place: Any) -> Hashes:
    """Return the hash at a place of a key's stream."""
    return mix(key + (np.atleast_1d(place).astype(np.uint64) + np.uint64(1)) * _GOLDEN)


def unit_of(hashes: Hashes) -> Units:
    """Return numbers from 0 to just below 1, from the upper 53 bits."""
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53


class TableBatch(NamedTuple):
    """Tables, one an entry, before any cell is made."""

    number: Numbers
    key: Hashes
    columns: Numbers
    rows: Numbers
    domain: Numbers

    def take(self, which: Numbers) -> TableBatch:
        """Return some of them."""
        number, key, columns, rows, domain = self
        return TableBatch(number[which], key[which], columns[which], rows[which], domain[which])


class ColumnBatch(NamedTuple):
    """Columns of a batch of tables, one table's after the other's."""

    owner: Numbers
    key: Hashes
    slot: Numbers
    """Place in the domain's key tuple, -1 for a column outside the key."""
    kind: Numbers
    salt: Hashes
    """The column's key, for key columns that of the domain's slot: what its values depend on."""
    size: Numbers
    """How many values it draws from: those of a vocabulary, or a power of ten for numbers."""
    choices: Numbers
    """Distinct values of a categorical column, else 0."""


def starts_of(sizes: Numbers) -> Numbers:
    """Return where each of several groups begins, one after the other."""
    return np.cumsum(sizes) - sizes


def batches(shapes: TableBatch, chunk_cells: int) -> Iterator[Numbers]:
    """Yield (table, first row, rows) of pieces that together have a chunk's cells: small tables share a pass."""
    pieces: list[tuple[int, int, int]] = []
    room = chunk_cells
    for table, (width, height) in enumerate(zip(shapes.columns.tolist(), shapes.rows.tolist(), strict=True)):
        step = max(1, chunk_cells // width)
        for first in range(0, height, step):
            count = min(step, height - first)
            if pieces and count * width > room:
                yield np.array(pieces).T
                pieces, room = [], chunk_cells
            pieces.append((table, first, count))
            room -= count * width
    if pieces:
        yield np.array(pieces).T


def order_within(owner: Numbers, key: Hashes, sizes: Numbers) -> Numbers:
    """Return a random order of each table's columns: the place of each column in it."""
    order = np.lexsort((key, owner))
    result = np.empty(len(owner), np.int64)
    result[order] = np.arange(len(owner)) - np.repeat(starts_of(sizes), sizes)
    return result


def tuples_of(shapes: TableBatch, table: Numbers, row: Numbers) -> Numbers:
    """Return which tuple of its domain each row holds.

    A table holds its domain's first tuples, half to twice as many as it has rows, in an order of its own
    (an odd step, modulo a power of two). So any two tables of a domain share tuples, whatever their heights.
    """
    bits = np.frexp(shapes.rows - 1.0)[1] - 1 + (stream(shapes.key, REACH) % np.uint64(3)).astype(np.int64)
    mask = (np.int64(1) << np.maximum(bits, 0)).astype(np.uint64) - np.uint64(1)
    step, start = stream(shapes.key, STEP) | np.uint64(1), stream(shapes.key, START)
    tuples: Numbers = ((step[table] * row.astype(np.uint64) + start[table]) & mask[table]).astype(np.int64)
    return tuples
