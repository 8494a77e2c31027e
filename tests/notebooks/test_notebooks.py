"""Every notebook runs from clean, on stored results and on none."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parent.parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
DRAWN = {"01_runtime": 2, "02_precision": 4, "03_index_and_initial_column": 3}
"""Figures in each notebook."""


@pytest.fixture(scope="module")
def execute() -> Callable[[Path], Any]:
    """As ``make notebooks`` does it."""
    function: Callable[[Path], Any] = runpy.run_path(str(ROOT / "notebooks" / "execute.py"))["execute"]
    return function


def outputs(notebook: Any, kind: str) -> list[str]:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [out["data"][kind] for cell in cells for out in cell.outputs if kind in out.get("data", {})]


def errors(notebook: Any) -> list[str]:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [str(out) for cell in cells for out in cell.outputs if out.output_type == "error"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_from_clean(
    path: Path, execute: Callable[[Path], Any], measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MATE_RESULTS", str(measured))
    before = path.read_bytes()
    notebook = execute(path)
    assert not errors(notebook)
    assert path.read_bytes() == before
    images = outputs(notebook, "image/png")
    assert len(images) == DRAWN.get(path.stem, 0)
    assert all(len(image) > 10_000 for image in images)
    shown = "".join(outputs(notebook, "text/html"))
    assert shown.count("<table") >= 3
    assert str(measured) not in "".join(outputs(notebook, "text/markdown"))


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem in DRAWN], ids=lambda path: path.stem)
def test_missing_results_are_one_message(
    path: Path, execute: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MATE_RESULTS", str(tmp_path / "none"))
    notebook = execute(path)
    assert not errors(notebook)
    (message,) = outputs(notebook, "text/markdown")
    assert "No results to show" in message
    assert "python -m experiments run --all" in message
    assert not outputs(notebook, "text/html")
    assert not outputs(notebook, "image/png")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_with_outputs_and_without_errors(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert outputs(notebook, "text/html")
    assert len(outputs(notebook, "image/png")) == DRAWN.get(path.stem, 0)
    assert not errors(notebook)
