"""Commands as people type them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from mate.cli.program import main
from tests.api.conftest import write_files

Run: TypeAlias = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("stats", "--store", path)``: exit code, standard output, standard error."""

    def command(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small lake of the documentation, its index and a query, as the working directory."""
    monkeypatch.chdir(tmp_path)
    return write_files(tmp_path)


def write_people(folder: Path) -> Path:
    """Write two tables with a row too long and an empty one, and a file that is no table."""
    folder.mkdir()
    (folder / "people.csv").write_text("name,country\nLee,US\nKim,KR\nSøren,DK\nLee,US,extra\n")
    (folder / "towns.csv").write_text("town,country\nSeoul,KR\n,n/a\n")
    (folder / "notes [1].zzz").write_text("no table")
    return folder


def assert_refused(found: tuple[int, str, str], message: str) -> None:
    """Assert that a command ended with one line of error, and nothing else."""
    code, out, err = found
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.lower().startswith(f"mate: {message}".lower())
