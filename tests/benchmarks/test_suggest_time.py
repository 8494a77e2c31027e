"""The benchmark of suggestions draws the tables that it says."""

from __future__ import annotations

from pathlib import Path

import pytest

import mate
from benchmarks.__main__ import main
from benchmarks.suggest_time import measure
from tests.lakes import write_csv


@pytest.fixture
def lake(tmp_path: Path) -> str:
    folder = tmp_path / "lake"
    folder.mkdir()
    for n in range(4):
        write_csv(folder / f"t{n}.csv", ["code", "n"], [[f"code {row}", str(row * n)] for row in range(30)])
    write_csv(folder / "wide.csv", [f"c{n}" for n in range(21)], [["code 1"] * 21] * 30)
    write_csv(folder / "short.csv", ["code", "n"], [["code 1", "2"]])
    store = str(tmp_path / "lake.mate")
    mate.index(folder, store).close()
    return store


def test_tables_are_drawn_by_seed_and_do_not_find_themselves(lake: str) -> None:
    with mate.open(lake) as opened:
        calls = measure(opened, 10, seed=3)
        assert sorted(call.name for call in calls) == ["t0", "t1", "t2", "t3"]
        assert [call.name for call in calls] == [call.name for call in measure(opened, 10, seed=3)]
        assert [call.name for call in measure(opened, 2, seed=3)] == [call.name for call in calls[:2]]
        assert all((call.columns, call.rows) == (2, 30) and call.suggestions > 0 for call in calls)


def test_it_is_printed(lake: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suggest", "--store", lake, "--tables", "3"]) == 0
    out = capsys.readouterr().out
    assert "median (s)" in out
    assert "first (s)" in out


def test_a_lake_with_nothing_to_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(tmp_path / "one.csv", ["a", "b"], [["x", "y"]])
    mate.index(tmp_path / "one.csv", tmp_path / "one.mate").close()
    assert main(["suggest", "--store", str(tmp_path / "one.mate")]) == 2
    assert "has fewer than 2 tables" in capsys.readouterr().err
