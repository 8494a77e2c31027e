"""What an experiment is: a name, what it regenerates, and what it measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from experiments.definitions import Method
from experiments.lakes import MeasuredLake
from experiments.query_sets import SetSpec
from experiments.scales import Scale

Choose = Callable[[Sequence[SetSpec]], Sequence[SetSpec]]


def every(sets: Sequence[SetSpec]) -> Sequence[SetSpec]:
    """Choose all query sets but those of the key size experiment."""
    return [spec for spec in sets if not spec.role.endswith("key size")]


def hundred(sets: Sequence[SetSpec]) -> Sequence[SetSpec]:
    """Choose the sampled set with fewer than 100 key tuples, which the paper uses where one set must do."""
    return [spec for spec in sets if spec.role == "sampled" and spec.below == 100]


def key_sizes(sets: Sequence[SetSpec]) -> Sequence[SetSpec]:
    """Choose the tables whose key is extended column by column."""
    return [spec for spec in sets if spec.role.endswith("key size")]


@dataclass(frozen=True)
class SearchExperiment:
    """Methods that answer the same queries."""

    name: str
    regenerates: str
    what: str
    group: str
    methods: tuple[Method, ...]
    choose: Choose = every
    action: str = "search"
    several_k: bool = False
    """Whether k varies, as in the top-k experiment; else it is 10."""
    timed: bool = True
    """Whether runtimes matter; if only counts do, a search runs once, for they come out the same every time."""

    @property
    def searches(self) -> bool:
        """Whether it needs the index of the lake."""
        return True

    def ks(self, scale: Scale) -> tuple[int, ...]:
        """Return the numbers of tables that are asked for."""
        return scale.ks if self.several_k else (10,)

    def repetitions(self, scale: Scale) -> int:
        """Return the counted runs of each search, after one that is not counted; 0 if that one is enough."""
        return scale.repetitions if self.timed else 0


@dataclass(frozen=True)
class Measured:
    """Records of one file of an experiment of its own kind."""

    name: str
    """The end of the file's path."""
    settings: Mapping[str, Any]
    """What it depends on besides the lake."""
    run: Callable[[Path], Sequence[Mapping[str, Any]]]
    """Measures, given a scratch folder."""
    shared: bool = False
    """Whether it is the same for every lake."""


@dataclass(frozen=True)
class LakeExperiment:
    """Something else that is measured on a lake: records in a shape of their own."""

    name: str
    regenerates: str
    what: str
    group: str
    schema: pa.Schema
    parts: Callable[[MeasuredLake, str, Scale], Iterator[Measured]]
    """Given the lake, the address of its index, the scale."""
    searches: bool = True
    """Whether it needs the index of the lake."""


Experiment = SearchExperiment | LakeExperiment
