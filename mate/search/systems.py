"""Discovery systems by name: those built in, and those that packages declare (entry points ``mate.systems``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

from mate.errors import QueryError, did_you_mean
from mate.search.engine import NamedStrategy, SearchSettings, Strategy, run

if TYPE_CHECKING:
    from mate.lake.base import Index
    from mate.search.engine import AnyQuery
    from mate.search.results import SearchResult

ENTRY_POINTS = "mate.systems"


class System(Protocol):
    """A function that finds joinable tables."""

    def __call__(
        self,
        index: Index,
        query: AnyQuery,
        key: Sequence[str],
        k: int | None = None,
        settings: SearchSettings | None = None,
    ) -> SearchResult:
        """Return the k tables with the highest joinability; ``settings.k`` of them unless `k` is given."""


def settings_with(k: int | None, settings: SearchSettings | None = None) -> SearchSettings:
    """Return the settings, or the usual ones, with another k if one is given."""
    chosen = settings or SearchSettings()
    return chosen if k is None else replace(chosen, k=k)


@dataclass(frozen=True)
class StrategySystem:
    """The system that goes through segments with a strategy, given by module and function; loaded when first used."""

    name: str
    module: str
    function: str
    ahead: str | None = None
    """Function that works out what can be known of a segment before the strategy comes to it."""
    column_first: bool = False
    """Whether it is column-first search (see `Search`)."""

    @property
    def strategy(self) -> Strategy:
        """The strategy itself."""
        found: Strategy = getattr(import_module(self.module), self.function)
        return found

    def __call__(
        self,
        index: Index,
        query: AnyQuery,
        key: Sequence[str],
        k: int | None = None,
        settings: SearchSettings | None = None,
    ) -> SearchResult:
        """Return the k tables with the highest joinability."""
        ahead = getattr(import_module(self.module), self.ahead) if self.ahead else None
        strategy = NamedStrategy(self.name, self.strategy, ahead, self.column_first)
        return run(strategy, index, query, key, settings_with(k, settings))


BUILT_IN: Mapping[str, StrategySystem] = {
    system.name: system
    for system in (
        StrategySystem("column-first", "mate.search.column_first", "column_first", "cover_ahead", column_first=True),
        StrategySystem("mate", "mate.search.algorithm_1", "algorithm_1"),
    )
}
DEFAULT = "column-first"


def available() -> list[str]:
    """Return the names of all known systems."""
    return sorted({*BUILT_IN, *entry_points(group=ENTRY_POINTS).names})


def find_system(name: str = DEFAULT) -> System:
    """Return the system of that name."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        system: System = entry.load()
        return system
    raise QueryError(f'unknown system "{name}"; {did_you_mean(name, available())}')
