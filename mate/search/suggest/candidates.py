"""Keys with a table that they join with, and how much speaks for each: docs/evidence.md has the formulas."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mate.lake.records import TableInfo
from mate.search.suggest.columns import AskingTable, Floats, Pairs

UNIQUE = 0.95
"""Uniqueness of a key whose columns make rows unique, errors aside."""

FINDING = 0.5
"""Usefulness * support of a key of several columns that is a finding of its own."""

EXACT, SHORT = 5, 0.95
"""Of a key of several columns: the power of its usefulness, and what a column beyond two leaves of its score."""

DOUBT, DOUBT_OF_NUMBERS = 2, 10
"""Joined values, or combinations, that give half of the support."""

UNLIKELY = 0.8
"""Share of the joined combinations of numbers that chance does not give, from which on they tell all that they can."""


@dataclass(frozen=True)
class Candidate:
    """A key with its mapping to a table, and what was measured of it."""

    table: int
    """The table's number in the finder."""
    info: TableInfo
    own: tuple[int, ...]
    """The key's columns, ascending."""
    other: tuple[int, ...]
    joined: int
    asked: int
    uniqueness: float
    chance: float
    support: float
    """How much the values tell, 0 to 1."""
    names: float
    """How well the names of the key's columns fit those of the table, 0 to 1."""
    copies: tuple[int, ...] = ()
    """Copies of the table, by their numbers in the lake."""

    @cached_property
    def usefulness(self) -> float:
        """Containment beyond chance * uniqueness."""
        beyond = (self.joined - self.chance) / max(self.asked - self.chance, 1e-9)
        return max(0.0, beyond) * self.uniqueness

    @cached_property
    def score(self) -> float:
        """What candidates are ordered by.

        Names matter less to keys of several columns; of findings, those that are exact and short are more likely.
        """
        if len(self.own) == 1:
            return self.usefulness * self.support * (1 + self.names) / 2
        power, short = (EXACT, SHORT ** (len(self.own) - 2)) if self.is_finding else (1, 1.0)
        return self.usefulness**power * self.support * (3 + self.names) / 4 * short

    @property
    def is_finding(self) -> bool:
        """Whether columns make rows unique together that do not alone, and hold most of the key."""
        return len(self.own) > 1 and self.uniqueness >= UNIQUE and self.usefulness * self.support >= FINDING

    def is_nested(self, other: Candidate) -> bool:
        """Tell whether one of two keys for the same table includes the other."""
        mine, yours = set(self.own), set(other.own)
        return self.table == other.table and (mine <= yours or mine >= yours)


def single_support(asking: AskingTable, pairs: Pairs, tables: int) -> Floats:
    """Return how much the values of each pair tell, in a lake of so many tables.

    Words tell by themselves. Numbers tell as much as they cover of the other column, or as few tables hold them; those
    that a counter gives, which row numbers hold, only what they cover, unless names fit; small integers as much as they
    cover, and as few tables hold them or their names fit.
    """
    letterless, small, counter = (
        np.array([getattr(column, name) for column in asking.columns])[pairs.own]
        for name in ("is_letterless", "is_small", "is_counter")
    )
    lake = tables + 1
    rarity = np.log(lake / np.minimum(lake, pairs.holders + 1)) / np.log(lake)  # the table holds its own values, too
    coverage = pairs.values / pairs.distinct
    rare = np.where(counter & (pairs.fit == 0), 0.0, rarity**2)
    telling = np.where(small, coverage * np.maximum(rarity, pairs.names), np.maximum(coverage, rare))
    enough = pairs.values / (pairs.values + np.where(letterless, DOUBT_OF_NUMBERS, DOUBT))
    found: Floats = enough * np.where(letterless, telling, 1.0)
    return found


def joint_support(asking: AskingTable, key: Candidate, fit: float, rows: int) -> float:
    """Return how much the values of a key of several columns tell, in a table of so many rows.

    Numbers tell as much as their combinations are unlikely, or as they cover of the table's; small integers besides as
    much as their names fit, on average. What all rows would cover is estimated from the sample.
    """
    enough = key.joined / (key.joined + DOUBT)
    columns = [asking.columns[column] for column in key.own]
    if not all(column.is_letterless for column in columns):
        return enough
    unlikely = min(1.0, (1 - key.chance / key.joined) / UNLIKELY) ** 2
    sampled, every = len(asking.sample.places[0]), len(asking.columns[0].number)
    joined = key.joined * (1 + (every / sampled - 1) * key.asked / sampled)
    telling = max(unlikely, min(1.0, joined / (key.uniqueness * rows)))
    return enough * telling * (fit if all(column.is_small for column in columns) else 1.0)
