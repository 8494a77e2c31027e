"""`mate stats` as a person and as a program meet it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import mate
from tests.commands.conftest import Run, write_people


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_people(tmp_path_factory.mktemp("stats") / "lake")


@pytest.fixture(scope="module")
def store(lake: Path) -> Path:
    path = lake.with_name("lake [v2].mate")
    mate.index(lake, path, hashes=["xash", "bf:512"]).close()
    return path


def test_the_overview(run: Run, store: Path) -> None:
    code, out, err = run("stats", "--store", store)
    lines = {" ".join(line.split()) for line in out.splitlines()}
    assert (code, err) == (0, "")
    assert out.splitlines()[0].strip() == str(store)
    assert lines >= {
        "tables 2",
        "columns 4 (2.0 per table)",
        "rows 5",
        "cells indexed 8",
        "distinct tokens 7",
        "super keys xash:128:alpha=1, bf:512:hashes=177",
        "rejects 2",
    }
    assert "pyarrow" in out
    assert "outgrown" not in out


def test_the_overview_as_json(run: Run, store: Path) -> None:
    code, out, _ = run("stats", "--store", store, "--json")
    record = json.loads(out)
    assert code == 0
    assert record["manifest"]["counts"]["cells"] == 8
    assert record["manifest"]["hashes"][1] == {"name": "bf", "bits": 512, "parameters": {"hashes": 177}}
    assert sum(record["bytes"].values()) == sum(path.stat().st_size for path in store.rglob("*") if path.is_file())


def test_rejects_name_file_line_and_reason(run: Run, store: Path, lake: Path) -> None:
    rejects = json.loads(run("stats", "--store", store, "--rejects", "--json")[1])
    assert [list(reject) for reject in rejects] == [["source", "line", "kind", "reason", "count"]] * 2
    assert [tuple(reject.values()) for reject in rejects] == [
        (str(lake / "notes [1].zzz"), None, "file", "unsupported file type .zzz", 1),
        (str(lake / "people.csv"), 5, "row", "3 cells where the header has 2", 1),
    ]
    code, out, _ = run("stats", "--store", store, "--rejects")
    assert code == 0
    whole = " ".join(out.split())
    assert f"{lake / 'people.csv'} 5 row 1 3 cells where the header has 2" in whole
    assert f"{lake / 'notes [1].zzz'} file 1 unsupported file type .zzz" in whole


def test_tables_and_sources(run: Run, store: Path, lake: Path) -> None:
    _, out, _ = run("stats", "--store", store, "--tables", "--json")
    assert [(t["table_id"], t["name"], t["rows"], t["columns"]) for t in json.loads(out)] == [
        (0, "people", 3, 2),
        (1, "towns", 2, 2),
    ]
    _, out, _ = run("stats", "--store", store, "--sources", "--json")
    assert [(s["source"], s["sha256"], s["tables"]) for s in json.loads(out)] == [
        (str(path), hashlib.sha256(path.read_bytes()).hexdigest(), int(path.suffix == ".csv"))
        for path in sorted(lake.iterdir())
    ]
    for option in ("--tables", "--sources"):
        code, out, _ = run("stats", "--store", store, option)
        assert code == 0
        assert str(lake / "towns.csv") in out


@pytest.mark.parametrize("option", ["--rejects", "--tables", "--sources"])
def test_lists_end_at_the_limit(run: Run, store: Path, option: str) -> None:
    for limit in (0, 1):
        _, out, _ = run("stats", "--store", store, option, "--json", "--limit", str(limit))
        assert len(json.loads(out)) == limit
