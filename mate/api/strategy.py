"""How to search: which system, and what its row filter and first column are. Answers do not depend on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mate.errors import QueryError

if TYPE_CHECKING:
    from mate.lake.base import Index
    from mate.search.settings import SearchSettings
    from mate.search.systems import System

DEFAULT_SYSTEM = "column-first"


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to search.

    >>> import mate
    >>> fewest = mate.Strategy("mate", initial_column="postings")
    >>> with mate.open("lake.mate") as lake:
    ...     lake.search("sensors.csv", ["city", "day"], strategy=fewest).explain().system
    'mate'
    """

    system: str = DEFAULT_SYSTEM
    """"column-first"; "mate", the paper's Algorithm 1; or a baseline: "scr", "mcr", "scr-josie", "mcr-josie"."""
    hash: str | None = None
    """Which of the lake's hash functions filters rows, as NAME or NAME:BITS; the first unless given."""
    initial_column: str | None = None
    """The key column to begin with, by name or by rule: cardinality (the paper's, and usual), order, longest, postings,
    pairs (usual in column-first search of a database)."""


COLUMN_FIRST = Strategy()


def prepare(strategy: Strategy | str, index: Index) -> tuple[System, SearchSettings]:
    """Return the system and its settings, refusing what it would not use."""
    from mate.search.settings import FilterSettings, SearchSettings
    from mate.search.systems import find_system

    strategy = _checked(strategy)
    system = find_system(strategy.system)
    name, bits = _hash_named(strategy.hash)
    if strategy.system == DEFAULT_SYSTEM and index.has_directory:
        for option, value in (("hash", strategy.hash), ("initial_column", strategy.initial_column)):
            if value is not None:
                raise QueryError(
                    f'{option} "{value}" is of no use here: column-first search of a lake has no row filter and no '
                    'initial column; it is for the paper\'s Algorithm 1 (system "mate") and the baselines'
                )
    return system, SearchSettings(filters=FilterSettings(name, bits, initial_column=strategy.initial_column))


def _checked(given: Strategy | str) -> Strategy:
    """Return a strategy, which may be given by the name of its system; refuse what is none."""
    strategy = Strategy(given) if isinstance(given, str) else given
    if not isinstance(strategy, Strategy):
        raise QueryError(f"strategy is a mate.Strategy or the name of a system, not {given!r}")
    for option in ("system", "hash", "initial_column"):
        value = getattr(strategy, option)
        if not isinstance(value, str) and (option == "system" or value is not None):
            raise QueryError(f"{option} of a strategy is a name, not {value!r}")
    return strategy


def _hash_named(text: str | None) -> tuple[str | None, int | None]:
    if text is None:
        return None, None
    match = re.fullmatch(r"([^:]+)(?::([0-9]{1,9}))?", text)
    if match is None:
        raise QueryError(f"a hash function is named NAME or NAME:BITS, not {text!r}")
    return match[1], int(match[2]) if match[2] else None
