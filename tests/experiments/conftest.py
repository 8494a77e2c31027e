"""A lake of small files, and a way to run experiments on it."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path

import pytest

from experiments.__main__ import main

Experiments = Callable[..., int]


def write_lake(folder: Path) -> Path:
    """Write tables of several heights that share key tuples."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(14):
        height = (4, 40, 25, 5, 70)[number % 5] + number // 5
        with (folder / f"table-{number:02}.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(["name", "year", "city", "note", *(f"extra {i}" for i in range(8))])
            for row in range(height):
                step = row * (1 + number % 3)
                extra = [f"{number % 4} {row % (3 + i)}" for i in range(8)]
                writer.writerow([f"name {step % 31}", 1990 + row % 7, f"city {step % 5}", f"note {number}", *extra])
    return folder


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lake(tmp_path_factory.mktemp("corpus") / "files")


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Path:
    """Results with the indexes and query sets of the lake, but no records: the start of every test."""
    results = tmp_path_factory.mktemp("indexed")
    assert run(results, files, "initial-column", "collisions") == 0
    shutil.rmtree(results / "records")
    shutil.rmtree(results / "experiments")
    return results


def run(results: Path, files: Path, *arguments: str) -> int:
    options = ["--lake", f"mine={files}", "--results", str(results), "--scale", "smoke", "--queries", "2"]
    names = [*takewhile(lambda argument: not argument.startswith("-"), arguments)]
    return main(["run", *names, *options, *arguments[len(names) :]])


@pytest.fixture
def results(indexed: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "results"
    shutil.copytree(indexed, copy)
    return copy


@pytest.fixture
def experiments(results: Path, files: Path) -> Experiments:
    """``experiments("table1", "--queries", "3")``: run experiments on the lake of small files."""
    return lambda *arguments: run(results, files, *arguments)


def records_of(results: Path) -> dict[str, int]:
    """Return the files of records with the time they were written."""
    return {
        str(path.relative_to(results)): path.stat().st_mtime_ns for path in (results / "records").rglob("*.parquet")
    }
