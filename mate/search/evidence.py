"""What speaks for a join: how much of the key a table holds, how unique it is there, and what chance would give.

docs/evidence.md has the formulas; `mate.search.evidence_reference` is the same in plain Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.lake.columns import column_codes, column_dictionary
from mate.lake.layout import SegmentArrays

Floats = npt.NDArray[np.float64]

MOST_CODES = 2**62
"""Combinations of values are numbered without gaps when there may be more of them than this."""

COUNTED, COUNTED_ANYWAY = 8, 65_536
"""Combinations, per row and beside, up to which each has a counter; more are sorted."""

LIKELY = 0.001
"""A joinability that independent columns reach with less than this probability is better than chance."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for joining a query with a table under a mapping of its key columns."""

    containment: float
    """Share of the query's key tuples that the table holds."""
    uniqueness: float
    """Distinct combinations of the mapped columns per row that has a value in each of them."""
    fan_out: float
    """Mean number of rows per key tuple that the table holds."""
    most_fan_out: int
    """Rows of the key tuple that has the most of them."""
    chance: float
    """Joinability to be expected if the mapped columns were independent; 0 for a single column."""
    names: float | None
    """Similarity of the key columns' names with the table's, 0 to 1; None if names play no part."""
    joinability: int
    """Key tuples that the table holds."""
    key_tuples: int
    """Key tuples of the query."""

    @property
    def usefulness(self) -> float:
        """Containment * uniqueness: how much of the query finds a partner, and how close to just one."""
        return self.containment * self.uniqueness

    @property
    def is_chance(self) -> bool:
        """Whether independent columns may well give this joinability, too: see `is_likely`."""
        return is_likely(self.joinability, self.chance, self.key_tuples)


def is_likely(joinability: float, chance: float, key_tuples: int, likely: float = LIKELY) -> bool:
    """Tell whether a joinability is to be expected where `chance` is, by the Chernoff-Hoeffding bound.

    The probability that of n key tuples at least j join, where c are expected to, is at most
    ``(c / j) ** j * ((n - c) / (n - j)) ** (n - j)``; what has at least the probability `likely` is to be expected.
    """
    if joinability <= chance:
        return True
    if chance <= 0.0:
        return False
    left = key_tuples - joinability
    bound = joinability * log(chance / joinability)
    if left > 0:
        bound += left * log((key_tuples - chance) / left)
    return bound > log(likely)


def are_likely(joinability: Floats, chance: Floats, key_tuples: int, likely: float) -> npt.NDArray[np.bool_]:
    """Tell for many joinabilities of as many key tuples what `is_likely` tells for one."""
    tried = (joinability > chance) & (chance > 0.0)
    found: npt.NDArray[np.bool_] = joinability <= chance
    joined, expected = joinability[tried], chance[tried]
    left = key_tuples - joined
    bound = joined * np.log(expected / joined)
    some = left > 0
    bound[some] += left[some] * np.log((key_tuples - expected[some]) / left[some])
    found[tried] = bound > log(likely)
    return found


class Measured(NamedTuple):
    """What the values of a table's columns tell about a key."""

    uniqueness: float
    fan_out: float
    most_fan_out: int
    chance: float
    joinability: int


def usefulness(measured: Measured, key_tuples: int) -> float:
    """Return how useful a table is that was measured so (`Evidence.usefulness`)."""
    return measured.joinability / key_tuples * measured.uniqueness


def measure(arrays: SegmentArrays, table: int, tuples: Ids, mapping: Sequence[int]) -> Measured:
    """Measure how a table (its place in the segment) holds key tuples under a mapping.

    The tuples are places of tokens in the segment; those with a value that the segment does not have are left out.
    """
    columns = [int(arrays.table_column_first[table]) + column for column in mapping]
    asked = [codes_of(arrays, column, tuples[:, key]) for key, column in enumerate(columns)]
    return measure_codes([column_codes(arrays, column) for column in columns], asked)


