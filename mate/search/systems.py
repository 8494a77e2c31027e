"""Discovery systems by name: MATE itself, and those that packages declare (entry points ``mate.systems``)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

from mate.errors import QueryError, did_you_mean

if TYPE_CHECKING:
    from mate.search.discovery import AnyQuery, SearchResult, SearchSettings
    from mate.store.base import IndexStore

ENTRY_POINTS = "mate.systems"


class System(Protocol):
    """A function that answers like `mate.search.discovery.search`."""

    def __call__(
        self,
        store: IndexStore,
        query: AnyQuery,
        key: Sequence[str],
        k: int = 10,
        settings: SearchSettings | None = None,
    ) -> SearchResult:
        """Return the k tables with the highest joinability."""


def available() -> list[str]:
    """Return the names of all known systems."""
    return sorted({"mate", *entry_points(group=ENTRY_POINTS).names})


def find_system(name: str) -> System:
    """Return the system of that name."""
    if name == "mate":
        from mate.search.discovery import search

        return search
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        system: System = entry.load()
        return system
    raise QueryError(f'unknown system "{name}"; {did_you_mean(name, available())}')
