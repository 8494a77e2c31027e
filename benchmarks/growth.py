"""How cost grows with size: lines by least squares, plain and in logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from math import log


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return intercept and slope of the line through points, by least squares."""
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    return mean_y - slope * mean_x, slope


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Return e where cost grows as size to the power of e; None where there are not two sizes."""
    kept = [(log(size), log(cost)) for size, cost in points if size > 0 and cost > 0]
    return line(kept)[1] if len({size for size, _ in kept}) > 1 else None
