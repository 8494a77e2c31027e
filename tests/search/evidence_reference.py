"""Evidence in plain Python, from values: the readable reference of `mate.search.evidence`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import prod

from mate.search.evidence import Measured

Row = Sequence[Hashable | None]


def measure_rows(rows: Sequence[Row], tuples: Sequence[Row]) -> Measured:
    """Measure how rows, cut down to the mapped columns, hold distinct key tuples; None stands for no value."""
    whole = [tuple(row) for row in rows if None not in row]
    held = Counter(whole)
    fan_outs = [held[tuple(values)] for values in tuples if tuple(values) in held]
    return Measured(
        uniqueness=len(held) / len(whole) if whole else 0.0,
        fan_out=sum(fan_outs) / len(fan_outs) if fan_outs else 0.0,
        most_fan_out=max(fan_outs, default=0),
        chance=expected_by_chance(rows, tuples),
        joinability=len(fan_outs),
    )


def expected_by_chance(rows: Sequence[Row], tuples: Sequence[Row]) -> float:
    """Return the joinability to be expected if the columns were independent; 0 for a single column."""
    if not rows or len(rows[0]) < 2:
        return 0.0
    counts = [Counter(column) for column in zip(*rows, strict=True)]
    return sum(_probability([count[value] for count, value in zip(counts, t, strict=True)], len(rows)) for t in tuples)


def _probability(occurs: Sequence[int], rows: int) -> float:
    """Return how likely a key tuple is to be in some row: the rarest value stays, the others are drawn by share."""
    rarest, *others = sorted(occurs)
    return float(1 - (1 - prod(count / rows for count in others)) ** rarest)
