"""SCR, single-column retrieval: Algorithm 1 with every optimisation but the super key.

Every posting of the initial column is paired with the key tuples that share its value, and every pair is compared
with the row itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mate.lake.base import Index
from mate.search.algorithm_1 import algorithm_1
from mate.search.engine import NamedStrategy, SearchSettings, run
from mate.search.results import SearchResult
from mate.search.systems import settings_with

if TYPE_CHECKING:
    from mate.search.engine import AnyQuery


def search(
    index: Index, query: AnyQuery, key: Sequence[str], k: int | None = None, settings: SearchSettings | None = None
) -> SearchResult:
    """Return the k tables with the highest joinability, without the row filter."""
    unfiltered = replace(settings_with(k, settings), row_filter=False)
    return run(NamedStrategy("scr", algorithm_1), index, query, key, unfiltered)
