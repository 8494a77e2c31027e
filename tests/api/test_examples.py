"""The examples of docstrings run."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import mate

API = Path(mate.__file__).parent / "api"
MODULES = sorted(f"mate.api.{path.stem}" for path in API.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str, folder: Path) -> None:
    module = import_module(name)
    for example in doctest.DocTestFinder(exclude_empty=True).find(module):
        report: list[str] = []
        done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=report.append)
        assert not done.failed, "".join(report)


def test_what_people_meet_first_has_an_example() -> None:
    for name in ("index", "open", "Lake", "Answers", "Answer", "Explanation", "Enriched", "Strategy"):
        assert ">>> " in (getattr(mate, name).__doc__ or ""), name
    for method in ("search", "suggest", "join", "table", "update", "check", "stats"):
        assert ">>> " in (getattr(mate.Lake, method).__doc__ or ""), method
