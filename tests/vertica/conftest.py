"""A running stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sql.conftest import files as files
from tests.sql.conftest import small_folder as small_folder
from tests.sql.conftest import small_lake as small_lake
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
