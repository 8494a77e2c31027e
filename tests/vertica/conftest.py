"""A running stand-in, and a small lake to load into it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mate.build.build import BuildSettings, HashRequest, build
from mate.build.duckdb_target import DuckDBTarget
from mate.sql.vertica_address import PASSWORD_VARIABLE
from mate.store import IndexStore, open_store
from tests.store.conftest import HOSTILE, write_csv
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
def embedded(small_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexStore]:
    """The same lake in the embedded store."""
    path = tmp_path_factory.mktemp("embedded") / "lake.duckdb"
    with DuckDBTarget(path) as target:
        build([str(small_lake)], target, BuildSettings(master="none", hashes=HASHES))
    with open_store(str(path)) as store:
        yield store
