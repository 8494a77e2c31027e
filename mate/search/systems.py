"""Discovery systems: how each goes through a segment, and which there are.

Systems read the same arrays and differ in how they go through a segment. All but MCR JOSIE are exact: a table that they
leave out joins no more key tuples than the k-th. Packages declare further ones as entry points of ``mate.systems``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, TypeAlias, cast

from mate.errors import QueryError, did_you_mean
from mate.lake.folder import require_folder
from mate.search.engine import run
from mate.search.settings import SearchSettings

if TYPE_CHECKING:
    from mate.lake.base import Index
    from mate.search.results import SearchResult
    from mate.search.search import AnyQuery, SegmentSearch

ENTRY_POINTS = "mate.systems"
DEFAULT = "column-first"
BUILT_IN: Mapping[str, str] = {DEFAULT: "mate.search.column_first", "mate": "mate.search.algorithm_1"}
"""Modules that have a `SYSTEM`, by its name; loaded when first used."""

Remainder: TypeAlias = Callable[[], None]
"""Does what is left to do of a segment."""


@dataclass(frozen=True)
class System:
    """A way through a segment. Calling it searches an index."""

    name: str
    visit: Callable[[SegmentSearch], Remainder | None]
    """Offer every table that may be among the k best to ``part.best``.

    May return early, with what is left to do, when the k-th score is worth knowing in other segments.
    """
    prefetch: Callable[[SegmentSearch], None] | None = None
    """Compute what does not depend on the k-th score into ``part.prefetched``, while another segment is searched."""
    column_first: bool = False
    intersects: bool = False
    by_directory: bool = False
    """Whether it needs the directory of a lake in a folder, which a database does not have."""
    filters_rows: bool = True
    """Whether super keys filter rows, unless the settings say otherwise."""

    def __call__(
        self,
        index: Index,
        query: AnyQuery,
        key: Sequence[str],
        k: int | None = None,
        settings: SearchSettings | None = None,
    ) -> SearchResult:
        """Return the best tables; `k`, if given, overrides that of the settings."""
        if self.by_directory:
            require_folder(index, f"{self.name} searches the directory of")
        chosen = settings_with(k, settings)
        return run(self, index, query, key, chosen if self.filters_rows else chosen.unfiltered())


def settings_with(k: int | None, settings: SearchSettings | None = None) -> SearchSettings:
    """Return the settings, or the usual ones, with another k if one is given."""
    chosen = settings or SearchSettings()
    return chosen if k is None else replace(chosen, k=k)


def available() -> list[str]:
    """Return the names of all known systems."""
    return sorted({*BUILT_IN, *entry_points(group=ENTRY_POINTS).names})


def find_system(name: str = DEFAULT) -> System:
    """Return the system of that name."""
    if name in BUILT_IN:
        return cast(System, import_module(BUILT_IN[name]).SYSTEM)
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        return cast(System, entry.load())
    raise QueryError(f'unknown system "{name}"; {did_you_mean(name, available())}')
