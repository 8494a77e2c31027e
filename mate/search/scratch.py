"""Where the kernels of Algorithm 1 hold and count the candidates of one table."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from mate.lake.arrays import Array
from mate.search.candidates import Probes

ROOM = 1_000_000
"""Candidates that are held before they are compared with their rows."""

MOST_WAYS = 64
"""A candidate that more mappings fit has its table scored by branch and bound."""

SMALLEST = 1_024
"""Mappings, pairs of mapping and key tuple, and options of a table that there is room for at first."""

CELLS = 1_000_000
MASKS = 4_000_000
"""Keys of two columns are counted by bits in tables that need no more than so many pairs of columns, and words for
pairs of column and key tuple; in others as wider keys are."""


class Used(IntEnum):
    """How much of a scratch the table at hand uses."""

    options = 0
    masks = 1
    mappings = 2
    members = 3


class Held(NamedTuple):
    """Candidates of a table that were not compared with their rows yet: postings, each with key tuples."""

    row: Array
    column: Array
    """Of the table: where the posting is."""
    stop: Array
    """Where the key tuples of each posting end; they begin where those before them end."""
    key_tuple: Array
    met: Array
    """The last group that each key tuple had a candidate in."""


class Options(NamedTuple):
    """The columns of a table that hold each distinct token: those of number n are ``first[n]:stop[n]``."""

    resolved: Array
    """The last group that each token was looked up for."""
    first: Array
    stop: Array
    column: Array
    """Counted within the table."""
    code: Array
    byte: Array
    """Where the codes of the column begin."""
    size: Array


class PairCounts(NamedTuple):
    """Keys of two columns: a mask of columns per initial column and key tuple, and counts per pair of columns."""

    masks: Array
    mask_used: Array
    """Which masks are not empty."""
    cell_count: Array
    """Key tuples per pair of columns."""
    cell_used: Array


class MappingCounts(NamedTuple):
    """Other keys: mappings numbered as they come, and the pairs of mapping and key tuple that were counted."""

    choices: Array
    """Columns that hold the value of each key column."""
    found: Array
    """How many they are."""
    wheel: Array
    mapping: Array
    buckets: Array
    """Numbers of mappings, by open addressing."""
    bucket_used: Array
    columns: Array
    """The columns of each mapping."""
    counts: Array
    """How many key tuples each mapping joins."""
    members: Array
    """Hash set of the pairs of mapping and key tuple."""
    member_used: Array


class Scratch(NamedTuple):
    """Work arrays; all but the candidates' are clean between tables.

    They are several tuples, because a kernel counts references for every array of a tuple that it touches.
    """

    used: Array
    """By `Used`."""
    held: Held
    options: Options
    pairs: PairCounts
    mappings: MappingCounts

    @property
    def room(self) -> int:
        """How many mappings, pairs of mapping and key tuple, and options there is room for."""
        return len(self.mappings.counts)


def scratch_for(probes: Probes, widest: int, most_pairs: int, room: int) -> Scratch:
    """Return a clean scratch for tables up to a width and a number of pairs."""
    room = max(room, 2 * MOST_WAYS)
    return Scratch(
        np.zeros(len(Used), np.int64),
        _held(probes, most_pairs),
        _options(len(probes.token), room),
        _pair_counts(probes, widest),
        _mapping_counts(probes.number.shape[1], room),
    )


def _held(probes: Probes, most_pairs: int) -> Held:
    size = min(ROOM, most_pairs) + int(np.diff(probes.first).max())
    row, column, stop, key_tuple = (np.empty(size, np.int32) for _ in range(4))
    return Held(row, column, stop, key_tuple, np.full(len(probes.number), -1))


def _options(tokens: int, room: int) -> Options:
    return Options(
        resolved=np.full(tokens, -1),
        first=np.empty(tokens, np.int64),
        stop=np.empty(tokens, np.int64),
        column=np.empty(room, np.int64),
        code=np.empty(room, np.int64),
        byte=np.empty(room, np.int64),
        size=np.empty(room, np.uint8),
    )


def _pair_counts(probes: Probes, widest: int) -> PairCounts:
    tuples, width = probes.number.shape
    masks = min(MASKS, tuples * widest * -(-widest // 64)) if width == 2 else 0
    cells = min(CELLS, widest**2) if width == 2 else 0
    return PairCounts(
        masks=np.zeros(masks, np.uint64),
        mask_used=np.empty(masks, np.int64),
        cell_count=np.zeros(cells, np.int32),
        cell_used=np.empty(cells, np.int64),
    )


def _mapping_counts(width: int, room: int) -> MappingCounts:
    buckets = 1 << (2 * room - 1).bit_length()
    return MappingCounts(
        choices=np.empty((width, MOST_WAYS), np.int64),
        found=np.empty(width, np.int64),
        wheel=np.empty(width, np.int64),
        mapping=np.empty(width, np.int64),
        buckets=np.full(buckets, -1),
        bucket_used=np.empty(room, np.int64),
        columns=np.empty((room, width), np.int64),
        counts=np.empty(room, np.int64),
        members=np.full(buckets, -1),
        member_used=np.empty(room, np.int64),
    )
