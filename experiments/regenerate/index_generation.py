"""Index generation (section 7.1): seconds and bytes of the inverted index, of super keys in both layouts, of JOSIE.

Each index is built from the lake's files in a process of its own, as `mate index` does, on Spark unless the scale is
smoke. Sizes of parts are counted in blocks of the database; what super keys and JOSIE add is the difference between
two builds. The paper computes the size of super keys from their number; that is recorded, too.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from experiments.errors import ExperimentError
from experiments.experiment import LakeExperiment, Measured
from experiments.lakes import IndexSpec, Lake
from experiments.records import PHASES
from experiments.scales import Scale
from experiments.worker import not_interactive

XASH = (("xash", 128),)
BUILDS = (
    IndexSpec("inverted index", (), "per_row", False),
    IndexSpec("super keys per cell", XASH, "per_cell", False),
    IndexSpec("super keys per row", XASH, "per_row", False),
    IndexSpec("super keys per cell + JOSIE", XASH, "per_cell", True),
)

SCHEMA = pa.schema(
    [
        ("lake", pa.string()),
        ("label", pa.string()),
        ("build", pa.string()),
        ("layout", pa.string()),
        ("bits", pa.int64()),
        ("josie", pa.bool_()),
        ("engine", pa.string()),
        ("files", pa.int64()),
        ("corpus_bytes", pa.int64()),
        ("tables", pa.int64()),
        ("columns", pa.int64()),
        ("rows", pa.int64()),
        ("cells", pa.int64()),
        ("distinct_tokens", pa.int64()),
        ("seconds", pa.float64()),
        ("phases", PHASES),
        ("bytes", pa.int64()),
        ("parts", pa.map_(pa.string(), pa.int64())),
        ("super_key_bytes_computed", pa.int64()),
    ]
)


def parts(lake: Lake, store: str, scale: Scale) -> Iterator[Measured]:
    """Yield the builds of a lake; an index without its corpus cannot be built again."""
    if not lake.paths:
        return
    master = "local[*]" if scale.spark else "none"
    for spec in BUILDS:
        settings = {"build": spec.name, "index": spec.fingerprint, "master": master}
        yield Measured(spec.name, settings, partial(_built, lake, spec, master))


def _built(lake: Lake, spec: IndexSpec, master: str, scratch: Path) -> Sequence[Mapping[str, Any]]:
    """Build in a fresh process and return what it found."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_build, args=(there, lake, spec, master, str(scratch / "built.duckdb")))
    process.start()
    there.close()
    try:
        answer = here.recv()
    except EOFError:
        answer = "the process ended without an answer"
    finally:
        process.join()
    if isinstance(answer, str):
        raise ExperimentError(f"{lake.name}, {spec.name}: the index could not be built: {answer}")
    return [answer]


def _build(connection: Any, lake: Lake, spec: IndexSpec, master: str, address: str) -> None:
    not_interactive()
    try:
        connection.send(_facts(lake, spec, master, address))
    except Exception as error:  # it is told at the other end
        connection.send(f"{type(error).__name__}: {error}")
    except KeyboardInterrupt:
        connection.close()


def _facts(lake: Lake, spec: IndexSpec, master: str, address: str) -> dict[str, Any]:
    from mate.build.build import build
    from mate.build.duckdb_target import DuckDBTarget
    from mate.store import open_store

    start = time.perf_counter()
    with DuckDBTarget(address) as target:
        summary = build(lake.paths, target, replace(spec.settings(master), limits=lake.limits))
    seconds = time.perf_counter() - start
    with open_store(address) as store:
        sizes = {part: size for part, size in store.sizes().items() if part != "file"}
    manifest = summary.manifest
    bits = sum(bits for _, bits in spec.hashes)
    keys = manifest.cells if spec.layout == "per_cell" else manifest.rows
    return {
        "lake": lake.name,
        "label": manifest.label,
        "build": spec.name,
        "layout": spec.layout,
        "bits": bits,
        "josie": spec.josie,
        "engine": master,
        "files": summary.files,
        "corpus_bytes": lake.size,
        "tables": manifest.tables,
        "columns": manifest.columns,
        "rows": manifest.rows,
        "cells": manifest.cells,
        "distinct_tokens": manifest.distinct_tokens,
        "seconds": seconds,
        "phases": summary.seconds,
        "bytes": sum(file.stat().st_size for file in Path(address).parent.glob(f"{Path(address).name}*")),
        "parts": sizes,
        "super_key_bytes_computed": keys * bits // 8,
    }


EXPERIMENT = LakeExperiment(
    name="index-generation",
    regenerates="Section 7.1",
    what="time and size of the indexes",
    group="index-generation",
    schema=SCHEMA,
    parts=parts,
)
