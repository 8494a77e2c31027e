"""The indexing benchmark: what it asks for, what it measures, what it makes of it. No Spark, tiny lakes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import indexing_build, memory
from benchmarks.__main__ import main
from benchmarks.indexing import lake
from benchmarks.indexing_build import Build, Order, spark_home
from benchmarks.indexing_report import fit, paper_rate
from benchmarks.memory import Peaks, Process, parse, roles
from experiments import machine
from mate.corpus.synthetic import SyntheticLake

linux = pytest.mark.skipif(not memory.available(), reason="needs /proc")


def build(cells: int, total: float, **changes: Any) -> Build:
    values: dict[str, Any] = {
        "corpus": "x", "path": "x", "label": "synthetic", "segments": 1, "hashes": [], "tables": 1, "rows": 1,
        "cells": cells, "distinct_tokens": 1, "seconds": {"read": total}, "cores": 2, "processor_seconds": {},
        "load": (0.0, 0.0), "peak_bytes": {}, "index_bytes": {"postings": 1},
    }  # fmt: skip
    return Build(**{**values, **changes})


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a small build wrote."""
    folder = tmp_path_factory.mktemp("indexing")
    out, figure, keep = folder / "new" / "out.json", folder / "new" / "out.png", folder / "kept"
    options = ["--sizes", "0.02", "--segments", "2", "--memory", "64MB", "--master", "none"]
    assert main(["indexing", *options, "--json", str(out), "--figure", str(figure), "--keep", str(keep)]) == 0
    return {"record": json.loads(out.read_text()), "figure": figure, "kept": sorted(keep.iterdir())}


def test_builds_are_measured(results: dict[str, Any]) -> None:
    [built] = results["record"]["builds"]
    assert (built["label"], built["corpus"], built["segments"]) == ("synthetic", "synthetic 0.02 M", 1)
    assert built["cells"] > 0
    assert built["total_seconds"] == pytest.approx(sum(built["seconds"].values()))
    assert {"read and tokenise", "count distinct tokens", "write segments", "other"} <= set(built["seconds"])
    assert built["index_bytes"]["super keys"] >= 16 * built["rows"]
    assert built["index_bytes"]["postings"] >= 2 * built["cells"]
    assert results["record"]["versions"]["numpy"]
    assert results["record"]["memory"] == 64 << 20


@linux
def test_memory_is_the_builds_own(results: dict[str, Any]) -> None:
    [built] = results["record"]["builds"]
    assert built["peak_bytes"]["driver"] == built["peak_bytes"]["together"] == built["peak_bytes"]["largest"] > 50e6
    assert "jvm" not in built["peak_bytes"]
    assert built["processor_seconds"]["driver"] > 0


