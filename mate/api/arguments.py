"""Arguments as people give them: whole numbers of any library, sizes with a unit, one value where a list may be."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import SupportsIndex

from mate.display import size_of
from mate.errors import MateError, QueryError


def whole_number(what: str, given: SupportsIndex, least: int = 1, most: int | None = None) -> int:
    """Return a whole number, also one of NumPy, or say what it must be."""
    try:
        number = None if isinstance(given, bool) else index(given)
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise QueryError(f"{what} must be a whole number {bounds}, not {given!r}")
    return number


def several(what: str, given: str | Iterable[str]) -> list[str]:
    """Return texts of which one may be given without a list."""
    found = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [None]
    if not all(isinstance(text, str) for text in found):
        raise MateError(f"{what} takes a text or a list of texts, not {_kind(given)}")
    return [text for text in found if text is not None]


def size(what: str, given: SupportsIndex | str) -> int:
    """Return a number of bytes, which may be a text such as 2GB."""
    if isinstance(given, str):
        found = size_of(given)
        if found is None:
            raise MateError(f"{what} takes a number of bytes or a size such as 2GB, not {given!r}")
        return found
    return whole_number(what, given)


def seconds(what: str, given: float) -> float:
    """Return a number of seconds."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not given >= 0:
        shown = f"{given:g}" if isinstance(given, int | float) else repr(given)
        raise MateError(f"{what} takes a number of seconds from 0 on, not {shown}")
    return given


def instance(what: str, given: object, kind: type, example: str) -> None:
    """Refuse what is not of a type."""
    if not isinstance(given, kind):
        raise MateError(f"{what} takes {example}, not {_kind(given)}")


def _kind(given: object) -> str:
    return "None" if given is None else f"a value of type {type(given).__name__}"