def measure_codes(columns: Sequence[Ids], asked: Sequence[Ids]) -> Measured:
    """Do the same with the codes of columns row by row, and those of the key tuples in these columns; 0 for none."""
    known = np.logical_and.reduce([codes > 0 for codes in asked])
    wanted = [codes[known] for codes in asked]
    whole = np.logical_and.reduce([codes > 0 for codes in columns])
    rows = int(whole.sum())
    distinct, fan_outs = _count([codes[whole] for codes in columns], wanted)
    joined = fan_outs[fan_outs > 0]
    return Measured(
        uniqueness=distinct / rows if rows else 0.0,
        fan_out=float(joined.sum() / len(joined)) if len(joined) else 0.0,
        most_fan_out=int(joined.max(initial=0)),
        chance=_chance(columns, wanted),
        joinability=len(joined),
    )


def codes_of(arrays: SegmentArrays, column: int, tokens: Ids) -> Ids:
    """Return the codes of tokens in a column, 0 for those that it does not have."""
    known = column_dictionary(arrays, column)
    if not len(known):
        return np.zeros(len(tokens), np.int64)
    place = np.minimum(np.searchsorted(known, tokens), len(known) - 1)
    return np.where(known[place] == tokens, place + 1, 0)


def _count(columns: Sequence[Ids], asked: Sequence[Ids]) -> tuple[int, Ids]:
    """Return how many distinct combinations rows have, and how many rows have each that is asked for."""
    if not len(columns[0]):
        return 0, np.zeros(len(asked[0]), np.int64)
    held, wanted, codes = columns[0].astype(np.int64), asked[0], int(columns[0].max()) + 1
    wanted = np.where(wanted < codes, wanted, 0)
    for column, also in zip(columns[1:], asked[1:], strict=True):
        size = int(column.max()) + 1
        if codes * size > MOST_CODES:
            # With 0 in front, so that only 0 is number 0.
            numbers, every = np.unique(np.concatenate([[0], held, wanted]), return_inverse=True)
            held, wanted, codes = every[1 : 1 + len(held)], every[1 + len(held) :], len(numbers)
        wanted = np.where((wanted > 0) & (also < size), wanted * size + also, 0)
        held, codes = held * size + column, codes * size
    if codes <= COUNTED * len(held) + COUNTED_ANYWAY:
        counts = np.bincount(held, minlength=codes)
        return int(np.count_nonzero(counts)), counts[wanted]
    return _distinct(held), _rows_of(wanted, held[_are_asked(columns, asked)])


def _distinct(numbers: Ids) -> int:
    """Return how many distinct numbers there are; hashing them takes a third of the time that sorting does."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return int(pc.count_distinct(pa.array(numbers)).as_py())


def _are_asked(columns: Sequence[Ids], asked: Sequence[Ids]) -> npt.NDArray[np.bool_]:
    """Tell which rows have a value that is asked for, in the column with the most values."""
    column, own = max(zip(columns, asked, strict=True), key=lambda pair: int(pair[0].max()))
    flags = np.zeros(max(int(column.max()), int(own.max(initial=0))) + 1, np.bool_)
    flags[own] = True
    found: npt.NDArray[np.bool_] = flags[column]
    return found


def _rows_of(wanted: Ids, held: Ids) -> Ids:
    """Return how many rows hold each of some numbers."""
    numbers, place = np.unique(wanted, return_inverse=True)
    if not len(numbers):
        return np.zeros(0, np.int64)
    at = np.minimum(np.searchsorted(numbers, held), len(numbers) - 1)
    counts: Ids = np.bincount(at[numbers[at] == held], minlength=len(numbers))[place]
    return counts


def _chance(columns: Sequence[Ids], asked: Sequence[Ids]) -> float:
    """Return the joinability to be expected if the columns were independent.

    Of a key tuple the rarest value stays where it is, in so many rows. Each of them has the tuple's other values with
    the probability that their shares of all rows give.
    """
    if len(columns) < 2 or not len(asked[0]):
        return 0.0
    counts = [np.bincount(codes, minlength=int(own.max()) + 1) for codes, own in zip(columns, asked, strict=True)]
    occurs = np.sort(np.stack([count[codes] for count, codes in zip(counts, asked, strict=True)]), axis=0)
    together: Floats = (occurs[1:] / len(columns[0])).prod(axis=0)
    return float((1 - (1 - together) ** occurs[0]).sum())