def test_memory_reaches_the_build(tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    order = Order(str(tmp_path / "x.mate"), 128, "none", memory=1 << 20)._asdict()
    told = {**order, "path": "synthetic:1", "title": "x", "result": str(out)}
    assert indexing_build.main([json.dumps(told)]) == 2
    assert "--memory must be at least 64MB" in json.loads(out.read_text())["error"]


def test_a_local_cluster_keeps_its_logs_out_of_the_installation(tmp_path: Path) -> None:
    home = Path(spark_home(tmp_path)["SPARK_HOME"])
    assert home.parent == tmp_path
    assert (home / "bin" / "spark-submit").exists()
    assert not (home / "work").exists()


def test_figure_and_kept_index(results: dict[str, Any]) -> None:
    assert results["figure"].read_bytes().startswith(b"\x89PNG")
    assert results["kept"][0].name.endswith("-0.mate")


def test_given_paths_print_one_table(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "a.csv").write_text("name,town\nanna,bonn\nbert,ulm\n", encoding="utf-8")
    assert main(["indexing", "--paths", str(folder), "--master", "none"]) == 0
    printed = capfd.readouterr()
    for text in (
        "shop",
        "cells indexed",
        "s, write segments",
        "peak MB, driver Python",
        "bytes/cell, postings",
        "35 h",
    ):
        assert text in printed.out
    assert "synthetic" not in printed.out
    assert "shop: 0 s: start" in printed.err
    assert "shop: done: 4 cells" in printed.err


@pytest.mark.parametrize("million_cells", [0.02, 0.5, 3])
def test_lakes_come_near_the_size_asked_for(million_cells: float) -> None:
    chosen = SyntheticLake.parse(lake(million_cells).path)
    miss = abs(chosen.expected_cells - million_cells * 1e6)
    for tables in (max(1, chosen.tables - 1), chosen.tables + 1):
        assert miss <= abs(SyntheticLake(tables=tables).expected_cells - million_cells * 1e6)


def test_a_line_tells_fixed_cost_from_rate() -> None:
    builds = [
        build(cells, 20 + cells / 50_000, processor_seconds={"driver": 9 + cells / 90_000, "jvm": cells / 90_000})
        for cells in (4_000_000, 1_000_000, 10_000_000)
    ]
    whole, first, last = fit(builds)
    for line in (whole, first, last):
        assert line.fixed_seconds == pytest.approx(20)
        assert line.cells_per_second_per_core == pytest.approx(25_000)
        assert line.times_paper == pytest.approx(25_000 / paper_rate())
        assert line.cells_per_processor_second == pytest.approx(45_000)
    assert [line.points for line in (whole, first, last)] == [3, 2, 2]
    assert first.series == "synthetic: 1.0 M to 4.0 M"


def test_exponents_of_seconds_and_memory() -> None:
    builds = [build(n, n**1.5, peak_bytes={"together": n * n}) for n in (100, 400, 1600)]
    for line in fit(builds):
        assert line.seconds_exponent == pytest.approx(1.5)
        assert line.memory_exponent == pytest.approx(2)
    assert fit([build(5, 1.0), build(9, 2.0)])[0].memory_exponent is None


def test_the_exponent_without_starting_spark() -> None:
    [line] = fit([build(n, 0, seconds={"start Spark": 5.0, "read": n**1.5}) for n in (100, 400)])
    assert line.seconds_exponent is not None
    assert line.seconds_exponent < 1.5
    assert line.seconds_exponent_without_start == pytest.approx(1.5)


def test_no_line_where_there_is_none() -> None:
    assert fit([build(5, 1.0)]) == []
    assert fit([build(5, 1.0), build(7, 2.0, label="")]) == []
    [slower] = fit([build(5, 2.0), build(9, 1.0)])
    assert slower.cells_per_second_per_core is None
    assert slower.times_paper is None
    assert slower.cells_per_processor_second is None


def test_the_papers_rate() -> None:
    assert paper_rate() == pytest.approx(514.6, abs=0.1)


def test_a_line_of_proc_with_a_strange_command() -> None:
    fields = "S 7 1 1 0 -1 0 0 0 0 0 30 12 0 0 20 0 1 0 99 1000 250 0"
    assert parse(f"42 (a) b (c) {fields}") == Process(42, 7, "a) b (c", 42, 250)


def test_roles_of_a_build() -> None:
    tree = [(1, 0, "init"), (5, 1, "python"), (6, 5, "spark-submit"), (7, 6, "java"), (8, 7, "python3.11"),
            (9, 8, "python3.11"), (10, 7, "java"), (11, 5, "python"), (12, 1, "python")]  # fmt: skip
    found = roles(5, [Process(*process, 0, 0) for process in tree])
    assert found == {5: "driver", 6: "other", 7: "jvm", 8: "workers", 9: "workers", 10: "other", 11: "other"}


def test_roles_of_a_local_cluster() -> None:
    tree = [(5, 1, "python"), (6, 5, "java"), (7, 6, "executor"), (8, 7, "python3.11"), (9, 8, "python3.11")]
    found = roles(5, [Process(*process, 0, 0) for process in tree])
    assert found == {5: "driver", 6: "jvm", 7: "executors", 8: "workers", 9: "workers"}


def test_workers_are_summed_and_the_largest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    page = os.sysconf("SC_PAGE_SIZE")
    samples = [{5: 10, 6: 900, 7: 40, 8: 30}, {5: 20, 6: 800, 7: 5, 8: 60}]
    names = {5: (1, "python"), 6: (5, "java"), 7: (6, "python"), 8: (6, "python")}
    peaks = Peaks(5)
    for sizes in samples:
        seen = [Process(pid, *names[pid], 0, pages) for pid, pages in sizes.items()]
        monkeypatch.setattr(memory, "snapshot", lambda seen=seen: seen)
        peaks.sample()
    expected = {"driver": 20, "jvm": 900, "workers": 70, "together": 980, "largest": 60}
    assert peaks.bytes == {name: pages * page for name, pages in expected.items()}


@linux
def test_an_executor_is_known_by_its_command_line() -> None:
    script = "import sys; open('/proc/self/comm', 'w').write('java'); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, "org.apache.spark.executor.CoarseGrainedExecutorBackend"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = {one.pid: one.command for one in memory.snapshot()}
        process.communicate()
    assert found[process.pid] == "executor"


@linux
def test_a_process_is_seen_with_its_memory() -> None:
    peaks = Peaks(os.getpid())
    peaks.sample()
    assert peaks.bytes["driver"] > 10e6
    assert peaks.processor_seconds["driver"] > 0


def test_packages_that_are_missing_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PACKAGES", ("numpy", "no-such-package-at-all"))
    assert "numpy" in machine.versions()
    assert "no-such-package-at-all" not in machine.versions()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sizes", "1,ten"], "--sizes takes millions of cells, such as 1,10,40, not '1,ten'"),
        (["--sizes", "0"], "--sizes takes millions of cells"),
        (["--sizes", "inf"], "--sizes takes millions of cells"),
        (["--segments", "0"], "there must be at least one segment, not 0"),
        (["--bits", "100"], "100"),
        (["--memory", "much"], "--memory takes a size such as 2GB, not 'much'"),
        (["--memory", "1MB"], "--memory must be at least 64MB"),
        (["--master", "local-cluster[2]"], "--master takes local[N], local[*], local-cluster[N,CORES,MB]"),
        (["--paths", "no/such/folder"], "there is no no/such/folder"),
        (["--master", "spark://host:7077"], "what runs on other machines cannot be measured from here"),
        (["--json", "."], "cannot write to ."),
        (["--figure", "out.txt"], "--figure takes a file that ends in .png, .pdf, .svg, not 'out.txt'"),
    ],
)
def test_bad_input(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["indexing", *options]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("benchmarks: ")
    assert message in line


def test_a_build_that_fails_says_why(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["indexing", "--paths", str(tmp_path), "--master", "none"]) == 2
    last = capfd.readouterr().err.splitlines()[-1]
    assert last.startswith(f"benchmarks: {tmp_path.name}: ")
    assert "Traceback" not in last


def test_the_measured_process_does_not_load_what_only_the_benchmark_needs() -> None:
    code = "import sys, benchmarks.indexing; print([m for m in ('matplotlib', 'duckdb', 'numpy') if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
