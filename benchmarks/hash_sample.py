"""Speed and filter quality of one hash function on a sample of tables.

Speed is values per second through the batch interface, and relative to a plain loop over ``mmh3.hash128`` in the
same run. Quality is what decides a row filter: how full the super keys of rows get, and how often a row covers the key
of a value that it does not hold ("false positive"). A probe is either any value of the sample, or a *near miss*: a
value from elsewhere in the same table, which is what a join on a composite key meets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.hash_contestants import row_bytes
from benchmarks.sample import Sample
from benchmarks.timing import best_of
from experiments.probes import Flags, ProbedRows, covered, fill
from mate.hashing import SuperKeyHash, bits_set

WIDTHS = ((1, 3), (4, 6), (7, 10), (11, 20), (21, 10_000))


@dataclass(frozen=True)
class Probes:
    """Rows and values that they do not hold."""

    rows: ProbedRows
    anywhere: pa.StringArray
    near: pa.StringArray


def draw_probes(data: Sample, seed: int, rows: int = 20_000) -> Probes:
    """Draw rows evenly over tables, and two values for each row that it does not hold."""
    random = np.random.default_rng(seed)
    cells: list[list[str | None]] = []
    near: list[str | None] = []
    for chosen in random.permutation(len(data.tables)):
        taken = data.tables[chosen]
        for row in random.choice(len(taken), min(len(taken), max(2, rows // len(data.tables))), replace=False):
            cells.append(taken.cells[row * taken.width : (row + 1) * taken.width].to_pylist())
            other = int(random.integers(len(taken))) * taken.width + int(random.integers(taken.width))
            near.append(taken.cells[other].as_py())
    anywhere = data.distinct.take(pa.array(random.integers(0, len(data.distinct), len(cells)))).to_pylist()
    return Probes(
        ProbedRows(pa.array([cell for row in cells for cell in row], pa.string()), np.cumsum([0, *map(len, cells)])),
        _absent(anywhere, cells),
        _absent(near, cells),
    )


def _absent(probes: list[str | None], rows: list[list[str | None]]) -> pa.StringArray:
    """Return the probes, null where the row does hold the value."""
    return pa.array([None if v in row else v for v, row in zip(probes, rows, strict=True)], pa.string())


def measure(function: SuperKeyHash, data: Sample, probes: Probes, rounds: int) -> dict[str, Any]:
    """Return speed and quality of one hash function."""
    import mmh3

    texts = data.distinct.to_pylist()
    seconds = best_of(
        {
            "batch": lambda: function.hash(data.distinct),
            "mmh3": lambda: [mmh3.hash128(text) for text in texts],
        },
        rounds,
    )
    hashes = function.hash(data.distinct)
    filled, widths = fill(function, probes.rows), probes.rows.widths
    near, anywhere = (covered(function, probes.rows, values) for values in (probes.near, probes.anywhere))
    size = row_bytes(function, widths)
    inside = {_range(bounds): _within(widths, bounds) for bounds in WIDTHS}
    return {
        "values_per_second": len(texts) / seconds["batch"],
        "times_mmh3": seconds["mmh3"] / seconds["batch"],
        "bits_per_value": float(bits_set(hashes).mean()),
        "distinct_hashes": len(np.unique(hashes, axis=0)) / len(texts),
        "bits_per_row": float(size.mean() * 8),
        "columns_per_row": float(widths.mean()),
        "fill": {name: float(filled[rows].mean()) for name, rows in inside.items() if rows.any()},
        "false_positives": _share(anywhere, probes.anywhere),
        "near_misses": _share(near, probes.near),
        "near_misses_by_width": {
            name: _share(near[rows], probes.near.filter(pa.array(rows))) for name, rows in inside.items() if rows.any()
        },
    }


def _share(flags: Flags, values: pa.StringArray) -> float:
    asked = len(values) - values.null_count
    return float(flags.sum() / asked) if asked else 0.0


def _within(widths: npt.NDArray[np.int64], bounds: tuple[int, int]) -> Flags:
    inside: Flags = (widths >= bounds[0]) & (widths <= bounds[1])
    return inside


def _range(bounds: tuple[int, int]) -> str:
    return f"{bounds[0]}+" if bounds[1] == WIDTHS[-1][1] else f"{bounds[0]}-{bounds[1]}"
