"""Executes the notebooks from clean and writes them back with their outputs.

python notebooks/execute.py [NOTEBOOK...]        results: MATE_RESULTS, by default ../results
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
TIMEOUT = 600


def execute(path: Path) -> nbformat.NotebookNode:
    """Run a notebook with the running interpreter in its own folder, no output kept from before; return it."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(HERE)}},
    ).execute()
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def main(names: list[str]) -> None:
    """Execute all notebooks, or those that are named."""
    for path in map(Path, names) if names else sorted(HERE.glob("*.ipynb")):
        nbformat.write(execute(path), path)
        print(path.name)


if __name__ == "__main__":
    main(sys.argv[1:])
