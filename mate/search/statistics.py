"""What a search did: the funnel from the query to the answers, and where the time went."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any


@dataclass(slots=True)
class Statistics:
    """Counters and seconds of one search; each strategy fills those that it has."""

    system: str = ""
    hash: str = ""
    initial_column: str = ""
    key_tuples: int = 0
    known_tuples: int = 0
    """Key tuples all of whose values occur in the index at all."""
    segments: int = 0
    segments_cut: int = 0
    """Segments that know too few of the key tuples for any of their tables to be among the answers."""
    postings: int = 0
    """Posting list items of the initial column's values."""
    pairs: int = 0
    """Postings paired with the key tuples that share their value: what the row filter decides on."""
    candidates: int = 0
    """Pairs that passed the row filter, of the tables that the search came to."""
    rows_compared: int = 0
    """Postings whose rows were compared by their first bits before the others (`RowFilter.first_bits`)."""
    rows_cut_by_first_bits: int = 0
    """Of these, those that had no key tuple left then."""
    pairs_compared: int = 0
    """Their pairs with key tuples."""
    pairs_cut_by_first_bits: int = 0
    """Of these, those whose row lacks one of the first bits."""
    tables: int = 0
    """Tables that were bounded: with a posting of the initial column, or of every key column (column-first)."""
    tables_cut_rule_1: int = 0
    tables_cut_rule_2: int = 0
    tables_checked: int = 0
    mappings_bounded: int = 0
    """Column-first: partial and whole mappings that the joint bound was computed for."""
    mappings_checked: int = 0
    tables_by_row: int = 0
    """Column-first: tables that were counted row by row, for all mappings at once."""
    rows_read: int = 0
    """Rows that were looked at to verify candidates."""
    rounds: int = 1
    """How often segments were gone through: more than once if more tables might be as useful as the k-th."""
    tables_measured: int = 0
    """Tables whose evidence was measured."""
    true_positives: int = 0
    false_positives: int = 0
    false_positives_held: int = 0
    """False positives whose row holds every value of the key tuple, but one column would have to serve two key columns:
    no filter of rows can remove them."""
    seconds: dict[str, float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def checked(self) -> int:
        """Candidates that were checked exactly."""
        return self.true_positives + self.false_positives

    @property
    def precision(self) -> float | None:
        """TP / (TP + FP) over the candidates that were checked; None if there were none."""
        return self.true_positives / self.checked if self.checked else None

    @property
    def filter_precision(self) -> float | None:
        """The same without the false positives that no filter of rows can remove."""
        checked = self.checked - self.false_positives_held
        return self.true_positives / checked if checked else None

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        names = [name for name in self.__slots__ if not name.startswith("_")]
        return {
            **{name: getattr(self, name) for name in names},
            "precision": self.precision,
            "filter_precision": self.filter_precision,
        }

    def add_round(self, other: Statistics) -> None:
        """Add what a further round did; what was counted of query, segments and tables stays as it is."""
        self.count({name: getattr(other, name) for name in WORK} | {"rounds": 1})
        with self._lock:
            for name, seconds in other.seconds.items():
                self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def count(self, counters: Mapping[str, int]) -> None:
        """Add to counters, by name; safe from several threads."""
        with self._lock:
            for name, value in counters.items():
                setattr(self, name, getattr(self, name) + int(value))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time of the block to a phase; that of threads adds up."""
        start = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


WORK = (
    "rows_compared",
    "rows_cut_by_first_bits",
    "pairs_compared",
    "pairs_cut_by_first_bits",
    "candidates",
    "tables_checked",
    "mappings_bounded",
    "mappings_checked",
    "tables_by_row",
    "rows_read",
    "tables_measured",
    "true_positives",
    "false_positives",
    "false_positives_held",
)
"""Counters of work, which adds up over rounds."""
