"""Index generation (section 7.1): seconds and bytes of the inverted index, of super keys, and of what JOSIE adds.

Each index is built from the lake's files in a process of its own, as `mate index` does, on Spark unless the scale is
smoke. What super keys add in bytes is the difference between two builds; in seconds, that between the medians of
several builds without Spark, with and without super keys in turn. A lake keeps one super key per row; what one per cell
would take, the layout that the paper measured, is computed from the number of cells, as the paper computes the other.

JOSIE reads the directory that a lake has anyway. What it adds are the global order of tokens and the column sets in
that order. They are made when a lake is first searched with JOSIE, and here they are timed and counted (``josie_``). So
is the index that JOSIE has where there is no lake (``josie_index_``, `baselines.systems.josie_index`): built from the
columns of the lake and written to disk. Reading and tokenising, which both need, is not part of its time.
"""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from experiments.errors import ExperimentError
from experiments.experiment import LakeExperiment, Measured
from experiments.lakes import IndexSpec, MeasuredLake
from experiments.records import PHASES
from experiments.scales import Scale
from experiments.worker import not_interactive

if TYPE_CHECKING:
    from mate.build.build import Summary
    from mate.lake.folder import LakeFolder

PLAIN, KEYED = "inverted index", "super keys"
BUILDS = {PLAIN: IndexSpec(), KEYED: IndexSpec((("xash", 128),))}
REPEATED = {build: f"{build}, repeated" for build in BUILDS}
"""Builds without Spark, whose start and whose tasks' waiting would hide what super keys add."""
ROUNDS = 3
TIMES = ("seconds", "josie_seconds", "josie_index_seconds")
JOSIE = "its own index, too"
"""What is made for it: records without that are not taken for these."""

SCHEMA = pa.schema(
    [
        ("lake", pa.string()),
        ("label", pa.string()),
        ("build", pa.string()),
        ("bits", pa.int64()),
        ("engine", pa.string()),
        ("files", pa.int64()),
        ("corpus_bytes", pa.int64()),
        ("tables", pa.int64()),
        ("columns", pa.int64()),
        ("rows", pa.int64()),
        ("cells", pa.int64()),
        ("distinct_tokens", pa.int64()),
        ("segments", pa.int64()),
        ("seconds", pa.float64()),
        ("phases", PHASES),
        ("bytes", pa.int64()),
        ("parts", pa.map_(pa.string(), pa.int64())),
        ("per_cell_bytes_computed", pa.int64()),
        ("per_row_bytes_computed", pa.int64()),
        ("josie_seconds", pa.float64()),
        ("josie_bytes", pa.int64()),
        ("josie_index_seconds", pa.float64()),
        ("josie_index_bytes", pa.int64()),
    ]
)


class Order(NamedTuple):
    """A build to be done in a process of its own."""

    lake: MeasuredLake
    build: str
    master: str
    address: str


def parts(lake: MeasuredLake, address: str, scale: Scale) -> Iterator[Measured]:
    """Yield the builds of a lake; an index without its corpus cannot be built again."""
    if not lake.paths:
        return
    master = "local[*]" if scale.spark else "none"
    for name, spec in BUILDS.items():
        settings = {"build": name, "index": spec.fingerprint, "master": master, "josie": JOSIE}
        yield Measured(name, settings, partial(_built, lake, name, master))
    rounds = ROUNDS if scale.spark else 1
    turns = {"build": "repeated", "index": BUILDS[KEYED].fingerprint, "rounds": rounds, "josie": JOSIE}
    yield Measured("repeated", turns, partial(_repeated, lake, rounds))


def _repeated(lake: MeasuredLake, rounds: int, scratch: Path) -> Sequence[Mapping[str, Any]]:
    """Build with and without super keys in turn, and return the medians."""
    found: dict[str, list[Mapping[str, Any]]] = {build: [] for build in BUILDS}
    for _ in range(rounds):
        for build in BUILDS:
            folder = Path(tempfile.mkdtemp(dir=scratch))
            found[build] += _built(lake, build, "none", folder)
            shutil.rmtree(folder)
    rows = []
    for build, facts in found.items():
        medians = {name: median(f[name] for f in facts) for name in TIMES if name in facts[0]}
        rows.append({**facts[0], "build": REPEATED[build], "phases": {}, **medians})
    return rows


