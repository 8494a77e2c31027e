"""Values of options: whole numbers within bounds, sizes, settings by name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence

from mate.display import size_of
from mate.errors import MateError

MOST = 2**63 - 1
"""The largest whole number that an index can count."""


def whole(option: str, least: int = 1, most: int = MOST) -> Callable[[str], int]:
    """Return what reads the whole number of an option; anything else is one clear error."""

    def number(text: str) -> int:
        match = re.fullmatch(r"[+-]?[0-9]{1,19}", text.strip())
        value = int(text) if match else None
        if value is None or not least <= value <= most:
            upto = f" to {most:,}" if most != MOST else " on"
            raise MateError(f"{option} takes a whole number from {least:,}{upto}, not {_shown(text)}")
        return value

    return number


def settings(option: str, given: Sequence[str], example: str) -> dict[str, str]:
    """Return settings that are written NAME=VALUE."""
    for text in given:
        if "=" not in text or text.startswith("="):
            raise MateError(f"{option} takes NAME=VALUE, such as {example}, not {_shown(text)}")
    return dict(text.split("=", 1) for text in given)


def numbers(option: str, given: Sequence[str]) -> Mapping[str, int]:
    """Return settings that are written NAME=N."""
    read = whole(option, -MOST)
    found = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            found[name] = read(value)
        except MateError:
            name = ""
        if not name:
            raise MateError(f"{option} takes NAME=N with a whole number, not {_shown(text)}")
    return found


def size(option: str) -> Callable[[str], int]:
    """Return what reads a size that a person wrote, such as 2GB."""

    def number(text: str) -> int:
        found = size_of(text)
        if found is None:
            raise MateError(f"{option} takes a size such as 2GB, not {_shown(text)}")
        return found

    return number


def add_memory(group: argparse._ActionsContainer) -> None:
    """Declare how much memory tasks may use."""
    group.add_argument(
        "--memory",
        type=size("--memory"),
        default="2GB",
        metavar="SIZE",
        help="memory of a task that writes a segment (default: 2GB)",
    )


def rows(text: str) -> range:
    """Return rows that a person wrote, counted from 1, as 8 or 8-20; they are returned counted from 0."""
    match = re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if first < 1 or last < first:
        raise MateError(f"--row takes a number from 1 on, or two such as 8-20, not {_shown(text)}")
    return range(first - 1, last)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
