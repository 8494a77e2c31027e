"""`python -m benchmarks batches` on a small lake: answers are compared, all ways are measured, results are JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mate
from benchmarks import batches
from benchmarks.__main__ import main
from experiments.queries import sample_queries
from mate.api.batch import QueryBatch
from mate.errors import MateError
from mate.lake.folder import open_folder
from mate.search.batches import Answered, BatchSearch
from mate.search.settings import SearchSettings


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("batches") / "lake.mate"
    mate.index("synthetic:tables=30,seed=3", path, master="none").close()
    return path


def test_all_ways_are_measured(store: Path, tmp_path: Path) -> None:
    options = ["--queries", "6", "--rounds", "1", "--master", "none", "--json", str(tmp_path / "found.json")]
    assert main(["batches", "--store", str(store), *options]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["lake"]["label"] == "synthetic"
    assert [way["way"] for way in found["ways"]] == ["one by one", "threads"]
    assert all(way["queries"] == 6 and way["per_second"] > 0 and way["per_core"] > 0 for way in found["ways"])


def test_other_answers_are_no_result(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QueryBatch, "_on_threads", lambda _, queries, *__: [Answered(query.name) for query in queries])
    search = BatchSearch("column-first", SearchSettings(k=3, rank="usefulness"))
    with open_folder(store) as lake, pytest.raises(MateError, match="threads: not the answers of single searches"):
        batches.measure(lake, list(sample_queries(lake, 4, batches.SHAPE, 1)), search, [], rounds=1)
