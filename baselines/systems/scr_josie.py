"""SCR JOSIE: JOSIE finds the tables by the initial column, the ordinary index their rows, and every pair is compared.

JOSIE ranks columns by a single one of the query's. For an exact n-ary answer its rank must bound the joinability, and
plain overlap does not: key tuples may share a value, so that one matching value may stand for many joining tuples. So
each value of the initial column counts as often as there are key tuples with it. A mapping puts the initial column on
one column c of the table, and every tuple that joins under it has its initial value in c; hence

    joinability(table) <= max over its columns c of  sum over values v in both of  |{key tuples with v}|

which is the weighted overlap that JOSIE ranks columns by. All columns it did not return have no more of it than the
last one it did. So tables are taken from JOSIE, some columns at a time, until that is at most the k-th joinability.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from baselines.systems.josie import top_k as josie_top_k
from baselines.systems.josie_costs import costs_of
from baselines.systems.josie_tables import best_of, tables_of
from mate.search.discovery import Prepared, SearchResult, SearchSettings, Statistics, answer, begin
from mate.search.joinability import TableScore
from mate.store.base import IndexStore, as_ids

if TYPE_CHECKING:
    from mate.search.discovery import AnyQuery

FIRST_COLUMNS = 100
GROWTH = 4
"""Columns that JOSIE is asked for at first, and how many times more in every further round."""


def search(
    store: IndexStore, query: AnyQuery, key: Sequence[str], k: int = 10, settings: SearchSettings | None = None
) -> SearchResult:
    """Return the k tables with the highest joinability, those to look at given by JOSIE."""
    prepared, chosen, statistics = begin(store, query, key, k, settings, "scr-josie")
    with statistics.phase("calibrate"):
        costs_of(store.josie())
    return answer(store, prepared, _scores(store, prepared, chosen, statistics), statistics)


def _scores(
    store: IndexStore, prepared: Prepared, settings: SearchSettings, statistics: Statistics
) -> list[TableScore]:
    """Ask JOSIE for more and more columns until no table left can be among the k best."""
    index = store.josie()
    values, tuples = np.unique(prepared.tuples[:, prepared.initial], return_counts=True)
    done = index.sets_of(as_ids(list(settings.exclude)))
    scores: list[TableScore] = []
    columns = FIRST_COLUMNS
    kth, left = 0, True
    while left:
        with statistics.phase("josie"):
            found = josie_top_k(index, values, columns, weights=tuples, floor=kth, exclude=done)
            tables = tables_of(index, found)
            done = np.append(done, index.sets_of(tables.table_id))
        scores = best_of(store, prepared, tables, settings, statistics, scores)
        kth = scores[-1].joinability if len(scores) == settings.k and settings.table_filters else 0
        left = len(found.set_id) == columns and int(found.overlap[-1]) > kth
        columns *= GROWTH
    return scores
