"""A running stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mate.lake.folder import LakeFolder
from tests.sql.small import built_lake, write_people, write_small_lake
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD

PASSWORD_VARIABLE = "VERTICA_PASSWORD"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    """A stand-in whose password is in the environment; temporary files go where pytest removes them."""
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with StandIn(lock_timeout=0.5) as running:
        yield running


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two small files."""
    return write_people(tmp_path / "lake")


@pytest.fixture(scope="module")
def small_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few small files."""
    return write_small_lake(tmp_path_factory.mktemp("small") / "lake")


@pytest.fixture(scope="module")
def lake(small_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> LakeFolder:
    """The same files in a lake."""
    return built_lake(small_lake, tmp_path_factory.mktemp("built") / "lake.mate")
