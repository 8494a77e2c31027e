"""How numbers are written, the same on the terminal, in tables and on the page."""

from __future__ import annotations

import math
from collections.abc import Iterable

NOTHING = "–"
"""Stands where there is no number."""


def absent(value: object) -> bool:
    """Tell whether there is no number: None, NaN or pandas' NA."""
    return value is None or str(value) in ("nan", "<NA>", "NaN", "None")


def number(value: float | None, digits: int = 3) -> str:
    """Write a number with so many significant digits: 1,234, 12.3, 0.00123, 4.9e-05."""
    if value is None or absent(value):
        return NOTHING
    value = float(value)
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -4:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, digits - 1 - size)}f}"


def whole(value: float | None) -> str:
    """Write a number without what follows the point: 1,234."""
    return NOTHING if value is None or absent(value) else f"{float(value):,.0f}"


def share(value: float | None) -> str:
    """Write a precision or another share: 0.57."""
    return NOTHING if value is None or absent(value) else f"{float(value):.2f}"


def percent(value: float | None) -> str:
    """Write a share in percent: 85 %."""
    return NOTHING if value is None or absent(value) else f"{100 * float(value):.0f} %"


def times(value: float | None) -> str:
    """Write a ratio: 12.3×; a tenth of a unit is enough."""
    if value is None or absent(value):
        return NOTHING
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}×" if value >= 100 else f"{value:.1f}×" if value >= 2 else f"{value:.2f}×"


def span(values: Iterable[float]) -> str:
    """Write the range of some ratios: 0.90× to 12.3×."""
    found = list(values)
    low, high = min(found), max(found)
    return times(low) if times(low) == times(high) else f"{times(low)} to {times(high)}"


def gigabytes(value: float | None) -> str:
    """Write bytes in the unit that fits."""
    if value is None or absent(value):
        return NOTHING
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= size:
            return f"{number(value / size)} {unit}"
    return f"{value:.0f} B"


def seconds(value: float | None) -> str:
    """Write a time in the unit that fits: 2.3 ms, 1.2 s."""
    if value is None or absent(value):
        return NOTHING
    if value < 1:
        return f"{number(value * 1e3)} ms"
    return f"{number(value)} s"


def count(value: int, word: str) -> str:
    """Write a number of things: 1 query, 3 queries."""
    plural = word[:-1] + "ies" if word.endswith("y") else word + "s"
    return f"{value:,} {word if value == 1 else plural}"
