"""Where results may be written: never over a query, a file of the lake, or into a lake."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path

from mate.api.addresses import is_inside
from mate.errors import QueryError

_LAKE = ("manifest.json", "segments")
"""What the folder of a lake holds."""


def check_output(
    target: Path, lake: str, find_sources: Callable[[], Iterable[str]], queries: Iterable[object] = ()
) -> None:
    """Refuse to write a result where it would destroy something.

    `lake` is the address of the lake that was searched, `find_sources` returns the files that it was read from, and
    `queries` is what was searched with; only those that are paths can be overwritten.
    """
    folders = (target, *target.resolve().parents)
    inside = lake if is_inside(target, lake) else next(filter(_is_lake, folders), None)
    if inside is not None:
        raise QueryError(f"{target} is inside the lake {inside}; write the result to another place")
    try:
        found = target.stat()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise QueryError(f"{target} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    if target.is_dir():
        raise QueryError(f"{target} is a folder; results are written to a file")
    if not target.is_file():
        raise QueryError(f"{target} is no plain file; write the result to another place")
    if any(_is(found, query) for query in queries if isinstance(query, str | PathLike)):
        raise QueryError(f"{target} is the query itself; write the result to another file")
    if any(_is(found, source) for source in find_sources()):
        raise QueryError(f"{target} is a file of the lake; write the result to another place")


def _is_lake(folder: Path) -> bool:
    return all((folder / name).exists() for name in _LAKE)


def _is(found: os.stat_result, path: str | PathLike[str]) -> bool:
    """Tell whether a path leads to this file, by whatever name."""
    try:
        return os.path.samestat(found, Path(path).stat())
    except (OSError, ValueError):
        return False
