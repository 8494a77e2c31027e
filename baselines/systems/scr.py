"""SCR, single-column retrieval: Algorithm 1 with every optimisation but the super key.

Every posting of the initial column is paired with the key tuples that share its value, and every pair is compared
with the row itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mate.search import discovery
from mate.search.discovery import SearchResult, SearchSettings
from mate.store.base import IndexStore

if TYPE_CHECKING:
    from mate.search.discovery import AnyQuery


def search(
    store: IndexStore, query: AnyQuery, key: Sequence[str], k: int = 10, settings: SearchSettings | None = None
) -> SearchResult:
    """Return the k tables with the highest joinability, without the row filter."""
    found = discovery.search(store, query, key, k, replace(settings or SearchSettings(), row_filter=False))
    found.statistics.system = "scr"
    return found
