"""All experiments, by name."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.errors import ExperimentError
from experiments.experiment import Experiment
from experiments.regenerate import (
    bloom_mistakes,
    collisions,
    figure4,
    figure5,
    figure6,
    index_generation,
    initial_column,
    length_first,
    own_table,
    row_filter,
    table1,
    table2,
    table3,
    top_k,
)
from mate.errors import did_you_mean

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        table1,
        figure4,
        table2,
        table3,
        own_table,
        bloom_mistakes,
        length_first,
        top_k,
        figure5,
        figure6,
        initial_column,
        index_generation,
        collisions,
        row_filter,
    )
}


def find(names: Iterable[str]) -> list[Experiment]:
    """Return experiments by name, in the order of the paper, each once."""
    wanted = [name.strip().casefold().replace("_", "-") for name in names]
    for name in wanted:
        if name not in EXPERIMENTS:
            raise ExperimentError(f'unknown experiment "{name}"; {did_you_mean(name, EXPERIMENTS)}')
    return [experiment for name, experiment in EXPERIMENTS.items() if name in wanted]
