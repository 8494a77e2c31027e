"""The benchmark of phases: what was read is what the directory has, and plain sums add up as many bytes."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.__main__ import main
from benchmarks.phases import Phase, _cover_reads, add_up, summary
from mate.search.search import prepare
from mate.search.settings import SearchSettings
from tests.lakes import lake as make_lake

TABLES = [[[f"name {(i * step) % 40}", f"{1990 + i % 7}", f"city {i % 11}"] for i in range(60)] for step in range(1, 9)]


def test_every_phase_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake, out = make_lake(tmp_path / "x.mate", TABLES, segments=2), tmp_path / "out.json"
    options = ["--queries", "2", "--rounds", "1", "--json", str(out)]
    assert main(["phases", "--store", lake.address, *options]) == 0
    printed = capsys.readouterr().out
    assert "times a plain sum" in printed
    found = json.loads(out.read_text())
    assert [phase["name"] for phase in found] == ["cover", "bound and check"] * 2
    assert all(phase["seconds"] > 0 and phase["bytes"] > 0 and phase["plain_seconds"] > 0 for phase in found)


def test_a_lake_without_such_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = make_lake(tmp_path / "x.mate", TABLES[:1])
    assert main(["phases", "--store", lake.address, "--least", "5000"]) == 2
    assert "try another --least" in capsys.readouterr().err


def test_cover_reads_the_entries_of_distinct_values(tmp_path: Path) -> None:
    lake = make_lake(tmp_path / "x.mate", [[["a", "x"], ["b", "x"], ["x", "a"]]])
    query = pa.table({"one": ["a", "b"], "two": ["x", "x"]})
    part = prepare("column-first", lake, query, ["one", "two"], SearchSettings()).part(lake.segments[0])
    arrays = part.segment.arrays
    column, first = arrays.entry_column.itemsize, arrays.posting_first.itemsize
    # "a" is in two columns, "b" in one; "x" is in two, and two key tuples have it, so that postings are counted.
    assert [size for size, _ in _cover_reads([part])] == [3 * column, 0, 2 * column, 2 * first]


def test_plain_sums() -> None:
    numbers = np.array([3, 0, 0, 0, 4, 0, 0, 0, 9, 9], np.uint16)  # two whole words
    assert [add_up(numbers, size) for size in (0, 7, 8, 16, 24, 40)] == [0, 0, 3, 7, 10, 17]
    assert add_up(numbers[:0], 5) == 0


def test_summary() -> None:
    phases = [Phase("q", "cover", 0.002, 8_000, 0.001), Phase("r", "cover", 0.004, 8_000, 0.001)]
    assert summary(phases) == [["cover", 2, "3.00", "3.90", "8.00", "1.00", "3.00", "3.90"]]
    assert summary([Phase("q", "cover", 0.002, 0, 0.0)])[0][-2:] == ["", ""]
