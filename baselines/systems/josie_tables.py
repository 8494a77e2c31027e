"""From the columns that JOSIE finds to tables, and from tables to the rows that may join: SCR's part of the work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from baselines.systems.josie import Found
from mate.search import discovery
from mate.search.discovery import Prepared, Ranked, SearchSettings, Statistics, top_k
from mate.search.joinability import TableScore, dense
from mate.search.scan import Scan
from mate.store.base import Candidates, Ids, IndexStore, Probes
from mate.store.josie import JosieIndex


class Tables(NamedTuple):
    """Tables, ascending, with the highest overlap that one of their columns has."""

    table_id: Ids
    overlap: Ids


def tables_of(index: JosieIndex, found: Found) -> Tables:
    """Return the tables of the columns that JOSIE found."""
    columns = index.columns(found.set_id)
    order = np.argsort(found.set_id)
    overlap = found.overlap[order[np.searchsorted(found.set_id[order], columns.set_id)]]
    tables, place = np.unique(columns.table_id, return_inverse=True)
    best = np.zeros(len(tables), np.int64)
    np.maximum.at(best, place, overlap)
    return Tables(tables, best)


def best_of(
    store: IndexStore,
    prepared: Prepared,
    tables: Tables,
    settings: SearchSettings,
    statistics: Statistics,
    held: Sequence[TableScore] = (),
) -> list[TableScore]:
    """Return the k best of the tables and of those held already, every pair compared as SCR does.

    The overlap bounds what a table may join. Over flat arrays the same loop does the work as for SCR.
    """
    if store.flat is not None and not len(store.flat_lacks):
        values = prepared.tuples[:, prepared.initial]
        probes = Probes(values, np.arange(len(values)), np.zeros((len(values), 0), np.uint64))
        return Scan(store.flat, prepared, probes, None, settings, statistics).top_k(tables.table_id, held)
    source = TablesSource(store, prepared, tables.table_id, tables.overlap, statistics)
    return top_k(source, prepared, settings, statistics, lambda row_ids: dense(store.rows(row_ids)), held)


class TablesSource:
    """The candidates of tables that JOSIE found, from the ordinary index: it knows rows, JOSIE's does not."""

    def __init__(self, store: IndexStore, prepared: Prepared, tables: Ids, bound: Ids, statistics: Statistics) -> None:
        self._store, self._statistics = store, statistics
        self._values = prepared.tuples[:, prepared.initial]
        order = np.lexsort((tables, -bound))
        # How many pairs a table has matters only if they might not fit into memory.
        weight = self._pairs(tables) if statistics.pairs > discovery.MOST_PAIRS else bound
        self.ranked = Ranked(tables[order], bound[order], bound[order], weight[order])
        statistics.tables += len(tables)

    def _pairs(self, tables: Ids) -> Ids:
        """Count the pairs of posting and key tuple by table."""
        with self._statistics.phase("fetch and filter"):
            counts = self._store.count_by_table(*np.unique(self._values, return_counts=True))
        order = np.argsort(counts.table_id)
        found: Ids = counts.postings[order[np.searchsorted(counts.table_id[order], tables)]]
        return found

    def block(self, first: int, stop: int) -> Iterator[Candidates]:
        """Yield the candidates of a block of tables, some key tuples at a time."""
        parts = -(-int(self.ranked.weight[first:stop].sum()) // discovery.MOST_PAIRS)
        tuples = np.arange(len(self._values))
        for part in range(parts):
            chosen = tuples[part::parts]
            probes = Probes(self._values[chosen], chosen, np.zeros((len(chosen), 0), np.uint64))
            with self._statistics.phase("fetch and filter"):
                found = self._store.candidates(probes, None, self.ranked.table_id[first:stop])
            self._statistics.candidates += len(found.row_id)
            yield found
