"""All tables of the report, by experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from experiments.reporting.results import Results
from experiments.reporting.tables import (
    bloom_mistakes,
    engines,
    fairness,
    hashing,
    in_depth,
    indexing,
    length_first,
    row_filter,
    searching,
)
from experiments.reporting.tables.table import Table

TABLES: Mapping[str, tuple[Callable[[Results], list[Table]], ...]] = {
    "table1": (searching.table1,),
    "figure4": (searching.figure4, searching.phases, fairness.semi_join, fairness.held),
    "table2": (hashing.table2,),
    "table3": (hashing.table3,),
    "top-k": (in_depth.top_k,),
    "figure5": (in_depth.figure5,),
    "figure6": (in_depth.figure6,),
    "initial-column": (in_depth.initial_column,),
    "index-generation": (indexing.index_generation,),
    "collisions": (indexing.collisions,),
    "row-filter": (row_filter.covered,),
    "own-table": (row_filter.own_table,),
    "bloom-mistakes": (bloom_mistakes.bloom_mistakes,),
    "length-first": (length_first.length_first,),
}
BY_ENGINE: Mapping[str, tuple[Callable[[Results], list[Table]], ...]] = {
    "figure4": (engines.figure4,),
    "table2": (engines.table2,),
}
"""Those of all engines; the others are about arrays."""

__all__ = ["TABLES", "Table", "tables"]


def tables(results: Results, experiment: str) -> list[Table]:
    """Return the tables of an experiment; none if nothing of it is finished."""
    if not results.has(experiment):
        return []
    makers = (*(TABLES.get(experiment, ()) if results.on_arrays(experiment) else ()), *BY_ENGINE.get(experiment, ()))
    return results.once("tables", experiment, lambda: [table for make in makers for table in make(results)])
