"""All figures of the report, by experiment."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.reporting.figures import hashing, in_depth, indexing, searching
from experiments.reporting.figures.drawing import Draw, Drawn
from experiments.reporting.results import Results

FIGURES: Mapping[str, tuple[Draw, ...]] = {
    "figure4": (searching.figure4, searching.phases),
    "table3": (hashing.table3,),
    "top-k": (in_depth.top_k,),
    "figure5": (in_depth.figure5,),
    "figure6": (in_depth.figure6,),
    "initial-column": (in_depth.initial_column,),
    "index-generation": (indexing.index_generation,),
    "collisions": (hashing.collisions,),
}

__all__ = ["FIGURES", "Drawn", "figures"]


def figures(results: Results, experiment: str) -> list[Drawn]:
    """Return the figures of an experiment; none if nothing of it is finished on arrays."""
    if not results.has(experiment) or not results.on_arrays(experiment):
        return []
    makers = FIGURES.get(experiment, ())
    return results.once("figures", experiment, lambda: [drawn for draw in makers for drawn in draw(results)])
