"""MCR JOSIE: JOSIE on every key column, and the tables that it finds for all of them are evaluated.

A table that joins well on the whole key need not be among the best for each column alone, so that answers may be
missed: by design, as in the paper. `recall` says how many were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from baselines.systems.josie import top_k as josie_top_k
from baselines.systems.josie_costs import costs_of
from baselines.systems.josie_tables import Tables, best_of, tables_of
from mate.search.discovery import SearchResult, SearchSettings, answer, begin
from mate.store.base import Ids, IndexStore, as_ids
from mate.store.josie import JosieIndex

if TYPE_CHECKING:
    from mate.search.discovery import AnyQuery

INITIAL_COLUMNS = 500
OTHER_COLUMNS = 10_000
"""The paper's k for the initial key column, and for each of the others."""


def search(
    store: IndexStore,
    query: AnyQuery,
    key: Sequence[str],
    k: int = 10,
    settings: SearchSettings | None = None,
    initial_columns: int = INITIAL_COLUMNS,
    other_columns: int = OTHER_COLUMNS,
) -> SearchResult:
    """Return up to k tables with a high joinability, of those that JOSIE finds for every key column."""
    prepared, chosen, statistics = begin(store, query, key, k, settings, "mcr-josie")
    index = store.josie()
    with statistics.phase("calibrate"):
        costs_of(index)
    with statistics.phase("josie"):
        excluded = index.sets_of(as_ids(list(chosen.exclude)))
        asked = [initial_columns if c == prepared.initial else other_columns for c in range(len(key))]
        found = [_bounded(index, prepared.tuples[:, c], asked[c], excluded) for c in range(len(key))]
        tables = reduce(_in_both, found)
    return answer(store, prepared, best_of(store, prepared, tables, chosen, statistics), statistics)


def _bounded(index: JosieIndex, values: Ids, columns: int, excluded: Ids) -> Tables:
    """Return the best tables for one key column, each with the most key tuples that its overlap can stand for."""
    tokens, tuples = np.unique(values, return_counts=True)
    tables = tables_of(index, josie_top_k(index, tokens, columns, exclude=excluded))
    heaviest = np.append(0, np.cumsum(np.sort(tuples)[::-1]))
    return Tables(tables.table_id, heaviest[tables.overlap])


def _in_both(left: Tables, right: Tables) -> Tables:
    """Return the tables that both have, with the lower bound of the two."""
    tables, i, j = np.intersect1d(left.table_id, right.table_id, return_indices=True)
    return Tables(tables, np.minimum(left.overlap[i], right.overlap[j]))


def recall(found: SearchResult, exact: SearchResult) -> float:
    """Return the share of the exact answer that was found; tables as good as its last one are as good an answer."""
    if not exact.results:
        return 1.0
    least = exact.results[-1].joinability
    good = sum(result.joinability >= least for result in found)
    return min(good, len(exact)) / len(exact)
