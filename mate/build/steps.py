"""The steps that turn tables into parts of an index, for a build and for changes alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow as pa

from mate.build.engine import Engine
from mate.build.keys import KeySettings, Offsets, key_unit
from mate.build.progress import Progress
from mate.build.sources import Unit
from mate.build.stage import Staged, StageSettings, report_oversized, stage_unit
from mate.store.base import Ids

Store = Callable[[Iterator[tuple[str, Any]], Mapping[str, Any], int], Any]
"""What stores a unit's batches where the task runs."""


@dataclass(frozen=True)
class Numbering:
    """Numbers that tables and rows get instead of their places, where these are not free to choose."""

    tables: Ids
    rows: Ids | None = None

    def apply(self, batches: Iterator[tuple[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield batches with the final numbers."""
        chosen = {"table_id": self.tables, "row_id": self.rows}
        for name, batch in batches:
            for column, numbers in chosen.items():
                place = batch.schema.get_field_index(column)
                if place >= 0 and numbers is not None:
                    batch = batch.set_column(place, column, pa.array(numbers[batch.column(place).to_numpy()]))
            yield name, batch


def stage_units(
    engine: Engine, units: list[Unit], directory: str, settings: StageSettings, told: Progress
) -> list[Staged]:
    """Read units and make their tokens."""

    def run(unit: Unit) -> tuple[Staged, dict[str, int]]:
        staged = stage_unit(unit, directory, settings)
        return staged, {"files": staged.files, "tables": staged.tables, "cells": staged.cells}

    staged = engine.run(units, run, told, "read and tokenise")
    report_oversized(staged, settings.limits)
    return staged


def key_units(
    engine: Engine,
    units: list[tuple[Staged, Offsets]],
    settings: KeySettings,
    store: Store,
    told: Progress,
    numbering: Numbering | None = None,
) -> list[Any]:
    """Hash, OR and post every unit, each knowing where its tables and rows stand."""
    schemas = settings.schemas()

    def run(item: tuple[Staged, Offsets]) -> tuple[Any, dict[str, int]]:
        unit, offsets = item
        batches = key_unit(unit, offsets, settings)
        return store(numbering.apply(batches) if numbering else batches, schemas, unit.unit), {"cells": unit.cells}

    return engine.run(units, run, told, "hash and post")


def placed(staged: list[Staged], first_row: int = 0) -> list[tuple[Staged, Offsets]]:
    """Return the units that have rows, with where their tables and rows stand among all."""
    tables = accumulate((s.tables for s in staged), initial=0)
    rows = accumulate((s.rows for s in staged), initial=first_row)
    return [(s, Offsets(t - s.continues, r)) for s, t, r in zip(staged, tables, rows, strict=False) if s.rows]