def _built(lake: MeasuredLake, build: str, master: str, scratch: Path) -> Sequence[Mapping[str, Any]]:
    """Build in a fresh process and return what it found."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    order = Order(lake, build, master, str(scratch / "built.mate"))
    process = context.Process(target=_build, args=(there, order))
    process.start()
    there.close()
    try:
        answer = here.recv()
    except EOFError:
        answer = "the process ended without an answer"
    finally:
        process.join()
    if isinstance(answer, str):
        raise ExperimentError(f"{lake.name}, {build}: the index could not be built: {answer}")
    return [answer]


def _build(connection: Any, order: Order) -> None:
    not_interactive()
    try:
        connection.send(_facts(order))
    except Exception as error:  # it is told at the other end
        connection.send(f"{type(error).__name__}: {error}")
    except KeyboardInterrupt:
        connection.close()


def _facts(order: Order) -> dict[str, Any]:
    from mate.build.build import build
    from mate.build.lake_target import LakeTarget
    from mate.lake.folder import open_folder

    lake, spec = order.lake, BUILDS[order.build]
    start = time.perf_counter()
    with LakeTarget(order.address) as target:
        summary = build(lake.paths, target, spec.settings(order.master, lake.limits))
    seconds = time.perf_counter() - start
    with open_folder(order.address) as index:
        josie = _josie(index, Path(order.address).with_name("josie")) if order.build == KEYED else {}
        sizes = index.sizes()
    files = (file for file in Path(order.address).rglob("*") if file.is_file())
    return {
        "lake": lake.name,
        "build": order.build,
        "engine": order.master,
        "corpus_bytes": lake.size,
        "seconds": seconds,
        "bytes": sum(file.stat().st_size for file in files),
        "parts": sizes,
        **_counts(summary, spec),
        **josie,
    }


def _counts(summary: Summary, spec: IndexSpec) -> dict[str, Any]:
    """Return what was indexed, and the bytes of super keys by their number."""
    manifest, counts = summary.manifest, summary.manifest.counts
    bits = sum(bits for _, bits in spec.hashes)
    return {
        "label": manifest.label,
        "bits": bits,
        "files": summary.files,
        "tables": counts.tables,
        "columns": counts.columns,
        "rows": counts.rows,
        "cells": counts.cells,
        "distinct_tokens": manifest.distinct_tokens,
        "segments": len(manifest.segments),
        "phases": summary.seconds,
        "per_cell_bytes_computed": counts.cells * bits // 8,
        "per_row_bytes_computed": counts.rows * bits // 8,
    }


def _josie(index: LakeFolder, folder: Path) -> dict[str, float | int]:
    """Make what JOSIE needs besides the index, and build its own index; return their seconds and bytes."""
    from baselines.systems.column_sets import ColumnSets
    from baselines.systems.josie_index import build_josie_index

    ColumnSets(index.segments[0])  # loads modules
    start = time.perf_counter()
    sets = [ColumnSets(segment) for segment in index.segments]
    made = time.perf_counter()
    size = build_josie_index(index).write(folder)
    built = time.perf_counter()
    arrays = (array for own in sets for array in vars(own).values() if isinstance(array, np.ndarray))
    return {
        "josie_seconds": made - start,
        "josie_bytes": sum(array.nbytes for array in arrays),
        "josie_index_seconds": built - made,
        "josie_index_bytes": size,
    }


EXPERIMENT = LakeExperiment(
    name="index-generation",
    regenerates="Section 7.1",
    what="time and size of the indexes",
    group="index-generation",
    schema=SCHEMA,
    parts=parts,
    searches=False,
)
