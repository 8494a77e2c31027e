"""Keys of several columns in one table: they grow pair by pair while that makes them more unique."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids
from mate.lake.records import TableInfo
from mate.search.evidence import KeyCounts
from mate.search.suggest._suggest import check_mappings, longer_mappings
from mate.search.suggest.candidates import Candidate, joint_support
from mate.search.suggest.columns import AskingTable, Floats, KeyRows, Pairs

LEAST = 0.3
"""Share of the asking rows, or key tuples, that a table must hold."""

LONGEST = 4
"""Columns that a key may have."""

CHECKS, MOST_CHECKS = 12, 120
"""Keys of each length that are checked in a table, at least, and in the most promising one; the best bound first."""

MOST_PAIRS = 200
"""Pairs of columns that keys grow from and with: the most useful ones. Tables of a thousand columns have more."""

CHECK_COSTS = 20_000
"""What a check costs beside reading rows, in rows."""


class MeasuredMappings(NamedTuple):
    """Mappings of the same length that were measured."""

    mappings: Ids
    """One row per mapping."""
    containment: Floats
    uniqueness: Floats


class SamplePlaces(NamedTuple):
    """Where a segment has the values of a sample, column after column and ascending within each."""

    first: Ids
    """Where a column's begin; one more at the end."""
    place: Ids
    value: Ids
    """Which value of the column it is."""

    @classmethod
    def of(cls, sample: KeyRows, places: Sequence[Ids]) -> SamplePlaces:
        """Order the places of columns' values, without those that the segment does not have."""
        sampled = [own[values] for own, values in zip(places, sample.values, strict=True)]
        order = [np.argsort(own, kind="stable")[np.count_nonzero(own < 0) :] for own in sampled]
        first = np.cumsum([0, *map(len, order)])
        place = np.concatenate([own[at] for own, at in zip(sampled, order, strict=True)])
        return cls(first, place, np.concatenate(order))


class ValueCodes(NamedTuple):
    """The codes of the sample's values in the columns that keys grow with, where they are known."""

    code: npt.NDArray[np.int32]
    is_known: npt.NDArray[np.bool_]


@dataclass
class KeyGrowth:
    """The search for longer keys in one table."""

    asking: AskingTable
    table: int
    """The number in the finder of the table that keys are looked for in."""
    info: TableInfo
    counts: KeyCounts
    first_column: int
    """Of the table, in its segment."""
    places: SamplePlaces
    pairs: Pairs
    """What keys grow from and with; mappings are places among them, ascending."""
    uniqueness: Floats
    """Of each pair's column in the table."""
    checks: int = 0
    """Mappings that were measured."""

    @property
    def cost(self) -> int:
        """What a check costs: rows that are read, and what it costs anyway."""
        return self.counts.rows + len(self.asking.sample.places[0]) + CHECK_COSTS

    @property
    def work(self) -> int:
        """What the checks cost."""
        return self.checks * self.cost

    def grow(self, most_columns: int, checks: int = CHECKS) -> Iterator[Candidate]:
        """Yield the keys of two columns and more that the table holds enough of; none has a unique part."""
        pairs, counts = self.pairs, self.counts
        if not len(pairs):
            return
        codes = ValueCodes(
            np.zeros((len(pairs), max(map(len, self.asking.sample.values))), np.int32), np.zeros(len(pairs), np.bool_)
        )
        last = MeasuredMappings(np.arange(len(pairs))[:, None], pairs.share, self.uniqueness)
        unique: list[list[int]] = []
        largest = float(pairs.distinct.max(initial=1))
        for columns in range(2, most_columns + 1):
            room = largest ** (most_columns - columns)
            mappings = longer_mappings(pairs, last, padded(unique), LEAST, checks, room)
            self.checks += len(mappings)
            measured = []
            for mapping, joined, tuples in self._joined(mappings, codes):
                if joined < LEAST * len(tuples) or not joined:
                    continue
                own, other = tuple(pairs.own[mapping].tolist()), tuple(pairs.other[mapping].tolist())
                uniqueness, names = counts.uniqueness(other), float(pairs.names[mapping].mean())
                asked = np.stack([codes.code[digit, tuples[:, at]] for at, digit in enumerate(mapping)], axis=1)
                found = joined, len(tuples), uniqueness, counts.chance(other, asked)
                key = Candidate(self.table, self.info, own, other, *found, 0.0, names)
                support = joint_support(self.asking, key, float(pairs.fit[mapping].mean()), counts.rows)
                yield replace(key, support=support)
                measured.append((mapping, joined / len(tuples), uniqueness))
                if uniqueness == 1:
                    unique.append(mapping)
            if not measured:
                return
            last = MeasuredMappings(*map(np.array, zip(*measured, strict=True)))

    def _joined(self, mappings: Ids, codes: ValueCodes) -> Iterator[tuple[list[int], int, npt.NDArray[np.int32]]]:
        """Yield each mapping with how many key tuples join, fewer where they are not enough, and the tuples."""
        if not len(mappings):
            return
        tuples = [self.asking.sample.tuples(tuple(key)) for key in self.pairs.own[mappings].tolist()]
        joined = check_mappings(
            self.counts.native,
            self.pairs.own,
            self.first_column + self.pairs.other,
            self.places,
            codes,
            mappings,
            np.concatenate(tuples),
            np.cumsum([0, *map(len, tuples)]),
            LEAST,
        )
        yield from zip(mappings.tolist(), joined.tolist(), tuples, strict=True)


def worth_growing(pairs: Pairs, uniqueness: Floats, wanted: npt.NDArray[np.bool_]) -> Ids:
    """Return the places of wanted pairs that a longer key can gain from: not unique, and the most useful of them."""
    places = np.flatnonzero(wanted & (uniqueness < 1))
    if len(places) > MOST_PAIRS:
        useful = (pairs.share * uniqueness * (1 + pairs.fit))[places]
        places = np.sort(places[np.argsort(-useful, kind="stable")[:MOST_PAIRS]])
    return places


def padded(mappings: Sequence[Sequence[int]]) -> Ids:
    """Return mappings of different lengths with a row each, -1 where they end."""
    found = np.full((len(mappings), LONGEST), -1)
    for row, mapping in enumerate(mappings):
        found[row, : len(mapping)] = mapping
    return found
