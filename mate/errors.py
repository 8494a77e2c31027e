"""The exceptions of MATE: they say what went wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from mate.display import visible


class MateError(Exception):
    """Base of all errors that MATE raises on purpose; the command line prints it in one line, without a traceback."""

    def __str__(self) -> str:
        return visible(super().__str__())


class TextError(MateError):
    """A value that is not text, or not valid Unicode."""


class HashError(MateError):
    """An unknown hash function, or invalid parameters of one."""


class CorpusError(MateError):
    """A corpus that cannot be read: a missing path, no table, an invalid setting."""


class StoreError(MateError):
    """An index that is missing, unreadable, or does not fit the request."""


class ChangedError(StoreError):
    """An index that was changed while it was read."""


class QueryError(MateError):
    """A query table or a search request that makes no sense."""


class CancelledError(MateError):
    """Work that was cancelled while it ran."""


class MissingPackageError(MateError):
    """A feature whose package is not installed; the message has the line that installs it."""


class UpdateError(MateError):
    """A change that cannot be made: a table, row or column that is not there, cells that do not fit."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a hint such as ``did you mean "xash"?``, or the list of known names."""
    names = sorted(known)
    folded = {known_name.casefold(): known_name for known_name in names}
    close = get_close_matches(str(name).casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f'did you mean "{folded[close[0]]}"?'
    return f"known: {', '.join(names) or 'none'}"
