"""Text for people, and from them; control characters become visible and never reach a terminal or page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_ALLOWED = {"\u200c", "\u200d"}
"""Format characters that words and emoji need: zero-width non-joiner and joiner."""
_CONTROL_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Escape sequences, direction changes, bytes of file names that are not UTF-8, line separators."""


def visible(text: str) -> str:
    """Replace control characters by pictures or escapes: a tab by ``␉``, U+202E by ``\\u202e``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_picture, text))


def _picture(character: str) -> str:
    if unicodedata.category(character) not in _CONTROL_CATEGORIES or character in _ALLOWED:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def size_text(size: int) -> str:
    """Format a number of bytes."""
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"


LARGEST_SIZE = 2**63 - 1
_SIZE = re.compile(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]?)i?b?\s*", re.IGNORECASE | re.ASCII)


def size_of(text: str) -> int | None:
    """Parse a size such as 2GB into bytes; None if it is no size."""
    match = _SIZE.fullmatch(text)
    if not match:
        return None
    return min(LARGEST_SIZE, int(float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " ")))


def split_names(texts: Iterable[str], header: Sequence[str], separator: str = ",") -> list[str]:
    """Parse names of columns; one text may hold several, unless a column is called so as a whole."""
    names: list[str] = []
    for text in texts:
        names += [text] if text in header else [part.strip() for part in text.split(separator)]
    return names


def counted(number: int, what: str) -> str:
    """Format a number with a noun, in the singular or plural."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def fan_out_text(mean: float, most: int) -> str:
    """Format rows per match: the mean, and the maximum if it differs."""
    return f"{most:,}" if mean == most else f"{mean:,.1f} (max {most:,})"


def times_text(joinability: int, chance: float) -> str:
    """Format how many times more key tuples match than by chance; empty without a chance."""
    if not chance:
        return ""
    times = joinability / chance
    return f"{times:,.1f}×" if times < 100 else f"{times:,.0f}×"
