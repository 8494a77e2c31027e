"""The examples of docstrings run."""

from __future__ import annotations

import doctest
import shutil
from importlib import import_module
from pathlib import Path

import pytest

import mate

API = Path(mate.__file__).parent / "api"
MODULES = sorted(
    ".".join(("mate.api", *path.relative_to(API).with_suffix("").parts))
    for path in API.rglob("*.py")
    if path.stem != "__init__"
)

METHODS = (
    *("search", "search_many", "suggest", "suggest_in_steps", "graph", "match", "table", "find", "refresh", "check"),
    *("add", "remove", "sync", "compare", "update", "add_rows", "add_column", "remove_rows", "compact"),
)
CLASSES = ("Lake", "Answers", "Answer", "Explanation", "Enriched", "SearchSystem", "Suggestions", "BatchAnswers")


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(
    name: str, shared_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module(name)
    for number, example in enumerate(doctest.DocTestFinder(exclude_empty=True).find(module)):
        if not example.examples:
            continue
        monkeypatch.chdir(shutil.copytree(shared_folder, tmp_path / str(number)))  # examples may change the lake
        report: list[str] = []
        example.globs |= {"mate": mate, "lake": mate.open("lake.mate")}
        done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=report.append)
        assert not done.failed, "".join(report)


def test_what_people_meet_first_has_an_example() -> None:
    for name in ("index", "open", *CLASSES):
        assert ">>> " in (getattr(mate, name).__doc__ or ""), name
    for method in METHODS:
        assert ">>> " in (getattr(mate.Lake, method).__doc__ or ""), method
