"""A small lake to load into databases, and the same as a folder."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from mate.build.build import BuildSettings, HashRequest, build
from mate.build.lake_target import LakeTarget
from mate.lake.folder import LakeFolder, open_folder
from mate.search.query import QueryTable
from tests.sql.conftest import HOSTILE, write_csv

HASHES = (HashRequest("xash", 128), HashRequest("bf", 512))
PEOPLE_QUERY = QueryTable(
    "query", pa.table({"a": [f"name {n}" for n in range(30)], "b": [f"city {n % 5}" for n in range(30)]})
)
"""Thirty of `write_people`: more key tuples than stand in a statement as constants."""


def write_small_lake(folder: Path) -> Path:
    """Write eight files that share values; with hostile cells, empty ones and one that takes several records."""
    folder.mkdir()
    for number in range(8):
        rows = [[f"name {n}", f"city {n % 7}", f"{n * number}"] for n in range(60)]
        rows += [[cell, "", f"cell {n}"] for n, cell in enumerate(HOSTILE)]
        rows.append(["ü€😀" * 3_000, "long", "end"])
        write_csv(folder / f"table {number}.csv", ["name", "city", ""], rows)
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more")
    return folder


def write_people(folder: Path) -> Path:
    """Write two files, of cities in states and of people in cities."""
    folder.mkdir()
    write_csv(folder / "people.csv", ["name", "city"], [[f"name {n}", f"city {n % 5}"] for n in range(50)])
    write_csv(folder / "cities.csv", ["city", "state"], [[f"city {n}", f"state {n % 3}"] for n in range(20)])
    return folder


def built_lake(files: Path, path: Path, **changes: object) -> LakeFolder:
    """Build a lake in this process, without Spark."""
    settings = BuildSettings(**{"master": "none", "hashes": HASHES, **changes})  # type: ignore[arg-type]
    with LakeTarget(path) as target:
        build([str(files)], target, settings)
    return open_folder(path)
