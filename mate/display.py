"""Text for people: control characters are shown, never sent to a terminal or a page."""

from __future__ import annotations

import re
import unicodedata

_KEPT = {"\u200c", "\u200d"}
"""Format characters that words and emoji need: zero-width non-joiner and joiner."""
_SHOWN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories that change how other text is shown, or that no terminal can show: escape sequences, text that runs
backwards, bytes of a file name that are not UTF-8, separators of lines."""


def visible(text: str) -> str:
    """Return a text with its control characters as pictures or escapes: a tab as ``␉``, U+202E as ``\\u202e``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_picture(character) if is_control(character) else character for character in text)


def is_control(character: str) -> bool:
    """Tell whether a character must not reach a terminal as it is."""
    return unicodedata.category(character) in _SHOWN and character not in _KEPT


def _picture(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def size_text(size: int) -> str:
    """Return a number of bytes with its unit."""
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"


LARGEST_SIZE = 2**63 - 1
_SIZE = re.compile(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]?)i?b?\s*", re.IGNORECASE | re.ASCII)


def size_of(text: str) -> int | None:
    """Return the bytes of a size that a person wrote, such as 2GB; None if it is no size."""
    match = _SIZE.fullmatch(text)
    if not match:
        return None
    return min(LARGEST_SIZE, int(float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " ")))


def counted(number: int, what: str) -> str:
    """Return a number of things, in the singular or plural."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def fan_out_text(mean: float, most: int) -> str:
    """Return rows per match: the mean, and the most where that is more."""
    return f"{most:,}" if mean == most else f"{mean:,.1f} (max {most:,})"


def times_text(joinability: int, chance: float) -> str:
    """Return how many times more key tuples are held than chance would give; nothing where chance gives none."""
    if not chance:
        return ""
    times = joinability / chance
    return f"{times:,.1f}×" if times < 100 else f"{times:,.0f}×"
