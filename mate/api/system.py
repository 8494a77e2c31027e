"""The system that searches, with its options. Answers do not depend on it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mate.errors import QueryError

if TYPE_CHECKING:
    from mate.lake.base import Index
    from mate.search.settings import SearchSettings
    from mate.search.systems import System

COLUMN_FIRST = "column-first"


@dataclass(frozen=True, slots=True)
class SearchSystem:
    """A system to search with. All exact systems give the same answers.

    >>> fewest = mate.SearchSystem("mate", initial_column="postings")
    >>> lake.search("sensors.csv", ["city", "day"], system=fewest).explain().system
    'mate'
    """

    name: str = COLUMN_FIRST
    """"column-first"; "mate", the paper's Algorithm 1; or a baseline: "scr", "mcr", "scr-josie", "mcr-josie"."""
    hash: str | None = None
    """The lake's hash function that filters rows, as NAME or NAME:BITS; default: its first."""
    initial_column: str | None = None
    """The key column to begin with: its name, or cardinality (the paper's, default), order, longest, postings, pairs
    (default of column-first search in databases)."""

    def __post_init__(self) -> None:
        for option in ("name", "hash", "initial_column"):
            value = getattr(self, option)
            if not isinstance(value, str) and (option == "name" or value is not None):
                raise QueryError(f"{option} of a mate.SearchSystem is a text, not {value!r}")


def prepare(system: SearchSystem, index: Index) -> tuple[System, SearchSettings]:
    """Return the function that searches and its settings; refuse options that it would ignore."""
    from mate.search.settings import FilterSettings, SearchSettings
    from mate.search.systems import find_system

    search = find_system(system.name)
    filters = FilterSettings(initial_column=system.initial_column)
    if system.hash is not None:
        match = re.fullmatch(r"([^:]+)(?::([0-9]{1,9}))?", system.hash)
        if match is None:
            raise QueryError(f"a hash function is named NAME or NAME:BITS, not {system.hash!r}")
        filters = replace(filters, hash_name=match[1], bits=int(match[2]) if match[2] else None)
    if system.name == COLUMN_FIRST and index.has_directory:
        for option, value in (("hash", system.hash), ("initial_column", system.initial_column)):
            if value is not None:
                raise QueryError(
                    f'{option} "{value}" is of no use here: column-first search of a lake has no row filter and no '
                    'initial column; it is for the paper\'s Algorithm 1 (system "mate") and the baselines'
                )
    return search, SearchSettings(filters=filters)


def search_system(system: SearchSystem | str) -> SearchSystem:
    """Return a system, which may be given by its name."""
    if isinstance(system, str):
        return SearchSystem(system)
    if not isinstance(system, SearchSystem):
        raise QueryError(f"system takes the name of a system or a mate.SearchSystem, not {system!r}")
    return system
