"""A running stand-in, and a small lake to load into it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mate.build.build import BuildSettings, HashRequest, build
from mate.build.lake_target import LakeTarget
from mate.index.lake import Lake, open_lake
from mate.sql.vertica_address import PASSWORD_VARIABLE
from tests.sql.conftest import HOSTILE, write_csv
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD

HASHES = (HashRequest("xash", 128), HashRequest("bf", 512))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    """A stand-in whose password is in the environment; temporary files go where pytest removes them."""
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with StandIn(lock_timeout=0.5) as running:
        yield running


@pytest.fixture(scope="module")
def small_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight files that share values; with hostile cells, empty ones and one that takes several records."""
    folder = tmp_path_factory.mktemp("small") / "lake"
    folder.mkdir()
    for number in range(8):
        rows = [[f"name {n}", f"city {n % 7}", f"{n * number}"] for n in range(60)]
        rows += [[cell, "", f"cell {n}"] for n, cell in enumerate(HOSTILE)]
        rows.append(["ü€😀" * 3_000, "long", "end"])
        write_csv(folder / f"table {number}.csv", ["name", "city", ""], rows)
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more")
    return folder


@pytest.fixture(scope="module")
def lake(small_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The same files in a lake."""
    return built_lake(small_lake, tmp_path_factory.mktemp("built") / "lake.mate")


def built_lake(files: Path, path: Path, **changes: object) -> Lake:
    """Build a lake in this process, without Spark."""
    settings = BuildSettings(**{"master": "none", "hashes": HASHES, **changes})  # type: ignore[arg-type]
    with LakeTarget(path) as target:
        build([str(files)], target, settings)
    return open_lake(path)
