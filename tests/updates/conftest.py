"""A folder of files, and an index of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate.build.build import BuildSettings, build
from mate.build.lake_target import LakeTarget
from tests.lakes import write_csv


def index(lake: Path, store: Path, **changes: object) -> Path:
    """Build an index in this process."""
    with LakeTarget(store) as target:
        build([str(lake)], target, BuildSettings(**{"master": "none", **changes}))  # type: ignore[arg-type]
    return store


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Three small files, one of which holds no table."""
    folder = tmp_path / "lake"
    folder.mkdir()
    write_csv(folder / "people.csv", ["name", "city", "year"], [["Lee", "Bonn", "1999"], ["Kim", "Ulm", "2000"]])
    write_csv(folder / "cities.csv", ["city", "state"], [["Bonn", "NW"], ["Ulm", "BW"], ["Kiel", "SH"]])
    (folder / "notes.xyz").write_text("no table")
    return folder


@pytest.fixture
def store(lake: Path, tmp_path: Path) -> Path:
    """An index of the lake."""
    return index(lake, tmp_path / "lake.mate")
