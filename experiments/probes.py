"""Rows, and what a filter by super keys makes of them: which rows cover which values, and how full their keys are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.hashing import SuperKeyHash, bits_set, or_aggregate
from mate.lake.super_keys import by_function

Flags = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ProbedRows:
    """Rows of tables, one after another. A cell without a value is null, and counts as a column."""

    cells: pa.StringArray
    offsets: Ids

    @property
    def widths(self) -> Ids:
        """The columns of each row."""
        return np.diff(self.offsets)


def covered(function: SuperKeyHash, rows: ProbedRows, values: pa.StringArray) -> Flags:
    """Tell which rows a filter by super keys lets through for these values; not those without a value."""
    asked: Flags = values.is_valid().to_numpy(zero_copy_only=False).astype(np.bool_)
    found: Flags = np.zeros(len(asked), np.bool_)
    if function.by_column:
        row = np.repeat(np.arange(len(asked)), rows.widths)
        same = function.hash(rows.cells)[:, 0] == function.hash(values)[row, 0]
        np.logical_or.at(found, row, same)
        return found & asked
    for sized, places, cells, offsets in _by_width(function, rows):
        keys = or_aggregate(sized.hash(cells), offsets)
        found[places] = ~np.any(sized.hash(values.take(pa.array(places))) & ~keys, axis=1)
    return found & asked


def fill(function: SuperKeyHash, rows: ProbedRows) -> npt.NDArray[np.float64]:
    """Return the share of 1-bits in the super key of each row; of fingerprints that of those that are there."""
    found = np.zeros(len(rows.widths))
    if function.by_column:
        present = rows.cells.is_valid().to_numpy(zero_copy_only=False)
        np.add.at(found, np.repeat(np.arange(len(found)), rows.widths), present)
        return found / rows.widths
    for sized, places, cells, offsets in _by_width(function, rows):
        found[places] = bits_set(or_aggregate(sized.hash(cells), offsets)) / sized.bits
    return found


def _by_width(function: SuperKeyHash, rows: ProbedRows) -> Iterator[tuple[SuperKeyHash, Ids, pa.StringArray, Ids]]:
    """Yield the hash functions that rows have, with the rows, their cells and where each row's begin."""
    functions, kind = by_function(function, rows.widths)
    for number, sized in enumerate(functions):
        places = np.flatnonzero(kind == number)
        cell = np.concatenate([np.arange(rows.offsets[p], rows.offsets[p + 1]) for p in places.tolist()])
        yield sized, places, rows.cells.take(pa.array(cell)), np.concatenate([[0], np.cumsum(rows.widths[places])])
